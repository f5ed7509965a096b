"""Sites, their department paths, targets and columns. What a file rules is shown and not changed here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.admin import display
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from govcrawler.admin_base import GovAdmin, ReadOnlyAdmin, all_fields, link, list_url, outward, register, short
from sources.adapters import adapter_ids
from sources.forms import PathForm, SiteForm, TargetForm
from sources.models import CrawlSite, CrawlTarget, MasterColumn, SiteDepartment
from sources.rescheduling import due_time, reschedule_site

FILE_RULES = _(
    "This site is kept in a file: it is shown here and changed in the file, then read again with the command for site files."
)


def by_file(site: CrawlSite | None) -> bool:
    return site is not None and site.managed_by == CrawlSite.ManagedBy.YAML


class FileRules(GovAdmin):
    """Rows of a site that a file rules can be looked at only, and the page says why."""

    def site_of(self, row: Any) -> CrawlSite | None:
        return row if isinstance(row, CrawlSite) else row.site

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj is not None and by_file(self.site_of(obj)))

    def delete_obstacles(self, row: Any) -> list[str]:
        if by_file(self.site_of(row)):
            return [gettext("%(row)s is kept in a file: remove it from the file.") % {"row": row}]
        return super().delete_obstacles(row)

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        if object_id and request.method == "GET":
            row = self.get_object(request, object_id)
            if row is not None and by_file(self.site_of(row)):
                self.message_user(request, FILE_RULES, messages.INFO)
        return super().changeform_view(request, object_id, form_url, extra_context)


@register(CrawlSite)
class SiteAdmin(FileRules):
    form = SiteForm
    list_display = ("site_code", "name", "site_role", "reads", "managed_by", "enabled", "schedule_cron", "address")
    list_filter = ("site_role", "managed_by", "enabled", "cms_adapter")
    search_fields = ("site_code", "site_name", "base_url")
    search_help_text = _("Site code, name or base URL")
    ordering = ("site_code",)
    readonly_fields = ("managed_by", "children", "created_at", "updated_at")
    fieldsets = (
        (
            None,
            {"fields": (("site_code", "site_name"), "base_url", ("site_role", "managed_by"), "enabled", "remark", "children")},
        ),
        (_("How it is read"), {"fields": ("cms_adapter", "yaml_path", "adapter_params_json")}),
        (
            _("Pace and times"),
            {
                "fields": (
                    "schedule_cron",
                    ("crawl_window_start", "crawl_window_end"),
                    ("weekend_enabled", "respect_robots"),
                    "daily_max_requests",
                    ("backoff_min_sec", "backoff_max_sec"),
                    ("default_fetch_strategy", "strategy_override_reason"),
                )
            },
        ),
        (_("History"), {"fields": (("created_at", "updated_at"),)}),
    )

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "cms_adapter":
            kwargs["widget"] = UnfoldAdminSelectWidget(choices=[("", "-"), *((name, name) for name in adapter_ids())])
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: CrawlSite, form: Any, change: bool) -> None:
        if not change:
            obj.managed_by = CrawlSite.ManagedBy.UI
        super().save_model(request, obj, form, change)
        if change and {"schedule_cron", "enabled"} & set(form.changed_data):
            reschedule_site(obj, timezone.now())

    @display(description=_("name"), ordering="site_name")
    def name(self, row: CrawlSite) -> str | SafeString:
        return short(row.site_name)

    @display(description=_("adapter or file"))
    def reads(self, row: CrawlSite) -> str:
        return row.cms_adapter or row.yaml_path or "-"

    @display(description=_("base URL"))
    def address(self, row: CrawlSite) -> str | SafeString:
        return outward(row.base_url)

    @display(description=_("belongs to it"))
    def children(self, row: CrawlSite) -> str | SafeString:
        if row.pk is None:
            return "-"
        return format_html(
            '<a class="text-primary-600" href="{}?site__id__exact={}">{}</a> · '
            '<a class="text-primary-600" href="{}?site__id__exact={}">{}</a> · '
            '<a class="text-primary-600" href="{}?site__id__exact={}">{}</a>',
            list_url(CrawlTarget),
            row.pk,
            _("targets"),
            list_url(SiteDepartment),
            row.pk,
            _("department paths"),
            list_url(MasterColumn),
            row.pk,
            _("columns"),
        )


@register(SiteDepartment)
class PathAdmin(FileRules):
    """On a site that a file rules, the binding still is the steward's: a file that leaves it out keeps it."""

    form = PathForm
    list_display = ("dept_path", "site_link", "dept_display_name", "dept_binding", "department", "detect_status", "enabled")
    list_filter = ("dept_binding", "detect_status", "enabled", "site")
    search_fields = ("dept_path", "dept_display_name")
    search_help_text = _("Path or display name")
    list_select_related = ("site", "local_dept")
    autocomplete_fields = ("site", "local_dept")
    ordering = ("site", "dept_path")
    readonly_fields = ("last_probed_at", "last_classify_json", "created_at", "updated_at")
    goes_with_parent = True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super(FileRules, self).has_change_permission(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: SiteDepartment | None = None) -> Any:
        if obj is not None and by_file(obj.site):
            free = ("dept_binding", "local_dept")
            return tuple(dict.fromkeys((*self.readonly_fields, *all_fields(SiteDepartment, "id", *free))))
        return self.readonly_fields

    @display(description=_("site"), ordering="site__site_code")
    def site_link(self, row: SiteDepartment) -> str | SafeString:
        return link(row.site)

    @display(description=_("OA department"))
    def department(self, row: SiteDepartment) -> str | SafeString:
        return link(row.local_dept)


