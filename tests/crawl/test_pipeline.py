"""One page of a list: every row accounted for once, one article's failure ends nothing, known rows are not fetched."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from articles.content_store import open_store
from articles.models import Article, ArticleListing
from crawl.models import CrawlFailure, CrawlJob, CrawlLog, CrawlRun
from sources.models import CrawlTarget
from tests import rows
from tests.crawl.listed import RULES, crawl_once, job_of, watched
from tests.crawl.witness import Witness, article, list_page, serve
from tests.faultserver import FaultServer, redirect, reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]
HTML = {"Content-Type": "text/html; charset=utf-8"}
NO_BODY = ("<html><body><h1>通知</h1><p>2024年3月15日 " + "别的内容，" * 200 + "</p></body></html>").encode()


def last_run(target: CrawlTarget) -> CrawlRun:
    return CrawlRun.objects.filter(target=target).latest("id")


def counts(run: CrawlRun) -> dict[str, int]:
    names = ("inserted", "updated", "known", "duplicate", "skipped", "failed")
    assert run.discovered == sum(getattr(run, name) for name in names)
    return {name: getattr(run, name) for name in names if getattr(run, name)}


def due_now() -> None:
    CrawlFailure.objects.filter(next_retry_at__isnull=False).update(next_retry_at=timezone.now() - timedelta(minutes=1))


def test_every_row_is_accounted_for_with_its_reason(server: FaultServer, witness: Witness) -> None:
    rows_listed = [
        "/ok.html",
        "/gone.html",
        "/bad.html",
        "/secret/x.html",
        "http://elsewhere.example/1",
        "/ok.html",
        "/hidden.html",
    ]
    serve(server, witness, [rows_listed], robots="User-agent: *\nDisallow: /secret/\n")
    server.add("/gone.html", reply(b"gone", 404))
    server.add("/bad.html", reply(NO_BODY, headers=HTML))
    page = list_page(rows_listed).replace(b"<li><a href='/hidden.html'", b"<li><i class=hide></i><a href='/hidden.html'")
    server.add("/list1.html", reply(page, headers=HTML))
    rules = {**RULES, "list": {**RULES["list"], "skip_if": "i.hide"}}
    target = watched(server, site={"adapter_params_json": rules})
    assert crawl_once(target) == "done"
    run = last_run(target)
    assert counts(run) == {"inserted": 1, "duplicate": 1, "skipped": 3, "failed": 2}
    assert run.metrics_json["reasons"] == {
        "skipped:external": 1,
        "skipped:hidden": 1,
        "skipped:robots": 1,
        "duplicate:listed_again": 1,
        "failed:http_status": 1,
        "failed:parse": 1,
    }
    assert (run.status, run.pages, run.fetched) == ("partial", 1, 2)
    assert sorted(entry["url"] for entry in run.errors_json) == [server.url("/bad.html"), server.url("/gone.html")]


def test_an_article_that_cannot_be_parsed_is_failed_with_its_page_and_the_rest_goes_on(
    server: FaultServer, witness: Witness
) -> None:
    serve(server, witness, [["/a.html", "/bad.html", "/c.html"]])
    server.add("/bad.html", reply(NO_BODY, headers=HTML))
    target = watched(server)
    assert crawl_once(target) == "done"
    assert list(Article.objects.order_by("url").values_list("url", "status")) == [
        (server.url("/a.html"), "ready"),
        (server.url("/bad.html"), "failed"),
        (server.url("/c.html"), "ready"),
    ]
    failed = Article.objects.get(status="failed")
    assert open_store().read_gzip(failed.raw_html_path or "") == NO_BODY
    assert CrawlFailure.objects.get().error_class == "PARSE"
    server.add("/bad.html", reply(article("/bad.html"), headers=HTML))
    due_now()
    assert crawl_once(target) == "done"
    failed.refresh_from_db()
    assert (failed.status, CrawlFailure.objects.count()) == ("ready", 0)


def test_a_row_that_failed_rests_then_is_tried_again_and_given_up_after_five_tries(
    server: FaultServer, witness: Witness
) -> None:
    serve(server, witness, [["/a.html", "/bad.html"]])
    server.add("/bad.html", reply(b"broken", 500))
    target = watched(server)
    for attempt in range(1, 6):
        assert crawl_once(target) == "done"
        assert len(server.hits("/bad.html")) == attempt
        assert crawl_once(target) == "done"
        assert last_run(target).metrics_json["reasons"] == {"skipped:failed_before": 1}
        due_now()
    crawl_once(target)
    assert len(server.hits("/bad.html")) == 5
    row = CrawlFailure.objects.get()
    assert (row.attempts, row.next_retry_at, row.error_class) == (5, None, "HTTP_STATUS")
    assert counts(last_run(target)) == {"known": 1, "skipped": 1}


def test_a_second_run_asks_for_the_list_only(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/a.html", "/b.html"]])
    target = watched(server)
    crawl_once(target)
    asked = len(server.log)
    assert crawl_once(target) == "done"
    assert [hit.path for hit in server.log[asked:]] == ["/list1.html"]
    assert counts(last_run(target)) == {"known": 2}
    assert job_of(target).result_json["known"] == 2


def test_force_fetches_known_rows_and_changes_only_what_changed(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/a.html", "/b.html"]])
    target = watched(server)
    crawl_once(target)
    server.add("/b.html", reply(article("新的通知"), headers=HTML))
    assert crawl_once(target, force=True) == "done"
    assert counts(last_run(target)) == {"known": 1, "updated": 1}
    assert last_run(target).scope == "full"
    assert sorted(one.revisions.count() for one in Article.objects.all()) == [1, 2]


def test_a_page_that_turned_into_a_wall_leaves_the_good_version(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/a.html"]])
    target = watched(server)
    crawl_once(target)
    before = Article.objects.get()
    for answer in (reply(b"", headers=HTML), reply(NO_BODY, headers=HTML), reply(b"broken", 500)):
        server.add("/a.html", answer)
        assert crawl_once(target, force=True) == "done"
        assert counts(last_run(target)) == {"failed": 1}
        after = Article.objects.get()
        assert (after.status, after.content_hash, after.change_seq) == ("ready", before.content_hash, before.change_seq)


def test_a_second_target_lists_the_same_articles_without_fetching_them(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/a.html", "/b.html"]])
    first = watched(server)
    crawl_once(first)
    server.add("/other.html", reply(list_page(["/b.html", "/a.html"]), headers=HTML))
    second = rows.target(site=first.site, entry_url=server.url("/other.html"), interval_sec=0, interval_jitter_sec=0)
    assert crawl_once(second) == "done"
    assert len(server.hits("/a.html")) == len(server.hits("/b.html")) == 1
    assert ArticleListing.objects.filter(target=second).count() == 2
    assert set(Article.objects.values_list("target", flat=True)) == {first.pk}


def test_a_row_that_leads_to_a_known_article_is_known_the_next_time(server: FaultServer, witness: Witness) -> None:
    """The page that the row's page forwards to is the article; two rows lead to it."""
    serve(server, witness, [["/a.html"]])
    server.add("/go.html", redirect("/a.html"))
    rules = {**RULES, "list": {**RULES["list"], "native_id": {"css": "a", "attr": "title"}}}
    items = "".join(f"<li><a href='{path}' title=7>通知</a></li>" for path in ("/a.html", "/go.html"))
    page = f"<html><body><ul class=news>{items}</ul></body></html>"
    server.add("/list1.html", reply(page.encode(), headers=HTML))
    target = watched(server, site={"adapter_params_json": rules})
    crawl_once(target)
    assert Article.objects.count() == 1
    assert counts(last_run(target)) == {"inserted": 1, "known": 1}
    assert crawl_once(target) == "done"
    assert counts(last_run(target)) == {"known": 2}
    assert len(server.hits("/go.html")) == 1


def test_pinned_rows_on_every_page_are_fetched_once_and_do_not_end_a_run(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/p.html", "/a.html"], ["/p.html", "/b.html"]])
    for number, (own, following) in enumerate([("/a.html", "/list2.html"), ("/b.html", "")], 1):
        server.add(f"/list{number}.html", reply(list_page(["/p.html", own], following, pinned=["/p.html"]), headers=HTML))
    target = watched(server)
    crawl_once(target)
    assert counts(last_run(target)) == {"inserted": 3, "duplicate": 1}
    assert len(server.hits("/p.html")) == 1


def test_the_receipt_adds_up_with_the_servers_own_log(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/a.html", "/b.html"], ["/c.html"]])
    target = watched(server)
    crawl_once(target)
    run = last_run(target)
    assert (run.requests, run.pages, run.fetched) == (len(server.log), 2, 3)
    assert CrawlLog.objects.count() == len(server.log)
    assert run.bytes >= sum(len(article(name)) for name in ("/a.html", "/b.html", "/c.html"))
    assert CrawlJob.objects.get().last_completed_page == 2
    assert list(open_store().keys("spool")) == []
