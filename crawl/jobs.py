"""The life of a job, by compare-and-swap on its row: enqueue, claim, go on, release, finish, cancel, recover.

``crawl_job`` is the truth and the task queue only the doorbell (design, section 6): losing the queue loses nothing, and a
duplicate delivery finds nothing to claim. Every write of a worker is fenced by its lease token (fault-model N6).
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Case, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django_q.tasks import async_task

from articles.store import retried
from crawl import health, hosts, runs
from crawl.models import CrawlHost, CrawlJob, CrawlRun
from govcrawler.clock import now_plus
from govcrawler.crashpoints import crashpoint
from sources.models import CrawlSite, CrawlTarget
from sources.parsing.urls import host_key

log = logging.getLogger(__name__)
Status = CrawlJob.Status
Source = CrawlJob.Source

ACTIVE = (Status.QUEUED, Status.RUNNING)
ENQUEUE_TRIES = 5
BY_NUMBER = ""
"""The cursor of a job whose adapter names the next page by its number alone. None after a page: the list has ended there."""
ALONE_FROM_ATTEMPT = 2
"""A job that was claimed this often without any progress runs alone: it may be what kills its worker."""
PRIORITY = Case(
    When(source=Source.MANUAL, then=Value(0)),
    When(source=Source.RETRY, then=Value(1)),
    default=Value(2),
    output_field=IntegerField(),
)


class TargetNotReady(ValueError):
    """The target cannot be crawled; the message names why."""


class LeaseLost(Exception):
    """Another worker owns the job now: nothing more may be written for it."""


@dataclass(frozen=True)
class Lease:
    """A claimed job: the job as it was claimed, and the token that proves it."""

    job: CrawlJob
    token: str


def ring() -> None:
    """Tells the workers to look at the table of jobs, once the current transaction is through."""
    transaction.on_commit(lambda: async_task("crawl.tasks.crawl_slice", task_name="crawl_slice"))


def enqueue(
    target: CrawlTarget, *, source: str = Source.MANUAL, force: bool = False, scheduled_for: datetime | None = None
) -> tuple[CrawlJob, bool]:
    """A queued job for ``target``, or its active one: (job, whether it is new). Raises TargetNotReady.

    An unfinished backfill of a target that keeps checkpoints hands page and cursor to the new job.
    """
    for _ in range(ENQUEUE_TRIES):
        job, created = _enqueue(target, source, force, scheduled_for)
        if job is not None:
            return job, created
    raise RuntimeError(f"target {target.target_code}: its jobs end faster than a new one can be queued")


def _enqueue(target: CrawlTarget, source: str, force: bool, scheduled_for: datetime | None) -> tuple[CrawlJob | None, bool]:
    """None: the active job that was in the way ended meanwhile."""
    host = _host(target)
    page, cursor = (0, None) if force or source == Source.RETRY else _checkpoint(target)
    job = CrawlJob(
        job_id=secrets.token_hex(16),
        host=host,
        site_code=target.site.site_code,
        target_code=target.target_code,
        source=source,
        status=Status.QUEUED,
        force=force,
        active_key=target.target_code,
        scheduled_for=scheduled_for,
        last_completed_page=page,
        cursor=cursor,
    )
    try:
        with transaction.atomic():
            job.save(force_insert=True)
            ring()
    except IntegrityError:
        active = CrawlJob.objects.filter(active_key=target.target_code).first()
        if active is None and scheduled_for is not None:
            active = CrawlJob.objects.filter(target_code=target.target_code, scheduled_for=scheduled_for).first()
        return active, False
    return job, True


def _host(target: CrawlTarget) -> str:
    url = target.entry_url or target.site.base_url or ""
    if not url:
        raise TargetNotReady(f"target {target.target_code} has no entry_url and its site no base_url: give one of them")
    if not (target.enabled and target.site.enabled):
        off = "target" if not target.enabled else "site"
        raise TargetNotReady(f"the {off} of {target.target_code} is disabled: enable it first")
    if target.site.default_fetch_strategy == CrawlSite.Strategy.PLAYWRIGHT:
        raise TargetNotReady(
            f"the site of {target.target_code} asks for a browser, which this version has not: "
            "set its fetch_strategy to httpx or auto"
        )
    return host_key(url)


def _checkpoint(target: CrawlTarget) -> tuple[int, str | None]:
    if target.backfill_completed_at or not target.track_checkpoint:
        return 0, None
    ended = CrawlJob.objects.filter(target_code=target.target_code).exclude(status__in=ACTIVE)
    last = ended.exclude(source=Source.RETRY).order_by("-enqueued_at").first()  # a retry walks no list
    if last is None or last.cursor is None:
        return 0, None
    if last.cursor == BY_NUMBER:
        return max(last.last_completed_page - 1, 0), BY_NUMBER  # one page of overlap: rows may have moved up meanwhile
    return last.last_completed_page, last.cursor  # a cursor names one page, so there is no going back by one


def due() -> QuerySet[CrawlJob]:
    """Jobs that may start now, by the database's clock."""
    return CrawlJob.objects.filter(Q(not_before__isnull=True) | Q(not_before__lte=Now()), status=Status.QUEUED)


