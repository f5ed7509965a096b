"""Which region of 清远 a department belongs to, by the rules in ``regions.json``: names first, then the hierarchy.

1. The one county that the department's own name or full name names; else the city, when the name begins with it.
2. The level: a city's department belongs to the city.
3. The nearest ancestor that has a region or names one; but a county's or town's department never inherits the city.

What the rules do not decide stays empty: nothing is guessed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from departments.models import LocalDepartment
from govcrawler.audit.record import record
from govcrawler.logs import one_line

BATCH = 500
RULES_FILE = Path(__file__).with_name("regions.json")


@dataclass(frozen=True)
class County:
    region: str
    anywhere: tuple[str, ...]
    at_start: tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """``anywhere``: names that tell a county wherever they stand; ``at_start``: only at the start, after ``passed_over``."""

    counties: tuple[County, ...]
    city: str
    city_at_start: tuple[str, ...]
    city_levels: frozenset[int]
    county_levels: frozenset[int]
    passed_over: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rules:
        return cls(
            counties=tuple(County(c["region"], tuple(c["anywhere"]), tuple(c["at_start"])) for c in data["counties"]),
            city=data["city"]["region"],
            city_at_start=tuple(data["city"]["at_start"]),
            city_levels=frozenset(data["city"]["levels"]),
            county_levels=frozenset(data["county_levels"]),
            passed_over=tuple(data["passed_over"]),
        )


@dataclass(frozen=True)
class Backfill:
    """``found``: id -> (old, new) region of the departments that change; ``unresolved``: without a region, before and after."""

    found: Mapping[int, tuple[str | None, str]]
    unchanged: int
    unresolved: tuple[LocalDepartment, ...]

    def lines(self) -> Iterator[str]:
        for dept_id, (old, new) in self.found.items():
            yield f"~ {dept_id}: region {one_line(old) if old else '(empty)'} -> {new}"
        for department in self.unresolved:
            yield f"? {department.dept_id}: {one_line(department.dept_name or '(no name)')} has no region by the rules"
        for region, count in sorted(Counter(new for _, new in self.found.values()).items()):
            yield f"{region}: {count}"
        yield f"{len(self.found)} filled, {self.unchanged} unchanged, {len(self.unresolved)} unresolved"


def rules() -> Rules:
    return Rules.from_json(json.loads(RULES_FILE.read_text(encoding="utf-8")))


def by_name(department: LocalDepartment, rule: Rules) -> str | None:
    """The region that the department's name tells, else its full name."""
    for name in (department.dept_name, department.full_name):
        if name and (found := _named(name, rule)):
            return found
    return None


def _named(name: str, rule: Rules) -> str | None:
    """A county when exactly one is named; the city when the name begins with it and names no county; else None."""
    start = _without_prefix(name, rule.passed_over)
    told = {
        county.region
        for county in rule.counties
        if start.startswith(county.at_start) or any(form in name for form in county.anywhere)
    }
    if told:
        return told.pop() if len(told) == 1 else None
    return rule.city if name.startswith(rule.city_at_start) else None


def _without_prefix(name: str, passed_over: tuple[str, ...]) -> str:
    shorter = next((name.removeprefix(prefix) for prefix in passed_over if name.startswith(prefix)), name)
    return name if shorter == name else _without_prefix(shorter, passed_over)


def region_of(
    department: LocalDepartment, departments: Mapping[int, LocalDepartment], rule: Rules, *, trust_stored: bool
) -> str | None:
    """The region by all rules, None when they do not decide. ``trust_stored``: an ancestor's stored region beats its name."""
    own = by_name(department, rule)
    if own:
        return own
    if department.dept_level in rule.city_levels:
        return rule.city
    inherited = _inherited(department, departments, rule, trust_stored)
    return None if inherited == rule.city and department.dept_level in rule.county_levels else inherited


def _inherited(
    department: LocalDepartment, departments: Mapping[int, LocalDepartment], rule: Rules, trust_stored: bool
) -> str | None:
    seen = {department.dept_id}
    parent_id = department.parent_dept_id
    while parent_id is not None and parent_id in departments and parent_id not in seen:
        seen.add(parent_id)
        parent = departments[parent_id]
        named = by_name(parent, rule)
        found = (parent.region or named) if trust_stored else named
        if found:
            return found
        parent_id = parent.parent_dept_id
    return None


def backfill(*, force: bool = False, dry_run: bool = False) -> Backfill:
    """Fill empty regions; with ``force`` set every region that the rules decide. A region is never emptied."""
    rule = rules()
    with transaction.atomic():
        departments = LocalDepartment.objects.in_bulk()
        found: dict[int, tuple[str | None, str]] = {}
        unresolved = []
        for dept_id, department in sorted(departments.items()):
            if department.region and not force:
                continue
            region = region_of(department, departments, rule, trust_stored=not force)
            if region and region != department.region:
                found[dept_id] = (department.region or None, region)
            elif not region and not department.region:
                unresolved.append(department)
        if found and not dry_run:
            _write(found)
    return Backfill(found, len(departments) - len(found) - len(unresolved), tuple(unresolved))


def _write(found: Mapping[int, tuple[str | None, str]]) -> None:
    by_region: dict[str, list[int]] = {}
    for dept_id, (_, region) in found.items():
        by_region.setdefault(region, []).append(dept_id)
    for region, ids in by_region.items():
        for start in range(0, len(ids), BATCH):
            LocalDepartment.objects.filter(dept_id__in=ids[start : start + BATCH]).update(region=region)
    payload = json.dumps({dept_id: region for dept_id, (_, region) in found.items()}, ensure_ascii=False).encode()
    record(action="department.region", resource_type="local_department", path="backfill_dept_region", payload=payload)
