"""A claimed job from its checkpoint to its end, or to the end of its turn. The only place where a job's failures are caught."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from articles import store as articles_store
from articles.content_store import StorageFull, open_store
from articles.models import Article
from crawl import failures, health, jobs, replay, runs
from crawl.archive import Archive
from crawl.crawling import Crawl
from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import AllowList
from crawl.fetching.http import FetchSettings, HttpFetcher
from crawl.models import CrawlJob, CrawlRun
from crawl.pipeline import collect, crawl_page
from crawl.turns import SliceOver, Stopped, Turn, TurnOver
from govcrawler.crashpoints import crashpoint
from sources.adapters import UnknownAdapter
from sources.adapters.base import ListPage, ParseError, ParseProblem
from sources.models import CrawlTarget
from sources.reading import adapter_for

log = logging.getLogger(__name__)
RETRY_SEC = 60
STORAGE_RETRY_SEC = 600
PAGES_AT_MOST = 10_000

End = Literal["done", "failed", "canceled", "waits", "stopped", "lost"]


@dataclass(frozen=True)
class Bounds:
    """How far a job may go in this slice: no request after ``deadline`` (seconds of ``time.monotonic``), pages (None: all)."""

    deadline: float | None = None
    max_pages: int | None = None


def fetch_settings() -> FetchSettings:
    """The fetcher's settings from those of the installation. The contact is part of the User-Agent."""
    crawl = settings.CRAWL
    agent = f"{crawl['user_agent']} (+{crawl['contact']})" if crawl["contact"] else crawl["user_agent"]
    return FetchSettings(
        user_agent=agent,
        allow=AllowList.parse(crawl["allow_addresses"]),
        ca_file=Path(crawl["ca_file"]) if crawl["ca_file"] else None,
    )


def run_job(
    lease: jobs.Lease,
    fetcher: HttpFetcher,
    stop: threading.Event,
    bounds: Bounds = Bounds(),
    report: Callable[[runs.Receipt], None] = lambda receipt: None,
) -> End:
    """Works on a claimed job and says how it ended. Every way out leaves the job's row in a named state, with its reason."""
    job = lease.job
    target = CrawlTarget.objects.select_related("site", "site_department").filter(target_code=job.target_code).first()
    if target is None:
        jobs.finish(lease, CrawlJob.Status.FAILED, error=f"{ErrorClass.CONFIG}: target {job.target_code} no longer exists")
        return "failed"
    receipt = runs.open_run(job, target)
    turn = Turn(lease, target, fetcher, fetch_settings().robots_limits, stop, bounds.deadline)
    try:
        crawl = _assemble(lease, target, turn, fetcher, receipt, report)
        return _until_end(crawl, bounds)
    except (UnknownAdapter, ValueError) as error:  # its parameters, or a list page that it cannot name
        return _finish(lease, receipt, "failed", f"{ErrorClass.CONFIG}: {error}")
    except jobs.LeaseLost:
        log.warning("lease lost", extra={"data": {"job": job.job_id}})
        return "lost"


def _assemble(
    lease: jobs.Lease,
    target: CrawlTarget,
    turn: Turn,
    fetcher: HttpFetcher,
    receipt: runs.Receipt,
    report: Callable[[runs.Receipt], None],
) -> Crawl:
    store = open_store()
    return Crawl(
        lease=lease,
        target=target,
        adapter=adapter_for(target),
        turn=turn,
        fetcher=fetcher,
        store=store,
        archive=Archive(store, target.site.site_code, lease.job.job_id),
        receipt=receipt,
        report=report,
    )


def _until_end(crawl: Crawl, bounds: Bounds) -> End:
    lease, receipt = crawl.lease, crawl.receipt
    try:
        _pages_saved(crawl, bounds)
    except SliceOver:
        jobs.release(lease)
        return "stopped"
    except Stopped as stopped:
        if stopped.canceled:
            return _finish(lease, receipt, "canceled", None, crawl)
        jobs.release(lease)
        return "stopped"
    except TurnOver as over:
        return _wait(crawl, over.wait_sec, over.reason, counts=over.counts)
    except StorageFull as error:
        return _wait(crawl, STORAGE_RETRY_SEC, f"{ErrorClass.STORAGE_FULL}: {error.strerror}", counts=False)
    except OSError as error:
        return _wait(crawl, STORAGE_RETRY_SEC, f"{ErrorClass.STORAGE}: {error}", counts=True)
    except OperationalError as error:
        return _wait(crawl, RETRY_SEC, f"{ErrorClass.DB}: {error}", counts=True)
    except ParseError as error:
        if error.problem is ParseProblem.BLOCKED:
            return _wait(crawl, settings.CRAWL["backoff_min_sec"], str(error), counts=True)
        return _finish(lease, receipt, "failed", f"{ErrorClass.PARSE}: {error}", crawl)
    except FetchError as error:
        if error.retryable:
            return _wait(crawl, RETRY_SEC, f"the list could not be fetched: {error}", counts=True)
        return _finish(lease, receipt, "failed", str(error), crawl)
    return _finish(lease, receipt, "done", None, crawl)


