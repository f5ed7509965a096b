"""Rows of lists whose articles could not be had: written down, tried again by later runs, given up after five tries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from django.db.models import F, Q
from django.utils import timezone

from articles.record import plain_json, ref_json
from crawl.errors import ErrorClass
from crawl.models import CrawlFailure
from govcrawler.fields import storable
from sources.adapters.base import ArticleRef
from sources.models import CrawlTarget
from sources.parsing.urls import url_hash

ATTEMPTS = 5
FIRST_RETRY = timedelta(minutes=30)


def record(target: CrawlTarget, ref: ArticleRef, error_class: ErrorClass, message: str) -> None:
    """Notes a failure; the next try doubles its distance each time, and there is none after the fifth."""
    row, created = CrawlFailure.objects.get_or_create(
        target=target,
        url_hash=url_hash(ref.url),
        defaults={
            "url": ref.url,
            "ref_json": _as_json(ref),
            "error_class": error_class.value,
            "error_msg": storable(message)[:500],
            "next_retry_at": timezone.now() + FIRST_RETRY,
        },
    )
    if created:
        return
    attempts = row.attempts + 1
    again = timezone.now() + FIRST_RETRY * 2 ** (attempts - 1) if attempts < ATTEMPTS else None
    CrawlFailure.objects.filter(pk=row.pk).update(
        attempts=F("attempts") + 1,
        error_class=error_class.value,
        error_msg=storable(message)[:500],
        last_failed_at=timezone.now(),
        next_retry_at=again,
        ref_json=_as_json(ref),
    )


def clear(target: CrawlTarget, urls: Sequence[str]) -> None:
    """The articles of these rows were had after all."""
    if urls:
        CrawlFailure.objects.filter(target=target, url_hash__in=[url_hash(url) for url in urls]).delete()


def waiting(target: CrawlTarget, urls: list[str]) -> set[str]:
    """Of these row URLs, those that failed before and are not due again (or given up): a run does not ask for them."""
    by_hash = {url: url_hash(url) for url in urls}
    rows = CrawlFailure.objects.filter(target=target, url_hash__in=set(by_hash.values()))
    later = rows.filter(Q(next_retry_at__isnull=True) | Q(next_retry_at__gt=timezone.now()))
    resting = set(later.values_list("url_hash", flat=True))
    return {url for url, digest in by_hash.items() if digest in resting}


def due(target: CrawlTarget) -> Iterator[ArticleRef]:
    """List rows to try again now."""
    rows = CrawlFailure.objects.filter(target=target, next_retry_at__lte=timezone.now(), attempts__lt=ATTEMPTS)
    for row in rows.order_by("next_retry_at"):
        if row.ref_json:
            yield _from_json(row.ref_json)


def _as_json(ref: ArticleRef) -> dict[str, object]:
    return ref_json(ref) | {"raw": plain_json(ref.raw)}


def _from_json(data: dict[str, object]) -> ArticleRef:
    published = data.get("published_on")
    told = {**data, "published_on": date.fromisoformat(str(published)) if published else None}
    return ArticleRef(**told)  # type: ignore[arg-type]