def claim(*, alone: bool = True, job_id: str | None = None) -> Lease | None:
    """The next job whose host is free, claimed with its host; None when there is none to run now.

    ``alone`` False leaves out jobs that must run alone. Attempts are raised here, before the work (fault-model P4). A job whose
    host rests gets that time and reason as its own.
    """
    found = due().exclude(host__in=CrawlHost.objects.exclude(hosts.LEASE_FREE).values("host"))
    if job_id:
        found = found.filter(job_id=job_id)
    if not alone:
        found = found.filter(attempt_count__lt=ALONE_FROM_ATTEMPT)
    for job in found.order_by(PRIORITY, "enqueued_at")[:200]:
        lease = retried(lambda candidate=job: _claim(candidate))  # type: ignore[misc]
        if lease:
            crashpoint("job.after_claim")
            return lease
        resting = hosts.look(job.host)
        if resting.backoff_sec:
            due().filter(job_id=job.job_id).update(
                not_before=now_plus(resting.backoff_sec), wait_reason=resting.backoff_reason[:200]
            )
    return None


def _claim(job: CrawlJob) -> Lease | None:
    token = secrets.token_hex(16)
    with transaction.atomic():
        if not hosts.lease(job.host, token, job.job_id):
            return None
        changed = (
            due()
            .filter(job_id=job.job_id)
            .update(
                status=Status.RUNNING,
                lease_token=token,
                heartbeat_at=Now(),
                attempt_count=F("attempt_count") + 1,
                started_at=Case(When(started_at__isnull=True, then=Now()), default=F("started_at")),
                not_before=None,
                wait_reason=None,
            )
        )
        if not changed:
            hosts.release(job.host, token)
            return None
    job.refresh_from_db()
    return Lease(job, token)


def heartbeat_sec() -> float:
    """Seconds between heartbeats: several fit into a lease, so one that is late loses nothing."""
    return min(10.0, float(settings.CRAWL["lease_seconds"]) / 4)


def heartbeat(leases: list[Lease]) -> None:
    """Lengthens the leases of jobs and hosts. A lease that is no longer ours is left alone."""
    for lease in leases:
        CrawlJob.objects.filter(job_id=lease.job.job_id, lease_token=lease.token).update(heartbeat_at=Now())
        hosts.renew(lease.job.host, lease.token)


def stop_wanted(lease: Lease) -> bool:
    """Whether somebody asked the job to stop. Raises LeaseLost when the job is no longer ours."""
    row = CrawlJob.objects.filter(job_id=lease.job.job_id).values_list("lease_token", "stop_requested").first()
    if row is None or row[0] != lease.token:
        raise LeaseLost(lease.job.job_id)
    return bool(row[1])


def progress(lease: Lease, *, current_page: int) -> None:
    _fenced(lease, current_page=current_page)


def page_done(lease: Lease, page: int, cursor: str | None) -> None:
    """The page is complete: the safe place to go on from. Progress clears the count of attempts.

    ``cursor`` names the next page, BY_NUMBER says that its number does; None: there is none.
    """
    _fenced(lease, last_completed_page=page, current_page=page, cursor=cursor, attempt_count=0, heartbeat_at=Now())
    lease.job.attempt_count = 0


