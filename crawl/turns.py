"""The turn of one job on the network: every request, redirect and robots.txt goes through ``Turn.before_hop``.

There the job learns that it shall stop, that the site's window or cap is over, that robots.txt forbids the URL; there it waits
for the pace of the host, or for the request slot of another host. Redirects, files and robots.txt are no exceptions.
"""

from __future__ import annotations

import threading
import time

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from crawl import hosts, jobs, ledger, politeness
from crawl.errors import ErrorClass, FetchError
from crawl.fetching.http import HttpFetcher, Limits
from crawl.fetching.robots import RobotsPolicy, RobotsState, robots_url
from crawl.models import CrawlHost, CrawlLog, CrawlSiteDay
from govcrawler.clock import now_plus
from sources.adapters.base import Request
from sources.models import CrawlTarget
from sources.parsing.urls import host_key

LONGEST_WAIT_SEC = 20
"""A longer wait ends the job's turn: its host and thread serve another job meanwhile."""
ROBOTS_TTL_SEC = 86_400
UNREACHABLE_TTL_SEC = 600
BUSY_SEC = 5.0
SYNC_SEC = 1.0
POLL_SEC = 0.05


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


class HostRests(FetchError):
    """A host that is not the job's own is backed off from: what lies there is tried later, the job goes on."""

    def __init__(self, host: str, seen: hosts.Seen) -> None:
        super().__init__(ErrorClass.TIMEOUT, f"{host} rests for {seen.backoff_sec:.0f} s: {seen.backoff_reason}")


class SliceOver(Exception):
    """The slice's time is up: no further request starts, the job goes on in the next slice."""


def _ago(seconds: float | None) -> float | None:
    """The moment ``seconds`` ago, of ``time.monotonic``."""
    return None if seconds is None else time.monotonic() - seconds


