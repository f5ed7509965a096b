"""What a page of a TRS site says of its article: title, time of publication, document number; and when it is no article."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lxml.html import HtmlElement

from sources.adapters.base import ArticleRef, ParseError, ParseProblem, Response
from sources.parsing.dates import PartialDate, find_date, parse_date
from sources.parsing.html import base_url, collapse, is_partial, parse_document, text_of
from sources.parsing.links import attachments
from sources.parsing.metadata import Metadata, doc_no_in_title, find_doc_no, meta_published, trust_clock
from sources.parsing.page_signs import read_signs

SOFT_404_TEXT_MAX = 2_000
DOC_NO_SEARCH = 500
"""Characters of a body in which its own document number stands (source-systems 0.4)."""

_WALL = re.compile(
    r"页面不存在|页面未找到|找不到.{0,8}页面|无法找到|您访问的(?:页面|网页|内容)|已被删除|404\s*(?:Not Found|错误)|防火墙|"
    r"访问过于频繁|访问被拒绝|访问受限|请输入验证码|请完成安全验证|403 Forbidden|GeoBL",
    re.IGNORECASE,
)
_TITLE_END = re.compile(r"_| - | — |\|")


@dataclass(frozen=True, slots=True)
class Read:
    """A page with what its reading needs."""

    response: Response
    doc: HtmlElement
    base: str

    @classmethod
    def of(cls, response: Response) -> Read:
        doc = parse_document(response.text)
        return cls(response, doc, base_url(doc, response.url))

    @property
    def encoding(self) -> str:
        """The encoding that query parts of the page's links are written in."""
        return self.response.decoded.encoding


def refuse_walls(read: Read, looked_for: str) -> None:
    """Raises ParseError(BLOCKED) for shells without content, firewall pages and soft 404 pages (0.10)."""
    text = text_of(read.doc)
    signs = read_signs(read.response.text)
    shown = f"{signs.title} {text}"
    if not read.response.text.strip() or signs.is_shell or (len(text) <= SOFT_404_TEXT_MAX and _WALL.search(shown)):
        raise ParseError(
            looked_for, read.response.url, problem=ParseProblem.BLOCKED, excerpt=shown.strip() or read.response.text
        )


def warnings_of(reads: Sequence[Read]) -> tuple[str, ...]:
    found = {"charset_suspect": any(read.response.decoded.suspect for read in reads)}
    found["parse_partial"] = any(is_partial(read.doc) for read in reads)
    return tuple(name for name, doubt in found.items() if doubt)


def article_files(read: Read, body: HtmlElement | None) -> list[tuple[str, str]]:
    return attachments(read.doc, body, read.base, read.encoding)


def article_title(doc: HtmlElement, tags: dict[str, str], meta: Metadata, ref: ArticleRef) -> str:
    """Meta tag, heading, table, page title; a cut title gives way to the list's."""
    site = tags.get("sitename", "")
    headings = (text_of(heading) for heading in doc.iter("h1"))
    heading = next((text for text in headings if text and text != site), "")
    page_title = _TITLE_END.split(text_of(next(doc.iter("title"), None)))[0].strip()
    found = tags.get("articletitle", "") or heading or meta["title"] or ref.title or page_title
    return ref.title if found.endswith(("...", "…")) and len(ref.title) > len(found) else collapse(found)


def published_at(
    tags: dict[str, str], shown_text: str, meta: Metadata, ref: ArticleRef, response: Response
) -> PartialDate | None:
    """PubDate, else the page's own line, else the table, else the list: the first that states a day, and a time only where
    it is certain.
    """
    seen_on = response.fetched_at
    shown = find_date(shown_text, seen_on=seen_on) if shown_text else None
    stated = meta_published(tags, seen_on)
    if stated is not None:
        stated = trust_clock(stated, shown)
        if shown is not None and shown.time is not None and stated.time is None and shown.date == stated.date:
            stated = shown
    candidates = [found for found in (stated, shown, meta.date("published_on", seen_on), listed_date(ref)) if found is not None]
    return next((found for found in candidates if found.day is not None), candidates[0] if candidates else None)


def listed_date(ref: ArticleRef) -> PartialDate | None:
    stated = parse_date(str(ref.raw.get("date", "")))
    if stated is not None:
        return stated
    day = ref.published_on
    return None if day is None else PartialDate(day.year, day.month, day.day, None, "day")


def document_number(meta: Metadata, ref: ArticleRef, title: str, text: str) -> str:
    listed = str(ref.raw.get("doc_no", ""))
    lines = text[:DOC_NO_SEARCH].splitlines()
    in_body = next((number for line in lines if "号" in line[-1:] and (number := find_doc_no(line))), "")
    return meta["doc_no"] or listed or doc_no_in_title(title) or in_body
