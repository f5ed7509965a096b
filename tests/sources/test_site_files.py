"""What a site file may say, and how each mistake is told: file, line, field, remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sources.site_reading import read_folder
from sources.yaml_reading import MAX_BYTES, UnreadableYaml, read

SITE = """\
site_code: qingfu
base_url: http://www.qingfu.example
adapter: trs_wcm
departments:
  - path: /edu/
targets:
  - target_code: qingfu_edu
    entry_url: http://www.qingfu.example/edu/index.html
    department: /edu/
"""

Faults = Callable[..., list[str]]


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    """Write files by name and give the faults found, as text."""

    def check(**files: str) -> list[str]:
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return sorted(str(fault) for fault in read_folder(tmp_path)[1])

    return check


def with_line(line: str) -> str:
    """The site with one more line at its top level; it is line 1."""
    return f"{line}\n{SITE}"


def with_target_line(line: str) -> str:
    """The site with one more line in its target; it is line 10."""
    return f"{SITE}    {line}\n"


def test_a_sound_file_has_no_faults_and_gives_the_site(tmp_path: Path) -> None:
    (tmp_path / "qingfu.yaml").write_text(SITE, encoding="utf-8")
    files, found = read_folder(tmp_path)
    assert found == []
    site = files[0].site
    assert site is not None
    assert (site.site_code, site.enabled, site.respect_robots, site.targets[0].cadence_days) == ("qingfu", True, True, 30)


def test_the_shipped_site_files_are_sound_and_the_examples_are_off() -> None:
    files, found = read_folder(Path(__file__).resolve().parents[2] / "deploy" / "sites")
    assert found == []
    examples = {file.name: file.site for file in files if file.name.startswith("example_")}
    assert {"example_gkmlpt.yaml", "example_trs.yaml", "example_rules.yaml"} <= examples.keys()
    for site in examples.values():
        assert site is not None and site.enabled is False
        assert not any(target.enabled for target in site.targets)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("enabled: yes", "a.yaml:1: enabled: got 'yes'; write true or false, without quotes"),
        ("enabled: on", "a.yaml:1: enabled: got 'on'; write true or false, without quotes"),
        ("on: true", "a.yaml:1: on: unknown key; known keys: site_code, "),
        ("site_nam: x", "a.yaml:1: site_nam: unknown key; did you mean site_name?"),
        ("site_role: city", "a.yaml:1: site_role: got 'city'; not known; choose one of qingyuan_local, county_local, "),
        ("fetch_strategy: magic", "a.yaml:1: fetch_strategy: got 'magic'; not known; choose one of auto, httpx, playwright"),
        ("cron: 61 * * * *", "a.yaml:1: cron: got '61 * * * *'; "),
        ("cron: 0 0 3 * * *", "a.yaml:1: cron: got '0 0 3 * * *'; '0 0 3 * * *' has 6 fields; write five fields"),
        ("daily_max_requests: 0", "a.yaml:1: daily_max_requests: got 0; Input should be greater than or equal to 1"),
        ('daily_max_requests: "9"', "a.yaml:1: daily_max_requests: got '9'; write a whole number, without quotes"),
        ("site_name: 5", "a.yaml:1: site_name: got 5; write text; put numbers and such in quotes"),
        (f"site_name: {'长' * 201}", "201 characters, at most 200 fit; shorten it"),
        (f"remark: {'x' * 501}", "501 characters, at most 500 fit; shorten it"),
        ('remark: "  "', "a.yaml:1: remark: got '  '; empty text; leave the key out instead"),
        ('remark: "a\\x07"', "control character U+0007; remove it"),
        ("window: {start: 22:00}", "a.yaml:1: window.end: required; add it"),
        (
            "window: {start: 22:00, end: 25:00}",
            "a.yaml:1: window.end: got '25:00'; no time of day; write HH:MM in Beijing time",
        ),
        ("window: {start: 9:00, end: 09:00}", "a.yaml:1: window: start and end are the same; leave the window out"),
        ("window: 22:00-06:00", "a.yaml:1: window: got '22:00-06:00'; write a mapping of keys and values"),
        ("backoff: {min_sec: 60, max_sec: 30}", "a.yaml:1: backoff: min_sec is above max_sec; swap them"),
        ("rules: {list: {row: li}}", "a.yaml:1: rules: both adapter and rules; give exactly one of them"),
        (
            "params: {body_selecter: p}",
            "a.yaml:1: params.body_selecter: adapter trs_wcm: unknown key; did you mean body_selector?",
        ),
        ("params: {external_links: maybe}", "a.yaml:1: params.external_links: adapter trs_wcm: got 'maybe'; "),
        ("params: [1]", "a.yaml:1: params: got [1]; write a mapping of keys and values"),
        ("managed_by: nobody", "a.yaml:1: managed_by: got 'nobody'; not known; choose one of yaml, ui"),
    ],
)
def test_a_wrong_site_value_is_named_with_its_line_and_remedy(faults: Faults, line: str, said: str) -> None:
    found = faults(a=with_line(line))
    assert len(found) == 1, found
    assert said in found[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("interval_sec: -1", "a.yaml:10: targets[0].interval_sec: got -1; Input should be greater than or equal to 0"),
        ("jitter_sec: 1.5", "a.yaml:10: targets[0].jitter_sec: got 1.5; write a whole number"),
        ("interval_sec: 99999999999", "a.yaml:10: targets[0].interval_sec: got 99999999999; "),
        ("cadence_days: 0", "a.yaml:10: targets[0].cadence_days: got 0; "),
        ("track_checkpoint: 1", "a.yaml:10: targets[0].track_checkpoint: got 1; write true or false"),
        ("cron: daily", "a.yaml:10: targets[0].cron: got 'daily'; 'daily' has 1 fields; "),
        (
            "sample_article_url: ftp://x.example/a",
            "a.yaml:10: targets[0].sample_article_url: got 'ftp://x.example/a'; no http(s) URL; ",
        ),
        ("sample_article_url: /edu/t1.html", "no http(s) URL; write a whole address such as https://"),
        ("sample_article_url: http://u:p@x.example/", "secrets do not belong here, remove them"),
        ("sample_article_url: http://x.example:99999/", "no URL (Port out of range 0-65535)"),
        (f"sample_article_url: http://x.example/{'a' * 1000}", "1017 characters, at most 1000 fit; shorten it"),
        (f"category: {'类' * 101}", "101 characters, at most 100 fit; shorten it"),
        (
            "params: {pager: {form: one_based}}",
            "a.yaml:10: targets[0].params.pager.PagerOverride.page_url: adapter trs_wcm: required; add it",
        ),
        ("chanel_name: x", "a.yaml:10: targets[0].chanel_name: unknown key; did you mean channel_name?"),
    ],
)
def test_a_wrong_target_value_is_named_with_its_line_and_remedy(faults: Faults, line: str, said: str) -> None:
    found = faults(a=with_target_line(line))
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("adapter: trs_wcm\n", "", "a.yaml:1: neither adapter nor rules; give exactly one of them"),
        ("trs_wcm", "trs", "a.yaml:3: adapter: unknown adapter 'trs'; known adapters: gkmlpt, "),
        ("site_code: qingfu\n", "", "a.yaml:1: site_code: required; add it"),
        ("site_code: qingfu\n", "site_code: 清府\n", "a.yaml:1: site_code: got '清府'; codes are latin letters, digits"),
        (
            "    department: /edu/",
            "    department: /jyj/",
            "a.yaml:9: targets[0].department: '/jyj/' is not declared; add it under",
        ),
        (
            "  - path: /edu/\n",
            "  - path: /edu/\n  - path: /edu/\n",
            "a.yaml:6: departments[1].path: '/edu/' is already in line 5",
        ),
        ("path: /edu/\n", "path: /edu/\n    binding: mapped\n", "a.yaml:5: departments[0]: binding mapped needs the oa_id"),
        ("path: /edu/\n", "path: /edu/\n    binding: city_level\n    oa_id: 1\n", "binding city_level has no oa_id; remove it"),
        (
            "path: /edu/\n",
            "path: /edu/\n    binding: town\n",
            "a.yaml:6: departments[0].binding: got 'town'; not known; choose one of",
        ),
        (
            "    entry_url: http://www.qingfu.example/edu/index.html\n",
            "",
            "a.yaml:7: targets[0]: an enabled target needs entry_url",
        ),
        (
            "  - path: /edu/\n",
            "  path: /edu/\n",
            "a.yaml:4: departments: got {'path': '/edu/'}; write a list, one entry after each '- '",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(faults: Faults, old: str, new: str, said: str) -> None:
    text = SITE.replace(old, new)
    assert text != SITE
    found = faults(a=text)
    assert any(said in fault for fault in found), found


def test_rules_are_checked_by_the_selectors_adapter(faults: Faults) -> None:
    rules = SITE.replace("adapter: trs_wcm", "rules:\n  list: {row: 'li:::'}\n  pagr: {}")
    found = faults(a=rules)
    assert len(found) == 2, found
    assert found[0].startswith("a.yaml:4: rules.list.row")
    assert found[1].startswith("a.yaml:5: rules.pagr: adapter selectors: unknown key; did you mean pager?")
    assert faults(a=SITE.replace("adapter: trs_wcm", "rules: {list: {row: li}}")) == []


def test_parameters_of_the_site_and_of_the_target_are_checked_together(faults: Faults) -> None:
    text = SITE.replace("trs_wcm", "trs_wcm\nparams: {body_selector: div.a}") + "    params: {pager: none, body_selector: 7}\n"
    assert [fault.split(": got")[0] for fault in faults(a=text)] == [
        "a.yaml:11: targets[0].params.body_selector: adapter trs_wcm"
    ]


def test_all_faults_of_all_files_are_told_at_once(faults: Faults) -> None:
    found = faults(
        a=SITE.replace("trs_wcm", "nothing").replace("/edu/\n", "/edu/\n    oa_id: x\n", 1) + "    cron: never\n",
        b="site_code: [",
        c="site_code: qingfu\nadapter: trs_wcm\ntargets:\n  - {target_code: qingfu_edu, interval_sec: -5, enabled: false}\n",
    )
    assert {fault.split(": ")[0] + " " + fault.split(": ")[1] for fault in found} >= {
        "a.yaml:3 adapter",
        "a.yaml:6 departments[0].oa_id",
        "a.yaml:11 targets[0].cron",
        "c.yaml:1 site_code",
        "c.yaml:4 targets[0].target_code",
        "c.yaml:4 targets[0].interval_sec",
    }
    assert any(fault.startswith("b.yaml:1: not valid YAML: ") for fault in found)


def test_a_code_that_another_file_has_is_named_with_both_places(faults: Faults) -> None:
    found = faults(a=SITE, b=SITE.replace("site_code: qingfu", "site_code: other"))
    assert found == ["b.yaml:7: targets[0].target_code: 'qingfu_edu' is already in a.yaml:7; choose another"]


def test_a_missing_or_empty_folder_and_a_misnamed_file_are_told(tmp_path: Path) -> None:
    assert "set SITES_DIR" in str(read_folder(tmp_path / "none")[1][0])
    assert "no *.yaml file here" in str(read_folder(tmp_path)[1][0])
    (tmp_path / "a.yml").write_text(SITE, encoding="utf-8")
    assert "only *.yaml is read; rename the file" in str(read_folder(tmp_path)[1][0])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (b"a: 1\nb: !!python/object/apply:os.system ['true']\n", 2, "tags are not read"),
        (b"a: !x 1\n", 1, "tags are not read"),
        (b"a: &x [1]\nb: *x\n", 2, "aliases are not read"),
        (b"a: 1\nb: 2\na: 3\n", 3, "the key 'a' is here twice, first in line 1"),
        (b"x:\n  - {k: 1,\n     k: 2}\n", 3, "the key 'k' is here twice, first in line 2"),
        (b"a: 1\n---\nb: 2\n", 2, "one file describes one site"),
        (b"a: [1\nb: 2\n", 2, "not valid YAML"),
        (b"a:\n\t- 1\n", 2, "not valid YAML"),
        (b"a: 1\nb: \xb9\xfa\n", 2, "byte 0xb9 is not UTF-8"),
        (b"a: 1\nb: x\x01\n", 2, "control character U+0001"),
        (b'a: "\\ud800"\n', 1, "U+D800, which is no character"),
        (b'a: "x\\0"\n', 1, "U+0000, which is no character"),
        (b"a: 1.0e+999\n", 1, "too large"),
        (b"? [a, b]\n: 1\n", 1, "a key must be a word"),
        (b"", 1, "the file is empty"),
        (b"# only a comment\n", 1, "the file is empty"),
        (b"a: " + b"[" * 100_000, 1, "nested deeper than 32 levels"),
        (b"#" * (MAX_BYTES + 1), 1, "at most 1,048,576 are read"),
    ],
)
def test_dangerous_or_broken_yaml_is_refused_with_its_line(text: bytes, line: int, said: str) -> None:
    with pytest.raises(UnreadableYaml) as caught:
        read(text)
    assert said in caught.value.reason
    assert caught.value.line == line


def test_an_alias_bomb_is_refused_before_anything_grows() -> None:
    levels = [b"a0: &a0 [x, x, x, x, x, x, x, x, x]\n"]
    levels += [b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 9)]
    with pytest.raises(UnreadableYaml, match="aliases are not read"):
        read(b"".join(levels))


def test_scalars_are_what_people_mean() -> None:
    text = "on: on\nno: no\nt: 22:30\nday: 2024-01-01\nid: 007\nhex: 0x10\nn: 12\nf: 1.5\nb: true\nz: ~\ne:\nq: '12'\n"
    assert read(text.encode()).value == {
        "on": "on",
        "no": "no",
        "t": "22:30",
        "day": "2024-01-01",
        "id": "007",
        "hex": "0x10",
        "n": 12,
        "f": 1.5,
        "b": True,
        "z": None,
        "e": None,
        "q": "12",
    }


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert read(b"\xef\xbb\xbfa: 1\n").value == {"a": 1}
