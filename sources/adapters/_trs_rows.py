"""Rows of a static list page: which links are articles, and what the row says about them.

A link counts when its row shows a date or when its URL is one of the article dialects of source-systems 0.1; crumbs, menus
and footers have neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urldefrag, urlsplit

from lxml.html import HtmlElement

from sources.adapters.base import ArticleRef
from sources.parsing.dates import PartialDate, find_date, parse_date
from sources.parsing.html import collapse, is_file_url, parse_document, select, text_of
from sources.parsing.metadata import clean_value, find_doc_no
from sources.parsing.urls import canonical_url, host_key, resolve

MAX_ROWS = 5_000
"""More links than this on one page are no list; the rest is left and warned of."""

ARTICLE_PATHS = re.compile(
    r"/t\d{8}_\d+\.s?html?$|/art/\d{4}/(?:\d{1,2}/\d{1,2}/)?art_[\w-]+\.html?$|/\d{4}-\d{2}/\d{2}/(?:content|c)_\d+\.html?$"
    r"|/\d{8}/[0-9a-f]{16,}/c\.html$|/\d{5,9}/index\.s?html?$|/\d{12,}/index\.s?html$|/ARTI\w+\.shtml$"
    r"|/\d{6}/[0-9a-f]{32}\.s?html$|/pnidpv\d+\.html$|/c\d{4,}/content\.s?html$|/portal/article/\d+/\d+$"
    r"|/xiangqing/\d+\.html$|/\d{4}-\d{2}-\d{2}/\d+\.html$|/\d{4}/\d{4}/\d+\.html$|/\d{8}/\w{5,}\.html$"
    r"|/\d{4}/\d{1,2}/\d{1,2}/[0-9a-f]{32}\.s?html$|/content/(?:[\w]+/)*m?post_\d+\.html$|/\d{4}/\d{14,}(?:_pc)?\.html$"
)
"""Article URL dialects (source-systems 0.1, A to T and gk)."""

_NATIVE_ID = re.compile(r"/t\d{8}_(\d+)\.s?html?$")
_NOT_ROWS = re.compile(
    r"(?:^|[\s_-])(?:nav|menu|crumbs?|breadcrumb|footer|foot|header|head|location|position|weizhi|dqwz|friend|friendlink|yqlj|sitemap|pages?|pager)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
)
_PINNED = re.compile(r"[\[【（(]?\s*置\s*顶\s*[\]】）)]?")
_ROW_TAGS = frozenset({"li", "tr", "dd"})
_STOP_TAGS = frozenset({"ul", "ol", "dl", "table", "tbody", "body", "html"})
_TRUNCATED = re.compile(r"(?:\.{2,}|…+)$")
_MARKUP = re.compile(r"<[^>]{1,100}>")
_JS_URL = re.compile(r"\bvar\s+url\s*=\s*[\"']([^\"']+)[\"']")
_JS_TITLE = re.compile(r"\btitle\s*=\s*([\"'])((?:(?!\1).)+)\1")
_JS_NUMBER = re.compile(r"\bFILENUM\s*=\s*([\"'])((?:(?!\1).)*)\1")
_JS_WRITE = re.compile(r"document\.write(?:ln)?\s*\(\s*([\"'])((?:(?!\1).)*)\1\s*\)")
_MAX_RAW_TEXT = 500


@dataclass(frozen=True, slots=True)
class Page:
    """What rows are read against. ``hosts`` are the hosts of this source, without ``www.``."""

    base: str
    encoding: str
    seen_on: datetime
    hosts: frozenset[str]
    skip_foreign: bool
    hidden_flag: str


def read_rows(doc: HtmlElement, page: Page, row_selector: str | None) -> list[ArticleRef]:
    """Rows in page order, each article once; without ``row_selector`` they are recognised by dates and URLs."""
    found = [one for link, row in _candidates(doc, row_selector) if (one := _found(link, row, page)) is not None]
    refs = [one.ref for one in (found if row_selector is not None else _only_rows(found))]
    refs += _script_refs(doc, page)
    return _once(refs)


def bare_host(url: str) -> str:
    """Host and port without ``www.``: one site answers under both."""
    return host_key(url).removeprefix("www.")


def _candidates(doc: HtmlElement, row_selector: str | None) -> Iterator[tuple[HtmlElement, HtmlElement]]:
    if row_selector is not None:
        for row in select(doc, row_selector):
            link = _main_link(row)
            if link is not None:
                yield link, row
        return
    taken: set[HtmlElement] = set()
    for count, link in enumerate(doc.iter("a")):
        if count >= MAX_ROWS:
            return
        if not link.get("href"):
            continue
        row = _row_of(link)
        if row in taken:
            continue
        taken.add(row)
        main = _main_link(row)
        if main is not None:
            yield main, row


def _row_of(link: HtmlElement) -> HtmlElement:
    """The largest element around ``link`` that is its own: a list item, a table row, or a block without other links."""
    row = link
    for parent in link.iterancestors():
        if parent.tag in _ROW_TAGS:
            return parent if _article_links(parent) <= 2 else row
        if parent.tag in _STOP_TAGS or _has_links(parent, 2):
            return row
        row = parent
    return row


def _has_links(element: HtmlElement, at_least: int) -> bool:
    links = element.iter("a")
    return all(next(links, None) is not None for _ in range(at_least))


def _article_links(row: HtmlElement) -> int:
    return sum(1 for link in row.iter("a") if is_article_url(link.get("href") or ""))


def is_article_url(url: str) -> bool:
    """Whether a URL has the shape of an article page or of a file."""
    bare = urldefrag(url.strip()).url.split("?", 1)[0]
    return ARTICLE_PATHS.search(f"/{bare}") is not None or is_file_url(url)


def _main_link(row: HtmlElement) -> HtmlElement | None:
    links = [row] if row.tag == "a" else [link for link in row.iter("a") if (link.get("href") or "").strip()]
    if not links:
        return None
    return max(links, key=lambda link: (is_article_url(link.get("href") or ""), len(_shown_title(link))))


@dataclass(frozen=True, slots=True)
class _Found:
    """A link read as a row. ``group`` holds it and its neighbours; ``sure``: it has a date or an article URL."""

    ref: ArticleRef
    group: HtmlElement | None
    dated: bool
    sure: bool


def _found(link: HtmlElement, row: HtmlElement, page: Page) -> _Found | None:
    url = resolve(page.base, link.get("href") or "", page.encoding)
    if url is None:
        return None
    url = urldefrag(url).url
    outside = collapse(_text_outside(row, link))
    found, inside = _row_date(row, link, outside, page.seen_on)
    title = _title(link, inside)
    pinned = bool(_PINNED.search(outside)) or bool(_PINNED.match(_shown_title(link))) or _pinned_image(row)
    raw: dict[str, Any] = {"href": link.get("href"), "text": text_of(row)[:_MAX_RAW_TEXT]}
    if number := _document_number(row, link):
        raw["doc_no"] = number
    if found is not None:
        raw["date"] = found.iso
        if found.year_inferred:
            raw["year_inferred"] = True
    ref = ArticleRef(url, title, native_id(url), found.date if found else None, pinned, _skip(row, url, page), raw)
    sure = bool(title) and (found is not None or (is_article_url(url) and not _in_navigation(row)))
    return _Found(ref, row.getparent(), found is not None, sure)


def _only_rows(rows: Sequence[_Found]) -> list[_Found]:
    """Links that are rows. Where some rows have dates, undated links count only among those rows: a list, not a side bar."""
    real = [row for row in rows if row.sure]
    dated = {row.group for row in real if row.dated}
    return [row for row in real if not dated or row.group in dated]


def _skip(row: HtmlElement, url: str, page: Page) -> str | None:
    if any(not text_of(flag) for flag in select(row, page.hidden_flag)):
        return "hidden"
    foreign = bare_host(url) not in page.hosts
    return "foreign_host" if foreign and page.skip_foreign else None


def native_id(url: str) -> str | None:
    """The number after ``_`` in ``tYYYYMMDD_<id>``; a moved article keeps it (source-systems 2)."""
    match = _NATIVE_ID.search(urlsplit(url).path)
    return match[1] if match else None


def _row_date(row: HtmlElement, link: HtmlElement, outside: str, seen_on: datetime) -> tuple[PartialDate | None, str]:
    """The date beside the link, else one in an element of its own inside the link (whose text is given too)."""
    found = find_date(outside, seen_on=seen_on)
    if found is not None:
        return found, ""
    for node in link.iterdescendants("span", "em", "i", "b", "time", "font", "div", "p"):
        text = text_of(node)
        found = parse_date(text, seen_on=seen_on)
        if found is not None and found.month is not None:
            return found, text
    return None, ""


def _text_outside(row: HtmlElement, link: HtmlElement) -> str:
    if row is link:
        return ""
    inside = set(link.iter())
    parts: list[str] = []
    for node in row.iter():
        if isinstance(node.tag, str) and node.tag not in ("script", "style") and node not in inside:
            parts.append(node.text or "")
        if node is not row and (node is link or node not in inside):
            parts.append(f" {node.tail or ''}")
    return " ".join(parts)


def _shown_title(link: HtmlElement) -> str:
    return text_of(link) or collapse(link.get("title") or "")


def _title(link: HtmlElement, date_text: str) -> str:
    """The link's title attribute where it says more than the shown, often cut, text; without 置顶 marks and markup."""
    shown = text_of(link)
    if date_text and date_text in shown:
        shown = collapse(shown.replace(date_text, " ", 1))
    full = collapse(_MARKUP.sub(" ", link.get("title") or ""))
    if full and (not shown or len(full) >= len(_TRUNCATED.sub("", shown))):
        shown = full
    mark = _PINNED.match(shown)
    return shown[mark.end() :].strip() if mark else shown


