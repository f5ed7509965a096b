"""When a site may be asked at all, and how fast: window, weekend, daily cap, pace and back-off as plain rules.

Days and windows are those of Asia/Shanghai (seed 000, 2.1; review of the design, 1.3). Nothing here waits or writes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

CHINA = ZoneInfo("Asia/Shanghai")
DAY = 86_400.0


class SiteLimits(Protocol):
    """The politeness columns of ``crawl_site``."""

    crawl_window_start: time | None
    crawl_window_end: time | None
    daily_max_requests: int | None
    weekend_enabled: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """The site may not be asked now: for how long, and why in words a steward reads."""

    seconds: float
    reason: str


def day_of(now: datetime) -> date:
    """The day that an aware moment counts for: that of Asia/Shanghai."""
    return now.astimezone(CHINA).date()


def admission(site: SiteLimits, now: datetime, requests_today: int) -> Wait | None:
    """None when the site may be asked at ``now`` (aware), else how long to wait and why."""
    local = now.astimezone(CHINA)
    if not site.weekend_enabled and local.weekday() >= 5:
        monday = _midnight(local) + timedelta(days=7 - local.weekday())
        return Wait(_until(local, monday), f"weekend: waits until {monday:%Y-%m-%d %H:%M}")
    closed = _outside_window(site, local)
    if closed:
        return Wait(_until(local, closed), f"outside the window: waits until {closed:%Y-%m-%d %H:%M}")
    if site.daily_max_requests is not None and requests_today >= site.daily_max_requests:
        tomorrow = _midnight(local) + timedelta(days=1)
        return Wait(
            _until(local, tomorrow),
            f"daily cap of {site.daily_max_requests} requests reached: waits until {tomorrow:%Y-%m-%d %H:%M}",
        )
    return None


def _outside_window(site: SiteLimits, local: datetime) -> datetime | None:
    """When the window opens next, or None inside it. A window may span midnight; half a window is no window."""
    start, end = site.crawl_window_start, site.crawl_window_end
    if start is None or end is None or start == end:
        return None
    clock = local.time()
    inside = start <= clock < end if start < end else clock >= start or clock < end
    if inside:
        return None
    opens = datetime.combine(local.date(), start, CHINA)
    return opens if opens > local else opens + timedelta(days=1)


def _midnight(local: datetime) -> datetime:
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def _until(local: datetime, moment: datetime) -> float:
    return max((moment - local).total_seconds(), 1.0)


def pause(interval: float, jitter: float, crawl_delay: float | None) -> float:
    """Seconds between two requests: the interval or the longer Crawl-delay, plus 0 to ``jitter`` (seed 000, 2.3)."""
    return max(interval, crawl_delay or 0.0) + random.uniform(0, jitter)


def backoff(failures: int, shortest: float, longest: float) -> float:
    """Seconds to leave a host alone after ``failures`` in a row: exponential, full jitter, never under ``shortest``."""
    ceiling = min(shortest * 2 ** min(failures, 20), longest)
    return max(random.uniform(0, ceiling), min(shortest, longest))


def retry_after(asked: float | None, failures: int, shortest: float, longest: float) -> float:
    """Seconds to pause after 429 or 503: what the server asked for, clamped to 1 s .. 24 h, else our own back-off (H10)."""
    if asked is None:
        return backoff(failures, shortest, longest)
    return min(max(asked, 1.0), DAY)
