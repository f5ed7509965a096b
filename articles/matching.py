"""Found articles beside what is stored of them: which row each one is, read in a few queries for the whole batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from articles import attaching
from articles.dedupe import Decision, Stored, decide
from articles.models import Article
from articles.record import Found, Record, build
from sources.parsing.urls import url_hash


@dataclass(eq=False)
class Row:
    """One article on its way through the transaction: the visit, its stored row if there is one, and that row's files."""

    found: Found
    record: Record
    decision: Decision
    article: Article | None
    have: attaching.Have

    @property
    def id(self) -> int:
        assert self.article is not None, "the row is stored"
        return self.article.pk

    @property
    def is_failure_of_good(self) -> bool:
        """The page could not be parsed, and a version that could is stored."""
        return self.found.parsed is None and self.article is not None and self.article.status != Article.Status.FAILED


def next_round(waiting: list[tuple[int, Found]], now: datetime) -> tuple[dict[int, Row], list[tuple[int, Found]]]:
    """Decided rows that do not meet each other, neither in a unique key nor in a stored article; the rest waits its turn."""
    chosen: list[tuple[int, Found]] = []
    later: list[tuple[int, Found]] = []
    keys: set[tuple[Any, ...]] = set()
    for index, found in waiting:
        own: set[tuple[Any, ...]] = {("url", found.url_hash)}
        if found.native_id:
            own.add(("native", found.target.site_id, found.native_id))
        (later if keys & own else chosen).append((index, found))
        keys |= own
    rows: dict[int, Row] = {}
    taken: set[int] = set()
    for (index, found), row in zip(chosen, _decide([found for _, found in chosen], now), strict=True):
        touched = {pk for pk in (row.decision.article_id, row.decision.duplicate_id) if pk}
        if touched & taken:
            later.append((index, found))
        else:
            rows[index] = row
            taken |= touched
    return rows, sorted(later, key=lambda entry: entry[0])


def _decide(batch: Sequence[Found], now: datetime) -> Iterator[Row]:
    hashes = {found.url_hash for found in batch} | {url_hash(found.ref.url) for found in batch}
    stored = {article.pk: article for article in Article.objects.filter(url_hash__in=hashes)}
    for site in {found.target.site_id for found in batch}:
        natives = {found.native_id for found in batch if found.native_id and found.target.site_id == site}
        for row in Article.objects.filter(site_id=site, native_post_id__in=natives) if natives else ():
            stored.setdefault(row.pk, row)
    by_url = {article.url_hash: article for article in stored.values()}
    by_native = {(article.site_id, article.native_post_id): article for article in stored.values() if article.native_post_id}
    files = attaching.stored(stored)
    for found in batch:
        same_id = by_native.get((found.target.site_id, found.native_id)) if found.native_id else None
        same_url = by_url.get(found.url_hash) or _never_read(by_url.get(url_hash(found.ref.url)))
        article = same_id or same_url
        have = files.get(article.pk, {}) if article else {}
        settled = replace(found, files=attaching.settled(found.files, have))
        record = build(settled, now, article)
        decision = decide(record.content_hash, record.status, _seen(same_id), _seen(same_url))
        yield Row(settled, record, decision, article, have)


def _never_read(article: Article | None) -> Article | None:
    """A list row's page that could not be parsed was stored under the row's URL, wherever the row leads to now."""
    return article if article and article.status == Article.Status.FAILED else None


def _seen(article: Article | None) -> Stored | None:
    return Stored(article.pk, article.content_hash, article.status or "") if article else None
