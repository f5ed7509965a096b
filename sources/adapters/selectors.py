"""Sites without an adapter of their own: a list, a pager and an article read by rules in a YAML file (``yaml_path``).

    list:   {row: "ul.news > li", url: a, title: {css: a, attr: title}, date: span, pinned: "i.top", skip_if: "i.hidden"}
    pager:  {form: auto}           # or none, pattern, next_link, json_page
    detail: {title: h1, body: "div.text", date: "span.time", fields: {index_no: "td.no"}, attachments: "div.files a"}

A rule is a string (CSS on a page, JSONPath in JSON) or a mapping, see ``sources.parsing.selecting``. What the rules leave out
is read as every page of these sites states it: link and its title, metadata table, standard meta tags, known containers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pydantic
from lxml.html import HtmlElement

from sources.adapters._selectors_article import DetailRules, day_of, next_page, read_article
from sources.adapters.base import (
    ArticleRef,
    AttachmentRef,
    Capability,
    ListPage,
    ParsedArticle,
    ParseError,
    ParseProblem,
    Request,
    Response,
    TargetInfo,
)
from sources.parsing.html import base_url, collapse, is_file_url, parse_document, text_of
from sources.parsing.page_signs import looks_blocked, read_signs
from sources.parsing.pagers import Pager, find_pager
from sources.parsing.selecting import Closed, Pattern, Rule, date_of, exists, matches, value
from sources.parsing.urls import host_key, resolve

MAX_ARTICLE_PAGES = 20
SAYS_EMPTY = re.compile(r"暂无|(?:没有|未找到|无)(?:相关|任何|符合条件的|更多)?的?(?:信息|数据|内容|文件|记录|结果)")
SAYS_EMPTY_MAX = 400
Format = Literal["html", "json"]


class ListRules(Closed):
    """``row`` finds the rows, the others read one row. ``url`` and ``title`` default to the row's first link; ``title`` prefers
    the link's ``title`` attribute. ``pinned`` and ``skip_if`` hold when they find anything. ``container`` tells a list that is
    empty from a page that changed. Rows of other hosts than the entry's and ``allow_hosts`` are skipped."""

    row: Rule
    format: Format = "html"
    url: Rule | None = None
    title: Rule | None = None
    date: Rule | None = None
    native_id: Rule | None = None
    pinned: Rule | None = None
    skip_if: Rule | None = None
    container: Rule | None = None
    allow_hosts: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _fits_format(self) -> ListRules:
        for name in ("row", "url", "title", "date", "native_id", "pinned", "skip_if", "container"):
            rule = getattr(self, name)
            if rule is not None and rule.kind != "const" and (rule.kind == "jsonpath") != (self.format == "json"):
                raise ValueError(f"{name} is a {rule.kind} rule, which cannot read a list of format {self.format}")
        if self.format == "json" and self.url is None:
            raise ValueError("url is needed for format json")
        return self


class PagerRules(Closed):
    """Where page 2 is.

    ``auto``: the pager scripts of static sites. ``pattern``: ``index_{n}.html`` beside the entry page. ``next_link``: the link
    ``next`` names. ``json_page``: the entry URL with the query parameter ``param``. ``first`` is the number of page 1, so 0
    makes ``index_1.html`` page 2. The end is told by ``max``, ``pages`` (a rule for the page count), ``total`` with ``size``,
    and by a page without rows.
    """

    form: Literal["auto", "none", "pattern", "next_link", "json_page"] = "auto"
    pattern: Pattern | None = None
    first: Annotated[int, pydantic.Field(ge=0)] = 1
    max: Annotated[int, pydantic.Field(ge=1)] | None = None
    pages: Rule | None = None
    next: Rule | None = None
    param: Pattern = "page"
    total: Rule | None = None
    size: Annotated[int, pydantic.Field(ge=1)] | None = None

    @pydantic.model_validator(mode="after")
    def _is_complete(self) -> PagerRules:
        if self.form == "pattern" and "{n}" not in (self.pattern or ""):
            raise ValueError("form pattern needs a pattern with {n}, such as index_{n}.html")
        if self.form == "next_link" and self.next is None:
            raise ValueError("form next_link needs next, the rule for the link")
        if (self.total is None) != (self.size is None):
            raise ValueError("total and size go together")
        return self


