"""From a parsed article to column values: what is inherited from the target, what is cut to length, what the hash covers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from articles.models import Article
from govcrawler.fields import storable
from sources.adapters.base import ArticleRef, ParsedArticle
from sources.models import CrawlTarget
from sources.parsing.urls import URL_RULE, canonical_url, url_hash

FileStatus = Literal["pending", "done", "skipped", "failed"]


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
        if self.ref.native_id or not self.parsed:
            return self.ref.native_id
        return self.parsed.native_id


@dataclass
class Record:
    """Column values of an article, and the flags of what had to be shortened."""

    values: dict[str, Any] = field(default_factory=dict)
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


def build(found: Found, now: datetime) -> Record:
    """The record of a visit: page values first, the target's where the page has none (review of the design, 1.5)."""
    parsed = found.parsed
    record = Record(text=storable(parsed.body_text) if parsed else "", html=storable(parsed.body_html) if parsed else "")
    values: dict[str, Any] = {name: getattr(parsed, name) for name in FIELDS} if parsed else {"title": found.ref.title}
    for name in INHERITED:
        values[name] = (getattr(parsed, name) if parsed else "") or getattr(found.target, name)
    values |= {
        "dept_id": department_of(found.target),
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
        "word_count": len("".join(record.text.split())),
        "title_time_hash": title_time_hash(values.get("title") or "", values.get("publish_date")),
    }
    metadata: dict[str, Any] = dict(parsed.metadata) if parsed else {"error": found.error}
    warnings = list(parsed.warnings) if parsed else []
    record.values, cut = fit(values)
    if cut or warnings:
        metadata["flags"] = [*(f"cut:{name}" for name in cut), *warnings]
    record.values["metadata_json"] = metadata
    record.content_hash = content_hash(record, found.files)
    record.status = status_of(found, record, now)
    return record


def department_of(target: CrawlTarget) -> int | None:
    """The target's own OA department, else the one its department path is mapped to."""
    if target.dept_id:
        return target.dept_id
    return target.site_department.local_dept_id if target.site_department else None


def main_response(manifest: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of the last page of the article: forwarders come before it."""
    return manifest[-1]["key"] if manifest else None


def fit(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Values as the columns take them, and the names of those that were cut. '' becomes NULL (the source does not say)."""
    fitted: dict[str, Any] = {}
    cut: list[str] = []
    for name, value in values.items():
        if isinstance(value, str):
            value = storable(value).strip() or None
            limit = getattr(Article._meta.get_field(name), "max_length", None)
            if value and limit and len(value) > limit:
                value = value[:limit]
                cut.append(name)
        fitted[name] = value
    if "native_post_id" in cut:
        # A shortened id could meet another article's: better none, the URL still identifies.
        fitted["native_post_id"] = None
    return fitted, cut


def status_of(found: Found, record: Record, now: datetime) -> str:
    """``ready`` needs a title, a body or a stored file, and every file in a final state (or given up after a day)."""
    if found.parsed is None:
        return Article.Status.FAILED
    has_content = bool(record.text) or any(file.status == "done" for file in found.files)
    waiting = any(file.status == "pending" for file in found.files)
    return Article.Status.READY if record.values.get("title") and has_content and not waiting else Article.Status.RAW


def content_hash(record: Record, files: Sequence[StoredFile]) -> str:
    """SHA-256 over what a reader sees: fields, text and files. Times of fetching, paths and raw metadata are not in it."""
    seen: dict[str, Any] = {
        name: _plain(record.values.get(name)) for name in (*FIELDS, "content_category", "content_subcategory")
    }
    seen["text"] = record.text
    seen["files"] = sorted([file.url, file.sha256 or ""] for file in files)
    return hashlib.sha256(json.dumps(seen, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def title_time_hash(title: str, published: date | None) -> str:
    """SHA-256 of title without white space and publication date (seed 002: title and date hash)."""
    return hashlib.sha256(f"{''.join(title.split())}|{published or ''}".encode("utf-8", "replace")).hexdigest()


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
