"""What one job works with: adapter, turn on the network, archive, receipt, and the batch of articles to be saved."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from articles import store as articles_store
from articles.content_store import ContentStore
from articles.record import Found
from crawl import failures, hosts, politeness
from crawl.archive import Archive
from crawl.classify import Expected, Kind, classify
from crawl.errors import ErrorClass, FetchError
from crawl.fetching.http import Downloaded, HttpFetcher
from crawl.jobs import Lease, stop_wanted
from crawl.models import CrawlHost, CrawlLog
from crawl.runs import Receipt
from crawl.turns import Turn, TurnOver
from govcrawler.crashpoints import crashpoint
from govcrawler.fields import storable
from govcrawler.logs import masked
from sources.adapters.base import Adapter, ArticleRef, Request, Response
from sources.models import CrawlTarget
from sources.parsing.urls import host_key

BATCH_ROWS = 50
BATCH_SECONDS = 2.0
FAILURES_IN_A_ROW = 5

OUR_OWN = frozenset({ErrorClass.STORAGE, ErrorClass.STORAGE_FULL, ErrorClass.DB})
"""Errors of ours, for which no host is left alone."""

VERDICTS = {
    Kind.EMPTY: ErrorClass.EMPTY_BODY,
    Kind.SOFT_404: ErrorClass.SOFT_404,
    Kind.BLOCK_PAGE: ErrorClass.BLOCK_PAGE,
    Kind.LOGIN: ErrorClass.BLOCK_PAGE,
    Kind.SCRIPT_SHELL: ErrorClass.TYPE,
    Kind.WRONG_TYPE: ErrorClass.TYPE,
}


@dataclass
class Crawl:
    """Collaborators and state of one job in one slice."""

    lease: Lease
    target: CrawlTarget
    adapter: Adapter
    turn: Turn
    fetcher: HttpFetcher
    store: ContentStore
    archive: Archive
    receipt: Receipt
    report: Callable[[Receipt], None] = lambda receipt: None
    list_fetched_at: datetime = field(default_factory=timezone.now)
    batch: list[Found] = field(default_factory=list)
    batch_since: float = 0.0
    logs: list[CrawlLog] = field(default_factory=list)
    failed_in_a_row: Counter[str] = field(default_factory=Counter)  # by host
    answering: set[str] = field(default_factory=set)  # hosts whose last request of ours was answered

    @property
    def force(self) -> bool:
        return self.lease.job.force

    def fetch(self, request: Request, *, expected: Expected) -> Response:
        """One page, logged and judged. Raises FetchError, TurnOver, SliceOver, Stopped, jobs.LeaseLost."""
        try:
            fetched = self.fetcher.fetch(request, before_hop=self.turn.before_hop, after_hop=self.turn.after_hop)
            crashpoint("fetch.after_response")
            refuse_other(fetched.response, expected)
        except FetchError as plain:
            error = _told_apart(plain, expected)
            self._log(request.url, error.status, str(error))
            self.note_fetch_error(error)
            raise error from plain.__cause__
        self._log(request.url, fetched.response.status, None)
        self.receipt.run.bytes += fetched.wire_bytes
        self._succeeded(host_key(fetched.response.url))
        return fetched.response

    def download(self, request: Request) -> Downloaded:
        """One file into the content store's temporary folder, logged. Raises as ``fetch``; the caller notes the error."""
        try:
            folder = self.store.temporary().parent
            got = self.fetcher.download(request, folder, before_hop=self.turn.before_hop, after_hop=self.turn.after_hop)
        except FetchError as plain:
            error = _told_apart(plain, "file")
            self._log(request.url, error.status, str(error))
            raise error from plain.__cause__
        self._log(request.url, got.status, None)
        self.receipt.run.bytes += got.wire_bytes
        self._succeeded(host_key(got.url))
        return got

    def note_fetch_error(self, error: FetchError) -> None:
        """Lets the host rest when it asked for it or blocks us, or when it fails again and again; after a rest the first
        failure is enough (a half-open breaker). Raises TurnOver when it is the job's own host."""
        if error.error_class in OUR_OWN:
            return
        host = host_key(error.url) if error.url else self.turn.host
        site, defaults = self.target.site, settings.CRAWL
        shortest = site.backoff_min_sec or defaults["backoff_min_sec"]
        longest = site.backoff_max_sec or defaults["backoff_max_sec"]
        failures_before = CrawlHost.objects.filter(host=host).values_list("consecutive_failures", flat=True).first() or 0
        if error.error_class is ErrorClass.RATE_LIMITED:
            wait = politeness.retry_after(error.retry_after, failures_before, shortest, longest)
        elif error.error_class is ErrorClass.BLOCK_PAGE:
            wait = politeness.backoff(failures_before, shortest, longest)
        elif error.retryable:
            self.failed_in_a_row[host] += 1
            if not failures_before and self.failed_in_a_row[host] < FAILURES_IN_A_ROW:
                return
            wait = politeness.backoff(failures_before, shortest, longest)
        else:
            if error.status is not None:
                self._succeeded(host)  # it answers, though not with what we want
            return
        self.answering.discard(host)
        reason = f"{host} is left alone for {wait:.0f} s after {error}"
        hosts.back_off(host, wait, reason)
        if host == self.turn.host:
            raise TurnOver(wait, reason, counts=error.error_class is not ErrorClass.RATE_LIMITED) from error

    def add(self, found: Found) -> None:
        """Puts an article into the batch; the batch is saved when it is full or two seconds old."""
        if not self.batch:
            self.batch_since = time.monotonic()
        self.batch.append(found)
        if len(self.batch) >= BATCH_ROWS or time.monotonic() - self.batch_since >= BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Saves the batch and the log, and accounts for each article. Nothing is left in memory afterwards.

        Raises jobs.LeaseLost instead, when the job is somebody else's by now: a late worker saves nothing (fault-model N6).
        """
        if self.batch:
            stop_wanted(self.lease)
        batch, self.batch = self.batch, []
        had, fresh = [], False
        for found, outcome in zip(batch, articles_store.save_batch(batch), strict=True):
            reason = ErrorClass.DB if found.parsed else ErrorClass.PARSE
            self.receipt.row(outcome.kind, reason.value.lower() if outcome.kind == "failed" else "")
            if outcome.kind == "failed":
                self.receipt.error(found.ref.url, outcome.error)
                failures.record(self.target, found.ref, reason, outcome.error)
            else:
                had.append(found.ref.url)
            fresh = fresh or outcome.kind == "inserted"
        failures.clear(self.target, had)
        if fresh:
            CrawlTarget.objects.filter(pk=self.target.pk).update(last_article_time=timezone.now())
        logs, self.logs = self.logs, []
        CrawlLog.objects.bulk_create(logs)
        self.receipt.run.requests += self.turn.requests
        self.turn.requests = 0
        self.report(self.receipt)

    def failed(self, ref: ArticleRef, error: FetchError) -> None:
        """A row whose article could not be had: counted, listed, tried again by later runs."""
        refused = error.error_class is ErrorClass.ROBOTS
        self.receipt.row("skipped" if refused else "failed", error.error_class.value.lower())
        if refused:
            return
        self.receipt.error(ref.url, str(error))
        failures.record(self.target, ref, error.error_class, error.message)

    def _succeeded(self, host: str) -> None:
        """The host answers: what earlier turns noted against it is over too."""
        if self.failed_in_a_row[host] or host not in self.answering:
            self.failed_in_a_row[host] = 0
            self.answering.add(host)
            hosts.succeeded(host)

    def _log(self, url: str, status: int | None, error: str | None) -> None:
        self.logs.append(
            CrawlLog(
                site_id=self.target.site_id,
                target_id=self.target.pk,
                article_url=masked(url),
                strategy="httpx",
                http_status=status,
                duration_ms=round((time.monotonic() - self.turn.hop_at) * 1000),
                success=error is None,
                error_msg=storable(masked(error)) if error else None,
                occurred_at=timezone.now(),
            )
        )


def refuse_other(response: Response, expected: Expected) -> None:
    """Raises FetchError when ``response`` is not the page or file it should be."""
    verdict = classify(response, expected=expected)
    if not verdict.ok:
        error_class = VERDICTS.get(verdict.kind, ErrorClass.HTTP_STATUS)
        raise FetchError(error_class, verdict.reason, url=response.request.url, status=response.status)


def _told_apart(error: FetchError, expected: Expected) -> FetchError:
    """A refusal whose page is a known wall is one, whatever its status: the host is backed off from, not only the page."""
    if error.error_class is not ErrorClass.HTTP_STATUS or error.response is None:
        return error
    verdict = classify(error.response, expected=expected)
    if verdict.kind is not Kind.BLOCK_PAGE:
        return error
    message = f"status {error.status}: {verdict.reason}"
    return FetchError(ErrorClass.BLOCK_PAGE, message, url=error.url, status=error.status, chain=error.chain)
