"""gkmlpt, the platform of government information disclosure catalogues in Guangdong (source-systems 1).

The list is a JSON API, ``{base}/gkmlpt/api/all/{column}?page={n}&sid={sid}``, up to 100 rows a page. The site's SID and its
tree of columns stand in ``window._CONFIG`` of ``{base}/gkmlpt/index``; without ``sid`` the first list request reads that page
and the cursor ``<sid>:<page>`` carries the SID on. The end is told by ``offset``, ``total`` and empty pages, never by
``post_count``, which counts rows that the API does not list. Times are epoch seconds; days are days in China.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import pydantic

from sources.adapters._gkmlpt_article import BODIES, Detail, config_members, plain_title, problem_of, published_at, whole
from sources.adapters.base import (
    ArticleRef,
    Capability,
    Column,
    ListPage,
    ParsedArticle,
    ParseError,
    ParseProblem,
    Request,
    Response,
    TargetInfo,
)
from sources.parsing.html import find_body, parse_document
from sources.parsing.metadata import clean_value
from sources.parsing.page_signs import read_signs
from sources.parsing.script_values import literal
from sources.parsing.urls import host_key, resolve

ALL_COLUMNS = "0"
"""The column that lists the newest of all columns; the only one that needs no SID."""

MAX_HOPS = 3
CURSOR = re.compile(r"(\w*):([1-9]\d*)")
PLATFORM = re.compile(r"(?<!/)/gkmlpt(?=/|$)")
COLUMN_IN_PATH = re.compile(r"/gkmlpt/api/all/(\d+)")

Digits = Annotated[str, pydantic.StringConstraints(pattern=r"^\d+$"), pydantic.BeforeValidator(lambda value: _digits(value))]


class GkmlptParams(pydantic.BaseModel):
    """``base``: URL that ends before ``/gkmlpt``; else taken from the target. ``column_id``: else read from the entry URL,
    else ``0``, all columns. ``sid``: else read from the index page."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    base: str = ""
    column_id: Digits | None = None
    sid: Digits | None = None


class Adapter:
    """List, detail and columns of one gkmlpt site."""

    id: ClassVar[str] = "gkmlpt"
    version: ClassVar[int] = 1
    Params: ClassVar[type[pydantic.BaseModel]] = GkmlptParams
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.COLUMNS, Capability.DETAIL, Capability.CHECKPOINT})

    def __init__(self, params: GkmlptParams, target: TargetInfo) -> None:
        """Raises ValueError when neither ``base`` nor the target names a site."""
        self.target = target
        self.base = _base(params.base, target)
        self.site = _site(self.base)
        self.column_id = params.column_id or _column_of(target.entry_url) or ALL_COLUMNS
        self.sid = params.sid or ""

    def list_request(self, page: int, cursor: str | None) -> Request:
        """The API page, or the index page when the SID is still unknown. Raises ValueError for pages below 1."""
        if self._needs_index(cursor):
            return self.columns_request()
        sid, number = self._position(page, cursor)
        if number < 1:
            raise ValueError(f"gkmlpt pages count from 1, not {number}: page 0 answers as page 1 does")
        query = {"page": str(number)} | ({"sid": sid} if sid else {})
        return Request(f"{self.base}/gkmlpt/api/all/{self.column_id}?{urlencode(query)}")

    def parse_list(self, response: Response, page: int, cursor: str | None) -> ListPage:
        """Rows of an API page. The index page has no rows: it gives the cursor that the first API page needs."""
        if self._needs_index(cursor):
            sid = clean_value(str(_member(_config(response), "SID", response.url)))
            return ListPage((), has_more=True, next_cursor=f"{sid}:1")
        sid, number = self._position(page, cursor)
        payload = _payload(response)
        rows = payload["articles"]
        refs = [self._ref(row, response) for row in rows]
        total, offset = whole(payload.get("total")), whole(payload.get("offset"))
        reached = None if offset is None else offset + len(rows)
        has_more = bool(rows) and (total is None or reached is None or reached < total)
        return ListPage(
            refs,
            has_more=has_more,
            next_cursor=f"{sid}:{number + 1}" if has_more else None,
            total=total,
            warnings=_list_warnings(payload, rows, total, offset, number),
        )

    def detail_request(self, ref: ArticleRef, got: Sequence[Response]) -> Request | None:
        """The article, then the page it forwards to, if it does."""
        if not got:
            return Request(ref.url)
        target = _forward(got[-1])
        if target is None or len(got) > MAX_HOPS or target in {response.request.url for response in got}:
            return None
        return Request(target)

    def parse_detail(self, ref: ArticleRef, got: Sequence[Response]) -> ParsedArticle:
        """The article out of ``_CONFIG.DETAIL``, the visible page and the list row, in this order."""
        if not got:
            raise ParseError("the article's page", ref.url, problem=ParseProblem.EMPTY)
        return Detail(ref, got[-1], self.target).article()

    def columns_request(self) -> Request:
        return Request(f"{self.base}/gkmlpt/index")

    def parse_columns(self, response: Response) -> list[Column]:
        """Leaves of TREE. A node with ``jump_url`` lists nothing itself, yet its children may."""
        tree = _member(_config(response), "TREE", response.url)
        if not isinstance(tree, list):
            raise ParseError("a list in TREE", response.url, excerpt=str(tree))
        found: dict[str, Column] = {}
        for node, names, parent_id in _walk(tree, response.url):
            column_id = str(node["id"])
            if not node.get("children") and not node.get("jump_url") and column_id not in found:
                found[column_id] = Column(
                    column_id=column_id,
                    name=names[-1],
                    path="/".join(names),
                    parent_id=parent_id,
                    entry_url=f"{self.base}/gkmlpt/index#{column_id}",
                    post_count=whole(node.get("post_count")),
                )
        return list(found.values())

    def _needs_index(self, cursor: str | None) -> bool:
        return not cursor and not self.sid and self.column_id != ALL_COLUMNS

    def _position(self, page: int, cursor: str | None) -> tuple[str, int]:
        """SID and API page. Raises ValueError for a cursor that is not ours."""
        if not cursor:
            return self.sid, page
        match = CURSOR.fullmatch(cursor)
        if match is None:
            raise ValueError(f"cursor {cursor!r} is not <sid>:<page>")
        return match[1], int(match[2])

    def _ref(self, row: Any, response: Response) -> ArticleRef:
        if not isinstance(row, dict) or not row.get("id"):
            raise ParseError("a row with an id in articles", response.url, excerpt=str(row))
        named = clean_value(str(row.get("url") or row.get("post_url") or ""))
        url = resolve(response.url, named) if named else None
        skip = None
        if url is None:
            skip = "no_url"
        elif row.get("type") == "url" or _site(url) != self.site:
            skip = "external"
        published = published_at(row)
        return ArticleRef(
            url=url or "",
            title=plain_title(row.get("title")),
            native_id=str(row["id"]),
            published_on=published.date if published else None,
            pinned=bool(whole(row.get("is_top"))),
            skip=skip,
            raw=row,
        )


