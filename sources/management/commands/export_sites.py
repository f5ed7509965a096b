"""``manage.py export_sites``: write the registry of sites back as site files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sources.site_export import UnknownSites, export


class Command(BaseCommand):
    help = (
        "Write sites with their departments and targets as site files, also those managed in the admin pages. Without "
        "--output they are printed. A file that exists with other content is not overwritten: exit status 2, nothing written."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("codes", nargs="*", metavar="CODE", help="site codes; all sites when none is given")
        parser.add_argument("--output", type=Path, metavar="DIR", help="folder to write one file per site into")

    def handle(self, *args: Any, codes: list[str], output: Path | None, **options: Any) -> None:
        try:
            files = export(codes)
        except UnknownSites as error:
            raise CommandError(str(error), returncode=2) from error
        if output is None:
            for name, text in files.items():
                self.stdout.write(f"# {name}\n{text}")
            return
        try:
            self._write(files, output)
        except OSError as error:
            raise CommandError(f"cannot write to {output}: {error.strerror}; choose another --output", returncode=2) from error

    def _write(self, files: dict[str, str], output: Path) -> None:
        paths = {output / name: text for name, text in files.items()}
        kept = [str(path) for path, text in paths.items() if path.exists() and path.read_bytes() != text.encode()]
        if kept:
            message = f"not overwritten: {', '.join(kept)}; remove them or choose another --output. Nothing was written."
            raise CommandError(message, returncode=2)
        output.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            path.write_bytes(text.encode())
            self.stdout.write(str(path))
