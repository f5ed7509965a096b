"""Departments from a file of the OA: read, compared with what is stored, and written all or nothing.

The OA's ids are kept. A column that the file lacks is left alone; an empty cell empties its field, except ``region``, which
``backfill_dept_region`` may have filled. Departments that the file does not name stay.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from departments.cells import OA_ZONE, level, moment, quoted, text_of, whole_number
from departments.models import LocalDepartment
from departments.spreadsheets import HEAD_ROWS, Cell, ErrorCell, Row, UnreadableFile, column_letters, read_rows
from govcrawler.audit.record import record
from govcrawler.logs import one_line

BATCH = 500
INT_MAX, BIGINT_MAX = 2**31 - 1, 2**63 - 1

#: Column names by field. Compared without regard to width, case, blanks and the marks in NOISE.
HEADERS: dict[str, tuple[str, ...]] = {
    "dept_id": ("部门ID", "OA部门ID", "OA ID", "机构ID", "单位ID", "组织ID", "部门标识", "dept_id", "department id", "id"),
    "dept_name": ("部门名称", "名称", "正式名称", "机构名称", "单位名称", "部门", "dept_name", "department name", "name"),
    "parent_dept_id": (
        *("上级部门ID", "父级ID", "上级ID", "父部门ID", "父级部门ID", "上级机构ID", "上级部门", "父ID"),
        *("parent_dept_id", "parent id", "parent", "pid"),
    ),
    "dept_level": ("级别", "层级", "部门级别", "部门层级", "dept_level", "level"),
    "dept_code": ("编码", "部门编码", "OA编码", "部门代码", "机构编码", "代码", "部门编号", "编号", "dept_code", "code"),
    "short_name": ("简称", "部门简称", "机构简称", "short_name"),
    "full_name": ("全称", "部门全称", "机构全称", "full_name"),
    "state": ("状态", "部门状态", "OA状态", "state", "status"),
    "order_id": ("排序", "排序号", "显示顺序", "顺序", "order_id", "order", "sort", "sort order"),
    "updated_at": (
        "更新时间",
        "OA更新时间",
        "修改时间",
        "最后更新时间",
        "最后修改时间",
        "updated_at",
        "update time",
        "modified",
    ),
    "region": ("区域", "所属区域", "地区", "所属地区", "行政区", "行政区划", "县区", "区县", "region", "area"),
}
NOISE = str.maketrans("", "", " \t\r\n\u3000\ufeff_-*:.()[]/")


class ImportRefused(Exception):
    """Nothing was changed; ``errors`` are all faults of the file, by row and column."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(self.errors))


@dataclass(frozen=True)
class Column:
    """A column of the file: its index from 0 and its name as written."""

    index: int
    header: str

    def place(self, row: int) -> str:
        return f"row {row}, column {column_letters(self.index)} ({one_line(self.header)})"


@dataclass(frozen=True)
class Department:
    """One row of the file; ``values`` only of the columns it has."""

    row: int
    values: Mapping[str, object]

    @property
    def dept_id(self) -> int:
        return int(str(self.values["dept_id"]))


@dataclass(frozen=True)
class Table:
    """The file, read and valid by itself. ``columns``: by field."""

    columns: Mapping[str, Column]
    departments: tuple[Department, ...]

    def place(self, department: Department, field: str) -> str:
        return self.columns[field].place(department.row)


@dataclass(frozen=True)
class Plan:
    """What an import does. ``changed``: id -> field -> (old, new)."""

    added: tuple[Department, ...]
    changed: Mapping[int, Mapping[str, tuple[object, object]]]
    unchanged: int
    not_in_file: tuple[LocalDepartment, ...]
    warnings: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        for department in self.added:
            values = {name: value for name, value in department.values.items() if value is not None and name != "dept_id"}
            yield f"+ {department.dept_id}: " + ", ".join(f"{name} {shown(value)}" for name, value in values.items())
        for dept_id, fields in self.changed.items():
            changes = ", ".join(f"{name} {shown(old)} -> {shown(new)}" for name, (old, new) in fields.items())
            yield f"~ {dept_id}: {changes}"
        for stored in self.not_in_file:
            yield f"= {stored.dept_id}: {shown(stored.dept_name)} is not in the file and stays"
        for warning in self.warnings:
            yield f"WARNING {warning}"
        yield (
            f"{len(self.added)} added, {len(self.changed)} changed, {self.unchanged} unchanged, "
            f"{len(self.not_in_file)} not in the file"
        )


def shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(OA_ZONE).strftime("%Y-%m-%d %H:%M:%S")
    return "(empty)" if value is None else one_line(str(value))


