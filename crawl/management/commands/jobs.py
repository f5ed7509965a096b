"""``manage.py jobs``: what runs, what waits and why, what ended."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Sum
from django.utils import timezone
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from crawl import jobs
from crawl.management.console import console_of
from crawl.models import CrawlJob, CrawlRun

WATCH_SEC = 0.5

COLUMNS = ("job", "target", "source", "status", "page", "attempts", "enqueued", "why / result")


class Command(BaseCommand):
    help = "Lists jobs: active ones first. Times are Asia/Shanghai."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--status", choices=CrawlJob.Status.values, help="only jobs in this state")
        parser.add_argument("--limit", type=int, default=50)
        parser.add_argument("--watch", action="store_true", help="show progress until no job is queued or running")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["limit"] < 1:
            raise CommandError(f"--limit {options['limit']}: give a number above 0", returncode=2)
        if options["watch"]:
            self._watch()
        found = CrawlJob.objects.order_by("-enqueued_at")
        if options["status"]:
            found = found.filter(status=options["status"])
        table = Table(*COLUMNS)
        for job in found[: options["limit"]]:
            enqueued = f"{timezone.localtime(job.enqueued_at):%m-%d %H:%M:%S}"
            table.add_row(
                job.job_id,
                job.target_code,
                job.source,
                job.status,
                str(job.current_page),
                str(job.attempt_count),
                enqueued,
                why(job),
            )
        console_of(self.stdout, 200).print(table)

    def _watch(self) -> None:
        """Progress of the active jobs until there is none left."""
        console = console_of(self.stdout)
        began = time.monotonic()
        codes = set(CrawlJob.objects.filter(status__in=jobs.ACTIVE).values_list("job_id", flat=True))
        with Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"), console=console
        ) as bar:
            task = bar.add_task("jobs", total=len(codes), counts="")
            while True:
                active = CrawlJob.objects.filter(status__in=jobs.ACTIVE, job_id__in=codes).count()
                bar.update(task, completed=len(codes) - active, counts=_totals(codes, time.monotonic() - began))
                if not active:
                    return
                time.sleep(WATCH_SEC)


def _totals(job_ids: set[str], seconds: float) -> str:
    sums = CrawlRun.objects.filter(job_id__in=job_ids).aggregate(
        pages=Sum("pages"), inserted=Sum("inserted"), failed=Sum("failed"), bytes=Sum("bytes")
    )
    pages, inserted, failed, size = (sums[name] or 0 for name in ("pages", "inserted", "failed", "bytes"))
    rate = inserted / max(seconds, 0.1)
    return f"{pages} pages, {inserted} new articles, {failed} errors, {size // 1024} KiB, {rate:.1f} articles/s"


def why(job: CrawlJob) -> str:
    """The reason a job waits or failed, or what it brought."""
    if job.status == CrawlJob.Status.QUEUED:
        until = f" until {timezone.localtime(job.not_before):%m-%d %H:%M:%S}" if job.not_before else ""
        return (job.wait_reason or "waits for a worker") + until
    if job.error_msg:
        return job.error_msg
    result = job.result_json or {}
    return ", ".join(f"{name} {result[name]}" for name in ("inserted", "updated", "known", "failed") if result.get(name))
