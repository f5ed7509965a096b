"""Handing revisions to consumers: claim under a lease, then acknowledge. Each revision once, none lost (invariant 7).

``consumer_state`` has one row per consumer and article: in flight, failed, parked, or done with the first time it was
acknowledged. What has no row yet is found by the consumer's cursor over ``article.change_seq``. Locks are taken in one order:
cursor, article, state. For the consumer ``rag`` the columns ``article.rag_export_*`` are a projection, written in the same
transaction. Claims and acknowledgements take no change number.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Now

from articles import changes
from articles.models import Article, ArticleRevision, ConsumerCursor, ConsumerState
from articles.store import retried
from govcrawler.clock import now_plus

log = logging.getLogger(__name__)
State = ConsumerState.State
RagStatus = Article.RagStatus

MAIN_CONSUMER = "rag"
MAX_ATTEMPTS = 10
"""After so many claims that ended in nothing a revision is parked; only a person or a newer revision brings it back."""
FIRST_RETRY_SEC = 60
LAST_RETRY_SEC = 3600
SCAN = 500
SCANS = 10
"""A claim looks at no more than SCANS x SCAN changes, so its time is bounded however many of them are not for export."""

Code = Literal["acked", "repeat", "superseded", "not_found", "failed_recorded", "parked"]


@dataclass(frozen=True)
class Claimed:
    """One revision handed out."""

    article_id: int
    revision: int
    attempt: int


@dataclass(frozen=True)
class Claim:
    """What a claim got; ``token`` None when there was nothing. ``lease_until`` by the database's clock (UTC)."""

    token: str | None
    lease_until: datetime | None
    items: list[Claimed]


@dataclass(frozen=True)
class Ack:
    """What a consumer says of a revision."""

    article_id: int
    revision: int
    status: Literal["done", "failed"]
    task_ids: Sequence[str] = ()
    error: str = ""
    retry_after_sec: int | None = None


@dataclass(frozen=True)
class AckResult:
    """What the acknowledgement did. ``newer_revision``: a later revision of the article that is (or will be) offered."""

    article_id: int
    revision: int
    code: Code
    acked_at: datetime | None = None
    newer_revision: int | None = None


def claim(consumer: str, limit: int, lease_seconds: int) -> Claim:
    """Takes up to ``limit`` revisions for ``consumer``: first what failed or was left lying, then what is new.

    Concurrent claims of one consumer queue at its cursor row, so they get disjoint sets.
    """
    return retried(lambda: _claim(consumer, limit, lease_seconds))


def _claim(consumer: str, limit: int, lease_seconds: int) -> Claim:
    token = secrets.token_hex(16)
    upto = changes.current_number()
    with transaction.atomic():
        cursor, _ = ConsumerCursor.objects.select_for_update().get_or_create(consumer=consumer)
        taken = _take(consumer, _due(consumer, limit), token, lease_seconds, due=True)
        position = cursor.position
        for _scan in range(SCANS):
            if taken >= limit or position >= upto:
                break
            ids, position = _next_articles(position, upto, limit - taken)
            taken += _take(consumer, ids, token, lease_seconds, due=False)
        if position != cursor.position:
            cursor.position = position
            cursor.save(update_fields=["position", "updated_at"])
        rows = list(
            ConsumerState.objects.filter(token=token)
            .order_by("id")
            .values_list("article_id", "revision_id", "attempts", "lease_until")
        )
    if not rows:
        return Claim(None, None, [])
    return Claim(token, rows[0][3], [Claimed(*row[:3]) for row in rows])


def _due(consumer: str, limit: int) -> list[int]:
    """Articles whose retry or lease is over. ``retry_at`` holds the end of the lease while a row is exporting."""
    rows = ConsumerState.objects.filter(consumer=consumer, state__in=[State.FAILED, State.EXPORTING], retry_at__lte=Now())
    return list(rows.order_by("retry_at", "id").values_list("article_id", flat=True)[:limit])


def _next_articles(position: int, upto: int, limit: int) -> tuple[list[int], int]:
    """Articles after the cursor that are for export, at most ``limit``, and the cursor behind what was looked at."""
    rows = Article.objects.filter(change_seq__gt=position, change_seq__lte=upto).order_by("change_seq")
    ids: list[int] = []
    seen = 0
    for number, article_id, status, original in rows.values_list("change_seq", "id", "status", "duplicate_of_id")[:SCAN]:
        position, seen = int(number or 0), seen + 1
        if status == Article.Status.READY and original is None:
            ids.append(article_id)
        if len(ids) == limit:
            return ids, position
    return ids, position if seen == SCAN else upto


