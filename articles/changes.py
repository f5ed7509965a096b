"""The order of changes: numbers that grow in commit order, the stream that consumers follow, deletions and withdrawals.

The stream is latest-state: a consumer sees every article's last change, maybe not the middle ones (review of the design, 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import models, transaction
from django.db.models import F
from django.utils import timezone

from articles.models import Article, ArticleRevision, Attachment, ChangeCounter, ConsumerState, Tombstone
from sources.models import CrawlSite

COUNTER = 1
ChangeType = Literal["upsert", "withdraw", "delete"]


class CursorAhead(ValueError):
    """A consumer's cursor is beyond the last change: it comes from another database, or this one is an older copy."""


@dataclass(frozen=True)
class Change:
    """The last change of one article. ``revision`` is its current revision, or its last for a deletion."""

    number: int
    type: ChangeType
    article_id: int
    revision: int | None
    site: str
    url: str
    native_post_id: str | None
    title: str | None
    reason: str | None
    changed_at: datetime | None


@dataclass(frozen=True)
class Changes:
    """One page of the stream. Ask again with ``after=next_after``; without ``has_more`` everything was seen."""

    items: list[Change]
    next_after: int
    has_more: bool


def next_numbers(count: int) -> range:
    """``count`` fresh change numbers. Call it first inside the transaction that uses them.

    The UPDATE locks the counter row until COMMIT, so a later number never commits before an earlier one; numbers of a rolled
    back transaction are given out again.
    """
    ChangeCounter.objects.filter(pk=COUNTER).update(value=F("value") + count)
    last = current_number()
    return range(last - count + 1, last + 1)


def current_number() -> int:
    """The last number given out by a committed transaction (or by the current one)."""
    return ChangeCounter.objects.values_list("value", flat=True).get(pk=COUNTER)


def changes(after: int, limit: int) -> Changes:
    """The changes with numbers above ``after``, in order, at most ``limit``. Raises CursorAhead.

    The counter is read FIRST and bounds both queries: what commits between them has a higher number and comes next time.
    """
    upto = current_number()
    if after > upto:
        raise CursorAhead(f"after={after} is beyond the last change {upto}")
    rows = [*_changed(after, upto, limit + 1), *_deleted(after, upto, limit + 1)]
    rows.sort(key=lambda change: change.number)
    has_more = len(rows) > limit
    items = rows[:limit]
    return Changes(items, items[-1].number if has_more else upto, has_more)


def _changed(after: int, upto: int, limit: int) -> Iterator[Change]:
    columns = (
        "change_seq",
        "status",
        "duplicate_of_id",
        "id",
        "current_revision_id",
        "site_id",
        "url",
        "native_post_id",
        "title",
        "duplicate_reason",
        "updated_at",
    )
    query = Article.objects.filter(change_seq__gt=after, change_seq__lte=upto).order_by("change_seq").values_list(*columns)
    rows = list(query[:limit])
    codes = site_codes({row[5] for row in rows})
    for number, status, original, article_id, revision, site, url, native, title, reason, changed_at in rows:
        shown = status == Article.Status.READY and original is None
        why = None if shown else (reason or "duplicate") if original is not None else status
        kind: ChangeType = "upsert" if shown else "withdraw"
        yield Change(number or 0, kind, article_id, revision, codes[site], url, native, title, why, changed_at)


def site_codes(site_ids: set[int]) -> dict[int, str]:
    """Codes by id, read apart from articles: joined, the optimiser begins with the few sites and sorts all their articles."""
    return dict(CrawlSite.objects.filter(pk__in=site_ids).values_list("pk", "site_code"))


def _deleted(after: int, upto: int, limit: int) -> Iterator[Change]:
    columns = ("change_seq", "article_id", "revision_id", "site_code", "url", "native_post_id", "title", "reason", "created_at")
    rows = Tombstone.objects.filter(change_seq__gt=after, change_seq__lte=upto).order_by("change_seq").values_list(*columns)
    for number, article_id, revision, site, url, native, title, reason, changed_at in rows[:limit]:
        yield Change(number, "delete", article_id, revision, site, url, native, title, reason, changed_at)


