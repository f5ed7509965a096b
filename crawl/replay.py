"""History parsed again from stored bytes, without asking the source: the lower half of the crawl's path (design, section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from django.utils import timezone

from articles.models import Article, ArticleRevision, Attachment
from articles.record import Found, StoredFile
from crawl.archive import restore
from crawl.crawling import Crawl
from crawl.visits import parsed
from sources.adapters.base import ArticleRef


def again(crawl: Crawl, article: Article) -> Found:
    """The record that the adapter makes today of an article's stored responses; files that are stored stay as they are.

    Raises FileNotFoundError when bytes are gone, and what fetching a missing file raises.
    """
    revision = ArticleRevision.objects.get(pk=article.current_revision_id or 0)
    manifest = revision.raw_manifest or {}
    told = manifest.get("ref", {})
    ref = ArticleRef(
        url=told.get("url", article.url),
        title=told.get("title", ""),
        native_id=told.get("native_id"),
        published_on=date.fromisoformat(told["published_on"]) if told.get("published_on") else None,
        raw=manifest.get("list_row", {}),
    )
    entries = manifest.get("responses", [])
    responses = [restore(entry, crawl.store) for entry in entries]
    return parsed(crawl, ref, responses, entries, {file.url_hash or "": _stored(file) for file in _final(article)})


def _final(article: Article) -> Iterator[Attachment]:
    """Files that need no further try: had, refused, or failed for good."""
    yield from article.attachments.exclude(status=Attachment.Status.PENDING)


def _stored(file: Attachment) -> StoredFile:
    return StoredFile(
        url=file.source_url or "",
        name=file.file_name or "",
        position=file.position,
        status=file.status,  # type: ignore[arg-type]
        key=file.file_path,
        sha256=file.file_hash,
        size=file.size_bytes,
        extension=file.file_ext or "",
        mime=file.mime or "",
        error=file.error_class,
        fetched_at=file.downloaded_at,
    )


def with_files_due(crawl: Crawl) -> list[Article]:
    """Articles of the target that wait for a file whose next try is due."""
    due = Attachment.objects.filter(
        article__target=crawl.target, status=Attachment.Status.PENDING, next_retry_at__lte=timezone.now()
    )
    return list(Article.objects.filter(pk__in=due.values("article_id")).order_by("pk"))