def run(name: str, data: bytes, *, ignored: Iterable[str] = (), dry_run: bool = False) -> Plan:
    """Import the file ``data`` called ``name``; with ``dry_run`` only say what it would do.

    ``ignored``: headers of columns to leave out. Raises ImportRefused, and then nothing was changed.
    """
    table = read_table(name, data, ignored)
    with transaction.atomic():
        stored = LocalDepartment.objects.in_bulk()
        plan = compare(table, stored)
        if not dry_run and (plan.added or plan.changed):
            _write(table, plan, stored)
            record(
                action="department.import", resource_type="local_department", path=f"import_departments {name}", payload=data
            )
    return plan


def read_table(name: str, data: bytes, ignored: Iterable[str] = ()) -> Table:
    """The departments of a file. Raises ImportRefused with every fault of the header, or of the rows below it."""
    try:
        rows = read_rows(name, data, lambda text: normal(text) in FIELDS)
    except UnreadableFile as error:
        raise ImportRefused([str(error)]) from error
    header, body = _split(name, rows)
    columns, left_out = _columns(header, {normal(text) for text in ignored})
    errors: list[str] = []
    departments = [_department(row, columns, left_out, errors) for row in body if not row.is_blank()]
    table = Table(columns, tuple(department for department in departments if department is not None))
    errors.extend(_duplicates(table))
    if not errors and not table.departments:
        errors.append(f"{name}: there is no department below the header in row {header.number}")
    if errors:
        raise ImportRefused(errors)
    return table


def compare(table: Table, stored: Mapping[int, LocalDepartment]) -> Plan:
    """What importing ``table`` over ``stored`` changes. Raises ImportRefused for cycles in the hierarchy that would result."""
    named = {department.dept_id for department in table.departments}
    parents = {dept_id: row.parent_dept_id for dept_id, row in stored.items()}
    if "parent_dept_id" in table.columns:
        parents.update({d.dept_id: d.values["parent_dept_id"] for d in table.departments})  # type: ignore[misc]
    if cycles := list(_cycles(table, parents)):
        raise ImportRefused(cycles)
    added, changed = [], {}
    for department in table.departments:
        old = stored.get(department.dept_id)
        if old is None:
            added.append(department)
        elif fields := _changes(department, old):
            changed[department.dept_id] = fields
    return Plan(
        added=tuple(added),
        changed=changed,
        unchanged=len(table.departments) - len(added) - len(changed),
        not_in_file=tuple(row for dept_id, row in sorted(stored.items()) if dept_id not in named),
        warnings=tuple(_orphans(table, parents, {*named, *stored})),
    )


def normal(text: str) -> str:
    """A column name as it is compared."""
    return unicodedata.normalize("NFKC", text).translate(NOISE).casefold()


FIELDS: dict[str, str] = {normal(name): field for field, names in HEADERS.items() for name in names}


def _split(name: str, rows: list[Row]) -> tuple[Row, list[Row]]:
    """The header row and the rows below it; titles above the header are passed over."""
    best, most = 0, 0
    for index, row in enumerate(rows[:HEAD_ROWS]):
        fields = {FIELDS.get(normal(cell)) for cell in row.cells if isinstance(cell, str)} - {None}
        if "dept_id" in fields and len(fields) > 1:
            return row, rows[index + 1 :]
        if len(fields) > most:
            best, most = index, len(fields)
    where = f"row {rows[best].number} looks like the header but" if most > 1 else f"none of the first {HEAD_ROWS} rows"
    names = ", ".join(HEADERS["dept_id"])
    raise ImportRefused(
        [f"{name}: {where} has no column of OA ids beside another known column. Name the id column one of: {names}"]
    )


def _columns(header: Row, ignored: set[str]) -> tuple[dict[str, Column], set[int]]:
    """Columns by field, and the indexes to leave out. Raises ImportRefused for unknown and repeated names."""
    columns: dict[str, Column] = {}
    left_out: set[int] = set()
    errors = []
    for index, cell in enumerate(header.cells):
        if cell is None:
            continue
        text = cell.text if isinstance(cell, ErrorCell) else str(cell)
        place = f"row {header.number}, column {column_letters(index)}"
        field = FIELDS.get(normal(text))
        if normal(text) in ignored:
            left_out.add(index)
        elif field is None:
            known = "; ".join(f"{name}: {', '.join(names)}" for name, names in HEADERS.items())
            errors.append(
                f"{place}: unknown column {text!r}. Rename it, or leave it out with --ignore {text!r}. Known names are {known}"
            )
        elif field in columns:
            errors.append(f"{place}: {text!r} means {field}, as column {column_letters(columns[field].index)} does: keep one")
        else:
            columns[field] = Column(index, text)
    if errors:
        raise ImportRefused(errors)
    return columns, left_out


