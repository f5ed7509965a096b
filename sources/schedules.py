"""When a target is due: five-field cron read in Asia/Shanghai. No database, no clock: the moment comes from the caller."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from croniter import croniter

ZONE = ZoneInfo("Asia/Shanghai")

_FIELDS = ("minute", "hour", "day", "month", "weekday")
_REMEDY = "write five fields: minute hour day month weekday, for example '30 3 * * *' for 03:30 Beijing time every day"
# croniter also reads @daily, six and seven fields, R (random), H, L and #: not cron as an operator knows it, so refused.
_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat"
_FIELD = re.compile(rf"(?:[0-9*/,-]|{_NAMES})+", re.IGNORECASE)
_ANY_START = datetime(2024, 1, 1, tzinfo=ZONE)


class HasCron(Protocol):
    """A site or a target: ``schedule_cron`` is cron text, or None or empty for none."""

    schedule_cron: str | None


def validate_cron(text: str) -> None:
    """Accept five-field cron. Raises ValueError that says what is wrong and what to write instead."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"{text!r} has {len(fields)} fields; {_REMEDY}")
    for name, field in zip(_FIELDS, fields, strict=True):
        if not _FIELD.fullmatch(field):
            raise ValueError(f"the {name} {field!r} of {text!r} is not cron; {_REMEDY}")
    try:
        croniter(text, _ANY_START).get_next(datetime)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{text!r} is no cron or names a date that never comes ({error}); {_REMEDY}") from error


def next_due(cron: str, after: datetime) -> datetime:
    """The first time of ``cron`` later than ``after``, in UTC; the cron is read in Asia/Shanghai.

    Called with the present, it skips all that was missed: after a stop a target runs once, not once per missed time.
    Raises ValueError for bad cron or a naive ``after``.
    """
    if after.tzinfo is None:
        raise ValueError(f"{after.isoformat()} has no time zone; give an aware datetime")
    validate_cron(cron)
    due: datetime = croniter(cron, after.astimezone(ZONE)).get_next(datetime)
    return due.astimezone(UTC)


def effective_cron(target: HasCron, site: HasCron) -> str | None:
    """The cron that counts for a target: its own, else its site's; None when neither has one."""
    return target.schedule_cron or site.schedule_cron or None