def _pinned_image(row: HtmlElement) -> bool:
    return any("置顶" in f"{image.get('alt') or ''}{image.get('title') or ''}" for image in row.iter("img"))


def _document_number(row: HtmlElement, link: HtmlElement) -> str:
    inside = set(link.iter())
    for node in row.iter("span", "td", "em", "i", "b", "p", "div", "font"):
        if node not in inside and len(node) == 0 and (found := find_doc_no(text_of(node))):
            return found
    return ""


def _in_navigation(row: HtmlElement) -> bool:
    for parent in (row, *row.iterancestors()):
        if parent.tag in ("nav", "footer", "header"):
            return True
        if _NOT_ROWS.search(f"{parent.get('class') or ''} {parent.get('id') or ''}"):
            return True
    return False


def _script_refs(doc: HtmlElement, page: Page) -> list[ArticleRef]:
    """Rows that exist only in ``document.writeln`` calls, with the values in variables before them."""
    refs: list[ArticleRef] = []
    for script in doc.iter("script"):
        code = script.text or ""
        if "document.write" not in code:
            continue
        starts = [match.start() for match in _JS_URL.finditer(code)]
        if starts:
            ends = [*starts[1:], len(code)]
            refs += [ref for one, two in zip(starts, ends, strict=True) if (ref := _script_ref(code[one:two], page))]
        else:
            markup = "".join(match[2] for match in _JS_WRITE.finditer(code)).replace("\\", "")
            if "<a" in markup:
                refs += read_rows(parse_document(markup), page, None)
    return refs


