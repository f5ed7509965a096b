"""Articles as the crawler leaves them for the feed, and clients that ask for them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.db import transaction
from django.test import Client

from articles import changes
from articles.models import Article, ArticleContent, ArticleRevision
from govcrawler.access import keys
from tests import rows


def ready(text: str = "正文", **fields: Any) -> Article:
    """A ready article with its first revision and a change number."""
    with transaction.atomic():
        (number,) = changes.next_numbers(1)
        made = rows.article(**{"title": "通知", "change_seq": number, "rag_export_status": "pending", **fields})
        ArticleContent.objects.create(article=made, content_text=text)
        _revision(made, 1, text)
    return made


def revise(article: Article, text: str) -> int:
    """The article changed: its new revision."""
    with transaction.atomic():
        (number,) = changes.next_numbers(1)
        article.refresh_from_db()
        last = ArticleRevision.objects.filter(article=article).count()
        article.change_seq, article.rag_export_status, article.exported_to_rag_at = number, "pending", None
        article.save()
        ArticleContent.objects.filter(article=article).update(content_text=text)
        return _revision(article, last + 1, text)


def _revision(article: Article, number: int, text: str) -> int:
    made = ArticleRevision.objects.create(
        article=article,
        number=number,
        title=article.title,
        content_text=text,
        content_hash=sha256(text.encode()).hexdigest(),
        raw_html_path=f"raw/{article.pk}/{number}.gz",
        raw_manifest={"responses": [{"key": f"raw/{article.pk}/{number}.gz"}, {"key": f"raw/{article.pk}/meta.gz"}]},
    )
    article.current_revision_id = made.pk
    Article.objects.filter(pk=article.pk).update(current_revision_id=made.pk)
    return made.pk


def client(*scopes: str, **fields: Any) -> Client:
    """A client with a key of these scopes, or without a key. Errors come back as responses."""
    headers = {}
    if scopes:
        count = keys.ApiKey.objects.count()
        headers["authorization"] = f"Api-Key {keys.create(f'client {count}', scopes, **fields)[1]}"
    return Client(headers=headers, raise_request_exception=False)
