"""A slice: one task of the queue works for a while on several hosts at once, one thread, one job, one host each.

A thread that ends its job takes the next until the slice is over, so polite waiting costs no worker. The slice stops before the
queue's alarm would fire; no request may outlive it by more than the longest request's deadline (review of the design, 3.4).
"""

from __future__ import annotations

import logging
import os
import threading
import time

from django.conf import settings
from django.db import OperationalError, close_old_connections, connection
from django.db.models import Min
from django.db.models.functions import Now

from crawl import health, jobs
from crawl.fetching.http import HttpFetcher
from crawl.models import CrawlJob
from crawl.work import Bounds, fetch_settings, run_job

log = logging.getLogger(__name__)
TURN_SEC = 0.2
CLAIM_SEC = 1.0
WAIT_FOR_WORK_SEC = 20
GRACE_SEC = 150
"""What a request that began before the end may still take (a file's deadline)."""


class Slice:
    """Threads and leases of one slice."""

    def __init__(self, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.stop = threading.Event()
        self.fetcher = HttpFetcher(fetch_settings())
        self.working: dict[threading.Thread, jobs.Lease] = {}
        self.alone = False

    def run(self) -> int:
        """Works until the time is up or there is nothing to do; says how many jobs were taken up."""
        taken, beaten_at, claimed_at = 0, 0.0, 0.0
        with self.fetcher:
            while True:
                self._reap()
                now = time.monotonic()
                if now - beaten_at >= jobs.heartbeat_sec():
                    beaten_at = now
                    self._beat()
                over = now >= self.ends_at or self.stop.is_set()
                if not over and now - claimed_at >= CLAIM_SEC:
                    claimed_at = now
                    while (lease := self._claim()) is not None:
                        self._start(lease)
                        taken += 1
                if not self.working and (over or not self._work_soon()):
                    break
                if over and now > self.ends_at + GRACE_SEC:
                    self._give_up()
                self.stop.wait(TURN_SEC) if not self.stop.is_set() else time.sleep(TURN_SEC)
        return taken

    def _claim(self) -> jobs.Lease | None:
        if self.alone or len(self.working) >= settings.CRAWL["hosts_per_worker"]:
            return None
        busy = {lease.job.host for lease in self.working.values()}
        lease = jobs.claim(exclude_hosts=busy, alone=not self.working)
        self.alone = lease is not None and lease.job.attempt_count > jobs.ALONE_FROM_ATTEMPT
        return lease

    def _start(self, lease: jobs.Lease) -> None:
        thread = threading.Thread(target=self._work, args=(lease,), name=f"crawl-{lease.job.host}", daemon=True)
        self.working[thread] = lease
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
            self.alone = False

    def _beat(self) -> None:
        try:
            jobs.heartbeat(list(self.working.values()))
            if health.beat():
                self.stop.set()
        except OperationalError as error:
            log.warning("heartbeat failed: %s", error)
            close_old_connections()

    def _work_soon(self) -> bool:
        """Whether a job becomes due so soon that waiting is better than ending the slice."""
        queued = CrawlJob.objects.filter(status=CrawlJob.Status.QUEUED, not_before__gt=Now())
        row = queued.annotate(now=Now()).aggregate(first=Min("not_before"), now=Min("now"))
        if row["first"] is None:
            return False
        wait = (row["first"] - row["now"]).total_seconds()
        return bool(wait <= WAIT_FOR_WORK_SEC and time.monotonic() + wait < self.ends_at)

    def _give_up(self) -> None:
        """A thread hangs beyond every deadline: the process ends, its jobs are left to the sweeper."""
        log.error("slice hangs, process ends", extra={"data": {"jobs": [x.job.job_id for x in self.working.values()]}})
        os._exit(70)


def run_slice(seconds: float | None = None) -> int:
    """Works for a slice (default: the setting) and rings again if work is left. Says how many jobs were taken up."""
    close_old_connections()
    taken = Slice(float(seconds or settings.CRAWL["slice_seconds"])).run()
    return taken
