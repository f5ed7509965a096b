"""``manage.py backfill_dept_region``: regions of 清远 for departments that have none."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from departments import regions


class Command(BaseCommand):
    help = (
        "Fill the region of departments from their names, their ancestors and their level, by the rules in "
        "departments/regions.json. Prints what it fills, the count of each region and what stays unresolved."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print what would change and change nothing")
        parser.add_argument("--force", action="store_true", help="also replace regions that are already there")

    def handle(self, *args: Any, dry_run: bool, force: bool, **options: Any) -> None:
        for line in regions.backfill(force=force, dry_run=dry_run).lines():
            self.stdout.write(self.style.WARNING(line) if line.startswith("?") else line)
        if dry_run:
            self.stderr.write("dry run: nothing was changed")
