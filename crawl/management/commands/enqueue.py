"""``manage.py enqueue TARGET...``: orders crawls that a worker will do."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from crawl import jobs
from govcrawler.audit.record import record
from sources.models import CrawlTarget


class Command(BaseCommand):
    help = "Puts jobs for targets into the queue. A target with an active job keeps that one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("targets", nargs="*", metavar="TARGET", help="target codes")
        parser.add_argument("--all", action="store_true", help="every enabled target")
        parser.add_argument("--force", action="store_true", help="refetch known pages, ignore the checkpoint; never politeness")

    def handle(self, *args: Any, **options: Any) -> None:
        targets = chosen(options["targets"], options["all"])
        try:
            with transaction.atomic():  # all of them or none
                lines = [self._enqueue(target, options["force"]) for target in targets]
        except jobs.TargetNotReady as error:
            raise CommandError(str(error), returncode=2) from error
        for line in lines:
            self.stdout.write(line)

    def _enqueue(self, target: CrawlTarget, force: bool) -> str:
        job, created = jobs.enqueue(target, force=force)
        if created:
            record(action="target.run", resource_type="crawl_target", resource_id=target.target_code, path="enqueue")
            return f"{target.target_code}: job {job.job_id} queued"
        unforced = ", without --force" if force and not job.force else ""
        return f"{target.target_code}: job {job.job_id} is already {job.status}{unforced}"


def chosen(codes: list[str], every: bool) -> list[CrawlTarget]:
    """The targets named, or every enabled one. Raises CommandError for a code that does not exist, or none at all."""
    if bool(codes) == every:
        raise CommandError("name targets, or give --all", returncode=2)
    targets = CrawlTarget.objects.select_related("site", "site_department")
    if every:
        return list(targets.filter(enabled=True, site__enabled=True).order_by("target_code"))
    found = {target.target_code: target for target in targets.filter(target_code__in=codes)}
    missing = [code for code in codes if code not in found]
    if missing:
        raise CommandError(f"unknown target {', '.join(missing)}: `manage.py sync_sites` shows what exists", returncode=2)
    return [found[code] for code in codes]