def delete(article: Article, *, reason: str, actor: str) -> Tombstone:
    """Deletes an article and leaves its tombstone, in one transaction. Its duplicates stand for themselves again.

    ``reason``: at most 40 characters; ``actor``: who wants it. Raises ValueError, Article.DoesNotExist.
    """
    _check_reason(reason)
    with transaction.atomic():
        (number,) = next_numbers(1)
        row = Article.objects.select_for_update().select_related("site").get(pk=article.pk)
        stone = Tombstone.objects.create(
            article_id=row.pk,
            site_code=row.site.site_code,
            native_post_id=row.native_post_id,
            url=row.url,
            url_hash=row.url_hash,
            title=row.title,
            revision_id=row.current_revision_id,
            paths_json=stored_paths(row),
            change_seq=number,
            reason=reason.strip(),
            deleted_by=actor[:64] or None,
        )
        _free_duplicates(row)
        models.Model.delete(row)
    return stone


def withdraw(article: Article, status: str, reason: str) -> None:
    """Takes a ready article back to ``raw`` (held) or ``failed``; consumers that were told of it see a ``withdraw``.

    When it becomes ready again it is offered again, whatever was acknowledged. Raises ValueError, Article.DoesNotExist.
    """
    if status not in {Article.Status.RAW, Article.Status.FAILED}:
        raise ValueError(f"status {status!r}: an article is withdrawn to 'raw' or 'failed'")
    _check_reason(reason)
    with transaction.atomic():
        (number,) = next_numbers(1)
        row = Article.objects.select_for_update().get(pk=article.pk)
        row.status = status
        row.change_seq = number if row.change_seq is not None else None
        row.metadata_json = {
            **(row.metadata_json or {}),
            "withdrawn": {"reason": reason.strip(), "at": timezone.now().isoformat()},
        }
        row.save(update_fields=["status", "change_seq", "metadata_json", "updated_at"])
        _offer_again([row.pk])


def _check_reason(reason: str) -> None:
    if not 0 < len(reason.strip()) <= 40:
        raise ValueError(f"reason {reason!r}: give 1 to 40 characters")


def _free_duplicates(original: Article) -> None:
    """The rows that pointed to ``original`` get numbers of their own: consumers held them for its copies until now."""
    duplicates = list(Article.objects.select_for_update().filter(duplicate_of_id=original.pk).order_by("pk"))
    numbers = iter(next_numbers(len(duplicates)))
    for row in duplicates:
        row.duplicate_of_id = row.duplicate_reason = None
        number = next(numbers)
        if row.status == Article.Status.READY or row.change_seq is not None:
            row.change_seq = number
        row.rag_export_status, row.exported_to_rag_at = Article.RagStatus.PENDING, None
        row.save(
            update_fields=[
                "duplicate_of",
                "duplicate_reason",
                "change_seq",
                "rag_export_status",
                "exported_to_rag_at",
                "updated_at",
            ]
        )
    _offer_again([row.pk for row in duplicates])


def _offer_again(article_ids: list[int]) -> None:
    """What consumers acknowledged no longer counts: they drop a withdrawn article and need it anew when it comes back."""
    ConsumerState.objects.filter(article_id__in=article_ids).update(acked_revision_id=None)
    Article.objects.filter(pk__in=article_ids).update(rag_export_status=Article.RagStatus.PENDING, exported_to_rag_at=None)


def stored_paths(article: Article) -> list[str]:
    """Every key of the content store that the article's rows name: pages of all revisions, texts and files."""
    found: set[Any] = {article.raw_html_path, article.text_path, article.markdown_path}
    for page, manifest in ArticleRevision.objects.filter(article=article).values_list("raw_html_path", "raw_manifest"):
        found.add(page)
        found.update(response.get("key") for response in (manifest or {}).get("responses", []))
    for file, text in Attachment.objects.filter(article=article).values_list("file_path", "text_path"):
        found.update((file, text))
    return sorted(path for path in found if path)
