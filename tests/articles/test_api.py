"""Articles, revisions and changes over HTTP: filters that mean what they say, pages without gaps, the schema of all that."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from articles import changes
from articles.api import outputs
from articles.api import urls as article_urls
from articles.api.inputs import encode_cursor
from articles.api.listing import ready_rows
from articles.models import Article, ArticleStandardMeta, Attachment
from crawl.api import urls as crawl_urls
from tests import rows
from tests.articles import feed
from tests.scratch import scratch_database

pytestmark = pytest.mark.django_db
ARTICLES = "/api/v1/articles/"


@pytest.fixture
def reader() -> Client:
    return feed.client("read")


def found(client: Client, path: str = ARTICLES, **parameters: Any) -> list[int]:
    response = client.get(path, parameters)
    assert response.status_code == 200, response.content
    return [item["id"] for item in response.json()["items"]]


def wrong_fields(response: Any) -> set[str]:
    assert response.status_code == 422, response.content
    return {error["field"] for error in response.json()["errors"]}


def test_each_filter_finds_its_articles_only(reader: Client) -> None:
    site, other = rows.site(), rows.site()
    target, office = rows.target(site=site), rows.department(region="连州")
    wanted = feed.ready(
        site=site,
        target=target,
        dept=office,
        title="关于印发管理办法的通知",
        content_category="政策",
        doc_no="清府〔2026〕7号",
        index_no="006-2026-1",
        is_effective=True,
        publish_date=date(2026, 3, 2),
    )
    feed.ready(site=other, title="别的公告", is_effective=False, publish_date=date(2026, 3, 3))
    filters: dict[str, Any] = {
        "site": site.site_code,
        "target": target.target_code,
        "department": office.pk,
        "region": "连州",
        "category": "政策",
        "doc_no": "清府〔2026〕7号",
        "index_no": "006-2026-1",
        "validity": "in_force",
        "title": "管理办法",
        "published_to": "2026-03-02",
    }
    for name, value in filters.items():
        assert found(reader, **{name: value}) == [wanted.pk], name
    assert found(reader, **filters) == [wanted.pk]


def test_days_are_both_included_and_validity_has_three_answers(reader: Client) -> None:
    old, middle, new = (feed.ready(publish_date=date(2026, 3, day)) for day in (1, 2, 3))
    assert found(reader, published_from="2026-03-02", published_to="2026-03-02") == [middle.pk]
    assert found(reader, published_from="2026-03-02") == [new.pk, middle.pk]
    Article.objects.filter(pk=old.pk).update(is_effective=False)
    assert found(reader, validity="not_in_force") == [old.pk]
    assert found(reader, validity="unknown") == [new.pk, middle.pk]


def test_a_forged_cursor_beyond_every_number_is_just_the_end(reader: Client) -> None:
    feed.ready()
    for order in ("oldest", "change"):
        assert found(reader, order=order, cursor=encode_cursor(order, 10**30)) == []


def test_only_ready_articles_unless_asked(reader: Client) -> None:
    shown, held = feed.ready(), rows.article(status="raw")
    assert found(reader) == [shown.pk]
    assert found(reader, status="raw") == [held.pk]
    assert found(reader, status="any") == [held.pk, shown.pk]


@pytest.mark.parametrize("order", ["newest", "oldest", "change"])
def test_pages_join_without_gap_while_articles_arrive(reader: Client, order: str) -> None:
    made = [feed.ready() for _ in range(5)]
    feed.revise(made[0], "v2")
    expected = {
        "newest": made[::-1],
        "oldest": made,
        "change": [*made[1:], made[0]],
    }[order]
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = reader.get(ARTICLES, {"order": order, "limit": 2, **cursor}).json()
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
        if order == "newest":
            feed.ready()
    assert seen == [article.pk for article in expected]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"sitee": "x"}, "sitee"),
        ({"offset": 3}, "offset"),
        ({"site": "nowhere"}, "site"),
        ({"target": "nowhere"}, "target"),
        ({"department": 99999}, "department"),
        ({"department": "清远"}, "department"),
        ({"department": 2**70}, "department"),
        ({"limit": 201}, "limit"),
        ({"limit": 0}, "limit"),
        ({"published_from": "2026-02-30"}, "published_from"),
        ({"published_from": "2026-03-02", "published_to": "2026-03-01"}, "published_to"),
        ({"status": "gone"}, "status"),
        ({"validity": "yes"}, "validity"),
        ({"title": "一"}, "title"),
        ({"updated_from": "0001-01-01T00:00:00+14:00"}, "updated_from"),
        ({"cursor": "abc"}, "cursor"),
        ({"cursor": "WyJvbGRlc3QiLDFd"}, "cursor"),  # of the order "oldest"
        ({"cursor": "WyJuZXdlc3QiLCIxIl0"}, "cursor"),  # a text where the id stands
        ({"site": ["a", "b"]}, "site"),
        ({"title": "a\x00b"}, "title"),
    ],
)
def test_a_parameter_that_is_unknown_or_wrong_is_named(reader: Client, parameters: dict[str, Any], field: str) -> None:
    assert wrong_fields(reader.get(ARTICLES, parameters)) == {field}


def test_an_article_comes_with_text_metadata_files_and_standard(reader: Client) -> None:
    office = rows.department(dept_name="教育局", region="连州")
    article = feed.ready(
        "第一条",
        dept=office,
        metadata_json={"公文种类": "通知"},
        publish_time=datetime(2026, 3, 1, 16, tzinfo=UTC),
        publish_precision="day",
    )
    Attachment.objects.create(article=article, url_hash="a" * 64, file_name="附件1.pdf", position=1)
    ArticleStandardMeta.objects.create(article=article, standard_no="GB 1-2026", ccs_codes=["A00"])
    body = reader.get(f"{ARTICLES}{article.pk}/").json()
    assert (body["content_text"], body["metadata"], body["revision"]) == (
        "第一条",
        {"公文种类": "通知"},
        article.current_revision_id,
    )
    assert body["department"] == {"id": office.pk, "name": "教育局", "region": "连州"}
    assert (body["publish_time"], body["publish_precision"]) == ("2026-03-01T16:00:00Z", "day")
    assert [file["file_name"] for file in body["attachments"]] == ["附件1.pdf"]
    assert body["standard"]["standard_no"] == "GB 1-2026"
    assert "content_text" not in reader.get(f"{ARTICLES}{article.pk}/", {"content": "none"}).json()
    assert wrong_fields(reader.get(f"{ARTICLES}{article.pk}/", {"content": "html"})) == {"content"}


def test_answers_have_exactly_the_fields_that_the_schema_promises(reader: Client) -> None:
    article = feed.ready(dept=rows.department())
    Attachment.objects.create(article=article, url_hash="a" * 64)
    ArticleStandardMeta.objects.create(article=article)
    page = reader.get(ARTICLES, {"content": "text"}).json()
    detail = reader.get(f"{ARTICLES}{article.pk}/").json()
    revisions = reader.get(f"{ARTICLES}{article.pk}/revisions/", {"content": "text"}).json()
    told = reader.get("/api/v1/changes/").json()
    shown = {
        outputs.ArticlePageOut: page,
        outputs.ArticleOut: page["items"][0],
        outputs.DepartmentOut: detail["department"],
        outputs.ArticleDetailOut: detail,
        outputs.AttachmentOut: detail["attachments"][0],
        outputs.StandardOut: detail["standard"],
        outputs.RevisionPageOut: revisions,
        outputs.RevisionOut: revisions["items"][0],
        outputs.ChangesOut: told,
        outputs.ChangeOut: told["items"][0],
    }
    for promise, answer in shown.items():
        assert set(answer) == set(promise().fields), promise


def test_a_deleted_article_is_gone_and_an_unknown_one_not_found(reader: Client) -> None:
    article = feed.ready()
    changes.delete(article, reason="wrong", actor="steward")
    for tail in ("", "revisions/", "raw/"):
        assert reader.get(f"{ARTICLES}{10**30}/{tail}").status_code == 404
        gone, unknown = reader.get(f"{ARTICLES}{article.pk}/{tail}"), reader.get(f"{ARTICLES}{10**9}/{tail}")
        assert (gone.status_code, gone.json()["code"]) == (410, "article_deleted")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_revisions_come_oldest_first_with_their_own_text(reader: Client) -> None:
    article = feed.ready("v1")
    feed.revise(article, "v2")
    feed.revise(article, "v3")
    path = f"{ARTICLES}{article.pk}/revisions/"
    first = reader.get(path, {"limit": 2, "content": "text"}).json()
    assert [(item["number"], item["content_text"]) for item in first["items"]] == [(1, "v1"), (2, "v2")]
    second = reader.get(path, {"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [item["number"] for item in second["items"]] == [3] and second["next_cursor"] is None
    assert "content_text" not in second["items"][0]


def test_the_ready_list_is_what_rag_has_not_acknowledged_in_the_order_of_changes(reader: Client) -> None:
    first, second, third = feed.ready(), feed.ready(), feed.ready()
    feed.revise(first, "v2")
    feed.ready(duplicate_of=first)
    Article.objects.filter(pk=second.pk).update(exported_to_rag_at=datetime(2026, 3, 1, tzinfo=UTC))
    assert found(reader, f"{ARTICLES}ready/") == [third.pk, first.pk]
    assert wrong_fields(reader.get(f"{ARTICLES}ready/", {"site": "x"})) == {"site"}


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_the_first_sync_of_a_full_table_reads_the_ready_list_without_sorting(django_db_blocker: Any, tmp_path: Path) -> None:
    with scratch_database(django_db_blocker, tmp_path):
        site = rows.site()
        many = [rows.new_article(site=site, change_seq=number) for number in range(1, 20_001)]
        Article.objects.bulk_create(many, batch_size=2000)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE TABLE article")
            sql, parameters = ready_rows().order_by("change_seq").values("id")[:51].query.sql_with_params()
            cursor.execute(f"EXPLAIN {sql}", parameters)
            names = [column[0] for column in cursor.description]
            plan = [dict(zip(names, line, strict=True)) for line in cursor.fetchall()]
    assert [step["table"] for step in plan] == ["article"]
    assert plan[0]["key"] in {"change_seq", "ix_article_ready_exported"} and "filesort" not in plan[0]["Extra"]


def test_changes_are_paged_by_number_and_a_foreign_cursor_is_a_conflict(reader: Client) -> None:
    first, second = feed.ready(), feed.ready()
    changes.delete(first, reason="wrong", actor="steward")
    page = reader.get("/api/v1/changes/", {"limit": 1}).json()
    assert [(item["type"], item["article_id"]) for item in page["items"]] == [("upsert", second.pk)]
    assert (page["next_after"], page["has_more"]) == (2, True)
    rest = reader.get("/api/v1/changes/", {"after": 2}).json()
    assert [(item["type"], item["reason"]) for item in rest["items"]] == [("delete", "wrong")]
    ahead = reader.get("/api/v1/changes/", {"after": 99})
    assert (ahead.status_code, ahead.json()["code"]) == (409, "cursor_ahead")
    assert wrong_fields(reader.get("/api/v1/changes/", {"after": -1})) == {"after"}
    assert wrong_fields(reader.get("/api/v1/changes/", {"after": 2**63})) == {"after"}


@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v1/articles", "/api/v1/articles/x/", "/api/v1/"])
def test_an_address_that_the_api_does_not_have_is_a_problem_not_a_page(path: str) -> None:
    response = Client().get(path)
    assert (response.status_code, response.json()["code"]) == (404, "no_such_call")


def test_every_call_states_its_scope() -> None:
    views = [getattr(pattern.callback, "cls", None) for pattern in [*article_urls.urlpatterns, *crawl_urls.urlpatterns]]
    assert views.count(None) == 1  # the answer to unknown addresses
    for view in filter(None, views):
        scopes = view.required_scope if isinstance(view.required_scope, dict) else {"": view.required_scope}
        assert set(scopes.values()) <= {"read", "export", "operate"}


def test_the_schema_is_valid_without_a_warning_and_names_every_call() -> None:
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", stdout=out)
    schema = json.loads(out.getvalue())
    paths = {path.removeprefix("/api/v1/") for path in schema["paths"]}
    assert {
        "articles/",
        "articles/ready/",
        "changes/",
        "exports/claim/",
        "exports/ack/",
        "jobs/{job_id}/cancel/",
        "runs/",
    } <= paths
    assert "ApiKey" in schema["components"]["securitySchemes"]
    assert "application/problem+json" in schema["paths"]["/api/v1/articles/"]["get"]["responses"]["422"]["content"]


def test_the_documentation_loads_nothing_from_elsewhere(client: Client) -> None:
    assert client.get("/api/schema/").status_code == 200
    page = client.get("/api/docs/").content.decode()
    assert "/static/drf_spectacular_sidecar/" in page
    assert "http://" not in page.replace("http://testserver", "") and "https://" not in page
