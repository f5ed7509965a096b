"""How the two passes of ``make test`` become one verdict, and which browsers count as present."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import parts, run

LEFT_OUT = ["browser tests"]


@pytest.mark.parametrize(
    ("statuses", "missing", "ci", "status"),
    [
        ([0, 0], [], True, 0),
        ([0], LEFT_OUT, False, 0),
        ([0], LEFT_OUT, True, 1),
        ([1, 0], [], False, 1),
        ([0, 3], [], False, 3),
        ([0, 5], [], False, 0),
        ([5, 5], [], False, 5),
    ],
)
def test_a_failure_of_either_pass_or_a_gap_in_ci_fails_the_run(
    statuses: list[int], missing: list[str], ci: bool, status: int
) -> None:
    assert run.verdict(statuses, missing, ci) == status


def test_what_was_left_out_is_said_loudly(capsys: pytest.CaptureFixture[str]) -> None:
    run.report(LEFT_OUT, ci=True)
    said = capsys.readouterr().err
    assert "NOT TESTED HERE" in said
    assert "browser tests" in said
    assert "has failed" in said


def test_a_complete_run_says_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    run.report([], ci=True)
    assert capsys.readouterr().err == ""


def program(path: Path, text: str = "#!/bin/sh\nexec /opt/browser\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH, with no CHROMIUM set."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_browser_on_the_path_is_found(only_here: Path) -> None:
    browser = program(only_here / "chromium")
    assert parts.chromium() == browser


def test_the_script_that_stands_in_for_a_snap_counts_as_no_browser(only_here: Path) -> None:
    program(only_here / "chromium-browser", "#!/bin/sh\nif ! [ -x /snap/bin/chromium ]; then exit 1; fi\n")
    assert parts.chromium() is None


def test_a_link_to_the_snap_launcher_counts_as_no_browser(only_here: Path) -> None:
    (only_here / "chromium").symlink_to(program(only_here / "launcher" / "snap"))
    assert parts.chromium() is None


def test_the_browser_that_chromium_names_wins(only_here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(only_here / "chromium")
    named = program(only_here / "own" / "browser")
    monkeypatch.setenv("CHROMIUM", str(named))
    assert parts.chromium() == named


def test_a_named_browser_that_does_not_exist_is_an_error(only_here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ValueError, match="/nowhere/chromium"):
        parts.chromium()
