"""Each constraint bites, on the database the tests run on: rows are inserted past all validation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models.functions import Now

from articles.models import Article, ArticleStandardMeta, Attachment
from crawl.models import CrawlJob
from sources.models import CrawlSite, CrawlTarget, MasterColumn, SiteDepartment
from tests import rows, schema_catalog
from tests import schema_departures as departures
from tests import schema_seed as seed

pytestmark = pytest.mark.django_db
DUE = datetime(2024, 3, 20, 2, tzinfo=UTC)


def refused(insert: Callable[[], Any]) -> str:
    """What the database says when it refuses the insert; empty when it takes it."""
    try:
        with transaction.atomic():
            insert()
    except (IntegrityError, DataError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("adapter", "yaml"), list(product([None, "trs_wcm"], [None, "a.yaml"])))
def test_a_site_has_exactly_one_of_adapter_and_yaml_file(adapter: str | None, yaml: str | None) -> None:
    told = refused(lambda: rows.site(cms_adapter=adapter, yaml_path=yaml))
    if (adapter is None) != (yaml is None):
        assert told == ""
    else:
        assert "ck_crawl_site_adapter_xor_yaml" in told


@pytest.mark.parametrize(("owner", "taken"), [("yaml", True), ("ui", True), ("toml", False), ("", False)])
def test_a_site_is_managed_by_files_or_by_people(owner: str, taken: bool) -> None:
    told = refused(lambda: rows.site(managed_by=owner))
    assert (told == "") if taken else ("ck_crawl_site_managed_by" in told)


@pytest.mark.parametrize("mapped_to_one", [True, False])
@pytest.mark.parametrize("binding", ["pending", "mapped", "city_level", "cross_dept", "external_ref"])
def test_a_mapped_path_has_a_department_and_any_other_binding_has_none(binding: str, mapped_to_one: bool) -> None:
    owner = rows.department() if mapped_to_one else None
    told = refused(lambda: rows.path(dept_binding=binding, local_dept=owner))
    if (binding == "mapped") == mapped_to_one:
        assert told == ""
    else:
        assert "ck_site_department_binding_local_dept" in told


@pytest.mark.parametrize("binding", ["guessed", "Pendant", ""])
def test_a_binding_that_the_seed_does_not_name_is_refused(binding: str) -> None:
    assert "ck_site_department_binding" in refused(lambda: rows.path(dept_binding=binding))


@pytest.mark.parametrize(
    ("change", "value"), [("dept_binding", "city_level"), ("local_dept", None), ("dept_binding", "external_ref")]
)
def test_an_update_cannot_part_binding_and_department_either(change: str, value: str | None) -> None:
    mapped = rows.path(dept_binding="mapped", local_dept=rows.department())
    update = SiteDepartment.objects.filter(pk=mapped.pk).update
    assert "ck_site_department_binding_local_dept" in refused(lambda: update(**{change: value}))


@pytest.mark.parametrize(
    ("status", "taken"),
    [("raw", True), ("ready", True), ("failed", True), (None, True), ("duplicate", False), ("", False)],
)
def test_an_articles_status_is_one_of_three_or_unknown(status: str | None, taken: bool) -> None:
    told = refused(lambda: rows.article(status=status))
    assert (told == "") if taken else ("ck_article_status" in told)


#: table and key columns -> makes a row from a site, an article and one value of the key
UNIQUE_ROWS: dict[tuple[str, tuple[str, ...]], Callable[[CrawlSite, Article, Any], Any]] = {
    ("crawl_site", ("site_code",)): lambda site, article, value: rows.site(site_code=value),
    ("site_department", ("site_id", "dept_path")): lambda site, article, value: rows.path(site=site, dept_path=value),
    ("crawl_target", ("target_code",)): lambda site, article, value: rows.target(target_code=value),
    ("article", ("url_hash",)): lambda site, article, value: rows.article(url_hash=value),
    ("article", ("site_id", "native_post_id")): lambda site, article, value: rows.article(site=site, native_post_id=value),
    ("article", ("change_seq",)): lambda site, article, value: rows.article(change_seq=value and len(value.strip()) + 700),
    ("article_standard_meta", ("article_id",)): lambda site, article, value: ArticleStandardMeta.objects.create(
        article=article
    ),
    ("master_column_registry", ("adapter_id", "site_id", "column_id")): lambda site, article, value: rows.column(
        site=site, column_id=value
    ),
    ("attachment", ("article_id", "url_hash")): lambda site, article, value: Attachment.objects.create(
        article=article, url_hash=value
    ),
    ("crawl_job", ("active_key",)): lambda site, article, value: rows.job(active_key=value),
    ("crawl_job", ("target_code", "scheduled_for")): lambda site, article, value: rows.job(scheduled_for=value and DUE),
}
TEXT_KEYS = [
    key
    for key in UNIQUE_ROWS
    if key[1] not in {("change_seq",), ("article_id",), ("target_code", "scheduled_for")}
]  # fmt: skip
NULLABLE_KEYS = [
    ("article", ("site_id", "native_post_id")),
    ("article", ("change_seq",)),
    ("attachment", ("article_id", "url_hash")),
    ("crawl_job", ("active_key",)),
    ("crawl_job", ("target_code", "scheduled_for")),
]


def test_every_unique_key_of_the_schema_is_tried_here() -> None:
    named = {
        (table, columns)
        for source in (seed.UNIQUES, departures.ADDED_UNIQUES)
        for table, found in source.items()
        for columns in found.values()
    }
    assert set(UNIQUE_ROWS) == named


@pytest.mark.parametrize("key", UNIQUE_ROWS, ids=str)
def test_a_second_row_with_the_same_key_is_refused(key: tuple[str, tuple[str, ...]]) -> None:
    site, article, make = rows.site(), rows.article(), UNIQUE_ROWS[key]
    make(site, article, "art_1")
    told = refused(lambda: make(site, article, "art_1"))
    assert "UNIQUE constraint failed" in told or "Duplicate entry" in told


@pytest.mark.parametrize("pair", [("art_1", "ART_1"), ("é", "e"), ("😀", "😁"), ("𠮷", "𠮶"), ("a", "ａ")])
@pytest.mark.parametrize("key", TEXT_KEYS, ids=str)
def test_keys_that_differ_in_case_accent_or_emoji_are_different(
    key: tuple[str, tuple[str, ...]], pair: tuple[str, str]
) -> None:
    site, article, make = rows.site(), rows.article(), UNIQUE_ROWS[key]
    first, second = make(site, article, pair[0]), make(site, article, pair[1])
    assert first.pk != second.pk
    field = key[1][-1]
    assert type(first).objects.get(**{field: pair[1]}).pk == second.pk


@pytest.mark.parametrize("key", TEXT_KEYS, ids=str)
def test_blanks_around_a_key_do_not_make_another_key(key: tuple[str, tuple[str, ...]]) -> None:
    site, article, make = rows.site(), rows.article(), UNIQUE_ROWS[key]
    make(site, article, "art_1")
    assert refused(lambda: make(site, article, " art_1\u3000"))


@pytest.mark.parametrize("key", NULLABLE_KEYS, ids=str)
def test_rows_without_a_key_do_not_collide(key: tuple[str, tuple[str, ...]]) -> None:
    site, article, make = rows.site(), rows.article(), UNIQUE_ROWS[key]
    assert len({make(site, article, None).pk for _ in range(3)}) == 3


def test_the_parts_of_a_key_count_together() -> None:
    one, other = rows.site(), rows.site()
    for site in (one, other):
        rows.article(site=site, native_post_id="7")
        rows.path(site=site, dept_path="/edu/")
        for adapter in ("gkmlpt", "trs_wcm"):
            rows.column(site=site, adapter_id=adapter, column_id="7")
    assert Article.objects.filter(native_post_id="7").count() == 2
    assert MasterColumn.objects.filter(column_id="7").count() == 4


REQUIRED = {
    "crawl_site": "site_code",
    "site_department": "site_id dept_path",
    "crawl_target": "site_id target_code",
    "article": "site_id url url_hash",
    "article_standard_meta": "article_id",
    "attachment": "article_id",
    "crawl_log": "success",
    "master_column_registry": "site_id adapter_id column_id",
    "crawl_job": "job_id host site_code target_code source status",
    "admin_audit_log": "method path",
    "local_department": "dept_id",
}


def insert_sql(table: str, site: CrawlSite, article: Article, **changes: object) -> None:
    """A raw insert of the required columns only: what SQL readers and writers beside Django see."""
    values: dict[str, object] = dict.fromkeys(REQUIRED[table].split(), "7")
    known = {"site_id": site.id, "article_id": article.id, "success": 1}
    values = {name: known.get(name, value) for name, value in values.items()}
    values.update({"cms_adapter": "trs_wcm"} if table == "crawl_site" else {})
    values.update(changes)
    quote = connection.ops.quote_name
    names, marks = ", ".join(map(quote, values)), ", ".join(["%s"] * len(values))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {quote(table)} ({names}) VALUES ({marks})", list(values.values()))


@pytest.mark.parametrize("table", sorted(seed.TABLES))
def test_each_required_column_refuses_null(table: str) -> None:
    site, article = rows.site(), rows.article()
    for name in REQUIRED[table].split():
        if name != "dept_id":  # SQLite gives an INTEGER PRIMARY KEY a number; the OA's id is bigint there and refuses
            assert refused(lambda name=name: insert_sql(table, site, article, **{name: None})), name


@pytest.mark.parametrize("table", sorted(seed.TABLES))
def test_the_database_itself_fills_the_seeds_defaults_and_its_now_is_utc(table: str) -> None:
    site, article = rows.site(), rows.article()
    insert_sql(table, site, article)
    expected = {name: column for name, column in seed.parse(seed.TABLES[table]).items() if column.default}
    columns = ", ".join(f"{connection.ops.quote_name(name)}" for name in expected) or "1"
    order = next(iter(seed.parse(seed.TABLES[table])))
    values = schema_catalog.rows(f"SELECT {columns} FROM {table} ORDER BY {order} DESC LIMIT 1")[0]
    for (name, column), value in zip(expected.items(), values, strict=False):
        if column.default == "NOW":
            moment = datetime.fromisoformat(str(value)).replace(tzinfo=UTC)
            assert abs((datetime.now(UTC) - moment).total_seconds()) < 3600, f"{name}: eight hours off is Beijing time"
        else:
            booleans = {"TRUE": "1", "FALSE": "0"}
            told = str(int(value)) if isinstance(value, bool) else str(value)
            assert told == booleans.get(str(column.default), str(column.default).strip("'")), name


def test_the_databases_clock_and_ours_agree_on_utc() -> None:
    made = rows.site()
    CrawlSite.objects.filter(pk=made.pk).update(updated_at=Now())
    made.refresh_from_db()
    assert abs((made.updated_at - made.created_at).total_seconds()) < 3600


def test_a_row_that_points_to_nothing_is_refused() -> None:
    def insert() -> None:
        CrawlTarget.objects.create(site_id=987654321, target_code="lost")
        connection.check_constraints()

    assert refused(insert)
    assert not CrawlTarget.objects.filter(target_code="lost").exists()


@pytest.mark.parametrize("text", ["{", "", "NaN", "'a'"])
def test_what_is_not_json_is_refused_in_a_json_column(text: str) -> None:
    site = rows.site()

    def update() -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE crawl_site SET adapter_params_json = %s WHERE id = %s", [text, site.id])

    assert refused(update)


def test_json_is_stored_as_characters_that_sql_can_search() -> None:
    rows.article(metadata_json={"raw": {"文号": "清府〔2024〕7号"}})
    assert schema_catalog.rows("SELECT COUNT(*) FROM article WHERE metadata_json LIKE %s", "%清府〔2024〕7号%") == [(1,)]
    with pytest.raises(ValueError, match="Out of range float"):
        rows.article(metadata_json={"size": float("nan")})


def test_a_finished_jobs_target_can_be_enqueued_again() -> None:
    first = rows.job(active_key="t1")
    assert refused(lambda: rows.job(active_key="t1"))
    CrawlJob.objects.filter(pk=first.pk).update(active_key=None, status="done")
    assert refused(lambda: rows.job(active_key="t1")) == ""
