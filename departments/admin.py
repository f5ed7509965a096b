"""The OA's departments. They come from files; here they are found, corrected and bound."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import display
from django.db.models import Count
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from departments.models import LocalDepartment
from govcrawler.admin_base import GovAdmin, link, register

LEVELS = {1: _("city"), 2: _("county"), 3: _("town")}


@register(LocalDepartment)
class DepartmentAdmin(GovAdmin):
    list_display = ("dept_id", "dept_name", "short_name", "level", "region", "parent_dept_id", "state", "bindings")
    list_display_links = ("dept_id", "dept_name")
    list_filter = ("dept_level", "region", "state")
    search_fields = ("=dept_id", "dept_name", "short_name")
    search_help_text = _("OA id, name or short name")
    ordering = ("dept_id",)
    readonly_fields = ("updated_at", "bound_paths")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(paths=Count("site_paths"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, "dept_id") if obj else self.readonly_fields

    @display(description=_("level"), ordering="dept_level")
    def level(self, row: LocalDepartment) -> str:
        return str(LEVELS.get(row.dept_level or 0, "-"))

    @display(description=_("bound paths"), ordering="paths")
    def bindings(self, row: Any) -> int:
        return int(row.paths)

    @display(description=_("bound paths"))
    def bound_paths(self, row: LocalDepartment) -> str | SafeString:
        paths = row.site_paths.select_related("site").order_by("site_id", "dept_path")[:200]
        return format_html_join("\n", "<div>{} · {}</div>", ((path.site, link(path)) for path in paths)) or "-"