@register(CrawlTarget)
class TargetAdmin(FileRules):
    form = TargetForm
    list_display = (
        "target_code",
        "name",
        "site_link",
        "enabled",
        "cron",
        "next_due_at",
        "last_crawled_at",
        "last_article_time",
    )
    list_filter = ("enabled", "site", "content_category")
    search_fields = ("target_code", "target_name", "entry_url")
    search_help_text = _("Target code, name or entry URL")
    list_select_related = ("site",)
    autocomplete_fields = ("site", "site_department", "dept")
    ordering = ("target_code",)
    readonly_fields = (
        "next_due_at",
        "last_crawled_at",
        "last_article_time",
        "backfill_completed_at",
        "created_at",
        "updated_at",
    )
    fieldsets = (
        (None, {"fields": ("site", ("target_code", "target_name"), "entry_url", "sample_article_url", "enabled")}),
        (
            _("Inherited by its articles"),
            {
                "fields": (
                    ("site_department", "dept"),
                    ("channel_name", "channel_path"),
                    ("content_category", "content_subcategory"),
                )
            },
        ),
        (
            _("Pace and times"),
            {
                "fields": (
                    ("schedule_cron", "expected_cadence_days"),
                    ("interval_sec", "interval_jitter_sec"),
                    "track_checkpoint",
                    "parser_override_json",
                )
            },
        ),
        (
            _("History"),
            {
                "fields": (
                    ("next_due_at", "last_crawled_at"),
                    ("last_article_time", "backfill_completed_at"),
                    ("created_at", "updated_at"),
                )
            },
        ),
    )

    def save_model(self, request: HttpRequest, obj: CrawlTarget, form: Any, change: bool) -> None:
        if self.follows(form) or not change:
            obj.next_due_at = due_time(obj, timezone.now())
        super().save_model(request, obj, form, change)

    def follows(self, form: Any) -> Iterable[str]:
        return ("next_due_at",) if {"schedule_cron", "enabled", "site"} & set(form.changed_data) else ()

    @display(description=_("name"), ordering="target_name")
    def name(self, row: CrawlTarget) -> str | SafeString:
        return short(row.target_name)

    @display(description=_("site"), ordering="site__site_code")
    def site_link(self, row: CrawlTarget) -> str | SafeString:
        return link(row.site)

    @display(description=_("cron"))
    def cron(self, row: CrawlTarget) -> str:
        return row.schedule_cron or row.site.schedule_cron or "-"


@register(MasterColumn)
class ColumnAdmin(ReadOnlyAdmin):
    """What adapters found. Not typed by hand."""

    list_display = ("column_id", "column", "site_link", "adapter_id", "admin_level", "post_count", "subscribed", "active")
    list_filter = ("active", "admin_level", "site")
    search_fields = ("=column_id", "column_name")
    search_help_text = _("Column id or name")
    list_select_related = ("site", "subscribed_target")
    ordering = ("site", "column_id")
    fields = all_fields(MasterColumn, "id")
    goes_with_parent = True

    @display(description=_("path"), ordering="column_path")
    def column(self, row: MasterColumn) -> str | SafeString:
        return short(row)

    @display(description=_("site"), ordering="site__site_code")
    def site_link(self, row: MasterColumn) -> str | SafeString:
        return link(row.site)

    @display(description=_("subscribed as"))
    def subscribed(self, row: MasterColumn) -> str | SafeString:
        return link(row.subscribed_target)
