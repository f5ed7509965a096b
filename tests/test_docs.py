"""README in both languages, CHANGELOG and .env.example against the code: nothing undocumented, nothing that does not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import resolve

from sources import adapters
from sources.site_reading import read_folder

ROOT = Path(__file__).resolve().parent.parent
ENGLISH, CHINESE = "README.md", "README.zh-CN.md"
READMES = (ENGLISH, CHINESE)
DOCUMENTS = (*READMES, "CHANGELOG.md", "CONTRIBUTING.md")
OUR_APPS = {"crawl", "articles", "sources", "departments", "govcrawler.access", "govcrawler.audit"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
SETTING = re.compile(r"[A-Z][A-Z_]+")
NO_DEFAULT = {"", "(none)", "(empty)", "(found)", "（无）", "（空）", "（自动查找）"}
SETTINGS_TABLE = {ENGLISH: "setting", CHINESE: "设置"}
VARIABLES_TABLE = {ENGLISH: "variable", CHINESE: "变量"}
TARGETS_TABLE = {ENGLISH: "target", CHINESE: "目标"}
ADAPTERS_TABLE = {ENGLISH: "adapter", CHINESE: "适配器"}
CALLS_TABLE = {ENGLISH: "call", CHINESE: "调用"}

each_readme = pytest.mark.parametrize("name", READMES)
each_document = pytest.mark.parametrize("name", DOCUMENTS)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[tuple[str, list[str]]]:
    """Language and lines of each fenced block, comments left out: those are translated."""
    found = []
    for language, body in FENCE.findall(text_of(name)):
        lines = [re.sub(r"(^|\s)# .*$", "", line).rstrip() for line in body.splitlines()]
        found.append((language, [line for line in lines if line]))
    return found


def prose(name: str) -> str:
    return FENCE.sub("", text_of(name))


def tables(name: str) -> list[list[list[str]]]:
    """The tables of a document: rows of cells, the header first, the rule below it left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in prose(name).splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not inside:
            found.append([])
        inside = True
        if not set("".join(cells)) <= set("-: "):
            found[-1].append(cells)
    return found


def rows_below(name: str, header: dict[str, str]) -> list[list[str]]:
    (table,) = [table for table in tables(name) if table[0][0] == header[name]]
    return table[1:]


def shell_lines(name: str) -> Iterator[str]:
    """Commands that a reader may type: the lines of shell blocks, and what stands in code spans."""
    for language, lines in blocks(name):
        if language == "sh":
            yield from lines
    yield from SPAN.findall(prose(name))


def read_settings() -> dict[str, str | None]:
    """Every setting that the code reads, with its default as it is written in a .env; None when the default is computed."""
    found: dict[str, str | None] = {}
    for module in ("settings.py", "environment.py"):
        for node in ast.walk(ast.parse(text_of(f"govcrawler/{module}"))):
            if isinstance(node, ast.Call) and (name := setting_name(node)):
                found[name] = written_default(node)
    return found


def setting_name(call: ast.Call) -> str | None:
    """NAME of ``env.str("NAME", ...)`` and ``positive(env, "NAME", ...)``."""
    method = call.func
    if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id == "env":
        arguments = call.args[:1]
    elif isinstance(method, ast.Name) and method.id == "positive":
        arguments = call.args[1:2]
    else:
        return None
    values = [node.value for node in arguments if isinstance(node, ast.Constant)]
    return values[0] if values and isinstance(values[0], str) and SETTING.fullmatch(values[0]) else None


def written_default(call: ast.Call) -> str | None:
    given = [word.value for word in call.keywords if word.arg == "default"] or call.args[2:3]
    try:
        value = ast.literal_eval(given[0])
    except (ValueError, IndexError):
        return None
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, list) else str(value)


def example_settings() -> dict[str, str]:
    return dict(re.findall(r"^#([A-Z_]+)=(.*)$", text_of(".env.example"), re.MULTILINE))


def documented(name: str, header: dict[str, str]) -> dict[str, str]:
    """Name -> default of a table, without the back quotes."""
    return {row[0].strip("`"): row[1] for row in rows_below(name, header)}


def plain_default(cell: str) -> str:
    return "" if cell in NO_DEFAULT else cell.strip("`")


def our_commands() -> set[str]:
    return {name for name, app in get_commands().items() if app in OUR_APPS}


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.MULTILINE))


def test_the_code_reads_settings_that_this_test_finds() -> None:
    found = read_settings()
    assert {"SECRET_KEY", "DATABASE_URL", "HTTPS", "CRAWL_INTERVAL_SEC", "LOG_LEVEL"} <= set(found)
    assert found["CRAWL_INTERVAL_SEC"] == "3" and found["DEBUG"] == "0" and found["HTTPS"] is None


