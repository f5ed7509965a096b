"""The adapter contract: values that go in and out of an adapter, and the promises both sides keep.

An adapter turns bytes into records (design, invariant 3). It opens no socket, no file and no database, reads no clock and
keeps no state, so every adapter is tested offline and history is parsed again without a refetch. ``Response.fetched_at`` is
the only clock an adapter may read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import pydantic

from sources.parsing.charset import Decoded, decode

EMPTY: Mapping[str, Any] = MappingProxyType({})

Precision = Literal["none", "year", "month", "day", "minute", "second"]
"""How much of a publication time the source states (fault-model C4): never more than it said."""


class Capability(StrEnum):
    """What an adapter can do beyond listing and parsing."""

    COLUMNS = "columns"  # columns_request / parse_columns
    DETAIL = "detail"  # articles have a page of their own
    FULL_TEXT_IN_LIST = "full_text_in_list"  # a list row is already the whole article
    CHECKPOINT = "checkpoint"  # pages are numbered and stable enough to resume at
    CONDITIONAL_GET = "conditional_get"  # the source honours ETag / Last-Modified
    NEEDS_BROWSER = "needs_browser"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request that the pipeline shall make for an adapter."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Response:
    """What came back. ``headers`` has lower-case names; ``fetched_at`` is aware, in UTC; ``url`` is the final one."""

    request: Request
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    fetched_at: datetime

    @cached_property
    def decoded(self) -> Decoded:
        """Text, encoding and doubt about it, by the order of ``sources.parsing.charset``."""
        return decode(self.body, self.headers.get("content-type", ""), self.url)

    @property
    def text(self) -> str:
        return self.decoded.text


@dataclass(frozen=True, slots=True)
class ArticleRef:
    """A row of a list. ``raw`` is the row as the source gave it (JSON values only), kept for replay.

    ``skip`` names why the row is not an article of this source (``foreign_host``, ``hidden`` ...); such a row is counted, not
    fetched. ``published_on`` is the date the row shows, in the source's zone; it may be missing.
    """

    url: str
    title: str = ""
    native_id: str | None = None
    published_on: date | None = None
    pinned: bool = False
    skip: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list. ``total`` and ``pages`` are what the source declares, None when it does not."""

    refs: Sequence[ArticleRef]
    has_more: bool
    next_cursor: str | None = None
    total: int | None = None
    pages: int | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AttachmentRef:
    """A file an article names. ``name`` is what the page calls it; the stored key never depends on it."""

    url: str
    name: str = ""
    mime: str = ""


@dataclass(frozen=True, slots=True)
class StandardMeta:
    """Fields of ``article_standard_meta`` (seed 000, 2.6)."""

    standard_no: str = ""
    chinese_title: str = ""
    english_title: str = ""
    standard_status: str = ""
    ccs_codes: Sequence[str] = ()
    ics_codes: Sequence[str] = ()
    publish_date: date | None = None
    implementation_date: date | None = None
    competent_department: str = ""
    technical_committee: str = ""
    issuing_body: str = ""
    standard_type: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnnouncementMeta:
    """Fields of an exchange announcement (seed 003)."""

    exchange: str
    announcement_id: str
    stock_code: str = ""
    stock_name: str = ""
    doc_type: str = ""
    report_period: str = ""
    adjunct_url: str = ""


@dataclass(frozen=True, slots=True)
class ParsedArticle:
    """A complete article. Empty string and None mean: the source does not say (invariant 9, nothing is guessed).

    ``publish_time`` is aware, in UTC; ``publish_precision`` tells how much of it the source stated. ``publish_date`` is the
    date in the source's own zone. ``body_html`` is the source's body fragment, unsanitised, links made absolute;
    ``body_text`` is plain text, paragraphs separated by one newline.
    """

    url: str
    title: str
    body_text: str
    body_html: str = ""
    native_id: str | None = None
    publish_time: datetime | None = None
    publish_precision: Precision = "none"
    publish_date: date | None = None
    source_raw: str = ""
    index_no: str = ""
    doc_no: str = ""
    publisher: str = ""
    effective_date: date | None = None
    is_effective: bool | None = None
    expiry_date: date | None = None
    topic_words: str = ""
    open_category: str = ""
    content_category: str = ""
    content_subcategory: str = ""
    channel_name: str = ""
    channel_path: str = ""
    attachments: Sequence[AttachmentRef] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    standard: StandardMeta | None = None
    announcement: AnnouncementMeta | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source's directory; ``path`` is the chain of names joined by ``/``."""

    column_id: str
    name: str
    path: str = ""
    parent_id: str | None = None
    entry_url: str = ""
    post_count: int | None = None


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """What an adapter may know of the target it works for."""

    target_code: str
    entry_url: str
    base_url: str = ""
    channel_name: str = ""


class ParseProblem(StrEnum):
    """What a parser found instead of what it looked for."""

    EMPTY = "empty"  # the page says that there is nothing
    BLOCKED = "blocked"  # WAF, login, soft 404
    CHANGED = "changed"  # the layout is not the one the adapter knows


class ParseError(ValueError):
    """The bytes are not what the adapter reads: what was looked for, where, and a short excerpt of what was there."""

    def __init__(self, looked_for: str, where: str, *, problem: ParseProblem = ParseProblem.CHANGED, excerpt: str = "") -> None:
        super().__init__(looked_for, where)
        self.looked_for = looked_for
        self.where = where
        self.problem = problem
        self.excerpt = " ".join(excerpt.split())[:200]

    def __str__(self) -> str:
        seen = f"; the page begins: {self.excerpt!r}" if self.excerpt else ""
        return f"{self.problem.value}: looked for {self.looked_for} in {self.where}{seen}"


class NoParams(pydantic.BaseModel):
    """Parameters of an adapter that has none."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


@runtime_checkable
class Adapter(Protocol):
    """One source system. The class is found by the file's name: ``sources/adapters/<id>.py`` defines ``class Adapter``.

    ``version`` is the parser version stored with each record: raise it when the same bytes give other records.
    """

    id: ClassVar[str]
    version: ClassVar[int]
    Params: ClassVar[type[pydantic.BaseModel]]
    capabilities: ClassVar[frozenset[Capability]]

    def __init__(self, params: Any, target: TargetInfo) -> None: ...

    def list_request(self, page: int, cursor: str | None) -> Request:
        """The request for list page ``page`` (from 1), or for the page that ``cursor`` names."""
        ...

    def parse_list(self, response: Response, page: int, cursor: str | None) -> ListPage:
        """Rows of the page and whether there are more. Raises ParseError; an empty list that the source states is no error."""
        ...

    def detail_request(self, ref: ArticleRef, got: Sequence[Response]) -> Request | None:
        """What to fetch next for ``ref``, given what was got so far; None: nothing (more) to fetch."""
        ...

    def parse_detail(self, ref: ArticleRef, got: Sequence[Response]) -> ParsedArticle:
        """The article. Raises ParseError."""
        ...


class ColumnAdapter(Adapter, Protocol):
    """An adapter with ``Capability.COLUMNS``."""

    def columns_request(self) -> Request: ...

    def parse_columns(self, response: Response) -> list[Column]: ...
