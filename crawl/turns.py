"""The turn of one job on the network: every request, redirect and robots.txt goes through ``Turn.before_hop``.

There the job learns that it shall stop, that the site's window or cap is over, that robots.txt forbids the URL; there it waits
for the pace of the host, or for the request slot of another host. Redirects, files and robots.txt are no exceptions.
"""

from __future__ import annotations

import secrets
import threading
import time
from datetime import UTC, datetime

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from crawl import hosts, jobs, politeness
from crawl.clock import now_plus
from crawl.errors import ErrorClass, FetchError
from crawl.fetching.http import HttpFetcher, Limits
from crawl.fetching.robots import RobotsPolicy, RobotsState, robots_url
from crawl.models import CrawlHost, CrawlSiteDay
from sources.adapters.base import Request
from sources.models import CrawlTarget
from sources.parsing.urls import host_key

LONGEST_WAIT_SEC = 20
"""A longer wait ends the job's turn: its host and thread serve another job meanwhile."""
ROBOTS_TTL_SEC = 86_400
UNREACHABLE_TTL_SEC = 600
SYNC_SEC = 1.0


class Stopped(Exception):
    """Somebody asked the job, or the whole worker, to stop. ``canceled`` tells which."""

    def __init__(self, canceled: bool) -> None:
        super().__init__("canceled" if canceled else "the worker stops")
        self.canceled = canceled


class TurnOver(Exception):
    """The job must wait longer than a turn allows: for how many seconds, and why. ``counts``: it is a failed attempt."""

    def __init__(self, wait_sec: float, reason: str, *, counts: bool = False) -> None:
        super().__init__(reason)
        self.wait_sec = wait_sec
        self.reason = reason
        self.counts = counts


