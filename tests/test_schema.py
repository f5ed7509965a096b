"""The migrated database against the seed: the catalogue, column by column, with the closed list of departures."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models

from articles.models import Article, ArticleContent, ChangeCounter
from tests import rows, schema_catalog
from tests import schema_departures as departures
from tests import schema_seed as seed
from tests.scratch import scratch_database

TABLES = sorted(seed.TABLES)
OWN_APPS = ("crawl", "articles", "sources", "departments", "audit", "access")
BOOLEAN_DEFAULTS = {"TRUE": "1", "FALSE": "0"}
NOW_DEFAULTS = {"mysql": "current_timestamp(6)", "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')"}


@pytest.fixture
def scratch(django_db_setup: None, django_db_blocker: Any, tmp_path: Path) -> Iterator[None]:
    with scratch_database(django_db_blocker, tmp_path):
        yield


def expected_columns(table: str) -> dict[str, seed.Column]:
    columns = seed.parse(seed.TABLES[table])
    for moved_table, name in departures.MOVED_COLUMNS:
        if moved_table == table:
            del columns[name]
    for name, column in columns.items():
        if column.default is not None and (table, name) not in departures.NULLABLE_WITH_DEFAULT:
            columns[name] = seed.Column(column.type, False, column.default, column.auto)
    added = seed.parse(departures.ADDED_COLUMNS.get(table, ""))
    assert not set(added) & set(columns), "an added column is in the seed"
    return {**columns, **added}


def expected_type(column: seed.Column) -> str:
    if column.auto and connection.vendor == "sqlite":
        return departures.SQLITE_AUTO
    if column.type in departures.TYPES:
        return departures.TYPES[column.type][0 if connection.vendor == "mysql" else 1]
    assert column.type.startswith("VARCHAR("), column.type
    return column.type.lower()


def expected_default(column: seed.Column) -> str | None:
    if column.default == "NOW":
        return NOW_DEFAULTS[connection.vendor]
    return BOOLEAN_DEFAULTS.get(column.default or "", column.default)


def name_found(seed_name: str) -> str:
    """The name a key has in this database; SQLite keeps no name for a key declared at its column."""
    if seed_name.startswith("UNIQUE") and connection.vendor == "sqlite":
        return seed_name
    return departures.UNNAMED_KEYS.get(seed_name, seed_name)


def keys(*sources: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {name_found(name): columns for source in sources for name, columns in source.items()}


@pytest.mark.django_db
def test_the_database_has_the_eleven_tables_the_listed_additions_and_no_other() -> None:
    found = schema_catalog.tables()
    own = {name for name in found["tables"] if not name.startswith(departures.LIBRARY_TABLES)}
    assert len(seed.TABLES) == 11
    assert own == set(seed.TABLES) | set(departures.ADDED_TABLES)
    assert found["views"] == departures.ADDED_VIEWS[connection.vendor]


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_the_seeds_type_nullability_and_default(table: str) -> None:
    expected = {
        name: (expected_type(column), column.null, expected_default(column), column.auto)
        for name, column in expected_columns(table).items()
    }
    found = {
        name: (column.type, column.null, column.default, column.auto)
        for name, column in schema_catalog.table(table).columns.items()
    }
    assert found == expected


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_the_primary_key_is_the_seeds(table: str) -> None:
    (line,) = [line for line in seed.TABLES[table].splitlines() if " PK" in line]
    assert [name for name, column in schema_catalog.table(table).columns.items() if column.primary] == [line.split()[0]]


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_unique_keys_have_the_seeds_names_and_columns_in_order(table: str) -> None:
    found = schema_catalog.table(table)
    assert found.uniques == keys(seed.UNIQUES.get(table, {}), departures.ADDED_UNIQUES.get(table, {}))


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_indexes_have_the_seeds_names_and_columns_in_order(table: str) -> None:
    expected = keys(seed.INDEXES.get(table, {}), departures.ADDED_INDEXES.get(table, {}))
    others = {name: columns for name, columns in schema_catalog.table(table).indexes.items() if name not in expected}
    found = {name: columns for name, columns in schema_catalog.table(table).indexes.items() if name in expected}
    assert found == expected
    assert sorted(others.values()) == sorted((name,) for name in departures.FOREIGN_KEY_INDEXES.get(table, ()))


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_checks_are_the_seeds_and_speak_of_their_columns_only(table: str) -> None:
    found, columns = schema_catalog.table(table), set(expected_columns(table))
    assert {name: {c for c in columns if c in words(text)} for name, text in found.checks.items()} == {
        name: set(about) for name, about in seed.CHECKS.get(table, {}).items()
    }


def words(text: str) -> set[str]:
    return set(text.replace("`", " ").replace('"', " ").replace("(", " ").replace(")", " ").split())


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_json_columns_refuse_what_is_not_json(table: str) -> None:
    expected = {name for name, column in expected_columns(table).items() if column.type == "JSON"}
    assert schema_catalog.table(table).json_checked == expected


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_foreign_keys_are_the_seeds_and_the_database_refuses_instead_of_cascading(table: str) -> None:
    rule = departures.DATABASE_DELETE_RULE[connection.vendor]
    expected = {**seed.FOREIGN_KEYS.get(table, {}), **departures.ADDED_FOREIGN_KEYS.get(table, {})}
    assert schema_catalog.table(table).foreign_keys == {
        column: (other, other_column, rule) for column, (other, other_column, _) in expected.items()
    }


@pytest.mark.parametrize("table", TABLES)
def test_django_deletes_by_the_rules_of_the_seeds_section_3(table: str) -> None:
    rules = {models.CASCADE: "CASCADE", models.SET_NULL: "SET NULL", models.RESTRICT: "RESTRICT"}
    (model,) = [model for model in apps.get_models() if model._meta.db_table == table]
    found = {
        field.column: (field.remote_field.model._meta.db_table, field.target_field.column, rules[field.remote_field.on_delete])
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey)
    }
    assert found == {**seed.FOREIGN_KEYS.get(table, {}), **departures.ADDED_FOREIGN_KEYS.get(table, {})}


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_identity_columns_and_no_others_are_compared_byte_by_byte(table: str) -> None:
    expected: dict[str, str | None] = {}
    for name, column in expected_columns(table).items():
        if column.type.startswith(("VARCHAR", "CHAR", "TEXT", "JSON")) and connection.vendor == "mysql":
            binary = name in departures.BINARY_COLUMNS.get(table, ()) or column.type == "JSON"
            expected[name] = "utf8mb4_bin" if binary else "utf8mb4_unicode_ci"
        else:
            expected[name] = None
    assert {name: column.collation for name, column in schema_catalog.table(table).columns.items()} == expected


def test_every_departure_gives_its_reason_and_concerns_what_exists() -> None:
    for table, block in departures.ADDED_COLUMNS.items():
        assert table in seed.TABLES
        assert all(reason for reason in seed.reasons(block).values()), table
    assert all(
        [*departures.MOVED_COLUMNS.values(), *departures.NULLABLE_WITH_DEFAULT.values(), *departures.ADDED_TABLES.values()]
    )
    for kind, (mariadb, _, reason) in departures.TYPES.items():
        assert reason or mariadb.partition("(")[0].startswith(kind.partition("(")[0].lower()) or kind == "BOOLEAN"
    for table, name in [*departures.MOVED_COLUMNS, *departures.NULLABLE_WITH_DEFAULT]:
        assert name in seed.parse(seed.TABLES[table])
    for table, names in departures.BINARY_COLUMNS.items():
        assert set(names) <= set(expected_columns(table))


@pytest.mark.django_db
def test_direct_readers_find_the_text_in_the_seeds_columns_on_mariadb_and_beside_the_table_on_sqlite() -> None:
    article = rows.article(title="关于供水的通知")
    ArticleContent.objects.create(article=article, content_text="全文😀")
    bare = rows.article()
    if connection.vendor == "mysql":
        assert list(schema_catalog.table("article_with_text").columns) == list(seed.parse(seed.TABLES["article"]))
        query = "SELECT title, content_text FROM article_with_text WHERE id = %s"
    else:
        query = (
            "SELECT a.title, c.content_text FROM article a LEFT JOIN article_content c ON c.article_id = a.id WHERE a.id = %s"
        )
    assert schema_catalog.rows(query, article.id) == [("关于供水的通知", "全文😀")]
    assert schema_catalog.rows(query, bare.id) == [(None, None)]


def plan(sql: str) -> tuple[str, bool]:
    """Which index of ``article`` the optimiser takes, and whether it sorts."""
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {sql}")
            names = [column[0] for column in cursor.description]
            step = dict(zip(names, cursor.fetchone(), strict=True))
        return step["key"], "filesort" in step["Extra"]
    steps = [row[3] for row in schema_catalog.rows(f"EXPLAIN QUERY PLAN {sql}")]
    return steps[0].partition("INDEX ")[2].split()[0], any("TEMP B-TREE" in step for step in steps)


def test_the_ready_queries_read_the_composite_indexes_in_order_also_when_everything_is_pending(scratch: None) -> None:
    site = rows.site()
    Article.objects.bulk_create(
        [rows.new_article(site=site, rag_export_status="pending", change_seq=n) for n in range(3000)], batch_size=500
    )
    if connection.vendor == "mysql":  # InnoDB would count anyway, but later; nobody runs ANALYZE on SQLite
        schema_catalog.rows("ANALYZE TABLE article")
    exported = (
        "SELECT * FROM article WHERE status = 'ready' AND exported_to_rag_at IS NULL AND change_seq > 1500"
        " ORDER BY change_seq LIMIT 100"
    )
    pending = (
        "SELECT id FROM article WHERE status = 'ready' AND rag_export_status = 'pending' AND id > 1500 ORDER BY id LIMIT 100"
    )
    assert plan(exported) == ("ix_article_ready_exported", False)
    assert plan(pending) == ("ix_article_ready_rag", False)


def test_every_app_migrates_to_zero_and_forward_again_to_the_same_schema(scratch: None) -> None:
    own = [*seed.TABLES, *departures.ADDED_TABLES]
    before = {name: schema_catalog.table(name) for name in own}
    for app in OWN_APPS:
        call_command("migrate", app, "zero", verbosity=0)
    left = schema_catalog.tables()
    assert not left["views"]
    assert all(name.startswith(departures.LIBRARY_TABLES) for name in left["tables"])
    call_command("migrate", verbosity=0)
    assert {name: schema_catalog.table(name) for name in own} == before
    assert schema_catalog.tables()["views"] == departures.ADDED_VIEWS[connection.vendor]
    assert list(ChangeCounter.objects.values_list("id", "value")) == [(1, 0)]


@pytest.mark.django_db
def test_models_and_migrations_say_the_same() -> None:
    told = StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=told)
    assert "No changes detected" in told.getvalue()
