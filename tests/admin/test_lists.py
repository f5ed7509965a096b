"""Big tables are paged by key: nothing counts all rows, nothing skips rows by OFFSET, no list loads a body."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles.models import Article, ArticleRevision, Attachment
from crawl.models import CrawlJob, CrawlLog, CrawlRun
from govcrawler import admin_paging
from govcrawler.audit.models import AdminAuditLog
from sources.models import CrawlTarget
from sources.parsing.urls import canonical_url, url_hash
from tests import rows
from tests.admin import data

pytestmark = pytest.mark.django_db
BIG = (Article, ArticleRevision, Attachment, CrawlLog, CrawlRun, CrawlJob, AdminAuditLog)
NEXT = re.compile(r'href="([^"]+)" rel="next"')
PREVIOUS = re.compile(r'href="([^"]+)" rel="prev"')


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for known in admin.site._registry.values():
        monkeypatch.setattr(known, "list_per_page", 3)


def list_of(model: type[Any]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def shown(page: Any) -> list[Any]:
    return [row.pk for row in page.context["cl"].result_list]


def walk(client: Client, address: str, pattern: re.Pattern[str]) -> list[list[Any]]:
    """The keys shown by each page from ``address`` on, following the link of ``pattern``."""
    pages = []
    base = address.partition("?")[0]
    while True:
        page = client.get(address)
        pages.append(shown(page))
        found = pattern.search(page.content.decode())
        if found is None:
            return pages
        address = base + found[1].replace("&amp;", "&")


def many() -> None:
    site = data.site()
    target = data.target(site)
    for number in range(8):
        # Two share a time, two have none: the key must tell them apart.
        at = None if number in (2, 5) else data.PUBLISHED + timedelta(days=number // 2)
        article = data.article(site, target=target, publish_time=at)
        data.attachment(article)
        CrawlLog.objects.create(site=site, target=target, article_url="http://www.example/", success=True)
        CrawlRun.objects.create(site=site, target=target, site_code="1", target_code="2", scope="full", status="succeeded")
        rows.job()
        AdminAuditLog.objects.create(method="CLI", path="sync", action="sites.sync")


@pytest.mark.parametrize("model", BIG, ids=lambda model: model.__name__)
def test_every_row_is_shown_once_forwards_and_backwards(steward: Client, small_pages: None, model: type[Any]) -> None:
    many()
    everything = set(model._default_manager.values_list("pk", flat=True))
    forwards = walk(steward, list_of(model), NEXT)
    flat = [pk for page in forwards for pk in page]
    assert len(flat) == len(set(flat)) and set(flat) == everything
    assert [len(page) for page in forwards[:-1]] == [3] * (len(forwards) - 1) and len(forwards) >= 3
    last = steward.get(list_of(model))
    for _ in forwards[1:]:
        address = NEXT.search(last.content.decode())
        assert address is not None
        last = steward.get(list_of(model) + address[1].replace("&amp;", "&"))
    back = walk(steward, list_of(model) + "?" + last.wsgi_request.META["QUERY_STRING"], PREVIOUS)
    assert [pk for page in reversed(back) for pk in page] == flat


@pytest.mark.parametrize("model", BIG, ids=lambda model: model.__name__)
def test_no_count_and_no_offset_on_big_tables(steward: Client, small_pages: None, model: type[Any]) -> None:
    many()
    second = NEXT.search(steward.get(list_of(model)).content.decode())
    assert second is not None
    for address in (list_of(model), list_of(model) + second[1].replace("&amp;", "&")):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert steward.get(address).status_code == 200
        asked = [query["sql"] for query in queries if f"FROM {connection.ops.quote_name(model._meta.db_table)}" in query["sql"]]
        assert asked
        for sql in asked:
            assert "COUNT(" not in sql.upper(), sql
            assert "OFFSET" not in sql.upper(), sql
            assert " LIMIT " in sql.upper(), sql
            assert " JOIN " not in sql.upper(), sql


def test_the_order_of_articles_is_that_of_publication(steward: Client, small_pages: None) -> None:
    many()
    listed = [pk for page in walk(steward, list_of(Article), NEXT) for pk in page]
    times = [Article.objects.get(pk=pk).publish_time for pk in listed]
    known = [time for time in times if time is not None]
    assert known == sorted(known, reverse=True) and times[len(known) :] == [None, None]


def test_articles_of_one_state_are_paged_in_the_order_of_its_index(steward: Client, small_pages: None) -> None:
    many()
    pages = walk(steward, f"{list_of(Article)}?status__exact=ready", NEXT)
    assert [pk for page in pages for pk in page] == sorted(Article.objects.values_list("pk", flat=True), reverse=True)


def test_filters_stay_on_the_next_page(steward: Client, small_pages: None) -> None:
    many()
    other = data.site(site_code="1-9")
    data.article(other)
    pages = walk(steward, f"{list_of(Article)}?site__id__exact={Article.objects.order_by('pk')[0].site_id}", NEXT)
    assert sum(len(page) for page in pages) == 8


@pytest.mark.parametrize("text", ["x", "2024-01-01~1", "~", "1~2~3", "2024-01-01T00:00:00~x"])
def test_a_broken_key_leads_to_the_first_page(steward: Client, text: str) -> None:
    response = steward.get(list_of(Article), {"after": text}, follow=True)
    assert response.status_code == 200
    assert response.redirect_chain


def test_lists_never_load_bodies(steward: Client) -> None:
    many()
    for model in (Article, ArticleRevision):
        with CaptureQueriesContext(connection) as queries:
            steward.get(list_of(model))
        for query in queries:
            for column in ("content_html", "content_text", "metadata_json"):
                assert f"{connection.ops.quote_name(column)}" not in query["sql"], query["sql"]


def test_other_lists_count_to_the_cap_only(steward: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    site = data.site()
    for number in range(5):
        data.target(site, target_code=f"1-{number}")
    monkeypatch.setattr(admin_paging, "COUNT_CAP", 4)
    with CaptureQueriesContext(connection) as queries:
        page = steward.get(list_of(CrawlTarget))
    assert page.context["cl"].result_count == 4
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"] and "crawl_target" in query["sql"]]
    assert counts and all("LIMIT 4" in sql for sql in counts)


def test_no_list_cuts_times_in_the_database(steward: Client) -> None:
    assert [known for known in admin.site._registry.values() if known.date_hierarchy] == []


def test_articles_are_found_by_number_address_and_source_id(steward: Client) -> None:
    site = data.site()
    address = "http://www.example/a/t1.html"
    first = data.article(
        site, url=address, url_hash=url_hash(address), canonical_url=canonical_url(address), native_post_id="778"
    )
    second = data.article(site, doc_no="青教〔2023〕9号", index_no="1144-2", title="别的事情")
    for typed, expected in (
        ("青府〔2024〕3号", {first.pk}),
        ("青教", {second.pk}),
        ("1144", {second.pk}),
        (address + "#top", {first.pk}),
        (first.url_hash, {first.pk}),
        ("778", {first.pk}),
        (str(second.pk), {second.pk}),
        ("标题：别的", {second.pk}),
        ("title: 别的", {second.pk}),
        ("别的", set()),
        ("http://[", set()),
    ):
        assert set(shown(steward.get(list_of(Article), {"q": typed}))) == expected, typed
