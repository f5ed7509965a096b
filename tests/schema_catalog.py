"""What the database itself says about its tables: MariaDB by information_schema, SQLite by PRAGMA and sqlite_master."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from django.db import connection


@dataclass(frozen=True)
class FoundColumn:
    type: str
    null: bool
    default: str | None
    auto: bool
    primary: bool
    collation: str | None


@dataclass
class FoundTable:
    """``uniques`` and ``indexes``: name -> columns in order; a key whose name SQLite made up is ``UNIQUE(columns)``."""

    columns: dict[str, FoundColumn] = field(default_factory=dict)
    uniques: dict[str, tuple[str, ...]] = field(default_factory=dict)
    indexes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    json_checked: set[str] = field(default_factory=set)
    foreign_keys: dict[str, tuple[str, str, str]] = field(default_factory=dict)


def rows(sql: str, *values: object) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [tuple(row) for row in cursor.fetchall()]


def tables() -> dict[str, set[str]]:
    """Names of base tables and of views."""
    if connection.vendor == "mysql":
        found = rows("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE()")
    else:
        found = rows("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')")
    return {
        "tables": {name for name, kind in found if kind.upper() in {"BASE TABLE", "TABLE"}},
        "views": {name for name, kind in found if kind.upper() == "VIEW"},
    }


def table(name: str) -> FoundTable:
    return _mariadb(name) if connection.vendor == "mysql" else _sqlite(name)


def _mariadb(name: str) -> FoundTable:
    found = FoundTable()
    where = "table_schema = DATABASE() AND table_name = %s"
    for column, kind, null, default, extra, key, collation in rows(
        "SELECT column_name, column_type, is_nullable, column_default, extra, column_key, collation_name"
        f" FROM information_schema.columns WHERE {where} ORDER BY ordinal_position",
        name,
    ):
        found.columns[column] = FoundColumn(
            kind, null == "YES", None if default == "NULL" else default, "auto_increment" in extra, key == "PRI", collation
        )
    keys: dict[tuple[str, bool], list[str]] = {}
    for index, non_unique, column, prefix in rows(
        f"SELECT index_name, non_unique, column_name, sub_part FROM information_schema.statistics WHERE {where}"
        " ORDER BY index_name, seq_in_index",
        name,
    ):
        keys.setdefault((index, bool(non_unique)), []).append(f"{column}({prefix})" if prefix else column)
    for (index, non_unique), columns in keys.items():
        if index != "PRIMARY":
            (found.indexes if non_unique else found.uniques)[index] = tuple(columns)
    for check, clause, level in rows(
        "SELECT constraint_name, check_clause, level FROM information_schema.check_constraints"
        " WHERE constraint_schema = DATABASE() AND table_name = %s",
        name,
    ):
        if level == "Column" and clause == f"json_valid(`{check}`)":
            found.json_checked.add(check)
        else:
            found.checks[check] = clause
    for column, other, other_column, rule in rows(
        "SELECT k.column_name, k.referenced_table_name, k.referenced_column_name, r.delete_rule"
        " FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r"
        " ON r.constraint_schema = k.table_schema AND r.constraint_name = k.constraint_name"
        " WHERE k.table_schema = DATABASE() AND k.table_name = %s",
        name,
    ):
        found.foreign_keys[column] = (other, other_column, rule)
    return found


def _sqlite(name: str) -> FoundTable:
    found = FoundTable()
    ((sql,),) = rows("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = %s", name)
    for _, column, kind, not_null, default, primary, _ in rows(f"PRAGMA table_xinfo({name})"):
        auto = f'"{column}" integer NOT NULL PRIMARY KEY AUTOINCREMENT' in sql
        found.columns[column] = FoundColumn(kind.lower(), not not_null, default, auto, bool(primary), None)
    named = {
        tuple(re.findall(r'"(\w+)"', columns)): unique
        for unique, columns in re.findall(r'CONSTRAINT "(\w+)" UNIQUE \(([^)]*)\)', sql)
    }
    for _, index, unique, origin, _ in rows(f"PRAGMA index_list({name})"):
        columns = tuple(row[2] for row in rows(f"PRAGMA index_info({index})"))
        if origin == "u":
            found.uniques[named.get(columns, f"UNIQUE({','.join(columns)})")] = columns
        elif origin == "c":
            (found.uniques if unique else found.indexes)[index] = columns
    checks = {match[1]: _balanced(sql, match.end()) for match in re.finditer(r'CONSTRAINT "(\w+)" CHECK ', sql)}
    found.checks = checks
    found.json_checked = set(re.findall(r'CHECK \(\(JSON_VALID\("(\w+)"\) OR "\1" IS NULL\)\)', sql))
    unnamed = sql.count(" CHECK ") - len(checks) - len(found.json_checked)
    assert unnamed == 0, f"{name}: a CHECK without a name: {sql}"
    for _, _, other, column, other_column, _, rule, _ in rows(f"PRAGMA foreign_key_list({name})"):
        found.foreign_keys[column] = (other, other_column, rule)
    return found


def _balanced(sql: str, start: int) -> str:
    """The text in brackets that begins at ``start``."""
    depth = 0
    for position in range(start, len(sql)):
        depth += {"(": 1, ")": -1}.get(sql[position], 0)
        if depth == 0:
            return sql[start + 1 : position]
    raise ValueError(f"unbalanced brackets in {sql!r}")
