"""``manage.py import_departments``: departments of the OA from an XLSX or CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from departments import importing

SHOWN_ERRORS = 100


class Command(BaseCommand):
    help = (
        "Import the OA's departments from FILE, all or nothing, and print what is added and what changes. OA ids are kept; "
        "departments that the file does not name stay. Faults are all listed by row and column; exit status 2, nothing changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help=".xlsx, or .csv in UTF-8 or GBK with , ; or tab")
        parser.add_argument("--dry-run", action="store_true", help="print what would change and change nothing")
        parser.add_argument(
            "--ignore", metavar="HEADER", action="append", default=[], help="leave the column of this name out; repeatable"
        )

    def handle(self, *args: Any, file: Path, dry_run: bool, ignore: list[str], **options: Any) -> None:
        try:
            plan = importing.run(file.name, file.read_bytes(), ignored=ignore, dry_run=dry_run)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}; nothing was changed.", returncode=2) from error
        except importing.ImportRefused as refusal:
            told = list(refusal.errors[:SHOWN_ERRORS])
            if len(refusal.errors) > SHOWN_ERRORS:
                told.append(f"... and {len(refusal.errors) - SHOWN_ERRORS} more")
            told.append(f"{len(refusal.errors)} fault(s) in {file}; nothing was changed.")
            raise CommandError("\n".join(told), returncode=2) from refusal
        except IntegrityError as error:
            message = f"departments were changed by someone else meanwhile ({error}); nothing was changed, run again"
            raise CommandError(message, returncode=2) from error
        for line in plan.lines():
            self.stdout.write(self.style.WARNING(line) if line.startswith("WARNING") else line)
        if dry_run:
            self.stderr.write("dry run: nothing was changed")
