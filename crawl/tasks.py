"""What the queue calls. A task carries no data and no result: it only says "look at the tables now"."""

from __future__ import annotations

import logging

from django.db import close_old_connections

from articles import store
from crawl import health, jobs, scheduling, slices
from crawl.models import CrawlJob

log = logging.getLogger(__name__)


def crawl_slice() -> int:
    return slices.run_slice()


def tick() -> None:
    """Once a minute: recover silent jobs, enqueue due targets and retries, release held articles, ring if jobs wait."""
    close_old_connections()
    health.beat()
    for line in jobs.recover():
        log.warning("recovered %s", line)
    scheduling.enqueue_due()
    scheduling.enqueue_retries()
    store.release_held()
    if CrawlJob.objects.filter(status=CrawlJob.Status.QUEUED).exists():
        jobs.ring()
