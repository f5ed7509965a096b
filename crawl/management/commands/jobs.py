"""``manage.py jobs``: what runs, what waits and why, what ended."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rich.console import Console
from rich.table import Table

from crawl.models import CrawlJob

COLUMNS = ("job", "target", "source", "status", "page", "attempts", "enqueued", "why / result")


class Command(BaseCommand):
    help = "Lists jobs: active ones first. Times are Asia/Shanghai."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--status", choices=CrawlJob.Status.values, help="only jobs in this state")
        parser.add_argument("--limit", type=int, default=50)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["limit"] < 1:
            raise CommandError(f"--limit {options['limit']}: give a number above 0", returncode=2)
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
        Console(file=self.stdout._out, width=None if self.stdout.isatty() else 200).print(table)  # type: ignore[attr-defined]


def why(job: CrawlJob) -> str:
    """The reason a job waits or failed, or what it brought."""
    if job.status == CrawlJob.Status.QUEUED:
        until = f" until {timezone.localtime(job.not_before):%m-%d %H:%M:%S}" if job.not_before else ""
        return (job.wait_reason or "waits for a worker") + until
    if job.error_msg:
        return job.error_msg
    result = job.result_json or {}
    return ", ".join(f"{name} {result[name]}" for name in ("inserted", "updated", "known", "failed") if result.get(name))