def _digits(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _base(given: str, target: TargetInfo) -> str:
    """The URL before ``/gkmlpt``: of the parameter, of an entry URL on the platform, of the site, of the entry's host."""
    entry = target.entry_url if PLATFORM.search(target.entry_url) else ""
    base = PLATFORM.split(given or entry or target.base_url or resolve(target.entry_url, "/") or "", maxsplit=1)[0]
    try:
        host_key(base)
    except ValueError as error:
        raise ValueError(f"base: {error}; give the URL before /gkmlpt, such as http://www.example.gov.cn") from error
    return base.rstrip("/")


def _column_of(entry_url: str) -> str | None:
    """The column an entry URL names: ``#6``, ``.../api/all/6`` or ``?column_id=6``. Raises ValueError for another fragment."""
    parts = urlsplit(entry_url)
    if match := COLUMN_IN_PATH.search(parts.path):
        return match[1]
    for name, value in parse_qsl(parts.query):
        if name in ("column_id", "column") and value.isdigit():
            return value
    fragment = parts.fragment.strip("/")
    if fragment and not fragment.isdigit():
        raise ValueError(f"column_id: the fragment of {entry_url!r} is no column number; give column_id (0 lists all columns)")
    return fragment or None


def _site(url: str) -> str:
    return host_key(url).removeprefix("www.")


def _payload(response: Response) -> dict[str, Any]:
    """The API's answer with ``articles`` as a list. Raises ParseError."""
    text = response.text
    try:
        payload = json.loads(text, parse_constant=lambda _: None)
    except ValueError as error:
        raise ParseError("JSON of the list API", response.url, problem=problem_of(text), excerpt=text) from error
    rows = payload.get("articles") if isinstance(payload, dict) else None
    if rows is None and isinstance(payload, dict) and payload.get("total") == 0:
        payload["articles"] = rows = []
    if not isinstance(rows, list):
        raise ParseError("a list in articles", response.url, excerpt=text)
    return dict(payload)


def _list_warnings(
    payload: Mapping[str, Any], rows: Sequence[Any], total: int | None, offset: int | None, page: int
) -> tuple[str, ...]:
    classify = payload.get("classify")
    count = whole(classify.get("post_count")) if isinstance(classify, dict) else None
    found = []
    if page == 1 and total is not None and count is not None and total < count:
        found.append(f"the API lists {total} of the column's {count} posts")
    if not rows and total is not None and offset is not None and offset < total:
        found.append(f"the list ends at row {offset} although it declares {total}")
    return tuple(found)


def _config(response: Response) -> dict[str, str]:
    text = response.text
    try:
        members = config_members(parse_document(text))
    except ValueError as error:
        raise ParseError(f"a readable window._CONFIG ({error})", response.url, excerpt=text) from error
    if not members:
        raise ParseError("window._CONFIG", response.url, problem=problem_of(text), excerpt=text)
    return members


def _member(members: Mapping[str, str], name: str, where: str) -> Any:
    """One member's value. Raises ParseError when it is missing or unreadable."""
    try:
        return literal(members[name])
    except (KeyError, ValueError) as error:
        raise ParseError(f"_CONFIG.{name}", where, excerpt=members.get(name, ", ".join(members))) from error


def _walk(tree: Sequence[Any], where: str) -> Iterator[tuple[dict[str, Any], tuple[str, ...], str | None]]:
    """Nodes in document order with the names from the root and the parent's id; iterative."""
    stack: list[tuple[Any, tuple[str, ...], str | None]] = [(node, (), None) for node in reversed(tree)]
    while stack:
        node, above, parent_id = stack.pop()
        if not isinstance(node, dict) or not node.get("id"):
            raise ParseError("columns with an id in TREE", where, excerpt=str(node))
        names = (*above, clean_value(str(node.get("name") or "")))
        yield node, names, parent_id
        children = node.get("children") or []
        stack.extend((child, names, str(node["id"])) for child in reversed(children))


def _forward(response: Response) -> str | None:
    """Where a page without a body forwards to by meta refresh."""
    if b"refresh" not in response.body.lower() or find_body(parse_document(response.text), BODIES) is not None:
        return None
    refresh = read_signs(response.text).refresh_to
    return resolve(response.url, refresh) if refresh else None
