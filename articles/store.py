"""Saving what a crawl found: one short transaction a batch, no HTTP and no file work inside.

The change counter is locked first, so change numbers grow in commit order and writers queue instead of deadlocking. A batch
that a bad row spoils is saved again row by row, and only the bad row fails (review of the design, 3.6).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from django.db.models import Max, Q
from django.utils import timezone

from articles import changes
from articles.dedupe import Decision, Stored, decide
from articles.models import (
    Article,
    ArticleContent,
    ArticleListing,
    ArticleRevision,
    ArticleStandardMeta,
    Attachment,
)
from articles.record import Found, Record, StoredFile, build, revision_fields
from govcrawler.crashpoints import crashpoint
from sources.adapters.base import ArticleRef, StandardMeta
from sources.models import CrawlTarget
from sources.parsing.names import safe_display_name
from sources.parsing.urls import url_hash

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRIES = 5
DEADLOCK_CODES = {1020, 1205, 1213}
"""MariaDB: record changed, lock wait timeout, deadlock. The whole transaction is done again (fault-model D3, D4)."""
FILE_RETRY = timedelta(minutes=30)
FILE_ATTEMPTS = 5

OutcomeKind = Literal["inserted", "updated", "known", "duplicate", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What became of a found article."""

    kind: OutcomeKind
    article_id: int | None = None
    status: str = ""
    error: str = ""


@dataclass
class Row:
    """One article on its way through the transaction."""

    found: Found
    record: Record
    decision: Decision
    article: Article | None = None


def retried(work: Callable[[], T]) -> T:
    """Does the transaction ``work`` again, at most five times, when the database undid it or was locked."""
    for attempt in range(1, RETRIES + 1):
        try:
            return work()
        except OperationalError as error:
            code = error.args[0] if error.args else None
            again = code in DEADLOCK_CODES or "database is locked" in str(error)
            if not again or attempt == RETRIES or connection.in_atomic_block:
                raise
            log.warning("transaction is done again: %s", error, extra={"data": {"attempt": attempt}})
            time.sleep(random.uniform(0.02, 0.1) * attempt)
    raise AssertionError("unreachable")


def known(site_id: int, refs: Iterable[ArticleRef]) -> dict[str, int]:
    """Stored articles among the rows of a list page: row URL -> article id, by URL hash, the source's id or a noted row."""
    by_hash = {url_hash(ref.url): ref for ref in refs}
    natives = {ref.native_id: ref for ref in by_hash.values() if ref.native_id}
    rows = Article.objects.filter(
        Q(url_hash__in=by_hash) | Q(site_id=site_id, native_post_id__in=natives), ~Q(status=Article.Status.FAILED)
    ).values_list("id", "site_id", "url_hash", "native_post_id")
    found: dict[str, int] = {}
    for article_id, article_site, digest, native in rows:
        if article_site == site_id and native and native in natives:
            found[natives[native].url] = article_id
        if digest in by_hash:
            found.setdefault(by_hash[digest].url, article_id)
    elsewhere = ArticleListing.objects.filter(row_hash__in=by_hash).values_list("row_hash", "article_id")
    return {by_hash[digest].url: article_id for digest, article_id in elsewhere if digest} | found


def note_listings(article_ids: Iterable[int], target: CrawlTarget) -> None:
    """Records that ``target`` lists these articles too; the first target of an article is ``article.target``."""
    ids = set(article_ids)
    have = set(ArticleListing.objects.filter(article_id__in=ids, target=target).values_list("article_id", flat=True))
    own = set(Article.objects.filter(id__in=ids, target=target).values_list("id", flat=True))
    for article_id in ids - have - own:
        ArticleListing.objects.get_or_create(article_id=article_id, target=target)


