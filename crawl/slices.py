"""A slice: one task of the queue works for a while on several hosts at once, one thread, one job, one host each.

A thread that ends its job takes the next until the slice is over, so polite waiting costs no worker. The slice stops before the
queue's alarm would fire; no request may outlive it by more than the longest request's deadline (review of the design, 3.4).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import suppress

from django.conf import settings
from django.db import OperationalError, close_old_connections, connection
from django.db.models.functions import Now

from crawl import health, hosts, jobs
from crawl.fetching.http import HttpFetcher
from crawl.models import CrawlJob
from crawl.work import Bounds, fetch_settings, run_job

log = logging.getLogger(__name__)
TURN_SEC = 0.2
CLAIM_SEC = 1.0
WAIT_FOR_WORK_SEC = 20
GRACE_SEC = 150
"""What a request that began before the end may still take (a file's deadline)."""
STOP_GRACE_SEC = 20
"""How long a request may still take once the worker was told to stop (fault-model P3: 30 s for all of it)."""


class Slice:
    """Threads and leases of one slice."""

    def __init__(self, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.stop = threading.Event()
        self.stopped_at: float | None = None
        self.fetcher = HttpFetcher(fetch_settings())
        self.working: dict[threading.Thread, jobs.Lease] = {}
        self.alone = False
        self.taken = 0
        self._beaten_at = self._claimed_at = 0.0

    def run(self) -> int:
        """Works until the time is up or there is nothing to do; says how many jobs were taken up."""
        while not self._turn():
            self.stop.wait(TURN_SEC) if not self.stop.is_set() else time.sleep(TURN_SEC)
        if not self.working:
            self.fetcher.close()
        return self.taken

    def _turn(self) -> bool:
        """One look at threads, orders and jobs; True when the slice is through. A database that is away is waited for."""
        self._reap()
        now = time.monotonic()
        over = now >= self.ends_at or self.stop.is_set()
        try:
            if now - self._beaten_at >= jobs.heartbeat_sec():
                self._beaten_at = now
                health.beat()
                jobs.heartbeat(list(self.working.values()))
            if now - self._claimed_at >= CLAIM_SEC:
                self._claimed_at = now
                self._take_orders(now)
                while not over and not self.stop.is_set() and (lease := self._claim()) is not None:
                    self._start(lease)
            if not self.working and (over or not self._work_soon()):
                return True
            if self.stopped_at is not None and now > self.stopped_at + STOP_GRACE_SEC:
                self._let_go()
                return True
        except OperationalError as error:
            log.warning("the database is away: %s", error)
            close_old_connections()
            self._beaten_at = self._claimed_at = 0.0
            if over and not self.working:
                return True
        if now > self.ends_at + GRACE_SEC:
            self._give_up()
        return False

    def _take_orders(self, now: float) -> None:
        if self.stopped_at is None and (self.stop.is_set() or health.stop_asked()):
            self.stop.set()
            self.stopped_at = now

    def _let_go(self) -> None:
        """The worker stops and a request does not end: the process will, so its jobs and hosts are given back for it."""
        for lease in self.working.values():
            hosts.postpone(lease.job.host, STOP_GRACE_SEC)
            with suppress(jobs.LeaseLost):
                jobs.release(lease, reason="the worker stopped in the middle of a request")

    def _claim(self) -> jobs.Lease | None:
        if self.alone or len(self.working) >= settings.CRAWL["hosts_per_worker"]:
            return None
        lease = jobs.claim(alone=not self.working)
        self.alone = lease is not None and lease.job.attempt_count > jobs.ALONE_FROM_ATTEMPT
        return lease

    def _start(self, lease: jobs.Lease) -> None:
        thread = threading.Thread(target=self._work, args=(lease,), name=f"crawl-{lease.job.host}", daemon=True)
        self.working[thread] = lease
        self.taken += 1
        thread.start()

    def _work(self, lease: jobs.Lease) -> None:
        """One job in its own thread with its own database connection."""
        try:
            end = run_job(lease, self.fetcher, self.stop, Bounds(deadline=self.ends_at))
            log.info("job %s", end, extra={"data": {"job": lease.job.job_id, "target": lease.job.target_code}})
        except Exception:
            # A fault of ours: the row stays as it is, its lease ends and the sweeper puts it back with the attempt counted.
            log.exception("job broke off", extra={"data": {"job": lease.job.job_id, "target": lease.job.target_code}})
            raise
        finally:
            connection.close()

    def _reap(self) -> None:
        for thread in [thread for thread in self.working if not thread.is_alive()]:
            thread.join()
            del self.working[thread]
            self.alone, self._claimed_at = False, 0.0  # the next job at once

    def _work_soon(self) -> bool:
        """Whether a job becomes due so soon that waiting is better than ending the slice."""
        queued = CrawlJob.objects.filter(status=CrawlJob.Status.QUEUED, not_before__gt=Now()).order_by("not_before")
        first = queued.annotate(now=Now()).values_list("not_before", "now").first()
        if first is None:
            return False
        wait = hosts.seconds_until(*first)
        return bool(wait <= WAIT_FOR_WORK_SEC and time.monotonic() + wait < self.ends_at)

    def _give_up(self) -> None:
        """A thread hangs beyond every deadline: the process ends, its jobs are left to the sweeper."""
        log.error("slice hangs, process ends", extra={"data": {"jobs": [x.job.job_id for x in self.working.values()]}})
        os._exit(70)


def run_slice(seconds: float | None = None) -> int:
    """Works for a slice (seconds; default: the setting) and says how many jobs were taken up. Jobs it gives back ring again."""
    close_old_connections()
    return Slice(float(seconds or settings.CRAWL["slice_seconds"])).run()
