"""What belongs to an article and never changes here: revisions, bodies, listings, standards, deletions."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.admin import display
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from articles.admin.article import ARTICLE
from articles.bodies import document
from articles.differences import between
from articles.models import ArticleContent, ArticleListing, ArticleRevision, ArticleStandardMeta, Tombstone
from govcrawler.admin_base import ReadOnlyKeysetAdmin, all_fields, link, outward, register, short


class OfArticle(ReadOnlyKeysetAdmin):
    """Rows of an article: they go with it, and their lists never load a body."""

    list_prefetch: ClassVar[tuple[Any, ...]] = (ARTICLE,)
    goes_with_parent = True
    heavy: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        match = request.resolver_match
        return rows.defer(*self.heavy) if self.heavy and match and (match.url_name or "").endswith("_changelist") else rows

    @display(description=_("article"))
    def article_link(self, row: Any) -> str | SafeString:
        return link(row.article, str(row.article)[:60])


@register(ArticleRevision)
class RevisionAdmin(OfArticle):
    list_display = ("no", "heading", "number", "article_link", "fetched_at", "created_at")
    list_display_links = ("no", "heading")
    heavy = ("content_text", "content_html", "fields_json", "raw_manifest")
    search_fields = ("=id",)
    search_help_text = _("Revision number of the feed")
    fields = (
        "title",
        ("article_link", "number"),
        ("fetched_at", "created_at"),
        "fields_json",
        "parser_version",
        "content_hash",
    )
    change_form_outer_after_template = "admin/articles/articlerevision/after.html"

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        row = self.get_object(request, object_id) if object_id else None
        context = dict(extra_context or {})
        if row is not None and self.has_view_permission(request, row):
            others = ArticleRevision.objects.filter(article_id=row.article_id)
            older = others.filter(number__lt=row.number).order_by("-number").first()
            context |= {
                "older": older,
                "newer": others.filter(number__gt=row.number).defer(*self.heavy).order_by("number").first(),
                "difference": between(older, row) if older else None,
                "body_page": document(row.content_html, row.content_text),
            }
        return super().changeform_view(request, object_id, form_url, context)

    @display(description=_("title"))
    def heading(self, row: ArticleRevision) -> str | SafeString:
        return short(row.title)


@register(ArticleContent)
class ContentAdmin(OfArticle):
    """Bodies: the text only. The article's page shows it as the source formats it."""

    keyset = ("pk",)
    list_display = ("article_link",)
    heavy = ("content_text", "content_html")
    fields = ("article_link", "content_text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("content_html")


@register(ArticleListing)
class ListingAdmin(OfArticle):
    list_display = ("no", "article_link", "target_link", "first_seen_at")
    list_prefetch = (ARTICLE, "target")
    search_fields = ("=row_hash",)
    search_help_text = _("Whole hash of the list row's URL")
    fields = ("article_link", "target_link", "row_hash", "first_seen_at")

    @display(description=_("target"))
    def target_link(self, row: ArticleListing) -> str | SafeString:
        return link(row.target)


@register(ArticleStandardMeta)
class StandardAdmin(OfArticle):
    list_display = ("no", "standard_no", "article_link", "standard_status", "publish_date", "implementation_date")
    list_display_links = ("no", "standard_no")
    list_filter = ("standard_status",)
    search_fields = ("standard_no__istartswith",)
    search_help_text = _("Beginning of the standard number")
    fields = ("article_link", *all_fields(ArticleStandardMeta, "id", "article"))


@register(Tombstone)
class TombstoneAdmin(ReadOnlyKeysetAdmin):
    list_display = ("article_id", "heading", "site_code", "reason", "deleted_by", "change_seq", "created_at")
    search_fields = ("=article_id", "=url_hash")
    search_help_text = _("Number of the deleted article or whole hash of its URL")
    fields = ("source", *all_fields(Tombstone, "id", "url"))

    @display(description=_("title"))
    def heading(self, row: Tombstone) -> str | SafeString:
        return short(row.title or row.url)

    @display(description=_("URL"))
    def source(self, row: Tombstone) -> str | SafeString:
        return outward(row.url)
