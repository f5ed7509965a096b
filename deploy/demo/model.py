"""The facts of the demo site as values: articles, files, list rows, columns. Renderers turn them into pages, the manifest
writes them down; neither derives a fact from the other's output."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

CHINA = timezone(timedelta(hours=8))

SITE_NAME = "兰河市人民政府"


@dataclass(frozen=True, slots=True)
class Hosts:
    """Base URLs without a trailing slash: ``a`` TRS site, ``b`` gkmlpt, ``c`` the host that content moved to."""

    a: str
    b: str
    c: str

    def url(self, host: str, path: str) -> str:
        return f"{getattr(self, host)}{path}"


@dataclass(frozen=True, slots=True)
class Department:
    """A department: ``oa_id`` is its id in the OA list, ``path`` its prefix on host A ('' when it has none)."""

    code: str
    oa_id: int
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class File:
    """An attachment: where it is served, what pages call it, its bytes."""

    host: str
    path: str
    name: str
    data: bytes

    @property
    def ext(self) -> str:
        return posixpath.splitext(self.path)[1].lstrip(".").lower()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Para:
    """A paragraph; several lines are one ``<p>`` with ``<br>`` between them. ``right`` is a signature."""

    lines: tuple[str, ...]
    right: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class FileLinks:
    """A paragraph of links to files inside the body; ``lead`` is the text before them."""

    lead: str
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in the body. It has no text and is not an attachment."""

    path: str


Block = Para | Table | FileLinks | Picture


@dataclass(frozen=True, kw_only=True)
class Article:
    """An article as its source states it. Times are naive China time; '' and None mean that the source does not say."""

    host: str
    path: str
    template: str
    title: str
    published: datetime
    precision: str
    department: Department
    channel: str
    signed: date | None = None
    index_no: str = ""
    doc_no: str = ""
    publisher: str = ""
    source: str = ""
    validity: str = ""
    is_effective: bool | None = None
    open_category: str = ""
    native_id: str | None = None
    body: tuple[Block, ...] = ()
    outside_files: tuple[File, ...] = ()
    moved_from: str | None = None
    gkmlpt: dict[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> tuple[File, ...]:
        """Every attachment once, those of the body first."""
        inside = [file for block in self.body if isinstance(block, FileLinks) for file in block.files]
        return tuple(dict.fromkeys([*inside, *self.outside_files]))

    @property
    def body_lines(self) -> list[str]:
        """The text of the body by the rule of the manifest header."""
        lines = (collapse(line) for block in self.body for line in _block_lines(block))
        return [line for line in lines if line]

    @property
    def publish_time(self) -> datetime | None:
        """In UTC; None when the source states the day only."""
        return None if self.precision == "day" else self.published.replace(tzinfo=CHINA).astimezone(UTC)

    @property
    def listed_path(self) -> str:
        """The path that lists link to: the old one for an article that has moved."""
        return self.moved_from or self.path


@dataclass(frozen=True, kw_only=True)
class Row:
    """A list row. ``href`` is a path on the list's own host or an absolute URL."""

    href: str
    title: str
    published: datetime
    doc_no: str = ""
    pinned: bool = False
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column that a target watches. ``repeated`` rows stand at the top of each page."""

    code: str
    adapter: str
    host: str
    directory: str
    entry: str
    name: str
    department: Department
    pager: str
    style: str
    extension: str = "html"
    page_size: int = 8
    encoding: str = "utf-8"
    default_category: str = ""
    articles: tuple[Article, ...] = ()
    rows: tuple[Row, ...] = ()
    repeated: tuple[Row, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    refused: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resource:
    """What the server answers with: status, bytes, Content-Type."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200


def collapse(text: str) -> str:
    """White space of any kind (also U+3000 and no-break space) becomes one blank; none at the ends."""
    return " ".join(text.split())


def chunks(rows: Sequence[Row], size: int) -> list[Sequence[Row]]:
    """Rows of each list page; an empty list has one page."""
    return [rows[start : start + size] for start in range(0, len(rows), size)] or [()]


def article_row(article: Article, **changes: Any) -> Row:
    """The list row of an article."""
    values = {"href": article.listed_path, "title": article.title, "published": article.published, "doc_no": article.doc_no}
    return Row(**{**values, **changes})


def distinct_articles(columns: Iterable[Column]) -> list[Article]:
    """Every article once, whichever columns list it."""
    return list({(article.host, article.path): article for column in columns for article in column.articles}.values())


def _block_lines(block: Block) -> Sequence[str]:
    match block:
        case Para(lines=lines):
            return lines
        case Table(rows=rows):
            return [" | ".join(collapse(cell) for cell in row) for row in rows]
        case FileLinks(lead=lead, files=files):
            return [lead + " ".join(file.name for file in files)]
        case _:
            return ()