def save_batch(batch: Sequence[Found]) -> list[Outcome]:
    """Saves found articles and says what became of each, in order. Raises OperationalError when the database is away."""
    if not batch:
        return []
    try:
        outcomes = retried(lambda: _transaction(batch))
    except (IntegrityError, DataError) as error:
        if len(batch) == 1:
            log.error("article refused by the database: %s", error, extra={"data": {"url": batch[0].url}})
            return [Outcome("failed", error=f"DB: {error}")]
        outcomes = [outcome for found in batch for outcome in save_batch([found])]
    crashpoint("save.after_commit")
    return outcomes


def _transaction(batch: Sequence[Found]) -> list[Outcome]:
    now = timezone.now()
    with transaction.atomic():
        numbers = iter(changes.next_numbers(len(batch) * 2))
        outcomes: dict[int, Outcome] = {}
        waiting = list(enumerate(batch))
        while waiting:
            chosen, waiting = _distinct(waiting)
            rows = _decide([found for _, found in chosen], now)
            _insert([row for row in rows if row.decision.kind == "insert"], numbers)
            for row in rows:
                if row.decision.kind != "insert":
                    _change(row, numbers, now)
            for (index, _), row in zip(chosen, rows, strict=True):
                outcomes[index] = _outcome(row)
        crashpoint("save.in_transaction")
    return [outcomes[index] for index in range(len(batch))]


def _distinct(waiting: list[tuple[int, Found]]) -> tuple[list[tuple[int, Found]], list[tuple[int, Found]]]:
    """Articles that do not meet each other in a unique key, and those that must wait for the next round."""
    chosen: list[tuple[int, Found]] = []
    later: list[tuple[int, Found]] = []
    keys: set[tuple[Any, ...]] = set()
    for index, found in waiting:
        own: set[tuple[Any, ...]] = {("url", found.url_hash)}
        if found.native_id:
            own.add(("native", found.target.site_id, found.native_id))
        (later if keys & own else chosen).append((index, found))
        keys |= own
    return chosen, later


def _decide(batch: Sequence[Found], now: datetime) -> list[Row]:
    natives = {(found.target.site_id, found.native_id) for found in batch if found.native_id}
    stored = Article.objects.filter(
        Q(url_hash__in=[found.url_hash for found in batch])
        | Q(site_id__in={site for site, _ in natives}, native_post_id__in={native for _, native in natives})
    ).values_list("id", "url_hash", "native_post_id", "content_hash", "status", "site_id")
    by_url = {row[1]: Stored(row[0], row[1], row[2], row[3], row[4] or "") for row in stored}
    by_native = {(row[5], row[2]): by_url[row[1]] for row in stored if row[2]}
    rows = []
    for found in batch:
        record = build(found, now)
        same_id = by_native.get((found.target.site_id, found.native_id)) if found.native_id else None
        decision = decide(record.content_hash, record.status, same_id, by_url.get(found.url_hash))
        rows.append(Row(found, record, decision))
    return rows


def _insert(rows: list[Row], numbers: Iterable[int]) -> None:
    if not rows:
        return
    taken = iter(numbers)
    fresh = [
        Article(
            site_id=row.found.target.site_id,
            target_id=row.found.target.pk,
            status=row.record.status,
            content_hash=row.record.content_hash,
            change_seq=next(taken) if row.record.status == Article.Status.READY else None,
            rag_export_status=Article.RagStatus.PENDING,
            **row.record.values,
        )
        for row in rows
    ]
    Article.objects.bulk_create(fresh)
    # MySQL returns no ids from a bulk insert: they are read back by the unique key.
    ids = dict(Article.objects.filter(url_hash__in=[a.url_hash for a in fresh]).values_list("url_hash", "id"))
    for row, article in zip(rows, fresh, strict=True):
        article.pk = ids[article.url_hash]
        row.article = article
    ArticleContent.objects.bulk_create(
        [
            ArticleContent(article_id=row.article.pk, content_text=row.record.text, content_html=row.record.html)
            for row in rows
            if row.article
        ]
    )
    _add_revisions(rows, {row.article.pk: 1 for row in rows if row.article})
    for row in rows:
        _extensions(row)
        if row.article:
            _listing(row, row.article)


