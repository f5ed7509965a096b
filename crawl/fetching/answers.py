"""Reading an answer: its head, its raw body, and whether its framing can be trusted (fault-model H8, H9, H10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpcore

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.connections import Exchange
from crawl.fetching.redirects import Message

_SECRET_HEADERS = frozenset({"set-cookie", "set-cookie2"})
_LONGEST_WAIT = 10 * 366 * 86400.0
# Of a header that is repeated, the first one counts where a list would have no meaning.
_SINGLE = frozenset({"content-type", "content-disposition", "etag", "last-modified", "date", "retry-after", "content-length"})


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of an answer. ``headers``: lower-case names, latin-1 text, no cookies (fault-model N7)."""

    status: int
    raw: tuple[tuple[str, bytes], ...]
    headers: Mapping[str, str]
    bodyless: bool
    received_at: datetime

    def values(self, name: str) -> list[bytes]:
        return [value for key, value in self.raw if key == name]

    def texts(self, name: str) -> list[str]:
        return [value.decode("latin-1") for value in self.values(name)]

    @property
    def length(self) -> int | None:
        """The declared length of the body, None if the body is chunked or has no declared length."""
        values = self.values("content-length")
        return int(values[0].split(b",")[0]) if values and not self.values("transfer-encoding") else None

    @property
    def length_unknown(self) -> bool:
        return not self.bodyless and self.length is None and not self.values("transfer-encoding")

    def doubtful(self, exchange: Exchange) -> bool:
        """Whether what came, body fully read, leaves doubt where this answer ends; its connection must not be used again."""
        if self.bodyless:
            return exchange.body_received > 0
        if self.values("transfer-encoding"):
            return bool(self.values("content-length")) or not exchange.tail.endswith(b"0\r\n\r\n")
        return exchange.body_received != self.length


def read_head(answer: httpcore.Response, message: Message, max_header_bytes: int) -> Head:
    """Raises FetchError(PROTOCOL): header too large, no final status, a part that nobody asked for."""
    raw = tuple((name.decode("latin-1").lower(), value) for name, value in answer.headers)
    size = sum(len(name) + len(value) + 4 for name, value in raw)
    if size > max_header_bytes:
        raise FetchError(ErrorClass.PROTOCOL, f"the header has {size} bytes, {max_header_bytes} are read")
    status = answer.status
    if not 200 <= status < 600:
        raise FetchError(ErrorClass.PROTOCOL, f"status {status} is no final answer", status=status)
    if status == HTTPStatus.PARTIAL_CONTENT and "range" not in message.headers:
        raise FetchError(ErrorClass.PROTOCOL, "a part of the resource (206) instead of the whole", status=status)
    bodyless = message.method == "HEAD" or status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
    return Head(status, raw, _mapping(raw), bodyless, datetime.now(UTC))


def _mapping(raw: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        if name in _SECRET_HEADERS:
            continue
        text = value.decode("latin-1")
        if name not in headers:
            headers[name] = text
        elif name not in _SINGLE:
            headers[name] += f", {text}"
    return headers


def wire_chunks(answer: httpcore.Response, exchange: Exchange, limit: int, count: Callable[[int], None]) -> Iterator[bytes]:
    """The body as it comes, transfer coding undone. Raises FetchError: DEADLINE, TOO_LARGE above ``limit`` bytes."""
    total = 0
    for chunk in answer.iter_stream():
        exchange.check()
        total += len(chunk)
        count(len(chunk))
        if total > limit:
            raise FetchError(ErrorClass.TOO_LARGE, f"the body is larger than {limit} bytes", status=answer.status)
        yield chunk


def retry_after(value: str | None, server_date: str | None, now: datetime) -> float | None:
    """Seconds that Retry-After asks for, at most ten years; None if there is no such header or it cannot be read.

    A date is measured from the answer's own Date header, so that a server with a wrong clock is still understood. Clamping
    to a sensible wait is the caller's (fault-model H10).
    """
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]+", text):
        return min(float(text[:12]), _LONGEST_WAIT)
    until = _http_date(text)
    if until is None:
        return None
    since = _http_date(server_date or "") or now
    return min(max((until - since).total_seconds(), 0.0), _LONGEST_WAIT)


def _http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
