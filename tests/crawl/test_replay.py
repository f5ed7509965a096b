"""Stored bytes parsed again without the source, and files that were late brought in by the next run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.utils import timezone

from articles import changes, store
from articles.content_store import open_store
from articles.models import Article, Attachment
from crawl import jobs, replay
from crawl.archive import Archive
from crawl.crawling import Crawl
from crawl.fetching.http import HttpFetcher
from crawl.models import CrawlRun
from crawl.runs import open_run
from crawl.turns import Turn
from crawl.work import fetch_settings
from sources.models import CrawlSite, CrawlTarget
from sources.reading import adapter_for
from tests.crawl.listed import RULES, crawl_once, watched
from tests.crawl.witness import Witness, serve
from tests.faultserver import FaultServer, reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]
PDF = reply(b"%PDF-1.4 late", headers={"Content-Type": "application/pdf"})


@contextmanager
def crawling(target: CrawlTarget) -> Iterator[Crawl]:
    job, _ = jobs.enqueue(target)
    lease = jobs.claim(job_id=job.job_id)
    assert lease is not None
    content = open_store()
    with HttpFetcher(fetch_settings()) as fetcher:
        turn = Turn(lease, target, fetcher, fetch_settings().robots_limits, threading.Event())
        archive = Archive(content, target.site.site_code, job.job_id)
        yield Crawl(lease, target, adapter_for(target), turn, fetcher, content, archive, open_run(job, target))
        jobs.finish(lease, "done")


def due_now() -> None:
    Attachment.objects.filter(status="pending").update(next_retry_at=timezone.now() - timedelta(minutes=1))


@pytest.fixture
def target(server: FaultServer, second: FaultServer, witness: Witness) -> CrawlTarget:
    """One article with two files on another host, of which the second is late."""
    second.add("/f.pdf", PDF)
    second.add("/late.pdf", reply(b"broken", 500), PDF)
    serve(server, witness, [["/a.html"]], files=[second.url("/f.pdf"), second.url("/late.pdf")])
    return watched(server)


def test_a_file_that_was_late_completes_the_article_in_the_next_run(
    target: CrawlTarget, server: FaultServer, second: FaultServer
) -> None:
    assert crawl_once(target) == "done"
    held = Article.objects.get()
    assert (held.status, held.change_seq) == ("raw", None)
    assert crawl_once(target) == "done"  # its next try is not due: nobody is asked
    assert len(second.hits("/late.pdf")) == 1
    due_now()
    assert crawl_once(target) == "done"
    article = Article.objects.get()
    assert (article.status, article.revisions.count()) == ("ready", 2)
    assert [(row.status, row.position) for row in article.attachments.order_by("position")] == [("done", 0), ("done", 1)]
    assert [len(server.hits("/a.html")), len(second.hits("/f.pdf")), len(second.hits("/late.pdf"))] == [1, 1, 2]
    assert [change.type for change in changes.changes(0, 10).items] == ["upsert"]
    assert CrawlRun.objects.latest("id").updated == 1


def test_tries_that_fail_again_are_counted_and_given_up(target: CrawlTarget, second: FaultServer) -> None:
    second.add("/late.pdf", reply(b"broken", 500))
    for attempt in range(1, 6):
        assert Attachment.objects.filter(status="pending").count() == (1 if attempt > 1 else 0)
        due_now()
        assert crawl_once(target) == "done"
        assert Attachment.objects.get(source_url=second.url("/late.pdf")).attempts == attempt
    due_now()
    assert crawl_once(target) == "done"
    assert len(second.hits("/late.pdf")) == 5
    row = Attachment.objects.get(source_url=second.url("/late.pdf"))
    assert (row.status, row.error_class, row.next_retry_at) == ("failed", "HTTP_STATUS", None)
    assert Article.objects.get().status == "ready"


def test_history_is_parsed_again_without_asking_anybody(target: CrawlTarget, server: FaultServer, second: FaultServer) -> None:
    second.add("/late.pdf", PDF)
    crawl_once(target)
    before = Article.objects.get()
    asked = len(server.log) + len(second.log)
    with crawling(target) as crawl:
        again = replay.again(crawl, before)
        assert [outcome.kind for outcome in store.save_batch([again])] == ["known"]
    better = {**RULES, "detail": {**RULES["detail"], "fields": {"publisher": {"const": "某局"}}}}
    CrawlSite.objects.update(adapter_params_json=better)
    with crawling(CrawlTarget.objects.get()) as crawl:
        again = replay.again(crawl, before)
        assert [outcome.kind for outcome in store.save_batch([again])] == ["updated"]
    article = Article.objects.get()
    assert (article.publisher, article.fetched_at, article.raw_html_path) == ("某局", before.fetched_at, before.raw_html_path)
    assert article.attachments.filter(status="done").count() == 2
    assert len(server.log) + len(second.log) == asked


def test_an_article_whose_pages_are_gone_is_left_alone_and_ends_no_run(target: CrawlTarget) -> None:
    crawl_once(target)
    due_now()
    content = open_store()
    for key in list(content.keys("raw")):
        content.delete(key)
    with crawling(target) as crawl:
        assert replay.with_files_due(crawl) == []
        with pytest.raises(FileNotFoundError):
            replay.again(crawl, Article.objects.get())


def test_only_due_files_of_the_target_itself_are_tried(target: CrawlTarget, server: FaultServer) -> None:
    crawl_once(target)
    with crawling(target) as crawl:
        assert replay.with_files_due(crawl) == []
        due_now()
        assert replay.with_files_due(crawl) == [Article.objects.get()]
        crawl.target = watched(server)
        assert replay.with_files_due(crawl) == []
