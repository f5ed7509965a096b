"""Site files into rows: all or nothing, told as a diff, and nothing written when nothing differs.

Rows of sites with ``managed_by='ui'`` are never touched. What is in the database but in no file is left and listed; with
``prune`` it goes as far as that loses nothing: a row that anything outside the registry refers to (articles, jobs, runs, logs,
columns found ...) or that was crawled is disabled, any other is deleted. A site with one such row is disabled as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from departments.models import LocalDepartment
from govcrawler.audit.record import record
from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from sources.schedules import effective_cron, next_due
from sources.site_columns import COLUMNS, department_values, site_values, stored, target_values
from sources.site_files import Department, Target
from sources.site_reading import Fault, SiteFile, SiteFileFaults, read_folder, shown

Action = Literal["add", "change", "disable", "delete"]
_MARKS: dict[Action, str] = {"add": "+", "change": "~", "disable": "-", "delete": "-"}
_ENDINGS: dict[Action, str] = {"add": "", "change": "", "disable": ": disabled", "delete": ": deleted"}
_REGISTRY = (CrawlSite, SiteDepartment, CrawlTarget)


@dataclass(slots=True)
class Change:
    """One row that changes. ``values``: file key, old and new value, for ``change`` and ``disable``."""

    action: Action
    row: Any
    values: list[tuple[str, Any, Any]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield f"{_MARKS[self.action]} {title(self.row)}{_ENDINGS[self.action]}"
        if self.action == "change":
            yield from (f"    {key}: {shown(old)} -> {shown(new)}" for key, old, new in self.values)

    def apply(self) -> None:
        """One ``save`` or ``delete`` per row, so that the field-level audit sees each; only the changed columns are written."""
        if self.action == "add":
            self.row.save(force_insert=True)
        elif self.action == "delete":
            self.row.delete()
        else:
            self.row.save(update_fields=[*self.columns, "updated_at"])


@dataclass(slots=True)
class Plan:
    """What a sync does. ``notes`` are not changes: what is in no file, and whose robots.txt is ignored."""

    changes: list[Change] = field(default_factory=list)
    scheduled: list[CrawlTarget] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield from self.notes
        for change in self.changes:
            yield from change.lines()
        if self.scheduled:
            yield f"next run set anew for {len(self.scheduled)} target(s)"
        if not self.changes and not self.scheduled:
            yield "no changes"


def title(row: Any) -> str:
    """What people call a row of the registry."""
    if isinstance(row, CrawlSite):
        return f"site {row.site_code}"
    if isinstance(row, SiteDepartment):
        return f"department {row.dept_path} of site {row.site.site_code}"
    return f"target {row.target_code} of site {row.site.site_code}"


def sync(folder: Path, *, now: datetime, prune: bool = False, dry_run: bool = False) -> Plan:
    """Make the rows what the files of ``folder`` say; ``now`` (aware) is from when the next runs count.

    Raises SiteFileFaults with every fault of every file; then nothing was changed. With ``dry_run`` nothing is changed either.
    """
    files, faults = read_folder(folder)
    with transaction.atomic():
        registry = _Registry()
        faults += [fault for file in files for fault in registry.faults(file)]
        if faults:
            raise SiteFileFaults(faults)
        plan = registry.plan(files, prune, now)
        if not dry_run and (plan.changes or plan.scheduled):
            _apply(plan)
            diff = "\n".join(plan.lines())
            record(action="sites.sync", resource_type="site", path="sync_sites", payload=diff.encode())
    return plan


def _apply(plan: Plan) -> None:
    for change in plan.changes:
        change.apply()
    for target in plan.scheduled:
        target.save(update_fields=["next_due_at"])


class _Registry:
    """The rows as the sync found them, and what it decides about each."""

    def __init__(self) -> None:
        self.sites = {row.site_code: row for row in CrawlSite.objects.select_for_update().order_by("site_code")}
        self.departments = {
            (row.site_id, row.dept_path): row for row in SiteDepartment.objects.select_related("site").order_by("dept_path")
        }
        self.targets = {
            row.target_code: row
            for row in CrawlTarget.objects.select_related("site", "site_department").order_by("target_code")
        }
        by_id = {row.pk: row for row in self.sites.values()}
        for row in self._children():
            row.site = by_id[row.site_id]
        self.crons = {code: effective_cron(row, row.site) for code, row in self.targets.items()}
        self.oa_ids = set(LocalDepartment.objects.values_list("dept_id", flat=True))
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self.named: list[Any] = []

    def _children(self) -> list[Any]:
        return [*self.targets.values(), *self.departments.values()]

    def faults(self, file: SiteFile) -> Iterator[Fault]:
        """What of a file cannot be, given the rows: foreign sites, foreign target codes, unknown OA departments."""
        code = file.raw.get("site_code")
        row = self.sites.get(code.strip()) if isinstance(code, str) else None
        ui = CrawlSite.ManagedBy.UI
        if row is not None and row.managed_by == ui and file.raw.get("managed_by") != ui:
            reason = f"site {row.site_code} is managed in the admin pages; remove the file, or set managed by to YAML there"
            yield file.fault(("site_code",), reason)
        for place, entry in file.entries("targets"):
            target_code = entry.get("target_code")
            target = self.targets.get(target_code.strip()) if isinstance(target_code, str) else None
            if target is not None and target.site is not row:
                reason = (
                    f"{target.target_code!r} belongs to site {target.site.site_code}; targets do not move, choose another code"
                )
                yield file.fault((*place, "target_code"), reason)
        for part in ("departments", "targets"):
            for place, entry in file.entries(part):
                oa_id = entry.get("oa_id")
                if type(oa_id) is int and oa_id not in self.oa_ids:
                    reason = f"{oa_id} is no OA department here; correct it, or import it first with import_departments"
                    yield file.fault((*place, "oa_id"), reason)

    def plan(self, files: Sequence[SiteFile], prune: bool, now: datetime) -> Plan:
        for file in files:
            self._site(file)
        vanished = self._vanished()
        if prune:
            for row in vanished:
                self._prune(row)
        else:
            self.notes += [f"not in files: {title(row)} (left as it is; --prune removes or disables it)" for row in vanished]
        scheduled = self._schedule(now)
        return Plan(self.changes, scheduled, self.notes)

    def _site(self, file: SiteFile) -> None:
        site = file.site
        assert site is not None  # read_folder gave no faults
        row = self.sites.get(site.site_code)
        if row is not None and row.managed_by == CrawlSite.ManagedBy.UI:
            self.notes.append(f"site {site.site_code} is managed in the admin pages: {file.name} is not applied")
            return
        if not site.respect_robots:
            self.notes.append(f"WARNING: SITE {site.site_code} IGNORES ROBOTS.TXT (respect_robots: false in {file.name})")
        row = row or CrawlSite(site_code=site.site_code)
        self._put(row, site_values(site, file.name))
        departments = {entry.path: self._department(row, entry) for entry in site.departments}
        for entry in site.targets:
            self._target(row, entry, departments)

    def _department(self, site: CrawlSite, entry: Department) -> SiteDepartment:
        row = self.departments.get((site.pk, entry.path)) or SiteDepartment(site=site, dept_path=entry.path)
        self._put(row, department_values(entry))
        return row

    def _target(self, site: CrawlSite, entry: Target, departments: dict[str, SiteDepartment]) -> None:
        row = self.targets.get(entry.target_code) or CrawlTarget(site=site, target_code=entry.target_code)
        self.targets[entry.target_code] = row
        old = row.site_department.dept_path if row.site_department is not None else None
        moved = []
        if old != entry.department:
            row.site_department = None if entry.department is None else departments[entry.department]
            moved = [("department", old, entry.department)]
        self._put(row, target_values(entry), moved, ["site_department"] if moved else [])

    def _put(self, row: Any, values: dict[str, Any], moved: Sequence[Any] = (), columns: Sequence[str] = ()) -> None:
        """Give ``row`` the values of the file and note what that changes."""
        names = COLUMNS[type(row)]
        old = {key: stored(row, key) for key in values}
        differing = [key for key, value in values.items() if not _same(old[key], value)]
        for key in differing:
            setattr(row, names[key], values[key])
        self.named.append(row)
        if row.pk is None:
            self.changes.append(Change("add", row))
        elif differing or moved:
            diff = [*moved, *((key, old[key], values[key]) for key in differing)]
            self.changes.append(Change("change", row, diff, [*columns, *(names[key] for key in differing)]))

    def _vanished(self) -> list[Any]:
        """YAML-managed rows that no file names: targets, then departments, then sites; of a vanished site only the site."""
        named = {(type(row), row.pk) for row in self.named}
        gone = [row for row in self.sites.values() if self._ours(row) and (CrawlSite, row.pk) not in named]
        return [
            row
            for row in self._children()
            if row.pk is not None and self._ours(row.site) and row.site not in gone and (type(row), row.pk) not in named
        ] + gone

    @staticmethod
    def _ours(site: CrawlSite) -> bool:
        return site.managed_by == CrawlSite.ManagedBy.YAML

    def _prune(self, row: Any) -> None:
        parts = [part for part in self._children() if part.site is row]
        if not any(_in_use(part) for part in (*parts, row)) and not self._still_needed(row):
            self.changes += [Change("delete", part) for part in (*parts, row)]
        elif row.enabled:
            row.enabled = False
            self.changes.append(Change("disable", row, [("enabled", True, False)], ["enabled"]))

    def _still_needed(self, row: Any) -> bool:
        """A department that targets which stay belong to: deleting it would delete them."""
        deleted = [change.row for change in self.changes if change.action == "delete"]
        return isinstance(row, SiteDepartment) and any(
            target.site_department == row and target not in deleted for target in self.targets.values()
        )

    def _schedule(self, now: datetime) -> list[CrawlTarget]:
        """Set ``next_due_at`` where the cron is new or changed; NULL for what is disabled or has no cron."""
        deleted = {id(change.row) for change in self.changes if change.action == "delete"}
        scheduled = []
        for code, row in self.targets.items():
            if id(row) in deleted or not self._ours(row.site):
                continue
            cron = effective_cron(row, row.site) if row.enabled and row.site.enabled else None
            if cron is not None and row.next_due_at is not None and cron == self.crons.get(code):
                continue
            due = next_due(cron, now) if cron is not None else None
            if due != row.next_due_at:
                row.next_due_at = due
                scheduled += [row] if row.pk is not None else []  # a new row is saved with it
        return scheduled


def _same(old: Any, new: Any) -> bool:
    """Whether two values are stored alike; ``true`` and ``1`` inside of parameters are not."""
    if isinstance(old, dict) and isinstance(new, dict):
        return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    return bool(old == (None if new == {} else new))


def _in_use(row: Any) -> bool:
    """Whether the row was crawled or probed, or a table outside the registry refers to it, by key or by its code.

    Asks the models that exist instead of naming them, because those tables belong to the apps above this one. Jobs and runs
    hold the codes as snapshots without a foreign key.
    """
    if getattr(row, "last_crawled_at", None) or getattr(row, "last_probed_at", None):
        return True
    relations = [field for field in row._meta.get_fields(include_hidden=True) if field.auto_created and not field.concrete]
    uses = [(relation.related_model, {relation.field.name: row}) for relation in relations]
    uses += [(model, {key: getattr(row, key)}) for model, key in _snapshots(row)]
    return any(model._base_manager.filter(**by).exists() for model, by in uses if model not in _REGISTRY)


def _snapshots(row: Any) -> Iterator[tuple[type[Model], str]]:
    """Models that hold the row's code in a column of their own."""
    key = {CrawlSite: "site_code", CrawlTarget: "target_code"}.get(type(row))
    for model in apps.get_models() if key else ():
        if key and any(column.name == key for column in model._meta.concrete_fields):
            yield model, key
