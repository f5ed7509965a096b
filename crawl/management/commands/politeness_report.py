"""``manage.py politeness_report``."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crawl import ledger


class Command(BaseCommand):
    help = "Writes the politeness ledger as CSV: what each host was asked on each day, and the gaps between requests."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", action="append", default=[], help="only this host; may be repeated")
        parser.add_argument("--from", dest="first", help="first day, YYYY-MM-DD, of Asia/Shanghai")
        parser.add_argument("--to", dest="last", help="last day, YYYY-MM-DD, of Asia/Shanghai")

    def handle(self, *args: Any, **options: Any) -> None:
        first, last = (_day(name, options[name]) for name in ("first", "last"))
        if first and last and first > last:
            raise CommandError(f"--from: {first} is after --to {last}; swap them", returncode=2)
        ledger.write_csv(ledger.entries(options["host"], first, last), self.stdout)


def _day(name: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        option = {"first": "--from", "last": "--to"}[name]
        raise CommandError(f"{option}: got {text!r}; write a day as YYYY-MM-DD", returncode=2) from None
