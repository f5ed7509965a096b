"""What a visit of an article brings, as the crawler hands it to the store."""

from __future__ import annotations

from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any

from articles import store
from articles.models import Article
from articles.record import Found, StoredFile
from sources.adapters.base import ArticleRef, ParsedArticle
from sources.models import CrawlTarget

FETCHED = datetime(2024, 3, 20, 2, tzinfo=UTC)
URL = "http://www.yun.example/a/1.html"


def found(target: CrawlTarget, url: str = URL, *, text: str = "正文", **changes: Any) -> Found:
    """A parsed article; ``changes`` are fields of ParsedArticle, Found or, with ``ref_`` before them, ArticleRef."""
    ref = {name.removeprefix("ref_"): changes.pop(name) for name in list(changes) if name.startswith("ref_")}
    whole = {name: changes.pop(name) for name in list(changes) if name in Found.__dataclass_fields__}
    parsed = ParsedArticle(**{"url": url, "title": "通知", "body_text": text, **changes})
    return Found(
        **{
            "target": target,
            "ref": ArticleRef(**{"url": url, "title": parsed.title, "published_on": date(2024, 3, 15), **ref}),
            "parsed": parsed,
            "fetched_at": FETCHED,
            "strategy": "httpx",
            "parser_version": "selectors/1",
            "manifest": [{"url": url, "method": "GET", "key": f"raw/{sha256(text.encode('utf-8', 'replace')).hexdigest()}.gz"}],
            **whole,
        }
    )


def unreadable(target: CrawlTarget, url: str = URL, **changes: Any) -> Found:
    """A page that could not be parsed."""
    return found(target, url, **{"parsed": None, "error": "changed: looked for a body", **changes})


def file(name: str = "a.pdf", status: str = "done", **changes: Any) -> StoredFile:
    digest = sha256(name.encode("utf-8", "replace")).hexdigest()
    had = {"key": f"attachments/{digest}.pdf", "sha256": digest, "size": 9, "fetched_at": FETCHED} if status == "done" else {}
    error = None if status == "done" else "TIMEOUT"
    defaults = {"url": f"http://www.yun.example/files/{name}", "name": name, "position": 0, "status": status, "error": error}
    return StoredFile(**{**defaults, **had, **changes})


def save(*batch: Found) -> list[tuple[str, str]]:
    """Kind and status of each outcome."""
    return [(outcome.kind, outcome.status) for outcome in store.save_batch(batch)]


def saved(one: Found) -> Article:
    """The stored article, read anew."""
    (outcome,) = store.save_batch([one])
    return Article.objects.select_related("content").get(pk=outcome.article_id)