def _take(consumer: str, article_ids: Sequence[int], token: str, lease_seconds: int, *, due: bool) -> int:
    """Claims these articles at their current revision; says how many."""
    locked = Article.objects.select_for_update().filter(pk__in=article_ids).order_by("pk")
    articles = {row[0]: row[1:] for row in locked.values_list("id", "current_revision_id", "status", "duplicate_of_id")}
    rows = {
        row.article_id: row for row in ConsumerState.objects.select_for_update().filter(consumer=consumer, article__in=articles)
    }
    fresh: list[ConsumerState] = []
    same: list[int] = []
    newer: list[tuple[int, int]] = []
    for article_id, (revision, status, original) in articles.items():
        row = rows.get(article_id)
        if status != Article.Status.READY or original is not None or revision is None:
            _drop(row)
        elif row is None:
            fresh.append(ConsumerState(consumer=consumer, article_id=article_id, revision_id=revision, state=State.EXPORTING))
        elif row.revision_id != revision or (row.state == State.DONE and row.acked_revision_id != revision):
            newer.append((row.pk, revision))
        elif due and row.attempts >= MAX_ATTEMPTS:
            _park(row, "the lease ran out each time")
        elif due and row.state in {State.FAILED, State.EXPORTING}:
            same.append(row.pk)
    ConsumerState.objects.bulk_create(fresh)
    new_ids = ConsumerState.objects.filter(consumer=consumer, article__in=[row.article_id for row in fresh]).values_list(
        "pk", flat=True
    )
    _lease([*new_ids, *same], token, lease_seconds, attempts=F("attempts") + 1)
    for pk, revision in newer:
        _lease([pk], token, lease_seconds, attempts=Value(1), revision_id=revision, task_ids=None)
    if consumer == MAIN_CONSUMER:
        mine = ConsumerState.objects.filter(token=token).values_list("article_id", flat=True)
        Article.objects.filter(pk__in=list(mine)).update(
            rag_export_status=RagStatus.EXPORTING,
            rag_export_started_at=Now(),
            rag_export_finished_at=None,
            rag_export_error=None,
        )
    return len(fresh) + len(same) + len(newer)


def _lease(pks: Iterable[int], token: str, lease_seconds: int, **values: Any) -> None:
    until = now_plus(lease_seconds)
    ConsumerState.objects.filter(pk__in=list(pks)).update(
        state=State.EXPORTING, token=token, lease_until=until, retry_at=until, error=None, updated_at=Now(), **values
    )


def _drop(row: ConsumerState | None) -> None:
    """The article was withdrawn while it was claimed or waited: nothing to hand out until it is ready again."""
    if row is not None and row.state != State.DONE:
        ConsumerState.objects.filter(pk=row.pk).delete()


def _park(row: ConsumerState, error: str) -> None:
    log.error("revision parked: %s", error, extra={"data": {"consumer": row.consumer, "article": row.article_id}})
    ConsumerState.objects.filter(pk=row.pk).update(
        state=State.PARKED, token=None, lease_until=None, retry_at=None, error=error, updated_at=Now()
    )
    _project(
        row.consumer, row.article_id, rag_export_status=RagStatus.FAILED, rag_export_error=error, rag_export_finished_at=Now()
    )


def _project(consumer: str, article_id: int, **values: Any) -> None:
    if consumer == MAIN_CONSUMER:
        Article.objects.filter(pk=article_id).update(**values)


@dataclass
class _Batch:
    """The rows of one acknowledgement, locked."""

    consumer: str
    current: dict[int, tuple[int | None, bool]]
    states: dict[int, ConsumerState]
    own: set[tuple[int, int]]
    results: list[AckResult] = field(default_factory=list)


def ack(consumer: str, items: Sequence[Ack]) -> list[AckResult]:
    """Records what ``consumer`` did with revisions, one result an item, in order. Repeating it changes nothing.

    A revision may be acknowledged without a claim (consumers that only poll the ready list) when it is the current one.
    """
    return retried(lambda: _ack(consumer, items))


def _ack(consumer: str, items: Sequence[Ack]) -> list[AckResult]:
    with transaction.atomic():
        batch = _locked(consumer, items)
        return [_ack_one(batch, item) for item in items]