def _pages_saved(crawl: Crawl, bounds: Bounds) -> None:
    """The pages; whatever ends them, what was fetched is saved and the host's pace written while the host is still ours."""
    ours = True
    try:
        _pages(crawl, bounds)
    except jobs.LeaseLost:
        ours = False  # a late worker writes nothing more (fault-model N6)
        raise
    finally:
        with suppress(OperationalError):  # said by whoever meets the database next; the archive has the bytes
            if ours:
                crawl.flush()
                crawl.receipt.save()
            crawl.turn.close()


def _pages(crawl: Crawl, bounds: Bounds) -> None:
    """From the checkpoint to the end of the list, to the first page of rows known for long, or to the bound."""
    job = crawl.lease.job
    page, cursor = job.last_completed_page + 1, job.cursor
    if job.source == CrawlJob.Source.RETRY:
        return _retry_failed(crawl)
    if job.last_completed_page == 0:
        _retry_failed(crawl)
    elif cursor is None:
        return _complete(crawl)  # the last page was done, and then the worker died
    seen: set[str] = set()
    before: list[str] = []
    first = page
    while page <= PAGES_AT_MOST:
        result = crawl_page(crawl, page, cursor or None, seen)
        listing, rows = result.listing, [ref.url for ref in result.listing.refs]
        if rows and rows == before:
            crawl.receipt.warn(f"page {page} repeats page {page - 1}: the list ends here")
            return _complete(crawl)
        if not listing.has_more or (result.all_known and not crawl.force and _known_for_long(crawl, listing)):
            return _complete(crawl)
        if bounds.max_pages is not None and page - first + 1 >= bounds.max_pages:
            return None
        page, cursor, before = page + 1, listing.next_cursor, rows
    crawl.receipt.warn(f"the list goes on after page {PAGES_AT_MOST}: the rest is not crawled")
    return None


def _known_for_long(crawl: Crawl, listing: ListPage) -> bool:
    """Whether the page's rows were stored before the last complete pass ended. Rows of a run that was cut off are younger:
    below them may be a hole, which only going on closes (invariant 6)."""
    passed = crawl.target.backfill_completed_at
    if passed is None:
        return False
    moving = [ref for ref in listing.refs if not ref.pinned and not ref.skip]
    ids = articles_store.known(crawl.target.site_id, moving).values()
    return not Article.objects.filter(pk__in=ids, created_at__gt=passed).exists()


def _complete(crawl: Crawl) -> None:
    """A pass is through: whatever the list holds is stored or listed as failed."""
    CrawlTarget.objects.filter(pk=crawl.target.pk).update(backfill_completed_at=timezone.now())


def _retry_failed(crawl: Crawl) -> None:
    """What earlier runs could not have: rows of lists, and files of stored articles."""
    for ref in list(failures.due(crawl.target)):
        collect(crawl, ref)
    for article in replay.with_files_due(crawl):
        crawl.add(replay.again(crawl, article))
    crawl.flush()


def _wait(crawl: Crawl, seconds: float, reason: str, *, counts: bool) -> End:
    """Back to the queue with a reason people can read; a job that failed too often ends."""
    job = crawl.lease.job
    if counts and job.attempt_count >= settings.CRAWL["max_attempts"]:
        return _finish(crawl.lease, crawl.receipt, "failed", reason, crawl)
    jobs.release(crawl.lease, wait_sec=seconds, reason=reason, counts=counts)
    return "waits"


def _finish(lease: jobs.Lease, receipt: runs.Receipt, end: End, error: str | None, crawl: Crawl | None = None) -> End:
    crashpoint("run.before_finish")
    statuses = {
        "done": (CrawlJob.Status.DONE, CrawlRun.Status.SUCCEEDED),
        "failed": (CrawlJob.Status.FAILED, CrawlRun.Status.FAILED),
        "canceled": (CrawlJob.Status.CANCELED, CrawlRun.Status.CANCELED),
    }
    job_status, run_status = statuses[end]
    if error:
        receipt.error("", error)
        log.error("job failed", extra={"data": {"job": lease.job.job_id, "target": lease.job.target_code, "error": error}})
    jobs.stop_wanted(lease)  # a late worker closes nothing
    # The job's row comes last: a crash before it means that the end is done again, after it that nothing is left to do.
    receipt.finish(run_status)
    if receipt.run.target_id:
        health.project(receipt.run.target_id)
    if crawl:
        CrawlTarget.objects.filter(pk=crawl.target.pk).update(last_crawled_at=timezone.now())
        crawl.archive.clear()
    jobs.finish(lease, job_status, error=error, result=receipt.summary())
    return end
