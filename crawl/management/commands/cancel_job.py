"""``manage.py cancel_job ID``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from crawl import jobs
from crawl.models import CrawlJob
from govcrawler.audit.record import record


class Command(BaseCommand):
    help = "Cancels a job: a waiting one at once, a running one before its next request."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job_id", metavar="ID")

    def handle(self, *args: Any, **options: Any) -> None:
        job_id = options["job_id"]
        try:
            with transaction.atomic():
                state = jobs.cancel(job_id)
                record(action="job.cancel", resource_type="crawl_job", resource_id=job_id, path="cancel_job")
        except CrawlJob.DoesNotExist as error:
            raise CommandError(f"no job {job_id}: `manage.py jobs` lists them", returncode=2) from error
        self.stdout.write(f"{job_id}: {state}")
