"""The one-minute tick: due targets become jobs, each due time once, whatever the number of clusters."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from articles.store import retried
from crawl import jobs
from crawl.models import CrawlJob
from sources import schedules
from sources.models import CrawlTarget

log = logging.getLogger(__name__)


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
        try:
            job, created = jobs.enqueue(target, source=CrawlJob.Source.SCHEDULE, scheduled_for=target.next_due_at)
        except jobs.TargetNotReady as error:
            log.warning("due target is not crawled: %s", error, extra={"data": {"target": target.target_code}})
            return None
    return job if created else None
