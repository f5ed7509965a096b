"""The receipt of a job attempt: what the source declared, what was seen, and what became of every row."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from django.utils import timezone

from crawl.models import CrawlJob, CrawlRun
from sources.models import CrawlTarget

log = logging.getLogger(__name__)
KINDS = ("inserted", "updated", "known", "duplicate", "skipped", "failed")
WRITTEN = (
    *("status", "finished_at", "declared_total", "declared_pages", "pages", "requests", "bytes", "discovered", "fetched"),
    *(*KINDS, "metrics_json", "warnings_json", "errors_json"),
)
MESSAGES_KEPT = 100


class Receipt:
    """Counts of a run, in memory and, at each ``save``, in ``crawl_run``."""

    def __init__(self, run: CrawlRun) -> None:
        self.run = run
        self.reasons: Counter[str] = Counter((run.metrics_json or {}).get("reasons", {}))
        self.warnings: list[str] = list(run.warnings_json or [])
        self.errors: list[dict[str, str]] = list(run.errors_json or [])

    def row(self, kind: str, reason: str = "") -> None:
        """One list row is accounted for; ``kind`` is one of KINDS."""
        self.run.discovered += 1
        setattr(self.run, kind, getattr(self.run, kind) + 1)
        if reason:
            self.reasons[f"{kind}:{reason}"] += 1

    def warn(self, text: str) -> None:
        if len(self.warnings) < MESSAGES_KEPT and text not in self.warnings:
            self.warnings.append(text)

    def error(self, url: str, message: str) -> None:
        if len(self.errors) < MESSAGES_KEPT:
            self.errors.append({"url": url, "error": message[:500]})

    @property
    def balanced(self) -> bool:
        """Every row seen is accounted for exactly once."""
        return bool(self.run.discovered == sum(getattr(self.run, kind) for kind in KINDS))

    def save(self) -> None:
        """Writes the counts, unless the run was closed meanwhile: a late worker changes nothing (fault-model N6)."""
        self.run.metrics_json = {"reasons": dict(self.reasons)}
        self.run.warnings_json = self.warnings
        self.run.errors_json = self.errors
        values = {name: getattr(self.run, name) for name in WRITTEN}
        if not CrawlRun.objects.filter(pk=self.run.pk, finished_at__isnull=True).update(**values):
            log.warning("late write refused", extra={"data": {"run": self.run.pk, "job": self.run.job_id}})

    def finish(self, status: str) -> None:
        """Final: the row does not change after this. Rows that failed or do not add up make a success partial."""
        if status == CrawlRun.Status.SUCCEEDED and (self.run.failed or not self.balanced):
            status = CrawlRun.Status.PARTIAL
        self.run.status = status
        self.run.finished_at = timezone.now()
        self.save()

    def summary(self) -> dict[str, Any]:
        """The result a job row shows."""
        names = ("pages", "requests", "bytes", "discovered", "fetched", *KINDS)
        return {name: getattr(self.run, name) for name in names} | {"status": self.run.status, "reasons": dict(self.reasons)}


def open_run(job: CrawlJob, target: CrawlTarget) -> Receipt:
    """The job's open run (it goes on in a new slice), or a new one."""
    run = CrawlRun.objects.filter(pk=job.run_id, finished_at__isnull=True).first() if job.run_id else None
    if run is None:
        scope = "full" if job.force else "incremental" if target.backfill_completed_at else "backfill"
        run = CrawlRun.objects.create(
            job_id=job.job_id,
            site_id=target.site_id,
            target=target,
            site_code=job.site_code,
            target_code=job.target_code,
            scope=scope,
            status=CrawlRun.Status.STARTED,
        )
        CrawlJob.objects.filter(job_id=job.job_id).update(run_id=run.pk)
        job.run_id = run.pk
    return Receipt(run)


def close_left_open(job_id: str, status: str, why: str) -> None:
    """Closes the run of a job whose worker cannot do it any more."""
    for run in CrawlRun.objects.filter(job_id=job_id, finished_at__isnull=True):
        receipt = Receipt(run)
        receipt.error("", why)
        receipt.finish(status)
