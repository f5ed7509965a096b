"""``manage.py crawl TARGET``: crawls one target in the foreground, with progress and a summary."""

from __future__ import annotations

import logging
import signal
import threading
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, close_old_connections, connection, transaction
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from crawl import jobs, trial
from crawl.fetching.http import HttpFetcher
from crawl.management.commands.enqueue import chosen
from crawl.management.console import console_of
from crawl.models import CrawlJob
from crawl.runs import KINDS, Receipt
from crawl.work import Bounds, fetch_settings, run_job
from govcrawler.audit.record import record
from sources.adapters import InvalidParams, UnknownAdapter
from sources.models import CrawlTarget

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Crawls a target here and now, under the same politeness and leases as the workers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", metavar="TARGET")
        parser.add_argument("--force", action="store_true", help="refetch known pages, ignore the checkpoint; never politeness")
        parser.add_argument("--dry-run", action="store_true", help="fetch sample_article_url, print the record, write nothing")
        parser.add_argument("--max-pages", type=int, metavar="N", help="at most N list pages")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["max_pages"] is not None and options["max_pages"] < 1:
            raise CommandError(f"--max-pages {options['max_pages']}: give a number above 0", returncode=2)
        (target,) = chosen([options["target"]], False)
        console = console_of(self.stdout)
        if options["dry_run"]:
            self._dry_run(target, console)
            return
        self._crawl(target, options, console)

    def _dry_run(self, target: CrawlTarget, console: Console) -> None:
        try:
            rows = trial.sample(target)
        except trial.TrialFailed as error:
            raise CommandError(str(error), returncode=1) from error
        except (UnknownAdapter, InvalidParams, ValueError) as error:
            raise CommandError(str(error), returncode=2) from error
        table = Table("field", "value", title=f"{target.target_code}: nothing is written", show_lines=True)
        for name, value in rows:
            table.add_row(name, value)
        console.print(table)

    def _crawl(self, target: CrawlTarget, options: dict[str, Any], console: Console) -> None:
        try:
            with transaction.atomic():
                job, created = jobs.enqueue(target, force=options["force"])
                if created:
                    record(action="target.run", resource_type="crawl_target", resource_id=target.target_code, path="crawl")
        except jobs.TargetNotReady as error:
            raise CommandError(str(error), returncode=2) from error
        if options["force"] and not job.force:
            raise CommandError(f"job {job.job_id} is {job.status} already, without --force: cancel it first", returncode=2)
        lease = jobs.claim(job_id=job.job_id)
        if lease is None:
            job.refresh_from_db()
            why = "a worker is on it" if job.status == CrawlJob.Status.RUNNING else "its host is busy with another job"
            raise CommandError(f"job {job.job_id} is {job.status}: {job.wait_reason or why}")
        stop = threading.Event()
        previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
        beats = threading.Thread(target=_heartbeats, args=(lease, ended := threading.Event()), daemon=True)
        beats.start()
        try:
            with HttpFetcher(fetch_settings()) as fetcher, _progress(console) as progress:
                show = _reporter(progress)
                end = run_job(lease, fetcher, stop, Bounds(max_pages=options["max_pages"]), show)
        finally:
            ended.set()
            beats.join()
            for number, handler in previous.items():
                signal.signal(number, handler)
        self._summary(CrawlJob.objects.get(pk=job.pk), end, console)

    def _summary(self, job: CrawlJob, end: str, console: Console) -> None:
        result = job.result_json or {}
        if result:
            table = Table("", "count", title=f"{job.target_code}: {end}")
            for name in ("pages", "requests", "bytes", "discovered", "fetched", *KINDS):
                table.add_row(name, str(result.get(name, 0)))
            console.print(table)
        if end == "done":
            return
        why = job.error_msg or job.wait_reason or "stopped; `manage.py crawl` or a worker goes on from the last page"
        raise CommandError(f"job {job.job_id} {end}: {why}")


def _heartbeats(lease: jobs.Lease, ended: threading.Event) -> None:
    while not ended.wait(jobs.heartbeat_sec()):
        try:
            jobs.heartbeat([lease])
        except OperationalError as error:
            log.warning("heartbeat failed: %s", error)
            close_old_connections()
    connection.close()


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"), TimeElapsedColumn(), console=console
    )


def _reporter(progress: Progress) -> Any:
    task = progress.add_task("pages", total=None, counts="")
    began = time.monotonic()

    def show(receipt: Receipt) -> None:
        run = receipt.run
        rate = run.fetched / max(time.monotonic() - began, 0.001)
        counts = (
            f"{run.pages} pages, {run.inserted} new, {run.failed} errors, {run.bytes / 1024:.0f} KiB, {rate:.1f} articles/s"
        )
        progress.update(task, completed=run.pages, total=run.declared_pages, counts=counts)

    return show
