"""The demo site: the same bytes each time, and a manifest that agrees with what is really served."""

from __future__ import annotations

import ast
import hashlib
import html
import http.client
import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from deploy.demo.generate import generate
from deploy.demo.serve import DemoSite

ROOT = Path(__file__).resolve().parents[2]
BASES = ("http://127.0.0.1:18101", "http://127.0.0.1:18102", "http://127.0.0.1:18103")


@pytest.fixture(scope="module")
def site() -> Iterator[DemoSite]:
    with DemoSite() as running:
        yield running


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


def fetch(url: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, headers=headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def target(site: DemoSite, code: str) -> dict[str, Any]:
    return next(target for target in site.manifest["targets"] if target["code"] == code)


def articles(site: DemoSite) -> list[dict[str, Any]]:
    every = [article for entry in site.manifest["targets"] for article in entry["articles"]]
    return list({article["url"]: article for article in every}.values())


def listed(site: DemoSite, code: str) -> set[str]:
    """URLs without fragments that the manifest knows for the rows of a target."""
    entry = target(site, code)
    urls = {article["moved_from"] or article["url"] for article in entry["articles"]}
    return urls | {row["url"] for row in entry["skipped"]} | set(entry["refused"]) | set(entry["failed"])


def hrefs(page: str, base: str) -> set[str]:
    found = re.findall(r'<li>.*?href="([^"+]+)"|<td><a href="([^"]+)"|var url = "([^"]+)"', page)
    return {urljoin(base, html.unescape(next(filter(None, groups)))).partition("#")[0] for groups in found}


def visible(page: str) -> str:
    """All text of a page without markup and white space: enough to find a line in it, no rule of a body."""
    return "".join(html.unescape(re.sub(r"<[^>]*>", "", page)).split())


def test_two_generations_are_equal_to_the_byte() -> None:
    first, second = generate(BASES), generate(BASES)
    assert first.resources == second.resources
    assert json.dumps(first.manifest) == json.dumps(second.manifest)


def test_generation_in_another_process_with_another_hash_seed_is_equal() -> None:
    script = (
        "import hashlib, sys; sys.path.insert(0, '.'); from deploy.demo.generate import generate;"
        f"s = generate({BASES!r}); h = hashlib.sha256();"
        "[h.update(repr((k, v.body)).encode()) for k, v in s.resources.items()]; print(h.hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_the_generator_imports_the_standard_library_and_itself_only() -> None:
    for path in (ROOT / "deploy" / "demo").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        others = {name for name in names if not name.startswith("deploy.demo")}
        assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names, path.name


def test_the_site_is_as_large_and_varied_as_the_demo_promises(site: DemoSite) -> None:
    manifest = site.manifest
    totals = manifest["totals"]
    assert totals["articles"] >= 120
    assert totals["articles"] == len(articles(site))
    assert totals["attachment_urls"] >= 30
    assert totals["attachments_by_ext"]["pdf"] >= 10
    assert totals["attachments_by_ext"]["docx"] >= 10
    assert len({entry["department"] for entry in manifest["targets"]}) >= 3
    adapters = Counter(entry["adapter"] for entry in manifest["targets"])
    assert adapters["trs_wcm"] >= 4
    assert adapters["gkmlpt"] >= 2
    assert adapters["selectors"] == 1
    pagers = {entry["pager"] for entry in manifest["targets"]}
    assert {"zero_based", "six_one_based", "count_page", "total_data", "three_numbers", "create_page"} <= pagers
    templates = {article["template"] for article in articles(site)}
    assert {"table", "dl", "meta", "li"} <= templates
    assert {"gk_full", "gk_detail_only", "gk_pdf_only"} <= templates


def test_counts_of_each_target_agree_with_its_lists(site: DemoSite) -> None:
    for entry in site.manifest["targets"]:
        counts = entry["counts"]
        for key in ("articles", "skipped", "refused", "failed"):
            assert counts[key] == len(entry[key]), entry["code"]
        found = counts["articles"] + counts["skipped"] + counts["refused"] + counts["failed"]
        assert counts["rows"] == found + counts["repeated_rows"], entry["code"]


def test_native_ids_are_unique_on_each_host_and_titles_everywhere(site: DemoSite) -> None:
    ids = [(article["url"].split("/")[2], article["native_id"]) for article in articles(site) if article["native_id"]]
    titles = [article["title"] for article in articles(site)]
    assert len(set(ids)) == len(ids)
    assert len(set(titles)) == len(titles)


def test_every_article_is_served_and_holds_the_lines_of_the_manifest(site: DemoSite) -> None:
    for article in articles(site):
        answer = fetch(article["url"])
        assert answer.status == 200, article["url"]
        if article["template"] == "file":
            assert answer.body.startswith(b"%PDF-")
            continue
        page = answer.body.decode("gb18030" if article["template"] == "li" else "utf-8")
        if article["template"] == "gk_detail_only":
            detail, _ = json.JSONDecoder().raw_decode(page, page.index("DETAIL: ") + len("DETAIL: "))
            page = detail["content"] + html.escape(detail["title"])
        shown = visible(re.sub(r"</t[dh]>", "|", page))
        for line in article["body_text"].split("\n"):
            assert "".join(line.split()) in shown, (article["url"], line)
        assert "".join(article["title"].split()) in shown, article["url"]


def test_the_body_hash_is_of_the_body_text_and_the_text_is_normalised(site: DemoSite) -> None:
    for article in articles(site):
        text = article["body_text"]
        assert article["body_sha256"] == hashlib.sha256(text.encode()).hexdigest()
        lines = text.split("\n") if text else []
        assert [article["body_first"], article["body_last"]] == ([lines[0], lines[-1]] if lines else ["", ""])
        for line in lines:
            assert line == " ".join(line.split()) != "", article["url"]
        for noise in ("扫一扫", "打印本页", "主办单位", "margin-top", "字体：大", "索引号"):
            assert noise not in text, article["url"]
        assert article["title"] not in lines, article["url"]


def test_every_attachment_is_served_with_its_hash_size_and_type(site: DemoSite) -> None:
    types = {"pdf": "application/pdf", "docx": "wordprocessingml", "xlsx": "spreadsheetml"}
    for article in articles(site):
        for file in article["attachments"]:
            answer = fetch(file["url"])
            assert answer.status == 200, file["url"]
            assert hashlib.sha256(answer.body).hexdigest() == file["sha256"]
            assert len(answer.body) == file["size"]
            assert types[file["ext"]] in answer.headers["Content-Type"]


def test_office_files_are_archives_that_hold_their_name(site: DemoSite) -> None:
    parts = {"docx": "word/document.xml", "xlsx": "xl/worksheets/sheet1.xml"}
    seen = set()
    for article in articles(site):
        for file in article["attachments"]:
            if file["ext"] in parts:
                archive = zipfile.ZipFile(io.BytesIO(fetch(file["url"]).body))
                assert archive.testzip() is None
                assert file["name"].rpartition(".")[0] in html.unescape(archive.read(parts[file["ext"]]).decode())
                seen.add(file["ext"])
    assert seen == set(parts)


def test_pdf_offsets_are_exact_and_the_text_is_in_the_page(site: DemoSite) -> None:
    file = next(file for article in articles(site) for file in article["attachments"] if file["ext"] == "pdf")
    data = fetch(file["url"]).body
    start = int(data.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
    assert data[start:].startswith(b"xref\n0 9\n")
    entries = re.findall(rb"(\d{10}) 00000 n", data[start:])
    assert len(entries) == 8
    for number, offset in enumerate(entries, 1):
        assert data[int(offset) :].startswith(f"{number} 0 obj".encode())
    assert file["name"].encode("utf-16-be").hex().encode() in data


PAGES = {
    "edu-zcwj": ["index.html", "index_1.html", "index_2.html"],
    "edu-tzgg": ["list_zw_wj.shtml", "list_zw_wj_2.shtml", "list_zw_wj_3.shtml"],
    "edu-zsks": ["index.html"],
    "wsj-gzdt": ["index.shtml", "index_8597_1.shtml", "index_8597_2.shtml"],
    "wsj-gsgg": ["index_pc_1.html", "index_pc_2.html", "index_pc_3.html"],
    "wsj-lsgb": ["index.htm", "index_1.htm"],
    "fgw-zcfb": ["index.shtml", "index_1.shtml"],
    "fgw-jdhy": ["index.html", "index_1.html"],
    "fgw-xmgs": ["list_1.html", "list_2.html", "list_3.html"],
}


@pytest.mark.parametrize("code", PAGES)
def test_the_pages_of_a_column_link_exactly_what_the_manifest_says(site: DemoSite, code: str) -> None:
    entry = target(site, code)
    encoding = "gb18030" if code == "wsj-lsgb" else "utf-8"
    assert entry["entry_url"].endswith("/" + PAGES[code][0])
    found: set[str] = set()
    for name in PAGES[code]:
        url = urljoin(entry["entry_url"], name)
        answer = fetch(url)
        assert answer.status == 200, url
        found |= hrefs(answer.body.decode(encoding), url)
    assert found == listed(site, code)


@pytest.mark.parametrize(
    ("code", "name", "call"),
    [
        ("edu-zcwj", "index_1.html", 'createPageHTML(3, 1, "index", "html");'),
        ("edu-tzgg", "list_zw_wj_2.shtml", "createPageHTML('page_div',3, 2,'list_zw_wj','shtml',15);"),
        ("wsj-gzdt", "index.shtml", "var countPage = 3; var currentPage = 0;"),
        ("wsj-gsgg", "index_pc_1.html", 'totalData: 12, showData: 5, coping: true, pageName: "index_pc"'),
        ("wsj-lsgb", "index.htm", 'createPage(2, 0, "index", "htm");'),
        ("fgw-zcfb", "index.shtml", 'createPageHTML(2, 0, "index", "shtml");'),
        ("fgw-jdhy", "index.html", 'createPageHTML(11, 2, 0, "index", "html");'),
        ("fgw-xmgs", "list_1.html", '<a class="next" href="list_2.html">'),
    ],
)
def test_each_column_states_its_pages_in_its_own_form(site: DemoSite, code: str, name: str, call: str) -> None:
    page = fetch(urljoin(target(site, code)["entry_url"], name)).body.decode("gb18030" if code == "wsj-lsgb" else "utf-8")
    assert call in page


@pytest.mark.parametrize("code", ["edu-zcwj", "wsj-gzdt"])
def test_a_pinned_row_stands_first_on_each_page(site: DemoSite, code: str) -> None:
    entry = target(site, code)
    firsts = set()
    for name in PAGES[code]:
        url = urljoin(entry["entry_url"], name)
        rows = re.findall(r'<li>.*?href="([^"]+)"', fetch(url).text)
        firsts.add(urljoin(url, rows[0]))
    assert len(firsts) == 1
    assert firsts <= {article["url"] for article in entry["articles"]}


def test_index_1_of_the_one_based_column_is_page_one_again(site: DemoSite) -> None:
    entry = target(site, "edu-tzgg")["entry_url"]
    assert fetch(urljoin(entry, "list_zw_wj_1.shtml")).body == fetch(entry).body


def test_the_old_column_is_gb18030_declared_gb2312_without_a_header(site: DemoSite) -> None:
    entry = target(site, "wsj-lsgb")
    four_bytes = 0
    for url in [entry["entry_url"], *(article["url"] for article in entry["articles"])]:
        answer = fetch(url)
        assert answer.headers["Content-Type"] == "text/html"
        assert b"charset=gb2312" in answer.body
        with pytest.raises(UnicodeDecodeError):
            answer.body.decode("utf-8")
        answer.body.decode("gb18030")
        four_bytes += "㛃" in answer.body.decode("gb18030")
    hard = [article for article in entry["articles"] if "㛃" in article["title"] or "镕" in article["title"]]
    assert len(hard) == 2
    for article in hard:
        with pytest.raises(UnicodeDecodeError):
            fetch(article["url"]).body.decode("gb2312")
    with pytest.raises(UnicodeDecodeError):
        fetch(entry["entry_url"]).body.decode("gbk")
    assert four_bytes == 2


def test_one_article_has_moved_to_the_third_host(site: DemoSite) -> None:
    (moved,) = [article for article in articles(site) if article["moved_from"]]
    assert moved["url"].startswith(site.hosts[2])
    assert moved["moved_from"].startswith(site.hosts[0])
    page = fetch(moved["moved_from"]).text
    assert f'content="0;url={moved["url"]}"' in page
    assert f'window.location.href="{moved["url"]}"' in page
    assert any(file["url"].startswith(site.hosts[0]) for file in moved["attachments"])


def test_files_of_articles_lie_on_all_three_hosts(site: DemoSite) -> None:
    files = {file["url"] for article in articles(site) for file in article["attachments"]}
    assert {f"http://{urlsplit(url).netloc}" for url in files} == set(site.hosts)


def test_one_article_stands_in_two_columns_under_one_url(site: DemoSite) -> None:
    (shared,) = [article for article in articles(site) if len(article["listed_by"]) == 2]
    for code in shared["listed_by"]:
        assert shared["url"] in {article["url"] for article in target(site, code)["articles"]}


def test_rows_that_are_no_articles_are_told_with_their_reason(site: DemoSite) -> None:
    reasons = Counter(row["reason"] for entry in site.manifest["targets"] for row in entry["skipped"])
    assert reasons == {"foreign_host": 2, "external": 1, "hidden": 2}
    soft = [url for entry in site.manifest["targets"] for url in entry["failed"]]
    answer = fetch(soft[0])
    assert answer.status == 200
    assert "页面不存在" in answer.text
    assert len(soft) == 1
    assert len(answer.body) < 1000


def test_robots_txt_refuses_one_listed_row_and_no_article(site: DemoSite) -> None:
    robots = fetch(f"{site.hosts[0]}/robots.txt").text
    (path,) = re.findall(r"^Disallow: (.+)$", robots, re.M)
    refused = [url for entry in site.manifest["targets"] for url in entry["refused"]]
    assert len(refused) == 1
    assert urlsplit(refused[0]).path.startswith(path)
    every = [article["url"] for article in articles(site)] + [f["url"] for a in articles(site) for f in a["attachments"]]
    assert not [url for url in every if urlsplit(url).path.startswith(path)]


def test_crawl_delay_is_stated_unless_it_is_zero() -> None:
    for delay, line in ((0.2, b"Crawl-delay: 0.2\n"), (1.0, b"Crawl-delay: 1\n")):
        for host in "abc":
            assert line in generate(BASES, delay).resources[host, "/robots.txt"].body
    for host in "abc":
        assert b"Crawl-delay" not in generate(BASES, 0).resources[host, "/robots.txt"].body


def api(site: DemoSite, column: int, page: int, sid: str = "799001") -> dict[str, Any]:
    answer = fetch(f"{site.hosts[1]}/gkmlpt/api/all/{column}?page={page}&sid={sid}")
    assert answer.status == 200
    return json.loads(answer.body)  # type: ignore[no-any-return]


def test_the_catalogue_tree_has_a_jumping_node_whose_child_has_posts(site: DemoSite) -> None:
    page = fetch(target(site, "gk-6")["entry_url"]).text
    assert "SID: '799001'" in page
    tree, _ = json.JSONDecoder().raw_decode(page, page.index("TREE: ") + len("TREE: "))
    (jumping,) = [node for node in tree if node["jump_url"]]
    assert [child["id"] for child in jumping["children"]] == [32]
    with pytest.raises(json.JSONDecodeError):
        json.loads(page[page.index("_CONFIG = ") + len("_CONFIG = ") : page.index("};") + 1])


def test_the_list_api_pages_from_one_and_lists_fewer_than_the_tree_claims(site: DemoSite) -> None:
    first, second, third = (api(site, 6, page) for page in (1, 2, 3))
    assert api(site, 6, 0)["articles"] == first["articles"]
    assert len(first["articles"]) == 20
    assert second["offset"] == 20
    assert third["articles"] == []
    assert len(first["articles"]) + len(second["articles"]) == first["total"] < first["classify"]["post_count"]
    items = [*first["articles"], *second["articles"]]
    normal = {item["url"] for item in items if item["type"] == "normal"}
    assert normal == {article["url"] for article in target(site, "gk-6")["articles"]}
    (external,) = [item for item in items if item["type"] == "url"]
    assert [external["url"]] == [row["url"] for row in target(site, "gk-6")["skipped"]]
    assert {item["is_abolished"] for item in items} == {item["is_expired"] for item in items} == {0, 1}
    assert any(item["date"] == 0 for item in items if item["type"] == "normal")
    assert any(item["document_number"] == "" for item in items if item["type"] == "normal")
    assert api(site, 6, 1, sid="1")["articles"] == []


def test_api_items_and_the_manifest_state_the_same_facts(site: DemoSite) -> None:
    for code, column in (("gk-6", 6), ("gk-32", 32)):
        known = {article["native_id"]: article for article in target(site, code)["articles"]}
        for item in [*api(site, column, 1)["articles"], *api(site, column, 2)["articles"]]:
            if item["type"] == "url":
                continue
            article = known[str(item["id"])]
            published = datetime.fromtimestamp(item["create_time"], UTC)
            assert article["publish_time"] == published.isoformat()
            assert article["publish_date"] == (published + timedelta(hours=8)).date().isoformat()
            signed = (datetime.fromtimestamp(item["date"], UTC) + timedelta(hours=8)).date() if item["date"] else None
            assert article["signed_date"] == (signed.isoformat() if signed else None)
            assert (article["doc_no"], article["index_no"]) == (item["document_number"], item["identifier"])
            assert article["is_effective"] == (False if item["is_abolished"] or item["is_expired"] else None)


def test_some_times_fall_on_the_day_before_in_utc(site: DemoSite) -> None:
    timed = [article for article in articles(site) if article["publish_time"]]
    shifted = [a for a in timed if datetime.fromisoformat(a["publish_time"]).date() != date.fromisoformat(a["publish_date"])]
    assert 5 <= len(shifted) < len(timed) / 2


def test_validators_and_head_are_answered(site: DemoSite) -> None:
    url = target(site, "edu-zcwj")["entry_url"]
    full = fetch(url)
    again = fetch(url, headers={"If-None-Match": full.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    assert fetch(url, headers={"If-None-Match": '"other"'}).status == 200
    head = fetch(url, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(full.body))
    assert fetch(f"{site.hosts[0]}/no/such/page.html").status == 404


def test_the_access_log_tells_every_request_with_its_times() -> None:
    with DemoSite(crawl_delay=0) as site:
        fetch(f"{site.hosts[0]}/robots.txt")
        fetch(f"{site.hosts[1]}/gkmlpt/api/all/6?page=1&sid=799001", "HEAD")
        fetch(f"{site.hosts[2]}/nowhere", "POST")
        log = sorted(site.access_log, key=lambda entry: entry["start"])  # lines come in the order of the ends
    assert [(entry["method"], entry["path"], entry["status"]) for entry in log] == [
        ("GET", "/robots.txt", 200),
        ("HEAD", "/gkmlpt/api/all/6?page=1&sid=799001", 200),
        ("POST", "/nowhere", 501),
    ]
    assert [f"http://{entry['host']}" for entry in log] == site.hosts
    assert [entry["bytes"] for entry in log][:2] == [len(b"User-agent: *\nDisallow: /fgw/zwgk/nbgl/\n"), 0]
    assert all(entry["start"] <= entry["end"] for entry in log)


def ask_again(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/robots.txt")
    connection.getresponse()


def test_stopping_ends_kept_alive_connections_and_frees_the_ports() -> None:
    site = DemoSite()
    site.start()
    parts = urlsplit(site.hosts[0])
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request("GET", "/robots.txt")
    connection.getresponse().read()
    site.stop()
    site.stop()
    with pytest.raises((http.client.HTTPException, OSError)):
        ask_again(connection)
    connection.close()
    ports = [urlsplit(url).port or 0 for url in site.hosts]
    with DemoSite(ports) as again:
        assert again.hosts == site.hosts


def test_the_command_serves_until_it_is_terminated(tmp_path: Path) -> None:
    manifest, log = tmp_path / "manifest.json", tmp_path / "access.jsonl"
    arguments = ["--ports", "0,0,0", "--manifest", str(manifest), "--access-log", str(log)]
    command = [sys.executable, str(ROOT / "deploy" / "demo" / "serve.py"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        truth = json.loads(manifest.read_text(encoding="utf-8"))
        status = fetch(truth["targets"][0]["entry_url"]).status
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=20)
    assert ready == {"hosts": list(truth["hosts"].values()), "pid": process.pid}
    assert (status, code) == (200, 0)
    (entry,) = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert entry["path"] == urlsplit(truth["targets"][0]["entry_url"]).path


@pytest.mark.parametrize(("option", "value"), [("--ports", "1,2"), ("--ports", "a,b,c"), ("--crawl-delay", "-1")])
def test_bad_options_get_one_message_and_status_2(option: str, value: str) -> None:
    command = [sys.executable, str(ROOT / "deploy" / "demo" / "serve.py"), f"{option}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"argument {option}" in done.stderr
    assert repr(value) in done.stderr


def test_a_taken_port_is_named_and_nothing_stays_open(site: DemoSite) -> None:
    taken = urlsplit(site.hosts[0]).port
    command = [sys.executable, str(ROOT / "deploy" / "demo" / "serve.py"), "--ports", f"0,{taken},0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert str(taken) in done.stderr
    assert "Traceback" not in done.stderr