@each_readme
def test_every_setting_is_in_the_readme_and_no_other(name: str) -> None:
    assert set(documented(name, SETTINGS_TABLE)) == set(read_settings())


@each_readme
def test_defaults_in_the_readme_are_those_of_the_code(name: str) -> None:
    told = documented(name, SETTINGS_TABLE)
    wrong = {
        key: (told[key], value)
        for key, value in read_settings().items()
        if value is not None and plain_default(told[key]) != value
    }
    assert wrong == {}


def test_every_setting_is_in_the_example_file_and_no_other() -> None:
    assert set(example_settings()) == set(read_settings())


def test_defaults_in_the_example_file_are_those_of_the_code() -> None:
    example = example_settings()
    wrong = {key: (example[key], value) for key, value in read_settings().items() if value not in (None, example[key])}
    assert wrong == {}


def test_each_setting_in_the_example_file_has_one_line_that_explains_it() -> None:
    blocks_of_file = [block.splitlines() for block in text_of(".env.example").strip().split("\n\n")[1:]]
    assert [len(block) for block in blocks_of_file] == [2] * len(example_settings())
    assert all(comment.startswith("# ") and setting.startswith("#") for comment, setting in blocks_of_file)


@each_readme
def test_variables_of_make_and_the_tests_are_read_somewhere(name: str) -> None:
    scripts = [
        *(ROOT / "deploy" / "setup").iterdir(),
        ROOT / "Makefile",
        ROOT / "tests" / "run.py",
        ROOT / "tests" / "parts.py",
    ]
    code = "\n".join(path.read_text(encoding="utf-8") for path in scripts if path.is_file())
    assert [key for key in documented(name, VARIABLES_TABLE) if not re.search(rf"\b{key}\b", code)] == []


@each_readme
def test_every_management_command_of_ours_is_documented(name: str) -> None:
    told = set(re.findall(r"manage\.py ([a-z_]+)", text_of(name)))
    assert our_commands() - told == set()


@each_document
def test_documented_management_commands_and_their_options_exist(name: str) -> None:
    known = get_commands()
    for line in shell_lines(name):
        for command, rest in re.findall(r"manage\.py ([a-z_]+)([^`|;)]*)", line):
            assert command in known, f"{name}: manage.py {command}"
            app = known[command]
            options = load_command_class(app, command).create_parser("manage.py", command)._option_string_actions
            unknown = [option for option in re.findall(r"(?<=\s)--[a-z-]+", rest) if option not in options]
            assert unknown == [], f"{name}: {line}"


@each_readme
def test_options_of_our_commands_are_named_where_the_command_is_described(name: str) -> None:
    text = text_of(name)
    expected = {
        "sync_sites": {"--dry-run", "--prune"},
        "export_sites": {"--output"},
        "import_departments": {"--dry-run", "--ignore"},
        "backfill_dept_region": {"--dry-run", "--force"},
        "crawl": {"--dry-run", "--force", "--max-pages"},
        "enqueue": {"--all", "--force"},
        "jobs": {"--watch", "--status"},
        "create_api_key": {"--scope", "--consumer", "--per-minute", "--per-day", "--days"},
    }
    for command, options in expected.items():
        parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
        assert options <= set(parser._option_string_actions), command
        assert [option for option in options if option not in text] == [], command


@each_readme
def test_the_table_of_make_targets_is_complete(name: str) -> None:
    told = [row[0].strip("`") for row in rows_below(name, TARGETS_TABLE)]
    assert sorted(told) == sorted(f"make {target}" for target in make_targets())


@each_document
def test_documented_make_targets_exist(name: str) -> None:
    told = {target for line in shell_lines(name) for target in re.findall(r"^make ([a-z-]+)", line)}
    assert told - make_targets() == set()


@each_readme
def test_options_of_the_demo_exist(name: str) -> None:
    script = text_of("deploy/demo/run.py")
    options = {
        option for line in shell_lines(name) if line.startswith("make demo ") for option in re.findall(r"--[a-z-]+", line)
    }
    assert {"--once", "--fresh"} <= options
    assert [option for option in options if f'"{option}"' not in script] == []


@each_readme
def test_the_adapters_and_all_their_parameters_are_named(name: str) -> None:
    rows = {row[0].strip("`"): row for row in rows_below(name, ADAPTERS_TABLE)}
    assert set(rows) == set(adapters.adapter_ids())
    for adapter_id, row in rows.items():
        named = set(SPAN.findall(row[2]))
        assert set(adapters.get(adapter_id).Params.model_fields) - named == set(), adapter_id