def release(lease: Lease, *, wait_sec: float = 0, reason: str = "", counts: bool = False) -> None:
    """Gives job and host back; the job goes on later. ``counts``: the attempt stays counted (it failed)."""
    attempts = F("attempt_count") if counts else Case(When(attempt_count__gt=0, then=F("attempt_count") - 1), default=Value(0))
    with transaction.atomic():
        _fenced(
            lease,
            status=Status.QUEUED,
            lease_token=None,
            attempt_count=attempts,
            not_before=now_plus(wait_sec) if wait_sec else None,
            wait_reason=reason[:200] or None,
        )
        hosts.release(lease.job.host, lease.token)
        if not wait_sec:
            ring()


def finish(lease: Lease, status: str, *, error: str | None = None, result: dict[str, Any] | None = None) -> None:
    """Ends the job and rings for the host's next one. Raises LeaseLost."""
    with transaction.atomic():
        _fenced(lease, status=status, finished_at=Now(), active_key=None, lease_token=None, error_msg=error, result_json=result)
        hosts.release(lease.job.host, lease.token)
        if CrawlJob.objects.filter(status=Status.QUEUED, host=lease.job.host).exists():
            ring()


def _fenced(lease: Lease, **values: Any) -> None:
    changed = CrawlJob.objects.filter(job_id=lease.job.job_id, lease_token=lease.token).update(**values)
    if not changed:
        log.warning("late write refused", extra={"data": {"job": lease.job.job_id, "fields": ",".join(values)}})
        raise LeaseLost(lease.job.job_id)


def cancel(job_id: str) -> str:
    """Cancels a job and says what it is now: ``canceled``, ``stopping`` (running: before its next request) or its end.

    Raises CrawlJob.DoesNotExist.
    """
    job = CrawlJob.objects.get(job_id=job_id)
    with transaction.atomic():
        canceled = CrawlJob.objects.filter(job_id=job_id, status=Status.QUEUED).update(
            status=Status.CANCELED, stop_requested=True, finished_at=Now(), active_key=None, wait_reason=None
        )
        if canceled:
            runs.close_left_open(job_id, "canceled", "canceled while it waited")
            return str(Status.CANCELED)
    if CrawlJob.objects.filter(job_id=job_id, status=Status.RUNNING).update(stop_requested=True):
        return "stopping"
    job.refresh_from_db()
    return str(job.status)


def recover() -> list[str]:
    """Jobs whose worker is silent for longer than the lease go back to the queue; past the attempt limit they fail.

    Says what was done, one line a job. Their hosts become free, their runs are closed as failed.
    """
    return [line for job in list(_silent()) if (line := retried(lambda lost=job: _recover(lost)))]  # type: ignore[misc]


def _silent() -> QuerySet[CrawlJob]:
    late = Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=now_plus(-settings.CRAWL["lease_seconds"]))
    return CrawlJob.objects.filter(late, status=Status.RUNNING)


def _recover(job: CrawlJob) -> str | None:
    """What was done; None when its worker was heard of again, or another sweeper was faster."""
    if job.stop_requested:
        said, values = "canceled", _canceled()
    elif job.attempt_count >= settings.CRAWL["max_attempts"]:
        said, values = "failed (POISON)", _poisoned(job)
    else:
        said, values = "queued again", _requeued()
    with transaction.atomic():
        if not _silent().filter(job_id=job.job_id, lease_token=job.lease_token).update(**values):
            return None
        if job.lease_token:
            hosts.release(job.host, job.lease_token)
            hosts.free_slots(job.lease_token)
        runs.close_left_open(job.job_id, "failed", "the worker died or hung")
        for target_id in CrawlRun.objects.filter(job_id=job.job_id, target__isnull=False).values_list("target", flat=True)[:1]:
            health.project(target_id)
    return f"{job.job_id} {job.target_code}: {said}"


def _canceled() -> dict[str, Any]:
    return {"status": Status.CANCELED, "finished_at": Now(), "active_key": None, "lease_token": None}


def _poisoned(job: CrawlJob) -> dict[str, Any]:
    message = f"POISON: {job.attempt_count} workers died or hung at page {job.current_page} without finishing a page"
    return {"status": Status.FAILED, "error_msg": message, "finished_at": Now(), "active_key": None, "lease_token": None}


def _requeued() -> dict[str, Any]:
    return {
        "status": Status.QUEUED,
        "lease_token": None,
        "wait_reason": "its worker died; goes on from the last page",
        "run_id": None,
    }