def _department(row: Row, columns: Mapping[str, Column], left_out: set[int], errors: list[str]) -> Department | None:
    """The row's values; faults are added to ``errors`` and then the answer is None."""
    values: dict[str, object] = {}
    faults = []
    for field, column in columns.items():
        cell = row.cells[column.index] if column.index < len(row.cells) else None
        try:
            values[field] = _value(field, cell)
        except ValueError as error:
            faults.append(f"{column.place(row.number)}: {error}")
    named = {column.index for column in columns.values()} | left_out
    for index, cell in enumerate(row.cells):
        if cell is not None and index not in named:
            faults.append(f"row {row.number}, column {column_letters(index)}: {quoted(cell)} stands in a column without a name")
    errors.extend(faults)
    return None if faults else Department(row.number, values)


def _value(field: str, cell: Cell | ErrorCell) -> object:
    if isinstance(cell, ErrorCell):
        raise ValueError(f"the cell holds the error {cell.text}: mend its formula or give the value")
    if cell is None:
        if field == "dept_id":
            raise ValueError("the OA id is missing")
        return None
    return READERS[field](cell)


def _text(field: str) -> Callable[[Cell], str]:
    limit = LocalDepartment._meta.get_field(field).max_length  # type: ignore[union-attr]
    return lambda cell: text_of(cell, limit or 0)


READERS: dict[str, Callable[[Cell], object]] = {
    "dept_id": lambda cell: whole_number(cell, BIGINT_MAX),
    "parent_dept_id": lambda cell: whole_number(cell, BIGINT_MAX),
    "dept_level": lambda cell: level(cell, INT_MAX),
    "state": lambda cell: whole_number(cell, INT_MAX),
    "order_id": lambda cell: whole_number(cell, INT_MAX),
    "updated_at": moment,
    "dept_name": _text("dept_name"),
    "dept_code": _text("dept_code"),
    "short_name": _text("short_name"),
    "full_name": _text("full_name"),
    "region": _text("region"),
}


def _duplicates(table: Table) -> Iterator[str]:
    first: dict[int, int] = {}
    for department in table.departments:
        row = first.setdefault(department.dept_id, department.row)
        if row != department.row:
            yield f"{table.place(department, 'dept_id')}: {department.dept_id} is already in row {row}"


def _cycles(table: Table, parents: Mapping[int, int | None]) -> Iterator[str]:
    """Each cycle that a department of the file is in or below, once, with its chain."""
    done: set[int] = set()
    for department in table.departments:
        chain: list[int] = []
        here: int | None = department.dept_id
        seen: set[int] = set()
        while here is not None and here in parents and here not in done and here not in seen:
            seen.add(here)
            chain.append(here)
            here = parents[here]
        if here in seen:
            ring = chain[chain.index(here) :]
            told = " -> ".join(map(str, [*ring, here]))
            field = "parent_dept_id" if "parent_dept_id" in table.columns else "dept_id"
            yield f"{table.place(department, field)}: the hierarchy would be a cycle: {told}"
        done |= seen


def _orphans(table: Table, parents: Mapping[int, int | None], known: set[int]) -> Iterator[str]:
    missing: dict[int, list[int]] = {}
    for department in table.departments:
        parent = parents.get(department.dept_id)
        if parent is not None and parent not in known:
            missing.setdefault(parent, []).append(department.dept_id)
    for parent, children in missing.items():
        some = ", ".join(map(str, children[:5])) + (" ..." if len(children) > 5 else "")
        yield f"parent {parent} of {len(children)} department(s) ({some}) is neither in the file nor stored"


def _changes(department: Department, old: LocalDepartment) -> dict[str, tuple[object, object]]:
    changes = {}
    for field, new in department.values.items():
        before = getattr(old, field)
        if (before if before != "" else None) != new and not (field == "region" and new is None):
            changes[field] = (before, new)
    return changes


def _write(table: Table, plan: Plan, stored: Mapping[int, LocalDepartment]) -> None:
    """One upsert by the primary key, the table's only unique key, so MySQL's ON DUPLICATE KEY can mean no other."""
    objects = [LocalDepartment(**department.values) for department in plan.added]
    LocalDepartment.objects.bulk_create(objects, batch_size=BATCH)
    for dept_id, fields in plan.changed.items():
        for field, (_, new) in fields.items():
            setattr(stored[dept_id], field, new)
    if not plan.changed:
        return
    with_target = connection.features.supports_update_conflicts_with_target
    LocalDepartment.objects.bulk_create(
        [stored[dept_id] for dept_id in plan.changed],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["dept_id"] if with_target else None,
        update_fields=[field for field in table.columns if field != "dept_id"],
    )