def _script_ref(code: str, page: Page) -> ArticleRef | None:
    link = _JS_URL.search(code)
    title = _JS_TITLE.search(code)
    url = resolve(page.base, link[1], page.encoding) if link else None
    if url is None or title is None:
        return None
    url = urldefrag(url).url
    written = " ".join(match[2] for match in _JS_WRITE.finditer(code))
    found = find_date(_MARKUP.sub(" ", written), seen_on=page.seen_on)
    raw: dict[str, Any] = {"href": link[1] if link else "", "text": collapse(title[2])[:_MAX_RAW_TEXT]}
    number = _JS_NUMBER.search(code)
    if number and clean_value(number[2]):
        raw["doc_no"] = clean_value(number[2])
    if found is not None:
        raw["date"] = found.iso
    foreign = page.skip_foreign and bare_host(url) not in page.hosts
    day = found.date if found else None
    return ArticleRef(url, collapse(title[2]), native_id(url), day, False, "foreign_host" if foreign else None, raw)


def _once(refs: Sequence[ArticleRef]) -> list[ArticleRef]:
    """Each article once, at its first place; spelled differently it is still one. Pinned stays pinned."""
    kept: dict[str, ArticleRef] = {}
    for ref in refs:
        key = canonical_url(ref.url).split("://", 1)[1].removeprefix("www.")
        first = kept.get(key)
        if first is None:
            kept[key] = ref
        elif ref.pinned and not first.pinned:
            kept[key] = replace(first, pinned=True)
    return list(kept.values())
