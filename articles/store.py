"""Saving what a crawl found: one short transaction a batch, no HTTP and no file work inside.

The change counter is locked first, so change numbers grow in commit order and writers queue instead of deadlocking. A batch
that a bad row spoils is saved again row by row, and only the bad row fails (review of the design, 3.6).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from django.db.models import Exists, Max, OuterRef, Q
from django.utils import timezone

from articles import attaching, changes
from articles.dedupe import Decision
from articles.matching import Row, next_round
from articles.models import (
    Article,
    ArticleContent,
    ArticleListing,
    ArticleRevision,
    ArticleStandardMeta,
    Attachment,
)
from articles.record import HELD_LONGEST, Found, clean_id, plain_json, ref_json, revision_fields
from govcrawler.crashpoints import crashpoint
from sources.adapters.base import ArticleRef
from sources.models import CrawlTarget
from sources.parsing.urls import url_hash

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRIES = 5
DEADLOCK_CODES = {1020, 1205, 1213}
"""MariaDB: record changed, lock wait timeout, deadlock. The whole transaction is done again (fault-model D3, D4)."""
PART_CHARACTERS = 2_000_000
"""Most text and HTML that one transaction writes: the statement stays below MariaDB's default packet of 16 MB."""

NUMBERS = 3
"""Change numbers that one found article may need: its own, its duplicate's, and its own again when it stood for a duplicate."""

