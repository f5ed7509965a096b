"""What ``make bench`` refuses, how it judges ratios, and that every benchmark runs to its table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.bench import run
from deploy.bench.figures import Goal, Judgement, Report, judge

ROOT = Path(__file__).resolve().parents[2]
LEAST = Goal("articles/s, program / other", "at least", 2.0)
MOST = Goal("time, late / early", "at most", 1.3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["crowl"], "'crowl': there are crawl, save, feed"),
        (["--rounds", "0"], "argument --rounds: '0': give a whole number from 1"),
        (["--rounds", "many"], "argument --rounds: 'many': give a whole number from 1"),
        (["--scale", "0"], "argument --scale: '0': give a number above 0, at most 1"),
        (["--scale", "2"], "argument --scale: '2': give a number above 0, at most 1"),
        (["--scale", "nan"], "argument --scale: 'nan': give a number above 0, at most 1"),
        (["--database", "sqlite:///x"], "argument --database: 'sqlite:///x': give mysql://USER:PASSWORD@HOST:PORT"),
        (["--database", "mysql:///x"], "argument --database: 'mysql:///x': give mysql://USER:PASSWORD@HOST:PORT"),
        (["--database", "mysql://u@h:port"], "argument --database: 'mysql://u@h:port': give mysql://USER:PASSWORD@HOST:PORT"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_value_and_the_remedy(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("goal", "ratios", "met"),
    [
        (LEAST, [2.0], True),
        (LEAST, [1.99], False),
        (LEAST, [0.1, 2.5, 2.6], True),
        (LEAST, [1.0, 1.1, 9.0], False),
        (MOST, [1.3], True),
        (MOST, [1.31], False),
        (MOST, [1.0, 1.2, 9.0], True),
        (MOST, [1.0, 1.5, 1.6], False),
    ],
)
def test_the_median_of_the_rounds_decides_whether_a_goal_is_met(goal: Goal, ratios: list[float], met: bool) -> None:
    assert Judgement(goal, ratios).met is met


def test_ratios_are_taken_within_each_round() -> None:
    assert judge(MOST, [2.0, 30.0], [1.0, 10.0]).ratios == [2.0, 3.0]


@pytest.mark.parametrize(("measured", "against"), [([], []), ([1.0], [1.0, 2.0])])
def test_rounds_that_are_missing_are_no_result(measured: list[float], against: list[float]) -> None:
    with pytest.raises(ValueError, match="each round needs both figures"):
        judge(MOST, measured, against)


def test_a_report_shows_medians_with_their_range_and_the_goal_that_was_missed() -> None:
    report = Report("save: 10 articles", ["articles/s"], [("program", [[1.0, 2.0, 1234.0]])], [judge(LEAST, [3.0], [2.0])])
    assert not report.met
    lines = report.text().splitlines()
    assert lines[0] == "save: 10 articles"
    assert lines[2].split() == ["program", "2", "(1-1,234)"]
    assert lines[-1].endswith("at least 2   MISSED")


def test_one_missed_goal_is_enough_to_miss() -> None:
    assert Report("", [], [], [judge(LEAST, [4.0], [2.0]), judge(MOST, [1.0], [1.0])]).met
    assert not Report("", [], [], [judge(LEAST, [4.0], [2.0]), judge(MOST, [2.0], [1.0])]).met


@pytest.mark.parametrize("name", ["crawl", "save", "feed"])
def test_a_small_run_prints_its_table_and_leaves_nothing_behind(name: str) -> None:
    before = set((ROOT / ".bench").glob("*"))
    command = [sys.executable, "deploy/bench/run.py", name, "--rounds", "1", "--scale", "0.01"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.startswith(f"{name}: ")
    assert "goal" in done.stdout
    assert ("MISSED" in done.stdout) == (done.returncode == 1)
    assert set((ROOT / ".bench").glob("*")) <= before