class SelectorRules(pydantic.BaseModel):
    """The rules of one site."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    list: ListRules
    pager: PagerRules = PagerRules()
    detail: DetailRules = DetailRules()


class Adapter:
    """Lists and articles by rules. The cursor is the URL of the next list page."""

    id: ClassVar[str] = "selectors"
    version: ClassVar[int] = 1
    Params: ClassVar[type[pydantic.BaseModel]] = SelectorRules
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.DETAIL, Capability.CHECKPOINT})

    def __init__(self, params: SelectorRules, target: TargetInfo) -> None:
        """Raises ValueError for an entry URL that is no http(s) URL."""
        self.rules, self.target = params, target
        try:
            hosts = {host_key(target.entry_url), *params.list.allow_hosts}
        except ValueError as error:
            raise ValueError(f"entry_url: {error}") from error
        self.hosts = {host.lower().removeprefix("www.") for host in hosts}

    def list_request(self, page: int, cursor: str | None) -> Request:
        """Raises ValueError for a page that only the page before can name."""
        if cursor:
            return Request(cursor)
        if page == 1:
            return Request(self.target.entry_url)
        if self.rules.pager.form not in ("pattern", "json_page"):
            raise ValueError(f"page {page} of pager form {self.rules.pager.form} needs the cursor that page {page - 1} gave")
        return Request(self._numbered(page))

    def parse_list(self, response: Response, page: int, cursor: str | None) -> ListPage:
        listed = self.rules.list
        doc = _json(response) if listed.format == "json" else parse_document(response.text)
        base = response.url if listed.format == "json" else base_url(doc, response.url)
        found = matches(listed.row, doc)
        if not found:
            self._explain_no_rows(doc, response, page)
        refs = [self._ref(row, base, response) for row in found]
        pager = find_pager(response.text, response.url, page) if self.rules.pager.form == "auto" else None
        pages, total = (pager.pages, pager.total) if pager else self._stated(doc)
        next_url = self._next(doc, response, page, pages, pager) if found else None
        unnamed = pager is not None and not pager.pattern and page < pager.pages
        return ListPage(
            refs,
            has_more=next_url is not None,
            next_cursor=next_url,
            total=total,
            pages=pages,
            warnings=("the page counts its pages but does not name them: set pager form pattern",) if unnamed else (),
        )

    def detail_request(self, ref: ArticleRef, got: Sequence[Response]) -> Request | None:
        """The page, the page it forwards to, its further pages. A row that names a file is an article made of that file."""
        if is_file_url(ref.url):
            return None
        if not got:
            return Request(ref.url)
        target = _forward(got[-1]) or next_page(self.rules.detail, got[-1])
        if target is None or len(got) >= MAX_ARTICLE_PAGES or target in {response.request.url for response in got}:
            return None
        return Request(target)

    def parse_detail(self, ref: ArticleRef, got: Sequence[Response]) -> ParsedArticle:
        pages = [response for response in got if _forward(response) is None]
        if pages:
            return read_article(self.rules.detail, ref, pages, self.target)
        if not is_file_url(ref.url):
            raise ParseError("the article's page", ref.url, problem=ParseProblem.EMPTY)
        shown = day_of(ref.published_on)
        return ParsedArticle(
            url=ref.url,
            title=ref.title or ref.url.rsplit("/", 1)[-1],
            body_text="",
            native_id=ref.native_id,
            publish_time=shown.utc() if shown else None,
            publish_precision="day" if shown else "none",
            publish_date=ref.published_on,
            channel_name=self.target.channel_name,
            attachments=(AttachmentRef(ref.url, ref.title),),
            metadata={"raw": dict(ref.raw)},
        )

    def _ref(self, row: Any, base: str, response: Response) -> ArticleRef:
        listed = self.rules.list
        link = _first_link(row) if listed.format == "html" else None
        href = _href(listed.url, row, link)
        title = value(listed.title, row) if listed.title else collapse((link.get("title") or "") if link is not None else "")
        title = title or (text_of(link) if link is not None and listed.title is None else "")
        date_text = value(listed.date, row)
        published = date_of(date_text, response.fetched_at)
        url = resolve(base, href, response.decoded.encoding) if href else None
        return ArticleRef(
            url=url or "",
            title=title,
            native_id=value(listed.native_id, row) or None,
            published_on=published.date if published else None,
            pinned=exists(listed.pinned, row),
            skip=self._skip(row, url),
            raw=row if isinstance(row, dict) else {"title": title, "href": href, "date": date_text, "text": text_of(row)},
        )

    def _skip(self, row: Any, url: str | None) -> str | None:
        if exists(self.rules.list.skip_if, row):
            return "hidden"
        if url is None:
            return "no_url"
        return None if host_key(url).removeprefix("www.") in self.hosts else "external"

    def _explain_no_rows(self, doc: Any, response: Response, page: int) -> None:
        """Raise ParseError unless the list is empty: its container is there, the page says so, or an earlier page had rows."""
        container, text = self.rules.list.container, response.text
        if exists_at_all(container, doc):
            return
        if self.rules.list.format == "html":
            if looks_blocked(text):
                raise ParseError("rows of a list", response.url, problem=ParseProblem.BLOCKED, excerpt=text)
            shown = read_signs(text).text
            if container is None and len(shown) <= SAYS_EMPTY_MAX and SAYS_EMPTY.search(shown):
                return
        if container is None and page > 1:
            return
        wanted = "list.container" if container is not None else "rows by list.row, or list.container"
        raise ParseError(wanted, response.url, excerpt=text)

    def _stated(self, doc: Any) -> tuple[int | None, int | None]:
        """Pages and total that the page declares, by the rules ``total`` with ``size``, or ``pages``."""
        pager = self.rules.pager
        total = _whole(value(pager.total, doc))
        if total is not None and pager.size:
            return max(-(-total // pager.size), 1), total
        return _whole(value(pager.pages, doc)), total

    def _next(self, doc: Any, response: Response, page: int, pages: int | None, auto: Pager | None) -> str | None:
        pager = self.rules.pager
        if pager.form == "none" or page >= min(pager.max or page + 1, pages or page + 1):
            return None
        if pager.form == "next_link":
            return _linked_next(pager.next, doc, response)
        if pager.form == "auto":
            return auto.page_url(page + 1) if auto and auto.pattern else None
        return self._numbered(page + 1)

    def _numbered(self, page: int) -> str:
        """URL of a numbered page; page 1 is the entry URL itself."""
        pager, entry = self.rules.pager, self.target.entry_url
        if page < 1:
            raise ValueError(f"list pages count from 1, not {page}")
        if page == 1:
            return entry
        number = str(page - 1 + pager.first)
        if pager.form == "pattern":
            return resolve(entry, (pager.pattern or "").replace("{n}", number)) or entry
        parts = urlsplit(entry)
        query = [(name, text) for name, text in parse_qsl(parts.query, keep_blank_values=True) if name != pager.param]
        return urlunsplit(parts._replace(query=urlencode([*query, (pager.param, number)]), fragment=""))


def exists_at_all(rule: Rule | None, doc: Any) -> bool:
    """Whether the selector finds a node, be it an empty list."""
    return rule is not None and bool(matches(rule, doc))


def _json(response: Response) -> Any:
    """The JSON of the answer, also inside a JSONP call. Raises ParseError."""
    text = response.text.strip()
    padded = re.fullmatch(r"[\w$.]{1,60}\s*\((.*)\)\s*;?", text, re.DOTALL)
    try:
        return json.loads(padded[1] if padded else text, parse_constant=lambda _: None)
    except ValueError as error:
        problem = ParseProblem.BLOCKED if looks_blocked(text) else ParseProblem.CHANGED
        raise ParseError("JSON of the list", response.url, problem=problem, excerpt=text) from error


def _first_link(row: HtmlElement) -> HtmlElement | None:
    return next((link for link in row.iter("a") if link.get("href")), None)


def _href(rule: Rule | None, row: Any, link: HtmlElement | None) -> str:
    """The address a row names: by the rule (``href`` unless it says another attribute), else that of its first link."""
    if rule is None:
        return (link.get("href") or "").strip() if link is not None else ""
    if rule.attr is None and rule.kind in ("css", "xpath"):
        rule = rule.model_copy(update={"attr": "href"})
    return value(rule, row)


def _forward(response: Response) -> str | None:
    """Where a page that shows nothing forwards to by meta refresh."""
    if b"refresh" not in response.body.lower():
        return None
    signs = read_signs(response.text)
    return resolve(response.url, signs.refresh_to) if signs.refresh_to and len(signs.text) <= SAYS_EMPTY_MAX // 4 else None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _linked_next(rule: Rule | None, doc: Any, response: Response) -> str | None:
    href = _href(rule, doc, None) if rule is not None else ""
    base = response.url if not isinstance(doc, HtmlElement) else base_url(doc, response.url)
    url = resolve(base, href) if href else None
    return None if url is None or url.split("#")[0] == response.url.split("#")[0] else url
