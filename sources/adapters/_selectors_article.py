"""The article half of the ``selectors`` adapter: rules first, then what pages of these sites state in standard places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from lxml.html import HtmlElement

from sources.adapters.base import ArticleRef, AttachmentRef, ParsedArticle, ParseError, ParseProblem, Response, TargetInfo
from sources.parsing.dates import PartialDate
from sources.parsing.html import (
    base_url,
    body_html,
    body_text,
    drop_noise,
    find_body,
    is_file_url,
    is_partial,
    parse_document,
    select,
    text_of,
)
from sources.parsing.metadata import (
    SYNONYMS,
    Metadata,
    clean_doc_no,
    clean_value,
    collect_metadata,
    meta_published,
    meta_tags,
    source_line,
    trust_clock,
    validity,
)
from sources.parsing.page_signs import looks_blocked
from sources.parsing.selecting import Closed, Pattern, Rule, date_of, elements, value
from sources.parsing.urls import canonical_url, resolve

FieldName = Literal[
    "index_no",
    "doc_no",
    "publisher",
    "source",
    "topic_words",
    "open_category",
    "written_on",
    "validity",
    "effective_on",
    "expiry_on",
    "channel_name",
]


class DetailRules(Closed):
    """``fields`` are the standard fields, ``extra`` is kept in the metadata under its own names. ``attachments`` finds links;
    else the files linked in the body count. ``drop`` removes parts of the body. ``next`` is the link to the next page."""

    title: Rule | None = None
    body: Rule | None = None
    date: Rule | None = None
    fields: dict[FieldName, Rule] = {}
    extra: dict[str, Rule] = {}
    attachments: Rule | None = None
    drop: tuple[Pattern, ...] = ()
    next: Rule | None = None
    metadata_table: bool = True


def next_page(rules: DetailRules, response: Response) -> str | None:
    """URL of the article's next page, None on the last one."""
    if rules.next is None:
        return None
    doc = parse_document(response.text)
    rule = rules.next if rules.next.attr else rules.next.model_copy(update={"attr": "href"})
    href = value(rule, doc)
    return resolve(base_url(doc, response.url), href) if href else None


def read_article(rules: DetailRules, ref: ArticleRef, pages: Sequence[Response], target: TargetInfo) -> ParsedArticle:
    """The article over all its pages; metadata come from the first. Raises ParseError when no page has a body."""
    parts = [_Page(rules, page) for page in pages]
    first = parts[0]
    title = value(rules.title, first.doc) or first.tags.get("articletitle", "") or ref.title or first.table["title"]
    if not title:
        raise ParseError("a title", first.response.url, excerpt=first.response.text)
    published = first.published(ref)
    return ParsedArticle(
        url=ref.url,
        title=title,
        body_text="\n".join(text for part in parts if (text := body_text(part.body))),
        body_html="\n".join(part.html() for part in parts),
        native_id=ref.native_id,
        publish_time=published.utc() if published else None,
        publish_precision=published.precision if published else "none",
        publish_date=published.date if published else None,
        source_raw=first.field("source") or first.tags.get("contentsource", "") or source_line(first.doc).source,
        index_no=first.field("index_no"),
        doc_no=clean_doc_no(first.field("doc_no")),
        publisher=first.field("publisher"),
        effective_date=first.day("effective_on"),
        is_effective=validity(first.field("validity")),
        expiry_date=first.day("expiry_on"),
        topic_words=first.field("topic_words"),
        open_category=first.field("open_category"),
        channel_name=target.channel_name or first.field("channel_name"),
        attachments=tuple(_distinct(file for part in parts for file in part.files())),
        metadata=first.metadata(ref),
        warnings=tuple(warning for part in parts for warning in part.warnings),
    )


def day_of(day: date | None) -> PartialDate | None:
    """A day without a time."""
    return PartialDate(day.year, day.month, day.day, None, "day") if day else None


class _Page:
    """One page of an article, read by the rules."""

    def __init__(self, rules: DetailRules, response: Response) -> None:
        self.rules, self.response = rules, response
        self.encoding = response.decoded.encoding
        self.doc = parse_document(response.text)
        self.base = base_url(self.doc, response.url)
        self.tags = meta_tags(self.doc)
        self.table = collect_metadata(self.doc) if rules.metadata_table else Metadata()
        self.warnings = ["the page's structure could not be kept"] if is_partial(self.doc) else []
        self.linked = self._linked()
        self.body = self._body()

    def field(self, name: FieldName) -> str:
        """A field by its rule; without a rule, by the metadata table. A rule that finds nothing leaves it to the table too."""
        ruled = clean_value(value(self.rules.fields.get(name), self.doc))
        return ruled or (self.table[name] if name in SYNONYMS else "")

    def day(self, name: FieldName) -> date | None:
        """A day that may well lie in the future: a text comes into force later than it is published."""
        found = date_of(self.field(name), None)
        return found.date if found else None

    def published(self, ref: ArticleRef) -> PartialDate | None:
        """By the rule, else table, source line and meta tags, else the day of the list row. Never the day of signing."""
        seen = self.response.fetched_at
        if ruled := date_of(value(self.rules.date, self.doc), seen):
            return ruled
        shown = self.table.date("published_on", seen) or date_of(source_line(self.doc).published, seen)
        meta = meta_published(self.tags, seen)
        if meta is not None and (shown is None or shown.date == meta.date):
            return trust_clock(meta, shown)
        if shown is not None:
            return shown
        return day_of(ref.published_on)

    def html(self) -> str:
        return body_html(self.body, self.base, self.encoding)

    def files(self) -> Iterator[AttachmentRef]:
        links = (
            self.linked
            if self.rules.attachments is not None
            else [link for link in self.body.iter("a") if is_file_url(link.get("href") or "")]
        )
        for link in links:
            if url := resolve(self.base, link.get("href") or "", self.encoding):
                yield AttachmentRef(url, text_of(link) or clean_value(link.get("title")))

    def metadata(self, ref: ArticleRef) -> dict[str, Any]:
        signed = date_of(self.field("written_on"), self.response.fetched_at)
        extra: Mapping[str, str] = {name: value(rule, self.doc) for name, rule in self.rules.extra.items()}
        return {
            "raw": dict(ref.raw),
            "public_meta": {**self.tags, **self.table.raw},
            "written_on": signed.date.isoformat() if signed and signed.date else None,
            "extra": dict(extra),
        }

    def _linked(self) -> list[HtmlElement]:
        """Links the attachment rule finds, taken before the body is cleaned; any other element stands for the links in it."""
        found = elements(self.rules.attachments, self.doc) if self.rules.attachments is not None else []
        return [link for element in found for link in element.iter("a") if link.get("href")]

    def _body(self) -> HtmlElement:
        if self.rules.body is None:
            found = find_body(self.doc)
        else:
            found = next((element for element in elements(self.rules.body, self.doc)), None)
        if found is None:
            text = self.response.text
            problem = ParseProblem.BLOCKED if looks_blocked(text) else ParseProblem.CHANGED
            raise ParseError(
                "detail.body" if self.rules.body else "a known body container", self.response.url, problem=problem, excerpt=text
            )
        for selector in self.rules.drop:
            for part in select(found, selector):
                if part is not found and part.getparent() is not None:
                    part.drop_tree()
        drop_noise(found)
        return found


def _distinct(files: Iterator[AttachmentRef]) -> Iterator[AttachmentRef]:
    seen: set[str] = set()
    for file in files:
        if (key := canonical_url(file.url)) not in seen:
            seen.add(key)
            yield file
