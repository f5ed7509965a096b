"""The article half of gkmlpt: one page and its list row become an article (source-systems 1).

``_CONFIG.DETAIL`` is the article as the CMS holds it; the visible table and containers say the same for readers, and pages of
the CMS on the same hosts have only these. What one does not state the next may; nothing else is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from lxml.html import HtmlElement

from sources.adapters.base import ArticleRef, AttachmentRef, ParsedArticle, ParseError, ParseProblem, Response, TargetInfo
from sources.parsing.dates import PartialDate, from_epoch, parse_date
from sources.parsing.html import base_url, body_html, body_text, drop_noise, find_body, is_file_url, parse_document, text_of
from sources.parsing.metadata import Metadata, clean_doc_no, clean_value, collect_metadata, meta_tags
from sources.parsing.page_signs import looks_blocked
from sources.parsing.script_values import assigned_object, literal
from sources.parsing.urls import canonical_url, resolve

BODIES = ("div.article-content", "div.content", ".news_cont_d_wrap", ".tyxxy_main")


class Detail:
    """One article being read: the row, the page's DETAIL and the page as a tree."""

    def __init__(self, ref: ArticleRef, response: Response, target: TargetInfo) -> None:
        self.ref, self.response, self.target = ref, response, target
        self.encoding = response.decoded.encoding
        self.doc = parse_document(response.text)
        self.base = base_url(self.doc, response.url)
        self.row = ref.raw
        self.warnings: list[str] = []
        self.detail = self._config_detail()
        self.shown: Metadata = collect_metadata(self.doc)
        self.tags = meta_tags(self.doc)

    def article(self) -> ParsedArticle:
        body = self._body()
        title = plain_title(self._value("title")) or self.shown["title"] or self.ref.title
        if not title:
            raise ParseError("a title", self.response.url, excerpt=body_text(body))
        published = published_at(self.detail) or published_at(self.row) or self._shown_date("published_on")
        publish_day = self._shown_date("published_on") or published
        return ParsedArticle(
            url=self.ref.url,
            title=title,
            body_text=body_text(body),
            body_html=body_html(body, self.base, self.encoding),
            native_id=self.ref.native_id or str(self.detail.get("id") or "") or None,
            publish_time=published.utc() if published else None,
            publish_precision=published.precision if published else "none",
            publish_date=publish_day.date if publish_day else None,
            source_raw=self.tags.get("contentsource", ""),
            index_no=self._text("identifier") or self.shown["index_no"],
            doc_no=clean_doc_no(self._text("document_number")) or self.shown["doc_no"],
            publisher=self._text("publisher") or self.shown["publisher"],
            effective_date=self._day("effective_at", "effective_on"),
            is_effective=self._is_effective(),
            expiry_date=self._day("expired_at", "expiry_on"),
            topic_words=self._text("keywords") or self.shown["topic_words"],
            open_category=self.shown["open_category"] or self._classes(),
            channel_name=self.target.channel_name or self._text("classify_main_name"),
            attachments=tuple(self._attachments(body)),
            metadata=self._metadata(),
            warnings=tuple(self.warnings),
        )

    def _config_detail(self) -> Mapping[str, Any]:
        """``_CONFIG.DETAIL``, empty when the page has none (CMS pages) or when it is no JSON object (with a warning)."""
        try:
            source = config_members(self.doc).get("DETAIL")
            value = literal(source) if source else {}
        except ValueError as error:
            self.warnings.append(f"_CONFIG.DETAIL cannot be read, the visible page is used: {error}")
            return {}
        return value if isinstance(value, dict) else {}

    def _body(self) -> HtmlElement:
        """DETAIL's own HTML, else a container of the page, else nothing when the row names files. Raises ParseError."""
        content = self.detail.get("content")
        if isinstance(content, str) and content.strip():
            return parse_document(f"<html><body>{content}</body></html>").find("body")
        found = find_body(self.doc, BODIES)
        if found is not None:
            drop_noise(found)
            return found
        if self.detail and any(self._listed_files()):
            return self.doc.makeelement("div")
        text = self.response.text
        raise ParseError("_CONFIG.DETAIL.content or a body", self.response.url, problem=problem_of(text), excerpt=text)

    def _value(self, name: str) -> Any:
        """A field as the page's DETAIL has it, else as the list row had it."""
        value = self.detail.get(name)
        return self.row.get(name) if value in (None, "") else value

    def _text(self, name: str) -> str:
        value = self._value(name)
        return clean_value(str(value)) if isinstance(value, str | int) and value else ""

    def _shown_date(self, name: str) -> PartialDate | None:
        found = self.shown.date(name, self.response.fetched_at)
        return found if found and found.date else None

    def _day(self, name: str, label: str) -> date | None:
        """A day that may lie in the future, out of a field (epoch seconds or text), else out of the visible table."""
        value = self._value(name)
        stated = parse_date(value) if isinstance(value, str) and not value.isdigit() else from_epoch(value)
        found = stated or self.shown.date(label)
        return found.date if found else None

    def _is_effective(self) -> bool | None:
        """False when the site says abolished or expired; the absence of both flags states nothing."""
        if whole(self._value("is_abolished")) or whole(self._value("is_expired")):
            return False
        return self.shown.is_effective

    def _classes(self) -> str:
        names = (self._text("classify_theme_name"), self._text("classify_genre_name"))
        return "、".join(name for name in names if name)

    def _attachments(self, body: HtmlElement) -> Iterator[AttachmentRef]:
        """Files of the ``attachment`` list, those linked in the body, those only the visible page links; each once."""
        seen: set[str] = set()
        for url, name, mime in (
            *self._listed_files(),
            *self._linked_files(body),
            *self._linked_files(find_body(self.doc, BODIES)),
        ):
            if url and (key := canonical_url(url)) not in seen:
                seen.add(key)
                yield AttachmentRef(url, name, mime)

    def _listed_files(self) -> Iterator[tuple[str | None, str, str]]:
        listed = self._value("attachment")
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, dict) and item.get("url"):
                name, mime = (clean_value(str(item.get(key) or "")) for key in ("name", "mime"))
                yield resolve(self.base, str(item["url"])), name, mime

    def _linked_files(self, part: HtmlElement | None) -> Iterator[tuple[str | None, str, str]]:
        for link in () if part is None else part.iter("a"):
            href = link.get("href") or ""
            if "nfw-cms-attachment" in (link.get("class") or "").split() or is_file_url(href):
                yield resolve(self.base, href, self.encoding), text_of(link) or clean_value(link.get("alt")), ""

    def _metadata(self) -> dict[str, Any]:
        """The raw row, what the page shows publicly, and the day of signing, which is no publication date."""
        signed = from_epoch(whole(self._value("date"))) or self._shown_date("written_on")
        raw = dict(self.row) or {key: value for key, value in self.detail.items() if key != "content"}
        return {
            "raw": raw,
            "public_meta": {**self.tags, **self.shown.raw},
            "written_on": signed.date.isoformat() if signed and signed.date else None,
        }


def config_members(doc: HtmlElement) -> dict[str, str]:
    """Members of ``window._CONFIG`` as source text; empty when no script has it. Raises ValueError for a broken literal."""
    for script in doc.iter("script"):
        members = assigned_object(script.text or "", "_CONFIG")
        if members is not None:
            return members
    return {}


def published_at(row: Mapping[str, Any]) -> PartialDate | None:
    """``create_time``, else ``display_publish_time``. ``created_at`` is when the CMS took the post in: no date of it."""
    return from_epoch(whole(row.get("create_time"))) or from_epoch(whole(row.get("display_publish_time")))


def plain_title(value: Any) -> str:
    """A title without the mark-up that some titles carry."""
    return clean_value(re.sub(r"<br\s*/?>|</?(?:em|b|strong|font|span)\b[^>]*>", "", value)) if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return int(value)
    except ValueError:
        return None


def problem_of(text: str) -> ParseProblem:
    return ParseProblem.BLOCKED if looks_blocked(text) else ParseProblem.CHANGED
