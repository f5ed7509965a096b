"""The one-minute tick: due targets become jobs, each due time once, whatever the number of clusters; so do due retries."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from articles.models import Attachment
from articles.store import retried
from crawl import failures, jobs
from crawl.models import CrawlFailure, CrawlJob
from govcrawler.audit.record import record
from sources import schedules
from sources.models import CrawlTarget

log = logging.getLogger(__name__)
RETRY_EVERY = failures.FIRST_RETRY
"""A target gets at most one retry job in this time, whatever its last one met."""


def enqueue_due(now: datetime | None = None) -> list[CrawlJob]:
    """Jobs for the targets whose time has come at ``now`` (aware; the present when not given).

    ``next_due_at`` moves by compare-and-swap in the transaction that inserts the job, and from the present: a tick that was
    missed, once or seventy times, makes one job (fault-model P8, P9).
    """
    now = now or timezone.now()
    due = CrawlTarget.objects.filter(Q(next_due_at__lte=now), enabled=True, site__enabled=True).select_related("site")
    made = [retried(lambda planned=target: _enqueue(planned, now)) for target in due.order_by("next_due_at")]  # type: ignore[misc]
    return [job for job in made if job is not None]


def _enqueue(target: CrawlTarget, now: datetime) -> CrawlJob | None:
    """The job, when this tick is the one that made it. A cron that cannot be read takes its target, and no other, off the plan
    until it is corrected."""
    following = None
    cron = schedules.effective_cron(target, target.site)
    try:
        following = schedules.next_due(cron, now) if cron else None
    except ValueError as error:
        log.error("target is taken off the plan: %s", error, extra={"data": {"target": target.target_code}})
    with transaction.atomic():
        moved = CrawlTarget.objects.filter(pk=target.pk, next_due_at=target.next_due_at).update(next_due_at=following)
        if not moved or following is None:
            return None
        return _order(target, CrawlJob.Source.SCHEDULE, target.next_due_at)


def enqueue_retries(now: datetime | None = None) -> list[CrawlJob]:
    """Jobs that try again what earlier runs could not have: rows of lists and files whose next try is due at ``now``."""
    now = now or timezone.now()
    rows = CrawlFailure.objects.filter(next_retry_at__lte=now, attempts__lt=failures.ATTEMPTS).values("target")
    files = Attachment.objects.filter(status=Attachment.Status.PENDING, next_retry_at__lte=now).values("article__target")
    lately = CrawlJob.objects.filter(source=CrawlJob.Source.RETRY, enqueued_at__gt=now - RETRY_EVERY)
    due = (
        CrawlTarget.objects.filter(Q(pk__in=rows) | Q(pk__in=files), enabled=True, site__enabled=True)
        .exclude(target_code__in=lately.values("target_code"))
        .exclude(target_code__in=CrawlJob.objects.filter(status__in=jobs.ACTIVE).values("target_code"))
        .select_related("site")
    )
    made = [retried(lambda failed=target: _retry(failed)) for target in due.order_by("pk")]  # type: ignore[misc]
    return [job for job in made if job is not None]


def _retry(target: CrawlTarget) -> CrawlJob | None:
    with transaction.atomic():
        return _order(target, CrawlJob.Source.RETRY, None)


def _order(target: CrawlTarget, source: str, scheduled_for: datetime | None) -> CrawlJob | None:
    """A job of the scheduler with its audit row; None when the target has one already or cannot be crawled."""
    try:
        job, created = jobs.enqueue(target, source=source, scheduled_for=scheduled_for)
    except jobs.TargetNotReady as error:
        log.warning("due target is not crawled: %s", error, extra={"data": {"target": target.target_code}})
        return None
    if not created:
        return None
    record(
        action=f"target.{source}",
        resource_type="crawl_target",
        resource_id=target.target_code,
        actor="scheduler",
        method="TASK",
        path="crawl.tasks.tick",
    )
    return job