class Turn:
    """One job's use of the network. Not shared between threads; ``stop`` is the worker's stop event."""

    def __init__(
        self, lease: jobs.Lease, target: CrawlTarget, fetcher: HttpFetcher, robots_limits: Limits, stop: threading.Event
    ) -> None:
        self.lease = lease
        self.target = target
        self.site = target.site
        self.fetcher = fetcher
        self.robots_limits = robots_limits
        self.stop = stop
        self.host = lease.job.host
        self.agent = settings.CRAWL["user_agent"]
        self.requests = 0
        self.hop_at = time.monotonic()
        self._next_at = time.monotonic() + hosts.wait_left(self.host)
        self._synced_at = 0.0
        self._robots: dict[str, RobotsPolicy] = {}
        self._hop: tuple[str, float, str | None] | None = None  # host, pause after it, slot token of a foreign host
        self._unsaved_requests = 0

    def before_hop(self, url: str) -> None:
        """Waits until ``url`` may be asked. Raises Stopped, TurnOver, jobs.LeaseLost, FetchError(ROBOTS)."""
        self.after_hop()
        policy = self._policy(url) if self.site.respect_robots else RobotsPolicy(404, "")
        if policy.state is RobotsState.DISALLOW_ALL:
            raise TurnOver(
                UNREACHABLE_TTL_SEC,
                f"robots.txt of {host_key(url)} cannot be read (status {policy.status}): waits",
                counts=True,
            )
        if not policy.allows(url, self.agent):
            raise FetchError(ErrorClass.ROBOTS, "robots.txt forbids this URL", url=url)
        self._take_turn(url, policy.crawl_delay(self.agent))

    def after_hop(self) -> None:
        """The request in flight has ended: the host's pause begins, a foreign host's slot is free again."""
        if self._hop is None:
            return
        host, pause, slot = self._hop
        self._hop = None
        if slot is None:
            self._next_at = time.monotonic() + pause
        else:
            hosts.free_slot(host, slot, pause)

    def close(self) -> None:
        """Ends the turn: what is owed to the host is written down."""
        self.after_hop()
        left = self._next_at - time.monotonic()
        hosts.reserve(self.host, self.lease.token, max(left, 0.0))
        self._save_requests()

    def check_stop(self) -> None:
        """Raises Stopped or jobs.LeaseLost."""
        if jobs.stop_wanted(self.lease):
            raise Stopped(canceled=True)
        if self.stop.is_set():
            raise Stopped(canceled=False)

    def _take_turn(self, url: str, crawl_delay: float) -> None:
        self.check_stop()
        self._admit()
        host = host_key(url)
        pause = politeness.pause(*self._interval(), crawl_delay)
        if host == self.host:
            self._own_turn(pause)
            self._hop = (host, pause, None)
        else:
            self._hop = (host, pause, self._foreign_slot(host))
        self._count()
        self.hop_at = time.monotonic()

    def _interval(self) -> tuple[float, float]:
        interval, jitter = self.target.interval_sec, self.target.interval_jitter_sec
        defaults = settings.CRAWL
        return (
            float(defaults["interval_sec"] if interval is None else interval),
            float(defaults["interval_jitter_sec"] if jitter is None else jitter),
        )

    def _admit(self) -> None:
        capped = self.site.daily_max_requests is not None
        wait = politeness.admission(self.site, timezone.now(), self._requests_today() if capped else 0)
        if wait:
            raise TurnOver(wait.seconds, wait.reason)

    def _own_turn(self, pause: float) -> None:
        self._sync(pause)
        while (left := self._next_at - time.monotonic()) > 0:
            if left > LONGEST_WAIT_SEC:
                raise TurnOver(left, f"the next request to {self.host} is due in {left:.0f} s")
            self.stop.wait(min(left, 0.5))
            self.check_stop()

    def _sync(self, pause: float) -> None:
        """At most once a second: lets a waiting request of somebody else go first, and writes the pace ahead."""
        now = time.monotonic()
        if now - self._synced_at < SYNC_SEC:
            return
        self._synced_at = now
        self._let_others()
        ahead = max(self._next_at - time.monotonic(), 0.0) + pause + SYNC_SEC
        if not hosts.reserve(self.host, self.lease.token, ahead):
            raise jobs.LeaseLost(self.lease.job.job_id)

    def _let_others(self) -> None:
        granted = False
        while hosts.slot_wanted(self.host):
            if not granted:
                self.stop.wait(max(self._next_at - time.monotonic(), 0.0))
                hosts.grant_slot(self.host, self.lease.token)
                granted = True
            self.stop.wait(0.05)
            self.check_stop()
        if granted:
            self._next_at = max(self._next_at, time.monotonic() + hosts.wait_left(self.host))

    def _foreign_slot(self, host: str) -> str:
        """The request slot of a host that is not the job's own. Raises TurnOver when it is not to be had for now."""
        token = secrets.token_hex(16)
        deadline = time.monotonic() + LONGEST_WAIT_SEC
        try:
            while True:
                hosts.ask_slot(host, token)
                if hosts.take_slot(host, token):
                    return token
                if time.monotonic() > deadline:
                    raise TurnOver(LONGEST_WAIT_SEC, f"host {host} is busy or backed off from: waits for a request slot")
                if hosts.slot_wanted(self.host):
                    hosts.grant_slot(self.host, self.lease.token)
                self.stop.wait(0.1)
                self.check_stop()
        except BaseException:
            hosts.free_slot(host, token, None)
            raise

    def _policy(self, url: str) -> RobotsPolicy:
        host = host_key(url)
        if host not in self._robots:
            self._robots[host] = self._cached_policy(host) or self._fetch_policy(url, host)
        return self._robots[host]

    def _cached_policy(self, host: str) -> RobotsPolicy | None:
        row = CrawlHost.objects.filter(host=host, robots_fetched_at__gt=now_plus(-ROBOTS_TTL_SEC))
        fresh = row.values_list("robots_status", "robots_body", "robots_fetched_at").annotate(now=Now()).first()
        if fresh is None:
            return None
        policy = RobotsPolicy(fresh[0], fresh[1] or "")
        age = (fresh[3] - fresh[2]).total_seconds()
        return None if policy.state is RobotsState.DISALLOW_ALL and age > UNREACHABLE_TTL_SEC else policy

    def _fetch_policy(self, url: str, host: str) -> RobotsPolicy:
        try:
            fetched = self.fetcher.fetch(Request(robots_url(url)), before_hop=self._robots_hop, limits=self.robots_limits)
            policy = RobotsPolicy.from_fetch(fetched.response.status, fetched.response.body)
        except FetchError as error:
            policy = RobotsPolicy.from_error(error)
        finally:
            self.after_hop()
        hosts.ensure(host)
        CrawlHost.objects.filter(host=host).update(
            robots_status=policy.status, robots_body=policy.text, robots_fetched_at=Now()
        )
        return policy

    def _robots_hop(self, url: str) -> None:
        self.after_hop()
        self._take_turn(url, 0.0)

    def _requests_today(self) -> int:
        self._save_requests()
        day = datetime.now(UTC).astimezone(politeness.CHINA).date()
        return CrawlSiteDay.objects.filter(site=self.site, day=day).values_list("requests", flat=True).first() or 0

    def _count(self) -> None:
        self.requests += 1
        self._unsaved_requests += 1
        if self.site.daily_max_requests is not None:
            self._save_requests()  # a lost counter would be requests too many (fault-model N4)

    def _save_requests(self) -> None:
        if not self._unsaved_requests:
            return
        day = datetime.now(UTC).astimezone(politeness.CHINA).date()
        row, _ = CrawlSiteDay.objects.get_or_create(site=self.site, day=day)
        CrawlSiteDay.objects.filter(pk=row.pk).update(requests=F("requests") + self._unsaved_requests)
        self._unsaved_requests = 0
