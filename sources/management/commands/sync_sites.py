"""``manage.py sync_sites``: make the registry of sites what the files in SITES_DIR say."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError
from django.utils import timezone

from sources.site_reading import SiteFileFaults
from sources.sync import sync


class Command(BaseCommand):
    help = (
        "Read every *.yaml in SITES_DIR and change sites, departments and targets to match, all or nothing. Sites managed in "
        "the admin pages are never touched. Faults are all listed with file, line and field; exit status 2, nothing changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print what would change and change nothing")
        parser.add_argument(
            "--prune",
            action="store_true",
            help="also remove what no file names: deleted when it was never used, disabled when anything refers to it "
            "(articles, jobs, runs, logs ...); without this it is listed and left",
        )

    def handle(self, *args: Any, dry_run: bool, prune: bool, **options: Any) -> None:
        try:
            plan = sync(settings.SITES_DIR, now=timezone.now(), prune=prune, dry_run=dry_run)
        except SiteFileFaults as error:
            count = len(error.faults)
            raise CommandError(
                f"{error}\n{count} fault(s) in {settings.SITES_DIR}; nothing was changed.", returncode=2
            ) from error
        except IntegrityError as error:
            message = f"the registry was changed by someone else meanwhile ({error}); nothing was changed, run again"
            raise CommandError(message, returncode=2) from error
        for line in plan.lines():
            loud = line.startswith("WARNING")
            self.stdout.write(self.style.WARNING(line) if loud else line)
        if dry_run:
            self.stderr.write("dry run: nothing was changed")
