"""From a parsed article to column values: what is inherited from the target, what is cut to length, what the hash covers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

from django.db import models

from articles.models import Article, ArticleStandardMeta
from govcrawler.fields import storable
from sources.adapters.base import ArticleRef, ParsedArticle, StandardMeta
from sources.models import CrawlTarget
from sources.parsing.urls import URL_RULE, canonical_url, url_hash

FileStatus = Literal["pending", "done", "skipped", "failed"]

HELD_LONGEST = timedelta(days=1)
"""How long an article waits for a file before it is given out without it (review of the design, 1.1)."""
BODY_CHARACTERS = 1_000_000
"""Longest text and longest HTML in the database: one article stays below MariaDB's default packet of 16 MB. The text file and
the raw page hold all of it."""


@dataclass(frozen=True)
class StoredFile:
    """A file of an article after the attempt to fetch it. ``key`` is set when it is stored; ``error`` names why not."""

    url: str
    name: str
    position: int
    status: FileStatus
    key: str | None = None
    sha256: str | None = None
    size: int | None = None
    extension: str = ""
    mime: str = ""
    error: str | None = None
    fetched_at: datetime | None = None


@dataclass(frozen=True)
class Found:
    """Everything one visit of an article brought, ready to be saved. ``parsed`` is None when its bytes could not be parsed."""

    target: CrawlTarget
    ref: ArticleRef
    parsed: ParsedArticle | None
    fetched_at: datetime
    strategy: str
    parser_version: str
    manifest: Sequence[Mapping[str, Any]] = ()
    files: Sequence[StoredFile] = ()
    text_key: str | None = None
    error: str = ""

    @property
    def url(self) -> str:
        return self.parsed.url if self.parsed else self.ref.url

    @property
    def url_hash(self) -> str:
        return url_hash(self.url)

    @property
    def native_id(self) -> str | None:
        """The id in the list row's own numbering; an id read on a page elsewhere belongs to another numbering."""
        own = clean_id(self.ref.native_id)
        return own or (clean_id(self.parsed.native_id) if self.parsed else None)


@dataclass
class Record:
    """Column values of an article, and the flags of what had to be shortened."""

    values: dict[str, Any] = field(default_factory=dict)
    standard: dict[str, Any] | None = None
    text: str = ""
    html: str = ""
    content_hash: str = ""
    status: str = Article.Status.RAW


FIELDS = (
    "title",
    "publish_time",
    "publish_precision",
    "publish_date",
    "source_raw",
    "index_no",
    "doc_no",
    "publisher",
    "effective_date",
    "is_effective",
    "expiry_date",
    "topic_words",
    "open_category",
)
INHERITED = ("content_category", "content_subcategory", "channel_name", "channel_path")


def clean_id(native_id: str | None) -> str | None:
    """The source's id as the column keeps it; '' is none."""
    return storable(native_id or "").strip() or None


def plain_json(value: Any) -> Any:
    """``value`` as every database takes it: NaN and infinities, which JSON does not know, become null (fault-model D6)."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): plain_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value


def _is_json(value: Mapping[str, Any]) -> bool:
    try:
        json.dumps(value, allow_nan=False, default=dict)
    except ValueError:
        return False
    return True


def build(found: Found, now: datetime, stored: Article | None = None) -> Record:
    """The record of a visit: page values first, the target's where the page has none (review of the design, 1.5).

    ``stored``: the row that the visit found again. What it has from the first target that listed it stays.
    """
    parsed = found.parsed
    values: dict[str, Any] = {name: getattr(parsed, name) for name in FIELDS} if parsed else {"title": found.ref.title}
    values |= _inherited(found, stored) | {
        "url": found.url,
        "url_hash": found.url_hash,
        "canonical_url": canonical_url(found.url),
        "url_rule": URL_RULE,
        "native_post_id": found.native_id,
        "has_attachment": bool(found.files),
        "fetch_strategy": found.strategy,
        "fetched_at": found.fetched_at,
        "last_checked_at": now,
        "parser_version": found.parser_version,
        "raw_html_path": main_response(found.manifest),
        "text_path": found.text_key,
        "title_time_hash": title_time_hash(values.get("title") or "", values.get("publish_date")),
    }
    record = Record()
    record.values, cut = fit(values, Article)
    _take_body(record, found, cut)
    _take_metadata(record, found, cut)
    record.content_hash = content_hash(record, found.files)
    record.status = status_of(found, record, now - stored.created_at if stored and stored.created_at else timedelta(0))
    return record


def _inherited(found: Found, stored: Article | None) -> dict[str, Any]:
    if stored and stored.target_id not in (None, found.target.pk):
        return {name: getattr(stored, name) for name in ("dept_id", *INHERITED)}
    values: dict[str, Any] = {"dept_id": department_of(found.target)}
    for name in INHERITED:
        values[name] = (getattr(found.parsed, name) if found.parsed else "") or getattr(found.target, name)
    return values


def _take_body(record: Record, found: Found, cut: list[str]) -> None:
    text, html = (storable(found.parsed.body_text), storable(found.parsed.body_html)) if found.parsed else ("", "")
    record.text, record.html = text[:BODY_CHARACTERS], html[:BODY_CHARACTERS]
    cut += [name for name, whole in (("content_text", text), ("content_html", html)) if len(whole) > BODY_CHARACTERS]
    record.values["word_count"] = len("".join(record.text.split()))


def _take_metadata(record: Record, found: Found, cut: list[str]) -> None:
    parsed = found.parsed
    if parsed and parsed.standard:
        record.standard, shortened = _standard(parsed.standard)
        cut += shortened
    told = parsed.metadata if parsed else {"error": found.error}
    if not _is_json(told):
        cut.append("metadata")
    metadata = plain_json(told)
    flags = [*(f"cut:{name}" for name in cut), *(parsed.warnings if parsed else ())]
    record.values["metadata_json"] = {**metadata, "flags": flags} if flags else metadata


def _standard(meta: StandardMeta) -> tuple[dict[str, Any], list[str]]:
    """Column values of ``article_standard_meta``, and what was cut."""
    values = {name: value for name, value in asdict(meta).items() if name not in ("raw", "ccs_codes", "ics_codes")}
    fitted, cut = fit(values, ArticleStandardMeta)
    fitted |= {"ccs_codes": list(meta.ccs_codes), "ics_codes": list(meta.ics_codes), "raw_meta_json": plain_json(meta.raw)}
    return fitted, [f"standard.{name}" for name in cut]


def department_of(target: CrawlTarget) -> int | None:
    """The target's own OA department, else the one its department path is mapped to."""
    if target.dept_id:
        return target.dept_id
    return target.site_department.local_dept_id if target.site_department else None


