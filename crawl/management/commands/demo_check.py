"""``manage.py demo_check MANIFEST``: what was stored against what the demo site says of itself."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.table import Table

from crawl import judgement
from crawl.management.console import console_of


class Command(BaseCommand):
    help = "Compares every stored article, field, text and file with the demo site's manifest. Status 1 when anything differs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("manifest", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = json.loads(options["manifest"].read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CommandError(f"{options['manifest']}: {error}", returncode=2) from error
        table = Table("target", "articles", "of", "files", "skipped", "refused", "failed")
        for row in judgement.counts(manifest):
            table.add_row(*(str(value) for value in row))
        console_of(self.stdout).print(table)
        faults = judgement.compare(manifest)
        for fault in faults[:50]:
            self.stderr.write(fault)
        if faults:
            raise CommandError(f"{len(faults)} differences between the store and the site's manifest")
        self.stdout.write("Every article, field, text and file equals the site's manifest.")