def _add_revisions(rows: list[Row], numbers: dict[int, int]) -> None:
    made = [
        ArticleRevision(
            article_id=row.article.pk,
            number=numbers[row.article.pk],
            content_hash=row.record.content_hash,
            title=row.record.values.get("title"),
            content_text=row.record.text,
            content_html=row.record.html,
            fields_json=revision_fields(row.record, row.found.files),
            raw_manifest={
                "list_row": dict(row.found.ref.raw),
                "ref": _ref_json(row.found.ref),
                "responses": list(row.found.manifest),
            },
            raw_html_path=row.record.values.get("raw_html_path"),
            parser_version=row.found.parser_version,
            fetched_at=row.found.fetched_at,
        )
        for row in rows
        if row.article
    ]
    ArticleRevision.objects.bulk_create(made)
    ids = dict(
        ArticleRevision.objects.filter(
            Q(*(Q(article_id=r.article_id, number=r.number) for r in made), _connector=Q.OR)
        ).values_list("article_id", "id")
    )
    articles = [row.article for row in rows if row.article]
    for article in articles:
        article.current_revision_id = ids[article.pk]
    Article.objects.bulk_update(articles, ["current_revision_id"])


def _ref_json(ref: ArticleRef) -> dict[str, Any]:
    """The list row as replay needs it."""
    return {
        "url": ref.url,
        "title": ref.title,
        "native_id": ref.native_id,
        "published_on": ref.published_on.isoformat() if ref.published_on else None,
    }


def _change(row: Row, numbers: Iterable[int], now: datetime) -> None:
    """An article that is stored already: a new revision when its content differs, else only the time of the check."""
    taken = iter(numbers)
    article = Article.objects.get(pk=row.decision.article_id or 0)
    row.article = article
    if row.decision.duplicate_id:
        _mark_duplicate(row.decision.duplicate_id, article.pk, row.decision.reason, next(taken))
    if row.decision.kind == "unchanged":
        Article.objects.filter(pk=article.pk).update(last_checked_at=now)
        _listing(row, article)
        return
    if row.found.parsed is None and article.status == Article.Status.READY:
        # The last good version stays (fault-model N8); the failure is listed by the crawler.
        row.decision = Decision("unchanged", article.pk)
        return
    was_told = article.change_seq is not None
    _take_values(article, row)
    if row.record.status == Article.Status.READY or was_told:
        article.change_seq = next(taken)
        article.rag_export_status = Article.RagStatus.PENDING
        article.exported_to_rag_at = None
        article.rag_export_started_at = article.rag_export_finished_at = article.rag_export_error = None
    article.save()
    ArticleContent.objects.update_or_create(
        article_id=article.pk, defaults={"content_text": row.record.text, "content_html": row.record.html}
    )
    last = ArticleRevision.objects.filter(article_id=article.pk).aggregate(last=Max("number"))["last"] or 0
    _add_revisions([row], {article.pk: last + 1})
    _extensions(row)
    _listing(row, article)


def _take_values(article: Article, row: Row) -> None:
    """The new values; where and by whom the article was first found, and its URL, stay as they were."""
    kept = (
        {"url", "url_hash", "canonical_url", "url_rule"}
        if row.decision.reason or row.found.url_hash != article.url_hash
        else set()
    )
    other_target = article.target_id not in (None, row.found.target.pk)
    inherited = (
        {"dept_id", "content_category", "content_subcategory", "channel_name", "channel_path"} if other_target else set()
    )
    for name, value in row.record.values.items():
        if name not in kept | inherited:
            setattr(article, name, value)
    article.native_post_id = row.record.values["native_post_id"] or article.native_post_id
    article.target_id = article.target_id or row.found.target.pk
    article.status = row.record.status
    article.content_hash = row.record.content_hash


def _mark_duplicate(article_id: int, original_id: int, reason: str, number: int) -> None:
    """Two rows turned out to be one article: the one found by URL points to the one found by the source's id."""
    duplicate = Article.objects.get(pk=article_id)
    duplicate.duplicate_of_id, duplicate.duplicate_reason = original_id, reason
    if duplicate.change_seq is not None:
        duplicate.change_seq = number
    duplicate.save(update_fields=["duplicate_of", "duplicate_reason", "change_seq", "updated_at"])