OutcomeKind = Literal["inserted", "updated", "known", "duplicate", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What became of a found article."""

    kind: OutcomeKind
    article_id: int | None = None
    status: str = ""
    error: str = ""


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
    """Stored articles among the rows of a list page: row URL -> article id, by the source's id, URL hash or a noted row."""
    listed = [(ref.url, url_hash(ref.url), clean_id(ref.native_id)) for ref in refs]
    hashes = {digest for _, digest, _ in listed}
    natives = {native for _, _, native in listed if native}
    read = Article.objects.exclude(status=Article.Status.FAILED)
    # Two queries: an OR over two indexes may be answered by reading the table.
    by_native = dict(read.filter(site_id=site_id, native_post_id__in=natives).values_list("native_post_id", "id"))
    by_hash = dict(read.filter(url_hash__in=hashes).values_list("url_hash", "id"))
    noted = ArticleListing.objects.filter(row_hash__in=hashes).exclude(article__status=Article.Status.FAILED)
    by_row = dict(noted.values_list("row_hash", "article_id"))
    found = {url: by_native.get(native or "") or by_hash.get(digest) or by_row.get(digest) for url, digest, native in listed}
    return {url: article_id for url, article_id in found.items() if article_id}


def note_listings(article_ids: Iterable[int], target: CrawlTarget) -> None:
    """Records that ``target`` lists these articles too; the first target of an article is ``article.target``."""
    ids = set(article_ids)
    have = set(ArticleListing.objects.filter(article_id__in=ids, target=target).values_list("article_id", flat=True))
    own = set(Article.objects.filter(id__in=ids, target=target).values_list("id", flat=True))
    new = [ArticleListing(article_id=article_id, target=target) for article_id in ids - have - own]
    ArticleListing.objects.bulk_create(new, ignore_conflicts=True)  # another job may note the same


def save_batch(batch: Sequence[Found]) -> list[Outcome]:
    """Saves found articles and says what became of each, in order. Raises OperationalError when the database is away."""
    return [outcome for part in _parts(batch) for outcome in _save(part)]


def _parts(batch: Sequence[Found]) -> Iterator[list[Found]]:
    """The batch in pieces that the database takes in one statement: long bodies go alone."""
    part: list[Found] = []
    size = 0
    for found in batch:
        own = len(found.parsed.body_text) + len(found.parsed.body_html) if found.parsed else 0
        if part and size + own > PART_CHARACTERS:
            yield part
            part, size = [], 0
        part.append(found)
        size += own
    if part:
        yield part


def _save(batch: Sequence[Found]) -> list[Outcome]:
    try:
        outcomes = retried(lambda: _transaction(batch))
    except (IntegrityError, DataError, ValueError, OverflowError) as error:
        # The last two: what the driver or the JSON field refuses before the database can.
        if len(batch) == 1:
            log.error("article refused by the database: %s", error, extra={"data": {"url": batch[0].url}})
            return [Outcome("failed", error=f"DB: {error}")]
        outcomes = [outcome for found in batch for outcome in _save([found])]
    crashpoint("save.after_commit")
    return outcomes


def _transaction(batch: Sequence[Found]) -> list[Outcome]:
    now = timezone.now()
    with transaction.atomic():
        numbers = iter(changes.next_numbers(len(batch) * NUMBERS))
        outcomes: dict[int, Outcome] = {}
        waiting = list(enumerate(batch))
        while waiting:
            rows, waiting = next_round(waiting, now)
            _insert([row for row in rows.values() if row.decision.kind == "insert"], numbers)
            _change([row for row in rows.values() if row.decision.kind != "insert"], numbers, now)
            outcomes |= {index: _outcome(row) for index, row in rows.items()}
        crashpoint("save.in_transaction")
    return [outcomes[index] for index in range(len(batch))]


def _insert(rows: list[Row], numbers: Iterator[int]) -> None:
    if not rows:
        return
    fresh = [
        Article(
            site_id=row.found.target.site_id,
            target_id=row.found.target.pk,
            status=row.record.status,
            content_hash=row.record.content_hash,
            change_seq=next(numbers) if row.record.status == Article.Status.READY else None,
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
        [ArticleContent(article_id=row.id, content_text=row.record.text, content_html=row.record.html) for row in rows]
    )
    _add_revisions(rows, {row.id: 1 for row in rows})
    attaching.create((row.id, row.found.files) for row in rows)
    ArticleStandardMeta.objects.bulk_create(
        [ArticleStandardMeta(article_id=row.id, **row.record.standard) for row in rows if row.record.standard]
    )
    for row in rows:
        _listing(row)


def _add_revisions(rows: list[Row], numbers: Mapping[int, int]) -> None:
    if not rows:
        return
    ArticleRevision.objects.bulk_create([_revision(row, numbers[row.id]) for row in rows])
    made = ArticleRevision.objects.filter(article_id__in=[row.id for row in rows])
    ids = dict(made.values_list("article_id").annotate(newest=Max("id")))
    articles = [row.article for row in rows if row.article]
    for article in articles:
        article.current_revision_id = ids[article.pk]
    Article.objects.bulk_update(articles, ["current_revision_id"])


def _revision(row: Row, number: int) -> ArticleRevision:
    record, found = row.record, row.found
    return ArticleRevision(
        article_id=row.id,
        number=number,
        content_hash=record.content_hash,
        title=record.values.get("title"),
        content_text=record.text,
        content_html=record.html,
        fields_json=revision_fields(record, found.files),
        raw_manifest={
            "list_row": plain_json(found.ref.raw),
            "ref": ref_json(found.ref),
            "responses": list(found.manifest),
        },
        raw_html_path=record.values.get("raw_html_path"),
        parser_version=found.parser_version,
        fetched_at=found.fetched_at,
    )


def _change(rows: list[Row], numbers: Iterator[int], now: datetime) -> None:
    """Articles that are stored already: a new revision where the content differs, else only the time of the check."""
    changed: list[Row] = []
    for row in rows:
        if row.decision.duplicate_id:
            _mark_duplicate(row, numbers)
        if row.is_failure_of_good:
            # The last good version stays (fault-model N8); the failure is listed by the crawler.
            row.decision = Decision("unchanged", row.id)
        elif row.decision.kind == "update":
            changed.append(row)
        else:
            attaching.change(row.id, row.found.files, row.have)
            _listing(row)
    checked = [row.id for row in rows if row not in changed and not row.is_failure_of_good]
    if checked:
        Article.objects.filter(pk__in=checked).update(last_checked_at=now)
    if changed:
        _update(changed, numbers)


def _update(rows: list[Row], numbers: Iterator[int]) -> None:
    ids = [row.id for row in rows]
    counted = ArticleRevision.objects.filter(article_id__in=ids).values_list("article_id").annotate(last=Max("number"))
    last = dict(counted.order_by())
    bodies = set(ArticleContent.objects.filter(article_id__in=ids).values_list("article_id", flat=True))
    # A change of state alone (a file given up, a day waited) is told, and is no new version (review of the design, 2.4).
    revised = [row for row in rows if row.article and row.article.content_hash != row.record.content_hash]
    for row in rows:
        _take_values(row, numbers)
        body = ArticleContent(article_id=row.id, content_text=row.record.text, content_html=row.record.html)
        body.save(force_insert=row.id not in bodies, force_update=row.id in bodies)
        attaching.change(row.id, row.found.files, row.have)
        if row.record.standard:
            ArticleStandardMeta.objects.update_or_create(article_id=row.id, defaults=row.record.standard)
        _listing(row)
    _add_revisions(revised, {row.id: last.get(row.id, 0) + 1 for row in revised})


def _take_values(row: Row, numbers: Iterator[int]) -> None:
    """The new values; where the article was first found, and its URL, stay as they were."""
    article, record = row.article, row.record
    assert article is not None, "a changed row has its article"
    moved = row.found.url_hash != article.url_hash and article.status != Article.Status.FAILED
    kept = {"url", "url_hash", "canonical_url", "url_rule"} if row.decision.duplicate_id or moved else set()
    native_id = record.values["native_post_id"] or article.native_post_id
    for name, value in record.values.items():
        if name not in kept:
            setattr(article, name, value)
    article.native_post_id = native_id
    article.target_id = article.target_id or row.found.target.pk
    article.status = record.status
    article.content_hash = record.content_hash
    if record.status == Article.Status.READY or article.change_seq is not None:
        article.change_seq = next(numbers)
        article.rag_export_status = Article.RagStatus.PENDING
        article.exported_to_rag_at = None
        article.rag_export_started_at = article.rag_export_finished_at = article.rag_export_error = None
    article.save()


def _mark_duplicate(row: Row, numbers: Iterator[int]) -> None:
    """Two rows turned out to be one article: the one found by URL points to the one found by the source's id."""
    original = row.article
    duplicate = Article.objects.get(pk=row.decision.duplicate_id or 0)
    assert original is not None, "a duplicate has its original"
    if duplicate.duplicate_of_id == original.pk:
        return
    if original.duplicate_of_id == duplicate.pk:
        # Never a circle: two rows that each stand for the other would both be withdrawn.
        original.duplicate_of_id = original.duplicate_reason = None
        _save_place(original, numbers)
    duplicate.duplicate_of_id, duplicate.duplicate_reason = original.pk, row.decision.reason
    _save_place(duplicate, numbers)


def _save_place(article: Article, numbers: Iterator[int]) -> None:
    if article.change_seq is not None:
        article.change_seq = next(numbers)
    article.save(update_fields=["duplicate_of", "duplicate_reason", "change_seq", "updated_at"])


def _listing(row: Row) -> None:
    """Notes a further target, or a list row whose URL is not the article's, so that it is known next time without a fetch."""
    article, target = row.article, row.found.target
    if article is None:
        return
    row_hash = url_hash(row.found.ref.url)
    elsewhere = row_hash if row_hash != article.url_hash else None
    if article.target_id != target.pk or elsewhere:
        ArticleListing.objects.update_or_create(
            article_id=article.pk, target=target, defaults={"row_hash": elsewhere} if elsewhere else {}
        )


def _outcome(row: Row) -> Outcome:
    kinds: dict[str, OutcomeKind] = {"insert": "inserted", "update": "updated", "unchanged": "known"}
    if row.found.parsed is None:
        return Outcome("failed", row.id, row.record.status, row.found.error)
    return Outcome(kinds[row.decision.kind], row.id, row.record.status)


def release_held() -> int:
    """Articles that waited a day for a file become ready without it (review of the design, 1.1); says how many.

    What a person took back (``changes.withdraw``) stays held.
    """
    long_ago = timezone.now() - HELD_LONGEST
    held = Article.objects.filter(
        Q(word_count__gt=0) | Exists(Attachment.objects.filter(article=OuterRef("pk"), status=Attachment.Status.DONE)),
        Exists(Attachment.objects.filter(article=OuterRef("pk"), status=Attachment.Status.PENDING)),
        status=Article.Status.RAW,
        created_at__lt=long_ago,
        title__isnull=False,
    ).exclude(metadata_json__has_key="withdrawn")
    ids = list(held.order_by("pk").values_list("pk", flat=True)[:500])
    return retried(lambda: _release(ids)) if ids else 0


def _release(ids: Sequence[int]) -> int:
    released = 0
    with transaction.atomic():
        for number, pk in zip(changes.next_numbers(len(ids)), ids, strict=True):
            released += Article.objects.filter(pk=pk, status=Article.Status.RAW).update(
                status=Article.Status.READY,
                change_seq=number,
                rag_export_status=Article.RagStatus.PENDING,
                exported_to_rag_at=None,
                updated_at=timezone.now(),
            )
    return released
