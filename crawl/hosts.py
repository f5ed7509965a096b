"""Who may ask a host, and when: the host's lease, its request slot, its pace and its back-off, all by compare-and-swap.

The job that holds the lease paces the host in its own memory and writes the reservation ahead. Anybody else (a redirect, a file
on another host) takes the request slot: at once when the host is not leased, else when the lease holder grants it between two
of its own requests. So there is never more than one request at a time on a host, over all workers (invariant 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now

from crawl.models import CrawlHost
from govcrawler.clock import now_plus
from sources.models import CrawlTarget
from sources.parsing.urls import host_key

SLOT_WAIT_SEC = 30
SLOT_USE_SEC = 180
"""Longer than the longest request (files: 150 s), so a slot never ends under its holder."""

LEASE_FREE = Q(lease_token__isnull=True) | Q(lease_until__lt=Now())
SLOT_FREE = Q(slot_token__isnull=True) | Q(slot_until__lt=Now())
PACE_FREE = Q(next_allowed_at__isnull=True) | Q(next_allowed_at__lte=Now())
NOT_BACKING_OFF = Q(backoff_until__isnull=True) | Q(backoff_until__lte=Now())


@dataclass(frozen=True)
class Seen:
    """A host's row at one moment: seconds left of its pace and of its back-off, and whether a slot is wished for or in use.

    ``idle_sec``: seconds since the end of the last request that was written down; None when there was none. ``half_open``:
    a back-off has ended and no answer has come since, so the next request is a probe and its maker is alone.
    """

    wait_sec: float = 0.0
    idle_sec: float | None = None
    half_open: bool = False
    backoff_sec: float = 0.0
    backoff_reason: str = ""
    slot_wanted: bool = False
    slot_taken: bool = False


def look(host: str) -> Seen:
    """What the host's row says now, by the database's clock; a host nobody has asked yet is free."""
    columns = (
        *("next_allowed_at", "backoff_until", "backoff_reason", "slot_token", "slot_until", "slot_granted"),
        *("last_request_at", "consecutive_failures", "now"),
    )
    row = CrawlHost.objects.filter(host=host).annotate(now=Now()).values(*columns).first()  # robots.txt stays where it is
    if row is None:
        return Seen()
    now: datetime = row["now"]
    last, resting = row["last_request_at"], seconds_until(row["backoff_until"], now)
    slot = row["slot_token"] is not None and row["slot_until"] is not None and row["slot_until"] > now
    return Seen(
        wait_sec=seconds_until(row["next_allowed_at"], now),
        idle_sec=max((now - last).total_seconds(), 0.0) if last else None,
        half_open=not resting and row["consecutive_failures"] > 0,
        backoff_sec=resting,
        backoff_reason=row["backoff_reason"] or "",
        slot_wanted=slot and not row["slot_granted"],
        slot_taken=slot and row["slot_granted"],
    )


def longest_interval(host: str, default: float) -> float | None:
    """The longest interval in seconds of the enabled targets that begin on the host (review of the design, 1.3).

    ``default`` stands for targets without one; None: no enabled target begins there.
    """
    begins = Q(entry_url__icontains=host) | ((Q(entry_url__isnull=True) | Q(entry_url="")) & Q(site__base_url__icontains=host))
    rows = CrawlTarget.objects.filter(begins, enabled=True, site__enabled=True)
    intervals = [
        default if interval is None else float(interval)
        for interval, entry, base in rows.values_list("interval_sec", "entry_url", "site__base_url")
        if _host_of(entry or base or "") == host
    ]
    return max(intervals, default=None)


def _host_of(url: str) -> str | None:
    try:
        return host_key(url)
    except ValueError:  # a row that says no URL: its own job tells
        return None


def ensure(host: str) -> None:
    CrawlHost.objects.get_or_create(host=host)


def lease(host: str, token: str, job_id: str) -> bool:
    """Takes the host for a job; False while somebody else has it or it is backed off from."""
    ensure(host)
    return bool(
        CrawlHost.objects.filter(LEASE_FREE, SLOT_FREE, NOT_BACKING_OFF, host=host).update(
            lease_token=token, lease_until=now_plus(settings.CRAWL["lease_seconds"]), lease_job_id=job_id, slot_token=None
        )
    )


def renew(host: str, token: str) -> bool:
    until = now_plus(settings.CRAWL["lease_seconds"])
    return bool(CrawlHost.objects.filter(host=host, lease_token=token).update(lease_until=until))


def release(host: str, token: str) -> None:
    CrawlHost.objects.filter(host=host, lease_token=token).update(lease_token=None, lease_until=None, lease_job_id=None)


def reserve(host: str, token: str, seconds: float, idle_sec: float | None = None) -> bool:
    """The lease holder's pace, written ahead of its request: nobody asks before. False: the lease is lost.

    ``idle_sec``: seconds since its last request ended.
    """
    return bool(
        CrawlHost.objects.filter(host=host, lease_token=token).update(next_allowed_at=now_plus(seconds), **_last(idle_sec))
    )


def _last(idle_sec: float | None) -> dict[str, object]:
    return {} if idle_sec is None else {"last_request_at": now_plus(-idle_sec)}


def postpone(host: str, seconds: float) -> None:
    """Nobody asks the host for ``seconds``; an earlier, longer pause stays."""
    until = now_plus(seconds)
    CrawlHost.objects.filter(Q(next_allowed_at__isnull=True) | Q(next_allowed_at__lt=until), host=host).update(
        next_allowed_at=until
    )


def seconds_until(moment: datetime | None, now: datetime) -> float:
    return max((moment - now).total_seconds(), 0.0) if moment else 0.0


def ask_slot(host: str, token: str) -> None:
    """Puts the wish for one request in, where nobody else has."""
    ensure(host)
    CrawlHost.objects.filter(SLOT_FREE, host=host).update(
        slot_token=token, slot_until=now_plus(SLOT_WAIT_SEC), slot_granted=False
    )


def take_slot(host: str, token: str) -> bool:
    """True when the one request may go out: granted by the lease holder, or the host is free, at pace, not backed off."""
    mine = CrawlHost.objects.filter(NOT_BACKING_OFF, host=host, slot_token=token)
    if mine.filter(slot_granted=True, slot_until__gt=Now()).exists():
        return True
    return bool(mine.filter(LEASE_FREE, PACE_FREE).update(slot_granted=True, slot_until=now_plus(SLOT_USE_SEC)))


def free_slot(host: str, token: str, pause_sec: float | None) -> None:
    """Gives the slot back; after a request the next one waits ``pause_sec`` (None: no request was made)."""
    values: dict[str, object] = {"slot_token": None, "slot_until": None, "slot_granted": False}
    if pause_sec is not None:
        values |= {"next_allowed_at": now_plus(pause_sec), "last_request_at": Now()}
    CrawlHost.objects.filter(host=host, slot_token=token).update(**values)


def free_slots(token: str) -> None:
    """Frees what a dead job held; its silence has been longer than any pause."""
    CrawlHost.objects.filter(slot_token=token).update(slot_token=None, slot_until=None, slot_granted=False)


def grant_slot(host: str, token: str, idle_sec: float | None = None) -> None:
    """The lease holder, whose last request ended ``idle_sec`` seconds ago, lets the waiting request go first."""
    CrawlHost.objects.filter(
        host=host, lease_token=token, slot_token__isnull=False, slot_granted=False, slot_until__gt=Now()
    ).update(slot_granted=True, slot_until=now_plus(SLOT_USE_SEC), **_last(idle_sec))


def back_off(host: str, seconds: float, reason: str) -> None:
    """No request to the host for ``seconds``; an earlier, longer pause stays. Survives restarts."""
    ensure(host)
    until = now_plus(seconds)
    longer = CrawlHost.objects.filter(Q(backoff_until__isnull=True) | Q(backoff_until__lt=until), host=host)
    longer.update(backoff_until=until, backoff_reason=reason[:200])
    CrawlHost.objects.filter(host=host).update(consecutive_failures=F("consecutive_failures") + 1)


def succeeded(host: str) -> None:
    """The host answers. A rest that was ordered meanwhile stands: the answer may be to a request from before."""
    CrawlHost.objects.filter(host=host, consecutive_failures__gt=0).update(consecutive_failures=0)
