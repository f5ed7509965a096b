"""Medians, goals and tables: what the measured numbers come to. No measuring here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Goal:
    """What a ratio shall be. ``side``: the limit is the least or the most that is good enough."""

    name: str
    side: Literal["at least", "at most"]
    limit: float


@dataclass(frozen=True)
class Judgement:
    """A goal and the ratios of the rounds, each taken from two figures of the same round."""

    goal: Goal
    ratios: Sequence[float]

    @property
    def met(self) -> bool:
        """The median counts: one disturbed round decides nothing."""
        median = statistics.median(self.ratios)
        return median >= self.goal.limit if self.goal.side == "at least" else median <= self.goal.limit


@dataclass
class Report:
    """One benchmark: figures by row, in the units that ``columns`` names, and the judged ratios."""

    title: str
    columns: Sequence[str]
    rows: list[tuple[str, list[Sequence[float]]]] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    @property
    def met(self) -> bool:
        return all(judgement.met for judgement in self.judgements)

    def text(self) -> str:
        """Two tables: figures as median (least-most) over the rounds, then ratios with goal and verdict."""
        figures = [["", *self.columns], *([name, *map(spread, columns)] for name, columns in self.rows)]
        ratios = [["ratio of each round", "median (least-most)", "goal", ""]]
        for judgement in self.judgements:
            goal = judgement.goal
            verdict = "met" if judgement.met else "MISSED"
            ratios.append([goal.name, spread(judgement.ratios), f"{goal.side} {goal.limit:g}", verdict])
        return "\n".join([self.title, *aligned(figures), "", *aligned(ratios)])


def judge(goal: Goal, measured: Sequence[float], against: Sequence[float]) -> Judgement:
    """``measured`` divided by ``against``, round by round. Raises ValueError when rounds are missing."""
    if not measured or len(measured) != len(against):
        raise ValueError(f"{goal.name}: {len(measured)} rounds against {len(against)}; each round needs both figures")
    return Judgement(goal, [one / other for one, other in zip(measured, against, strict=True)])


def spread(values: Sequence[float]) -> str:
    """``median (least-most)``, three significant digits."""
    return f"{number(statistics.median(values))} ({number(min(values))}-{number(max(values))})"


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [f"  {line}".rstrip() for line in lines]
