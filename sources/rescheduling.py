"""When a target is due next, once a person has changed its schedule, its site's, or what is enabled."""

from __future__ import annotations

from datetime import datetime

from sources.models import CrawlSite, CrawlTarget
from sources.schedules import effective_cron, next_due


def due_time(target: CrawlTarget, now: datetime) -> datetime | None:
    """The next time of the cron that counts, after ``now`` (aware), in UTC; None for what is disabled or has no cron."""
    cron = effective_cron(target, target.site) if target.enabled and target.site.enabled else None
    return next_due(cron, now) if cron else None


def reschedule_site(site: CrawlSite, now: datetime) -> None:
    """Each target of ``site`` anew: its cron or its switch changed."""
    for target in CrawlTarget.objects.filter(site=site):
        target.site = site
        CrawlTarget.objects.filter(pk=target.pk).update(next_due_at=due_time(target, now))