def _locked(consumer: str, items: Sequence[Ack]) -> _Batch:
    ids = {item.article_id for item in items}
    articles = Article.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    current = {
        pk: (revision, status == Article.Status.READY and original is None)
        for pk, revision, status, original in articles.values_list("id", "current_revision_id", "status", "duplicate_of_id")
    }
    states = {
        row.article_id: row for row in ConsumerState.objects.select_for_update().filter(consumer=consumer, article__in=current)
    }
    told = ArticleRevision.objects.filter(pk__in={item.revision for item in items}, article__in=current)
    return _Batch(consumer, current, states, set(told.values_list("article_id", "id")))


def _ack_one(batch: _Batch, item: Ack) -> AckResult:
    if (item.article_id, item.revision) not in batch.own:
        return AckResult(item.article_id, item.revision, "not_found")
    current, shown = batch.current[item.article_id]
    newer = current if shown and current is not None and current > item.revision else None
    row = batch.states.get(item.article_id)
    if row is not None and row.state == State.DONE and row.revision_id == item.revision:
        return AckResult(item.article_id, item.revision, "repeat", row.acked_at, newer)
    if row is not None and row.revision_id > item.revision:
        return AckResult(item.article_id, item.revision, "superseded", None, newer or row.revision_id)
    if row is None or row.revision_id < item.revision:
        if item.revision != current or not shown:
            return AckResult(item.article_id, item.revision, "superseded" if newer else "not_found", None, newer)
        row = _unclaimed(batch, item, row)
    if item.status == "done":
        return _done(batch, row, item, newer)
    return _failed(batch, row, item, newer)


def _unclaimed(batch: _Batch, item: Ack, row: ConsumerState | None) -> ConsumerState:
    row = row or ConsumerState(consumer=batch.consumer, article_id=item.article_id)
    row.revision_id, row.state, row.attempts = item.revision, State.EXPORTING, 1
    row.save()
    batch.states[item.article_id] = row
    return row


def _done(batch: _Batch, row: ConsumerState, item: Ack, newer: int | None) -> AckResult:
    ConsumerState.objects.filter(pk=row.pk).update(
        state=State.DONE,
        token=None,
        lease_until=None,
        retry_at=None,
        error=None,
        task_ids=list(item.task_ids),
        acked_revision_id=item.revision,
        acked_at=Now(),
        updated_at=Now(),
    )
    row.refresh_from_db()
    if batch.current[item.article_id][0] == item.revision:
        _project(
            batch.consumer,
            item.article_id,
            rag_export_status=RagStatus.DONE,
            exported_to_rag_at=row.acked_at,
            rag_export_finished_at=row.acked_at,
            rag_export_error=None,
            rag_export_task_ids=list(item.task_ids),
        )
    return AckResult(item.article_id, item.revision, "superseded" if newer else "acked", row.acked_at, newer)


def _failed(batch: _Batch, row: ConsumerState, item: Ack, newer: int | None) -> AckResult:
    if row.state == State.PARKED:
        return AckResult(item.article_id, item.revision, "parked", None, newer)
    if row.state == State.FAILED:
        return AckResult(item.article_id, item.revision, "repeat", None, newer)
    if row.attempts >= MAX_ATTEMPTS:
        _park(row, item.error or "failed")
        row.refresh_from_db()
        return AckResult(item.article_id, item.revision, "parked", None, newer)
    wait = item.retry_after_sec if item.retry_after_sec is not None else retry_delay(row.attempts)
    ConsumerState.objects.filter(pk=row.pk).update(
        state=State.FAILED,
        token=None,
        lease_until=None,
        retry_at=now_plus(wait),
        error=item.error or "failed",
        task_ids=list(item.task_ids),
        updated_at=Now(),
    )
    row.refresh_from_db()
    if batch.current[item.article_id][0] == item.revision:
        _project(
            batch.consumer,
            item.article_id,
            rag_export_status=RagStatus.FAILED,
            rag_export_finished_at=Now(),
            rag_export_error=item.error or "failed",
            rag_export_task_ids=list(item.task_ids),
        )
    return AckResult(item.article_id, item.revision, "failed_recorded", None, newer)


def retry_delay(attempts: int) -> int:
    """Seconds until a failed revision is offered again: doubling from one minute to one hour."""
    return min(FIRST_RETRY_SEC << min(max(attempts - 1, 0), 6), LAST_RETRY_SEC)
