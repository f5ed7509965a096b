"""The Chinese catalogue: compiled as it is written, and nothing that the code says is missing from it."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "govcrawler" / "locale" / "zh_Hans" / "LC_MESSAGES"
OURS = ("govcrawler", "departments", "sources", "articles", "crawl")
CALLS = {"_", "gettext", "gettext_lazy", "ngettext"}
TAG = re.compile(r"""{%\s*(?:translate|trans)\s+(?:"([^"]+)"|'([^']+)')""")
BLOCK = re.compile(r"{%\s*blocktranslate[^%]*%}(.*?){%\s*(?:plural|endblocktranslate)", re.DOTALL)
VARIABLE = re.compile(r"{{\s*(\w+)\s*}}")
PLACE = re.compile(r"%\(\w+\)[sd]|\{\w*(?::\w+)?\}")


def written() -> dict[str, str]:
    """msgid -> msgstr of the .po file, plurals by their singular."""
    found: dict[str, str] = {}
    for entry in (FOLDER / "django.po").read_text(encoding="utf-8").split("\n\n"):
        parts: dict[str, str] = {}
        name = ""
        for line in entry.splitlines():
            if match := re.match(r'(msgid|msgid_plural|msgstr(?:\[0\])?) (".*")$', line):
                name = match[1].removesuffix("[0]")
                parts[name] = ast.literal_eval(match[2])
            elif line.startswith('"'):
                parts[name] += ast.literal_eval(line)
        if parts:
            assert parts["msgid"] not in found, parts["msgid"]
            found[parts["msgid"]] = parts["msgstr"]
    return found


def said() -> Iterator[tuple[str, Path]]:
    """Every message in the code and the templates, with its file."""
    for folder in OURS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                    first = node.args[0] if node.args else None
                    if isinstance(first, ast.Constant) and isinstance(first.value, str):
                        yield first.value, path
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for match in TAG.finditer(text):
            yield match[1] or match[2], path
        for match in BLOCK.finditer(text):
            yield VARIABLE.sub(r"%(\1)s", match[1]), path


def test_the_compiled_catalogue_is_that_of_the_written_one() -> None:
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    kept = {key[0] if isinstance(key, tuple) else key: text for key, text in compiled.items()}
    assert kept == written()


def test_every_message_has_its_chinese() -> None:
    catalogue = written()
    missing = sorted({f"{path.relative_to(ROOT)}: {text}" for text, path in said() if not catalogue.get(text)})
    assert missing == []
    assert len(catalogue) > 500


@pytest.mark.parametrize("text", sorted(written()))
def test_placeholders_are_the_same_in_both_languages(text: str) -> None:
    if text:
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(written()[text]))
