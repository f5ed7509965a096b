"""The house check finds what it is there for, and lets the rest pass."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from deploy.setup import house_check

CATALOGUE = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=1; plural=0;\\n"

#: sources/models.py:12
msgid "Site"
msgstr "站点"

msgctxt "of a job"
msgid "State"
msgstr ""
"状"
"态"

msgid "%d article"
msgid_plural "%d articles"
msgstr[0] "%d 篇文章"

#, fuzzy
msgid "Guess"
msgstr "猜测"

msgid "Open"
msgstr ""
"""


@pytest.mark.parametrize("handler", ["except:", "except Exception:", "except (ValueError, BaseException):"])
def test_a_handler_that_swallows_everything_is_found(handler: str) -> None:
    code = f"try:\n    run()\n{handler}\n    pass\n"
    assert [finding.split(": ")[0] for finding in house_check.check_text(Path("a.py"), code)] == ["a.py:3"]


@pytest.mark.parametrize("handler", ["except ValueError:\n    pass", "except BaseException:\n    stop()\n    raise"])
def test_a_handler_that_names_its_errors_or_raises_again_passes(handler: str) -> None:
    assert list(house_check.check_text(Path("a.py"), f"try:\n    run()\n{handler}\n")) == []


def test_a_left_over_marker_is_found_with_its_line() -> None:
    marker = "TO" + "DO"
    findings = list(house_check.check_text(Path("a.sh"), f"first\n# {marker}: later\nMASTODON\n"))
    assert [finding.split(": ")[0] for finding in findings] == ["a.sh:2"]


def test_only_the_given_folders_and_dot_folders_may_stand_at_the_root() -> None:
    files = [Path("README.md"), Path(".ci/run"), Path("crawl/models.py"), Path("scripts/x.sh")]
    assert [finding.split(":")[0] for finding in house_check.root_folders(files)] == ["scripts/"]


def test_a_lock_file_that_names_a_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# compiled\n--index-url https://packages.example/simple\n")
    assert [finding.split(": ")[0] for finding in house_check.lock_files(tmp_path)] == ["requirements.txt:2"]


def test_files_git_ignores_are_nobody_s_business(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in (".gitignore", "kept.py", "ignored.log"):
        (tmp_path / name).write_text("*.log\n")
    assert house_check.own_files(tmp_path) == [Path(".gitignore"), Path("kept.py")]


def test_a_catalogue_is_read_as_the_compiler_reads_it() -> None:
    assert house_check.read_po(CATALOGUE) == {
        "Site": "站点",
        "of a job\x04State": "状态",
        ("%d article", 0): "%d 篇文章",
    }


def test_a_catalogue_that_was_never_compiled_is_found(tmp_path: Path) -> None:
    (tmp_path / "django.po").write_text(CATALOGUE)
    assert [finding.split(": ")[1].split(";")[0] for finding in house_check.catalogue(tmp_path, Path("django.po"))] == [
        "not compiled"
    ]
