"""``manage.py create_api_key NAME --scope read --scope export``: makes a key and shows it, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from govcrawler.access import keys
from govcrawler.audit.record import record


class Command(BaseCommand):
    help = "Make an API key and print it. It is stored as a hash only: this is the one time it can be read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="who uses it; shown in the audit log as key:NAME")
        parser.add_argument(
            "--scope",
            action="append",
            choices=keys.SCOPES,
            dest="scopes",
            required=True,
            help="what it may do; give it several times",
        )
        parser.add_argument("--consumer", default="rag", help="the consumer it claims for (default: rag)")
        parser.add_argument("--per-minute", type=int, metavar="N", help="requests a minute (default: no limit)")
        parser.add_argument("--per-day", type=int, metavar="N", help="requests a day, UTC (default: no limit)")
        parser.add_argument("--days", type=int, metavar="N", help="days until it expires (default: never)")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["days"]
        if days is not None and days < 1:
            raise CommandError(f"--days {days}: give a whole number above 0", returncode=2)
        try:
            key, text = keys.create(
                options["name"],
                options["scopes"],
                consumer=options["consumer"],
                rate_per_minute=options["per_minute"],
                daily_quota=options["per_day"],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from error
        record(action="key.create", resource_type="key", resource_id=key.name, path="create_api_key")
        self.stderr.write(f"Key {key.name!r}, scopes {', '.join(key.scopes)}, consumer {key.consumer!r}. Keep it now:")
        self.stdout.write(text)
