"""How a steward finds an article: by number, address, source's id or hash through indexes; by words of the title slowly."""

from __future__ import annotations

import re

from django.db.models import Q, QuerySet

from articles.models import Article
from sources.models import CrawlSite
from sources.parsing.urls import url_hash

MOST = 1_000
"""Hits taken of each index; more are cut."""
HASH = re.compile(r"[0-9a-f]{64}\Z")
TITLE = re.compile(r"(?:title|标题)\s*[:\uff1a]\s*(.+)\Z", re.IGNORECASE | re.DOTALL)


def find(rows: QuerySet[Article], typed: str) -> QuerySet[Article]:
    """``rows`` that match. ``title:words`` or ``标题：words`` reads every title of the list; all else uses indexes."""
    typed = typed.strip()
    if title := TITLE.match(typed):
        return rows.filter(title__icontains=title[1].strip())
    if not typed:
        return rows
    if typed.lower().startswith(("http://", "https://")):
        try:
            return rows.filter(url_hash=url_hash(typed))
        except ValueError:
            return rows.none()
    if HASH.match(typed):
        return rows.filter(url_hash=typed)
    # One query an index: MariaDB answers an OR over several columns by reading the table. ``istartswith`` is a plain LIKE,
    # which an index serves; ``startswith`` is LIKE BINARY, which none does.
    sites = list(CrawlSite.objects.values_list("pk", flat=True))
    queries = [Q(doc_no__istartswith=typed), Q(index_no__istartswith=typed), Q(site_id__in=sites, native_post_id=typed)]
    if typed.isascii() and typed.isdigit() and len(typed) < 19:
        queries.append(Q(pk=int(typed)))
    found: set[int] = set()
    for query in queries:
        found.update(Article.objects.filter(query).values_list("pk", flat=True)[:MOST])
    return rows.filter(pk__in=found)
