"""``manage.py check_store``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crawl import store_check


class Command(BaseCommand):
    help = "Checks that database and content store agree: duplicates, rows without files, damaged files, stuck jobs, open runs."

    def handle(self, *args: Any, **options: Any) -> None:
        faults = 0
        for fault in store_check.breaches():
            faults += 1
            self.stdout.write(fault)
        if faults:
            raise CommandError(f"{faults} faults", returncode=1)
        self.stdout.write("no faults")
