"""History parsed again from stored bytes, without asking the source: the lower half of the crawl's path (design, section 4)."""

from __future__ import annotations

import logging
from datetime import date

from django.utils import timezone

from articles import attaching
from articles.models import Article, ArticleRevision, Attachment
from articles.record import Found
from crawl.archive import restore
from crawl.crawling import Crawl
from crawl.visits import parsed
from sources.adapters.base import ArticleRef

log = logging.getLogger(__name__)


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
    final = article.attachments.exclude(status=Attachment.Status.PENDING)
    return parsed(crawl, ref, responses, entries, {file.url_hash or "": attaching.as_file(file) for file in final})


def with_files_due(crawl: Crawl) -> list[Article]:
    """Articles of the target that wait for a file whose next try is due, and whose pages are still there to be read."""
    due = Attachment.objects.filter(
        article__target=crawl.target, status=Attachment.Status.PENDING, next_retry_at__lte=timezone.now()
    )
    articles = Article.objects.filter(pk__in=due.values("article_id")).order_by("pk")
    return [article for article in articles if _is_complete(crawl, article)]


def _is_complete(crawl: Crawl, article: Article) -> bool:
    manifests = ArticleRevision.objects.filter(pk=article.current_revision_id or 0).values_list("raw_manifest", flat=True)
    manifest = manifests.first()
    keys = [entry["key"] for entry in manifest.get("responses", [])] if manifest else []
    missing = [key for key in keys if not crawl.store.exists(key)]
    if missing or manifest is None:
        log.error("article cannot be read again", extra={"data": {"article": article.pk, "missing": missing}})
        return False
    return True
