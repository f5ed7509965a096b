"""Articles to read, download and delete with a reason. What was crawled is never edited and never trusted as HTML."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import display
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from articles import changes, downloads, search
from articles.bodies import document
from articles.models import Article, ArticleContent, Attachment
from govcrawler.admin_base import ReadOnlyKeysetAdmin, action, admin_url, link, list_url, outward, register, require, short
from govcrawler.admin_wording import DUPLICATES, in_words
from govcrawler.audit import record as audit

ARTICLE = Prefetch("article", Article.objects.only("title", "url"))
REMOVE = "articles.delete_article"
SHOWN = 200
"""Revisions and files listed on the page of an article."""


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"), max_length=40, help_text=_("Consumers of the feed see it. At most 40 characters."), strip=True
    )


@register(Article)
class ArticleAdmin(ReadOnlyKeysetAdmin):
    keyset = ("publish_time", "id")
    list_display = (
        "heading",
        "site_link",
        "publish_time",
        "doc_no",
        "status",
        "rag_export_status",
        "has_attachment",
        "word_count",
    )
    list_display_links = ("heading",)
    list_filter = ("status", "rag_export_status", "is_effective", "site")
    list_prefetch = ("site",)
    search_fields = ("doc_no",)  # get_search_results decides; this shows the box
    search_help_text = _("Number, address or id; “title:words” is slower")
    actions = ("remove_selected",)
    change_form_template = "admin/articles/article/change_form.html"
    heavy = ("metadata_json", "rag_export_task_ids", "rag_export_error", "topic_words", "canonical_url")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "title",
                    "source_link",
                    ("site_page", "target_page"),
                    ("dept_page", "publisher"),
                    ("publish_time", "publish_precision", "publish_date"),
                    ("doc_no", "index_no"),
                    ("effective_date", "expiry_date", "is_effective"),
                    ("content_category", "content_subcategory", "open_category"),
                    ("channel_name", "channel_path"),
                    ("topic_words", "source_raw"),
                )
            },
        ),
        (
            _("State"),
            {
                "fields": (
                    ("status", "change_seq", "word_count"),
                    ("duplicate_link", "duplicate_why"),
                    ("rag_export_status", "exported_to_rag_at"),
                    ("rag_export_started_at", "rag_export_finished_at"),
                    "rag_export_error",
                    ("fetched_at", "last_checked_at"),
                    ("created_at", "updated_at"),
                )
            },
        ),
        (
            _("Identity and processing"),
            {
                "classes": ["collapse"],
                "fields": (
                    "native_post_id",
                    "canonical_url",
                    "url_hash",
                    "content_hash",
                    ("parser_version", "fetch_strategy"),
                    "metadata_json",
                ),
            },
        ),
    )

    def has_remove_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(REMOVE)

    def keyset_for(self, request: HttpRequest) -> tuple[str, ...]:
        """Articles of one state lie in the order of ids in its index; all others in the order of publication in theirs."""
        by_state = any(name.startswith(("status", "rag_export_status")) for name in request.GET)
        by_place = any(name.startswith(("site__", "target__")) for name in request.GET)
        return ("id",) if by_state and not by_place else self.keyset

    def get_queryset(self, request: HttpRequest) -> QuerySet[Article]:
        rows: QuerySet[Article] = super().get_queryset(request)
        match = request.resolver_match
        return rows.defer(*self.heavy) if match and (match.url_name or "").endswith("_changelist") else rows

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return search.find(queryset, search_term), False

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:object_id>/remove/", wrap(self.remove_view), name="articles_article_remove"),
            path("<int:object_id>/raw/", wrap(self.raw_view), name="articles_article_raw"),
            *super().get_urls(),
        ]

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        row = self.get_object(request, object_id) if object_id else None
        context = dict(extra_context or {})
        if row is not None and self.has_view_permission(request, row):
            body = ArticleContent.objects.filter(pk=row.pk).values_list("content_html", "content_text").first()
            context |= {
                "body_page": document(*body) if body else None,
                "files": _files(row),
                "revisions": row.revisions.defer("content_text", "content_html", "fields_json", "raw_manifest").order_by(
                    "-number"
                )[:SHOWN],
                "may_remove": self.has_remove_permission(request),
                "may_download": request.user.has_perm("articles.view_attachment"),
            }
        return super().changeform_view(request, object_id, form_url, context)

    @action(description=_("Delete selected articles with a reason"), permissions=["remove"])
    def remove_selected(self, request: HttpRequest, queryset: QuerySet[Article]) -> HttpResponse | None:
        chosen = list(queryset.order_by("pk")[: self.list_per_page])
        return self._remove(request, chosen, {"action": "remove_selected"}, list_url(Article))

    def remove_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        require(request, REMOVE)
        row = Article.objects.filter(pk=object_id).first()
        if row is None:
            raise Http404(object_id)
        done = self._remove(request, [row], {}, admin_url(row))
        return done or redirect(list_url(Article))

    def _remove(self, request: HttpRequest, rows: list[Article], keep: dict[str, str], cancel: str) -> HttpResponse | None:
        """The page that asks for the reason; with one, by POST, the deletion. None when done."""
        if not self.has_remove_permission(request):
            raise PermissionDenied(REMOVE)
        given = request.method == "POST" and "reason" in request.POST
        form = ReasonForm(request.POST if given else None)
        if not (given and form.is_valid()):
            context = {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "title": _("Delete with a reason"),
                "rows": rows,
                "form": form,
                "keep": keep,
                "cancel": cancel,
            }
            return TemplateResponse(request, "admin/articles/article/remove.html", context)
        gone = _deleted(rows, form.cleaned_data["reason"], audit.actor_of(request))
        audit.describe(request, action="article.delete", resource_type="article", resource_id=",".join(gone))
        text = ngettext("%(count)d article was deleted.", "%(count)d articles were deleted.", len(gone))
        self.message_user(request, text % {"count": len(gone)}, messages.SUCCESS)
        return None

    def raw_view(self, request: HttpRequest, object_id: int) -> Any:
        require(request, "articles.view_article")
        row = Article.objects.filter(pk=object_id).only("pk", "raw_html_path").first()
        if row is None:
            raise Http404(object_id)
        try:
            return downloads.raw_page(row)
        except downloads.NotStored:
            self.message_user(request, _("The stored page is missing: tell the operator."), messages.ERROR)
            return redirect(admin_url(row))

    @display(description=_("title"))
    def heading(self, row: Article) -> str | SafeString:
        return short(row.title or row.url)

    @display(description=_("site"))
    def site_link(self, row: Article) -> str | SafeString:
        return short(row.site, 20)

    @display(description=_("source"))
    def source_link(self, row: Article) -> str | SafeString:
        raw = reverse("admin:articles_article_raw", args=[row.pk])
        if not row.raw_html_path:
            return outward(row.url)
        download = format_html('<a class="text-primary-600 whitespace-nowrap" href="{}">{}</a>', raw, gettext("stored page"))
        return format_html("{} · {}", outward(row.url), download)

    @display(description=_("site"))
    def site_page(self, row: Article) -> str | SafeString:
        return link(row.site)

    @display(description=_("target"))
    def target_page(self, row: Article) -> str | SafeString:
        return link(row.target)

    @display(description=_("OA department"))
    def dept_page(self, row: Article) -> str | SafeString:
        return link(row.dept)

    @display(description=_("duplicate of"))
    def duplicate_link(self, row: Article) -> str | SafeString:
        return link(row.duplicate_of)

    @display(description=_("why a duplicate"))
    def duplicate_why(self, row: Article) -> str:
        return str(DUPLICATES.get(row.duplicate_reason or "", row.duplicate_reason or "-"))


def _deleted(rows: list[Article], reason: str, actor: str) -> list[str]:
    """The ids of the rows that were deleted: not those that somebody else deleted meanwhile."""
    gone = []
    for row in rows:
        try:
            changes.delete(row, reason=reason, actor=actor)
        except Article.DoesNotExist:
            continue
        gone.append(str(row.pk))
    return gone


def _files(row: Article) -> list[Attachment]:
    files = list(row.attachments.order_by("position", "id")[:SHOWN])
    for file in files:
        file.problem = in_words(file.error_class) if file.error_class else ""  # type: ignore[attr-defined]
    return files


@register(Attachment)
class AttachmentAdmin(ReadOnlyKeysetAdmin):
    list_display = ("name", "article_link", "file_ext", "size_bytes", "status", "problem", "attempts", "download")
    list_filter = ("status",)
    list_prefetch = (ARTICLE,)
    search_fields = ("=file_hash",)
    search_help_text = _("Whole SHA-256 of the file")
    fields = (
        "file_name",
        "article_link",
        "download",
        ("status", "problem"),
        ("attempts", "next_retry_at"),
        ("file_ext", "mime", "size_bytes"),
        "source_page",
        "file_hash",
        ("downloaded_at", "position"),
        ("word_count", "parser_version"),
    )
    goes_with_parent = True

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.download_view)
        return [path("<int:object_id>/download/", view, name="articles_attachment_download"), *super().get_urls()]

    def download_view(self, request: HttpRequest, object_id: int) -> Any:
        require(request, "articles.view_attachment")
        file = Attachment.objects.filter(pk=object_id).first()
        if file is None:
            raise Http404(object_id)
        try:
            if file.status != Attachment.Status.DONE:
                raise downloads.NotStored(file.status)
            return downloads.attachment(file)
        except downloads.NotStored:
            self.message_user(request, _("The file is not stored: its state says why."), messages.ERROR)
            return redirect(admin_url(file))

    @display(description=_("file name"))
    def name(self, row: Attachment) -> str | SafeString:
        return short(row)

    @display(description=_("article"))
    def article_link(self, row: Attachment) -> str | SafeString:
        return link(row.article, str(row.article)[:60])

    @display(description=_("URL"))
    def source_page(self, row: Attachment) -> str | SafeString:
        return outward(row.source_url)

    @display(description=_("error"))
    def problem(self, row: Attachment) -> str:
        return in_words(row.error_class)

    @display(description=_("download"))
    def download(self, row: Attachment) -> str | SafeString:
        if row.status != Attachment.Status.DONE:
            return "-"
        address = reverse("admin:articles_attachment_download", args=[row.pk])
        return format_html('<a class="text-primary-600 whitespace-nowrap" href="{}">{}</a>', address, gettext("download"))
