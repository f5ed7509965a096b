"""Finding articles: filters, orders and pages by key, never by OFFSET."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from articles.api.inputs import PageQuery, decode_cursor, encode_cursor
from articles.api.rows import article_rows
from articles.models import Article
from departments.models import LocalDepartment
from govcrawler.access.problems import invalid
from sources.models import CrawlSite, CrawlTarget

ORDERS = {"newest": "-id", "oldest": "id", "change": "change_seq"}
VALIDITY = {"in_force": True, "not_in_force": False, "unknown": None}
CONTENT = ["none", "text"]
EQUAL = {"category": "content_category", "doc_no": "doc_no", "index_no": "index_no"}


class ArticlesQuery(PageQuery):
    site = serializers.CharField(required=False, help_text="site_code")
    target = serializers.CharField(required=False, help_text="target_code; the target that found the article first")
    department = serializers.IntegerField(required=False, help_text="OA id")
    region = serializers.CharField(required=False, help_text="Region of the department, e.g. 连州")
    category = serializers.CharField(required=False, help_text="content_category")
    published_from = serializers.DateField(required=False, help_text="publish_date, first day")
    published_to = serializers.DateField(required=False, help_text="publish_date, last day")
    updated_from = serializers.DateTimeField(required=False, help_text="updated_at, ISO 8601 with offset")
    doc_no = serializers.CharField(required=False)
    index_no = serializers.CharField(required=False)
    validity = serializers.ChoiceField(list(VALIDITY), required=False)
    status = serializers.ChoiceField([*Article.Status.values, "any"], default="ready")
    title = serializers.CharField(required=False, min_length=2, help_text="Part of the title")
    order = serializers.ChoiceField(list(ORDERS), default="newest")
    content = serializers.ChoiceField(CONTENT, default="none")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        first, last = attrs.get("published_from"), attrs.get("published_to")
        if first and last and first > last:
            raise serializers.ValidationError({"published_to": [f"{last} is before published_from {first}."]})
        return attrs


class ReadyQuery(PageQuery):
    content = serializers.ChoiceField(CONTENT, default="none")


def articles_page(asked: dict[str, Any]) -> dict[str, Any]:
    """A page of the articles that fit the checked query. Raises Problem 422 for a name or cursor that does not exist."""
    order = asked["order"]
    rows = _filtered(asked)
    if order == "change":
        rows = rows.filter(change_seq__isnull=False)
    return _page(rows, order, ORDERS[order], asked)


def ready_page(asked: dict[str, Any]) -> dict[str, Any]:
    """Ready articles that RAG has not acknowledged, in the order of their changes (seed 000, section 6)."""
    return _page(ready_rows(), "change", "change_seq", asked)


def ready_rows() -> QuerySet[Article]:
    return Article.objects.filter(
        status=Article.Status.READY, exported_to_rag_at__isnull=True, duplicate_of__isnull=True, change_seq__isnull=False
    )


def _filtered(asked: dict[str, Any]) -> QuerySet[Article]:
    rows = Article.objects.all()
    if asked["status"] != "any":
        rows = rows.filter(status=asked["status"])
    if "site" in asked:
        rows = rows.filter(site_id=_existing("site", CrawlSite.objects.filter(site_code=asked["site"]), asked))
    if "target" in asked:
        rows = rows.filter(target_id=_existing("target", CrawlTarget.objects.filter(target_code=asked["target"]), asked))
    if "department" in asked:
        rows = rows.filter(dept_id=_existing("department", LocalDepartment.objects.filter(pk=asked["department"]), asked))
    if "region" in asked:
        rows = rows.filter(dept__region=asked["region"])
    rows = rows.filter(**{column: asked[name] for name, column in EQUAL.items() if name in asked})
    if "published_from" in asked:
        rows = rows.filter(publish_date__gte=asked["published_from"])
    if "published_to" in asked:
        rows = rows.filter(publish_date__lte=asked["published_to"])
    if "updated_from" in asked:
        rows = rows.filter(updated_at__gte=asked["updated_from"])
    if "validity" in asked:
        wanted = VALIDITY[asked["validity"]]
        rows = rows.filter(is_effective__isnull=True) if wanted is None else rows.filter(is_effective=wanted)
    if "title" in asked:
        rows = rows.filter(title__icontains=asked["title"])
    return rows


def _existing(name: str, rows: Any, asked: dict[str, Any]) -> int:
    """The key of the one row. Nothing found for a misspelt code would look like an empty site."""
    found: int | None = rows.values_list("pk", flat=True).first()
    if found is None:
        raise invalid(name, f"There is no {name} {asked[name]!r}.", "not_found")
    return found


def _page(rows: QuerySet[Article], order: str, column: str, asked: dict[str, Any]) -> dict[str, Any]:
    limit = asked["limit"]
    name = column.lstrip("-")
    if "cursor" in asked:
        (last,) = decode_cursor(asked["cursor"], order, int)
        rows = rows.filter(**{f"{name}__{'lt' if column.startswith('-') else 'gt'}": last})
    found = article_rows(rows.order_by(column)[: limit + 1], text=asked["content"] == "text")
    items = found[:limit]
    key = "change_number" if name == "change_seq" else "id"
    return {"items": items, "next_cursor": encode_cursor(order, items[-1][key]) if len(found) > limit else None}