def main_response(manifest: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of the last page of the article: forwarders come before it."""
    return manifest[-1]["key"] if manifest else None


def fit(values: Mapping[str, Any], model: type[models.Model]) -> tuple[dict[str, Any], list[str]]:
    """Values as the columns take them, and the names of those that were cut. '' becomes NULL (the source does not say)."""
    fitted: dict[str, Any] = {}
    cut: list[str] = []
    for name, value in values.items():
        if isinstance(value, str):
            value = storable(value).strip() or None
            limit = getattr(model._meta.get_field(name), "max_length", None)
            if value and limit and len(value) > limit:
                value = value[:limit]
                cut.append(name)
        fitted[name] = value
    if "native_post_id" in cut:
        # A shortened id could meet another article's: better none, the URL still identifies.
        fitted["native_post_id"] = None
    return fitted, cut


def status_of(found: Found, record: Record, age: timedelta) -> str:
    """``ready`` needs a title, a body or a stored file, and every file in a final state; an article as old as HELD_LONGEST
    (``age``: since it was first stored) waits for no file any more (review of the design, 1.1)."""
    if found.parsed is None:
        return Article.Status.FAILED
    has_content = record.values["word_count"] > 0 or any(file.status == "done" for file in found.files)
    waiting = age < HELD_LONGEST and any(file.status == "pending" for file in found.files)
    return Article.Status.READY if record.values.get("title") and has_content and not waiting else Article.Status.RAW


def content_hash(record: Record, files: Sequence[StoredFile]) -> str:
    """SHA-256 over what a reader sees: fields, text and files. Times of fetching, paths and raw metadata are not in it."""
    seen: dict[str, Any] = {
        name: _plain(record.values.get(name)) for name in (*FIELDS, "content_category", "content_subcategory")
    }
    seen["text"] = record.text
    seen["files"] = sorted([file.url, file.sha256 or ""] for file in files)
    return hashlib.sha256(json.dumps(seen, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def title_time_hash(title: str, published: date | None) -> str:
    """SHA-256 of title without white space and publication date (seed 002: title and date hash)."""
    return hashlib.sha256(f"{''.join(title.split())}|{published or ''}".encode("utf-8", "replace")).hexdigest()


def ref_json(ref: ArticleRef) -> dict[str, Any]:
    """The list row as a later visit or a replay needs it; ``raw`` is kept apart."""
    return {
        "url": ref.url,
        "title": ref.title,
        "native_id": ref.native_id,
        "published_on": ref.published_on.isoformat() if ref.published_on else None,
    }


def revision_fields(record: Record, files: Sequence[StoredFile]) -> dict[str, Any]:
    """What a revision keeps of the metadata, as JSON."""
    fields: dict[str, Any] = {
        name: _plain(record.values.get(name)) for name in (*FIELDS, *INHERITED, "url", "native_post_id", "dept_id")
    }
    fields["metadata"] = record.values.get("metadata_json")
    fields["files"] = [
        {"url": file.url, "name": file.name, "sha256": file.sha256, "size": file.size, "status": file.status} for file in files
    ]
    return fields


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value
