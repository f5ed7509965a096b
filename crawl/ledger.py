"""The politeness ledger: what was asked of each host on each day of Asia/Shanghai, to be shown to its webmaster.

An ``Account`` gathers the requests of one turn in memory and adds them to ``crawl_host_day`` now and then, so that keeping
the book costs no round trip a request. A worker that is killed loses what it had not written, about the last second.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from django.db.models import BigIntegerField, Case, ExpressionWrapper, F, Q, QuerySet, Value, When
from django.utils import timezone

from crawl import politeness
from crawl.models import CrawlHostDay


class Writable(Protocol):
    """What the CSV goes to: a file, an answer, a command's output."""

    def write(self, text: str, /) -> object: ...


COLUMNS = (
    *("day", "host", "requests", "bytes", "status_2xx", "status_3xx", "status_4xx", "status_5xx", "unanswered"),
    *("robots_refusals", "shortest_gap_ms", "longest_gap_ms"),
)


@dataclass(slots=True)
class _Entry:
    """What is not written yet of one host and day."""

    requests: int = 0
    bytes: int = 0
    status_2xx: int = 0
    status_3xx: int = 0
    status_4xx: int = 0
    status_5xx: int = 0
    unanswered: int = 0
    robots_refusals: int = 0
    shortest_gap_ms: int | None = None
    longest_gap_ms: int | None = None


class Account:
    """The ledger's page of one turn. Not shared between threads."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, date], _Entry] = {}

    def request(self, host: str, gap_sec: float | None) -> None:
        """A request goes out, ``gap_sec`` seconds after the last answer of the host (None: nobody asked before)."""
        entry = self._today(host)
        entry.requests += 1
        if gap_sec is None:
            return
        gap = int(gap_sec * 1000)
        entry.shortest_gap_ms = gap if entry.shortest_gap_ms is None else min(entry.shortest_gap_ms, gap)
        entry.longest_gap_ms = gap if entry.longest_gap_ms is None else max(entry.longest_gap_ms, gap)

    def answer(self, host: str, status: int | None, wire_bytes: int) -> None:
        """The request has ended: with a status, or without one."""
        entry = self._today(host)
        entry.bytes += wire_bytes
        if status is None or not 200 <= status < 600:
            entry.unanswered += 1
        else:
            name = f"status_{status // 100}xx"
            setattr(entry, name, getattr(entry, name) + 1)

    def refused(self, host: str) -> None:
        """robots.txt forbids a URL of the host: no request was made."""
        self._today(host).robots_refusals += 1

    def save(self) -> None:
        """Adds what was gathered to the ledger. What a database that is away did not take is kept for the next time."""
        for host, day in list(self._entries):
            _add(host, day, self._entries[host, day])
            del self._entries[host, day]

    def _today(self, host: str) -> _Entry:
        return self._entries.setdefault((host, politeness.day_of(timezone.now())), _Entry())


def _add(host: str, day: date, entry: _Entry) -> None:
    sums = {name: getattr(entry, name) for name in COLUMNS[2:-2]}
    values: dict[str, object] = {name: _sum(name, amount) for name, amount in sums.items() if amount}
    if entry.shortest_gap_ms is not None:
        values["shortest_gap_ms"] = _extreme("shortest_gap_ms", "gt", entry.shortest_gap_ms)
        values["longest_gap_ms"] = _extreme("longest_gap_ms", "lt", entry.longest_gap_ms or 0)
    row = CrawlHostDay.objects.filter(host=host, day=day)
    if not row.update(**values):
        CrawlHostDay.objects.get_or_create(host=host, day=day)
        row.update(**values)


def _sum(column: str, amount: int) -> ExpressionWrapper:
    return ExpressionWrapper(F(column) + _big(amount), BigIntegerField())


def _big(value: int) -> Value:
    return Value(value, output_field=BigIntegerField())


def _extreme(column: str, beaten: str, value: int) -> Case:
    replace = Q(**{f"{column}__isnull": True}) | Q(**{f"{column}__{beaten}": value})
    return Case(When(replace, then=_big(value)), default=F(column), output_field=BigIntegerField())


def entries(hosts: Iterable[str] = (), first: date | None = None, last: date | None = None) -> QuerySet[CrawlHostDay]:
    """Ledger rows by day and host; ``first`` and ``last`` are days of Asia/Shanghai, both included."""
    rows = CrawlHostDay.objects.order_by("day", "host")
    names = list(hosts)
    if names:
        rows = rows.filter(host__in=names)
    if first is not None:
        rows = rows.filter(day__gte=first)
    return rows if last is None else rows.filter(day__lte=last)


def write_csv(rows: QuerySet[CrawlHostDay], file: Writable) -> int:
    """The rows as CSV with a heading; says how many. Gaps are milliseconds between an answer's end and the next request."""
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    count = 0
    for values in _plain(rows):
        writer.writerow(values)
        count += 1
    return count


def _plain(rows: QuerySet[CrawlHostDay]) -> Iterator[list[object]]:
    for row in rows.values_list(*COLUMNS).iterator(chunk_size=1000):
        day, host, *figures = row
        # A name that a spreadsheet would take for a formula is written as text (fault-model X3).
        yield [day.isoformat(), f"'{host}" if host.startswith(("=", "+", "-", "@")) else host, *figures]