def _extensions(row: Row) -> None:
    if row.article is None:
        return
    _files(row.article.pk, row.found.files)
    if row.found.parsed and row.found.parsed.standard:
        _standard(row.article.pk, row.found.parsed.standard)


def _files(article_id: int, files: Sequence[StoredFile]) -> None:
    """Rows of the files, one a URL. A file that vanished from the page keeps its row in the older revision only."""
    have = {row.url_hash: row for row in Attachment.objects.filter(article_id=article_id)}
    fresh, told = [], set()
    for file in files:
        digest = url_hash(file.url)
        told.add(digest)
        row = have.get(digest)
        if row is None:
            fresh.append(Attachment(article_id=article_id, url_hash=digest, **_file_values(file, 0)))
        elif not (file.status != "done" and row.status == Attachment.Status.DONE):
            for name, value in _file_values(file, row.attempts).items():
                setattr(row, name, value)
            row.save()
    Attachment.objects.bulk_create(fresh)
    Attachment.objects.filter(article_id=article_id, url_hash__in=set(have) - told).delete()


def _file_values(file: StoredFile, attempts: int) -> dict[str, Any]:
    waiting = file.status == "pending"
    return {
        "file_name": safe_display_name(file.name) or None,
        "file_ext": (file.extension or None) and file.extension[:20],
        "size_bytes": file.size,
        "file_path": file.key,
        "file_hash": file.sha256,
        "downloaded_at": file.fetched_at if file.status == "done" else None,
        "source_url": file.url,
        "position": file.position,
        "mime": (file.mime or None) and file.mime[:127],
        "status": file.status,
        "error_class": file.error and file.error[:32],
        "attempts": attempts + 1,
        "next_retry_at": timezone.now() + FILE_RETRY * (attempts + 1) if waiting else None,
    }


def _standard(article_id: int, meta: StandardMeta) -> None:
    values = {name: value or None for name, value in asdict(meta).items() if name != "raw"}
    for name in ("ccs_codes", "ics_codes"):
        values[name] = list(values[name] or [])
    ArticleStandardMeta.objects.update_or_create(article_id=article_id, defaults=values | {"raw_meta_json": dict(meta.raw)})


def _listing(row: Row, article: Article) -> None:
    row_hash = url_hash(row.found.ref.url)
    elsewhere = row_hash if row_hash != article.url_hash else None
    if article.target_id != row.found.target.pk or elsewhere:
        ArticleListing.objects.update_or_create(
            article_id=article.pk, target=row.found.target, defaults={"row_hash": elsewhere} if elsewhere else {}
        )


def _outcome(row: Row) -> Outcome:
    kinds: dict[str, OutcomeKind] = {"insert": "inserted", "update": "updated", "unchanged": "known"}
    article_id = row.article.pk if row.article else None
    if row.found.parsed is None:
        return Outcome("failed", article_id, row.record.status, row.found.error)
    return Outcome(kinds[row.decision.kind], article_id, row.record.status)


def release_held() -> int:
    """Articles that waited a day for a file become ready without it (review of the design, 1.1); says how many."""
    long_ago = timezone.now() - timedelta(days=1)
    held = Article.objects.filter(status=Article.Status.RAW, created_at__lt=long_ago, title__isnull=False)
    complete = Q(word_count__gt=0) | Q(attachments__status=Attachment.Status.DONE)
    ids = list(held.filter(complete).distinct().values_list("pk", flat=True)[:500])
    if not ids:
        return 0

    def work() -> int:
        with transaction.atomic():
            for number, pk in zip(changes.next_numbers(len(ids)), ids, strict=True):
                Article.objects.filter(pk=pk, status=Article.Status.RAW).update(
                    status=Article.Status.READY, change_seq=number, rag_export_status=Article.RagStatus.PENDING
                )
        return len(ids)

    return retried(work)