class Turn:
    """One job's use of the network. Not shared between threads; ``stop`` is the worker's stop event.

    ``deadline``: no request starts later than this, in seconds of ``time.monotonic``; None for no end.
    """

    def __init__(
        self,
        lease: jobs.Lease,
        target: CrawlTarget,
        fetcher: HttpFetcher,
        robots_limits: Limits,
        stop: threading.Event,
        deadline: float | None = None,
    ) -> None:
        self.lease = lease
        self.target = target
        self.site = target.site
        self.fetcher = fetcher
        self.robots_limits = robots_limits
        self.stop = stop
        self.deadline = deadline
        self.host = lease.job.host
        self.agent = settings.CRAWL["user_agent"]
        self.requests = 0
        self.hop_at = time.monotonic()
        self.account = ledger.Account()
        seen = hosts.look(self.host)
        self._floor_at = time.monotonic() + seen.wait_sec  # what others' requests ask of us
        self._ended_at: float | None = None  # end of our last request to our own host
        self._idle_from = _ago(seen.idle_sec)  # end of anybody's last request there
        self._granted = False  # somebody else's request may be out on our host
        self._synced_at = 0.0
        self._robots: dict[str, RobotsPolicy] = {}
        self._intervals: dict[str, float] = {}
        self._hop: tuple[str, str | None] | None = None  # host in flight, slot token when it is not our own
        self._unsaved_requests = 0

    def before_hop(self, url: str) -> None:
        """Waits until ``url`` may be asked. Raises Stopped, SliceOver, TurnOver, jobs.LeaseLost, FetchError."""
        self.after_hop()
        policy = self._policy(url) if self.site.respect_robots else RobotsPolicy(404, "")
        if policy.state is RobotsState.DISALLOW_ALL:
            raise self._without_robots(url, policy)
        if not policy.allows(url, self.agent):
            self.account.refused(host_key(url))
            raise FetchError(ErrorClass.ROBOTS, "robots.txt forbids this URL", url=url)
        self._take_turn(host_key(url))

    def after_hop(self, status: int | None = None, wire_bytes: int = 0) -> None:
        """The request in flight has ended: the host's pause begins, a foreign host's slot is free again."""
        if self._hop is None:
            return
        host, slot = self._hop
        self._hop = None
        self.account.answer(host, status, wire_bytes)
        if slot is None:
            self._ended_at = self._idle_from = time.monotonic()
        else:
            hosts.free_slot(host, slot, self._pause(host))

    def close(self) -> None:
        """Ends the turn: what is owed to the host is written down. To be called while the lease is still held."""
        self.after_hop()
        left = max(self._next_at(self._pause(self.host)) - time.monotonic(), 0.0)
        if self._granted:
            hosts.postpone(self.host, left)  # the other request writes its own pause, which must stand
        else:
            hosts.reserve(self.host, self.lease.token, left, self._idle_sec())
        self._save_requests()
        self.account.save()

    def check_stop(self) -> None:
        """Raises Stopped, SliceOver or jobs.LeaseLost."""
        if jobs.stop_wanted(self.lease):
            raise Stopped(canceled=True)
        if self.stop.is_set():
            raise Stopped(canceled=False)
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise SliceOver

    def _take_turn(self, host: str) -> None:
        self.check_stop()
        self._admit(self._requests_today())
        slot = None
        if host == self.host:
            self._own_turn()
        else:
            slot = self._foreign_slot(host)
        try:
            self._count()
        except TurnOver:
            if slot:
                hosts.free_slot(host, slot, None)
            raise
        self.account.request(host, hosts.look(host).idle_sec if slot else self._idle_sec())
        self._hop = (host, slot)
        self.hop_at = time.monotonic()

    def _admit(self, requests: int) -> None:
        wait = politeness.admission(self.site, timezone.now(), requests)
        if wait:
            raise TurnOver(wait.seconds, wait.reason)

    def _pause(self, host: str) -> float:
        """Seconds between the end of a request to the host and the next: the longest interval of the host's targets (of the
        asking target where none begins there), Crawl-delay, jitter."""
        defaults, target = settings.CRAWL, self.target
        if host not in self._intervals:
            asked = float(defaults["interval_sec"] if target.interval_sec is None else target.interval_sec)
            longest = hosts.longest_interval(host, float(defaults["interval_sec"]))
            self._intervals[host] = asked if longest is None else longest
        jitter = defaults["interval_jitter_sec"] if target.interval_jitter_sec is None else target.interval_jitter_sec
        policy = self._robots.get(host)
        return politeness.pause(self._intervals[host], float(jitter), policy.crawl_delay(self.agent) if policy else None)

    def _idle_sec(self) -> float | None:
        return None if self._idle_from is None else time.monotonic() - self._idle_from

    def _next_at(self, pause: float) -> float:
        return self._floor_at if self._ended_at is None else max(self._floor_at, self._ended_at + pause)

    def _own_turn(self) -> None:
        """Our own host: waits for its pace, lets one waiting request of somebody else go first, and writes the pace ahead."""
        pause, granted = self._pause(self.host), False
        while True:
            self._wait_for_pace(pause)
            seen = self._look()
            if seen.backoff_sec:
                raise TurnOver(seen.backoff_sec, seen.backoff_reason)
            if seen.slot_taken:
                self.stop.wait(POLL_SEC)
                self.check_stop()
            elif seen.slot_wanted and not granted and not seen.half_open:
                granted = self._granted = True
                hosts.grant_slot(self.host, self.lease.token, self._idle_sec())
            elif self._next_at(pause) <= time.monotonic():
                break
        self._write_ahead(pause)

    def _wait_for_pace(self, pause: float) -> None:
        left = self._next_at(pause) - time.monotonic()
        if left > LONGEST_WAIT_SEC:
            raise TurnOver(left, f"the next request to {self.host} is due in {left:.0f} s")
        while (left := self._next_at(pause) - time.monotonic()) > 0:
            self.stop.wait(min(left, 0.5))
            self.check_stop()

    def _look(self) -> hosts.Seen:
        """Our host's row. When somebody else's request has just ended there, the pause it wrote counts for us too."""
        seen = hosts.look(self.host)
        if self._granted and not seen.slot_taken:
            self._floor_at = max(self._floor_at, time.monotonic() + seen.wait_sec)
            self._idle_from = _ago(seen.idle_sec)
        self._granted = seen.slot_taken
        return seen

    def _write_ahead(self, pause: float) -> None:
        """At most once a second: the pace as it will be, so that it outlives us. Raises jobs.LeaseLost."""
        now = time.monotonic()
        if now - self._synced_at < SYNC_SEC:
            return
        self._synced_at = now
        if not hosts.reserve(self.host, self.lease.token, pause + SYNC_SEC, self._idle_sec()):
            raise jobs.LeaseLost(self.lease.job.job_id)
        self.account.save()

    def _foreign_slot(self, host: str) -> str:
        """The request slot of a host that is not the job's own. While we wait for it, our own host is open to others, so two
        jobs that want each other's host do not block each other. Raises TurnOver when it is not to be had for now, HostRests.
        """
        token, taken = self.lease.token, False  # the job's own, so that who recovers a dead job can free its slot
        deadline = time.monotonic() + LONGEST_WAIT_SEC
        try:
            while not taken:
                seen = hosts.look(host)
                if seen.backoff_sec:
                    raise HostRests(host, seen)
                if seen.wait_sec > LONGEST_WAIT_SEC or time.monotonic() > deadline:
                    raise TurnOver(max(seen.wait_sec, BUSY_SEC), f"waits for a request slot of {host}, which is in use")
                hosts.ask_slot(host, token)
                taken = hosts.take_slot(host, token)
                if not taken:
                    self._offer_own_host()
                    self.stop.wait(POLL_SEC)
                    self.check_stop()
        finally:
            if not taken:
                hosts.free_slot(host, token, None)
        return token

    def _offer_own_host(self) -> None:
        seen = self._look()
        if seen.slot_wanted and not seen.half_open and self._next_at(self._pause(self.host)) <= time.monotonic():
            hosts.grant_slot(self.host, self.lease.token, self._idle_sec())
            self._granted = True

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
        request, error = Request(robots_url(url)), None
        try:
            fetched = self.fetcher.fetch(
                request, before_hop=self._robots_hop, after_hop=self.after_hop, limits=self.robots_limits
            )
            policy = RobotsPolicy.from_fetch(fetched.response.status, fetched.response.body)
        except HostRests:
            raise
        except FetchError as caught:
            if caught.error_class is ErrorClass.BLOCKED_ADDRESS and not caught.chain:
                self.after_hop()
                raise  # the host itself is out of bounds: no robots.txt will ever come
            policy, error = RobotsPolicy.from_error(caught), caught
        self._robots[host] = policy  # its Crawl-delay counts from this very request on
        self.after_hop()
        hosts.ensure(host)
        CrawlHost.objects.filter(host=host).update(
            robots_status=policy.status, robots_body=policy.text, robots_fetched_at=Now()
        )
        if host != self.host:
            hosts.postpone(host, policy.crawl_delay(self.agent))
        if error and error.error_class is ErrorClass.RATE_LIMITED:
            self._let_rest(host, error)
        self._log(request.url, policy.status, error)
        return policy

    def _robots_hop(self, url: str) -> None:
        self.after_hop()
        self._take_turn(host_key(url))

    def _let_rest(self, host: str, error: FetchError) -> None:
        shortest = self.site.backoff_min_sec or settings.CRAWL["backoff_min_sec"]
        longest = self.site.backoff_max_sec or settings.CRAWL["backoff_max_sec"]
        hosts.back_off(host, politeness.retry_after(error.retry_after, 0, shortest, longest), f"robots.txt: {error}")

    def _without_robots(self, url: str, policy: RobotsPolicy) -> Exception:
        """No robots.txt, no request (fault-model H16). The job waits for its own host; what lies elsewhere is tried later."""
        host = host_key(url)
        told = f"status {policy.status}" if policy.status else "no answer"
        reason = f"robots.txt of {host} cannot be read ({told})"
        if host != self.host:
            return FetchError(ErrorClass.CONNECT, reason, url=url)
        return TurnOver(max(UNREACHABLE_TTL_SEC, hosts.look(host).backoff_sec), f"{reason}: waits", counts=True)

    def _log(self, url: str, status: int | None, error: FetchError | None) -> None:
        CrawlLog.objects.create(
            site_id=self.target.site_id,
            target_id=self.target.pk,
            article_url=url,
            strategy="httpx",
            http_status=status,
            duration_ms=round((time.monotonic() - self.hop_at) * 1000),
            success=error is None,
            error_msg=str(error) if error else None,
        )

    def _requests_today(self) -> int:
        if self.site.daily_max_requests is None:
            return 0
        days = CrawlSiteDay.objects.filter(site=self.site, day=politeness.day_of(timezone.now()))
        return days.values_list("requests", flat=True).first() or 0

    def _count(self) -> None:
        """Counts the request that now goes out. With a cap the count is taken from the day's row first, so that neither a
        crash nor a second worker can exceed it (fault-model N4). Raises TurnOver."""
        self._admit(0)  # the window may have closed while we waited
        cap, day = self.site.daily_max_requests, politeness.day_of(timezone.now())
        if cap is None:
            self._unsaved_requests += 1
        else:
            row, _ = CrawlSiteDay.objects.get_or_create(site=self.site, day=day)
            if not CrawlSiteDay.objects.filter(pk=row.pk, requests__lt=cap).update(requests=F("requests") + 1):
                self._admit(cap)
        self.requests += 1

    def _save_requests(self) -> None:
        if not self._unsaved_requests:
            return
        row, _ = CrawlSiteDay.objects.get_or_create(site=self.site, day=politeness.day_of(timezone.now()))
        CrawlSiteDay.objects.filter(pk=row.pk).update(requests=F("requests") + self._unsaved_requests)
        self._unsaved_requests = 0