@each_readme
def test_documented_calls_of_the_api_exist(name: str) -> None:
    calls = [row[0].strip("`").split() for row in rows_below(name, CALLS_TABLE)]
    for method, path in calls:
        found = resolve("/api/v1/" + path.replace("{id}", "1"))
        assert found.url_name != "no-such-call", path
        assert hasattr(found.func.view_class, method.lower()), f"{method} {path}"  # type: ignore[attr-defined]
    for address in re.findall(r"(?:\$API/|/api/v1/)([a-z][a-z0-9/]*/)", text_of(name)):
        assert resolve(f"/api/v1/{address}").url_name != "no-such-call", address


def test_every_call_of_the_api_is_documented() -> None:
    from articles.api import urls as articles_urls
    from crawl.api import urls as crawl_urls

    told = {row[0].strip("`").split()[1] for row in rows_below(ENGLISH, CALLS_TABLE)}
    patterns = [str(entry.pattern) for entry in (*articles_urls.urlpatterns, *crawl_urls.urlpatterns) if str(entry.pattern)]
    assert {re.sub(r"<\w+:\w+>", "{id}", pattern) for pattern in patterns} == told


@each_readme
def test_pages_and_probes_named_in_the_readme_answer(name: str) -> None:
    for address in re.findall(r"`(/(?:api|admin|healthz|readyz)[a-z/]*)`", text_of(name)):
        assert resolve(address), address


@each_readme
def test_the_site_file_in_the_readme_is_one_that_sync_reads(name: str, tmp_path: Path) -> None:
    (body,) = [body for language, body in FENCE.findall(text_of(name)) if language == "yaml"]
    (tmp_path / "example.yaml").write_text(body, encoding="utf-8")
    files, faults = read_folder(tmp_path)
    assert faults == []
    assert files[0].site is not None and files[0].site.targets[0].enabled


@each_readme
def test_the_headers_of_department_lists_are_understood(name: str) -> None:
    from departments.importing import FIELDS, HEADERS, normal

    rows = next(table for table in tables(name) if table[1][0] == "`dept_id`")[1:]
    assert {row[0].strip("`") for row in rows} == set(HEADERS)
    for row in rows:
        field = row[0].strip("`")
        words = re.split(r"[,、]\s*", re.sub(r"[(（].*?[)）]", "", row[1]))
        assert [word for word in words if FIELDS.get(normal(word)) != field] == [], field


@each_document
def test_files_and_links_named_in_the_documents_exist(name: str) -> None:
    folders = "deploy|tests|sources|crawl|articles|departments|govcrawler|templates"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", prose(name)) + re.findall(r"\]\((?!https?:|#)([^)#]+)", prose(name))
    placeholder = re.compile(r"/[A-Z]+[/.]")  # tests/adapters/NAME/CASE/
    assert [path for path in named if not placeholder.search(path) and not (ROOT / path).exists()] == []


@each_readme
def test_links_within_the_readme_lead_to_a_heading(name: str) -> None:
    headings = {line.lstrip("# ").lower().replace(" ", "-") for line in prose(name).splitlines() if line.startswith("#")}
    assert [link for link in re.findall(r"\]\(#([^)]+)\)", prose(name)) if link not in headings] == []


def test_both_readmes_have_the_same_headings() -> None:
    levels = [[len(line.split(" ")[0]) for line in prose(name).splitlines() if re.match(r"#+ ", line)] for name in READMES]
    assert levels[0] == levels[1]


def test_both_readmes_show_the_same_commands_and_examples() -> None:
    assert blocks(ENGLISH) == blocks(CHINESE)


def test_both_readmes_have_the_same_tables() -> None:
    shapes = [[(len(table), len(table[0])) for table in tables(name)] for name in READMES]
    assert shapes[0] == shapes[1]
    codes = [[SPAN.findall(row[0]) for table in tables(name) for row in table[1:]] for name in READMES]
    assert codes[0] == codes[1]


def test_both_readmes_name_the_same_settings_commands_and_files() -> None:
    spans = [set(SPAN.findall(prose(name))) for name in READMES]
    assert spans[0] ^ spans[1] == set()


def test_the_changelog_has_an_entry_for_the_version_of_the_project() -> None:
    version = re.search(r'^version = "([^"]+)"', text_of("pyproject.toml"), re.MULTILINE)
    assert version and re.search(rf"^## \[{re.escape(version[1])}\]", text_of("CHANGELOG.md"), re.MULTILINE)
