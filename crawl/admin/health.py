"""How the sources do: health, field coverage and alarms. Read-only."""

from __future__ import annotations

from django.contrib.admin import display
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from crawl.models import Alarm, FieldCoverage, SourceHealth
from govcrawler.admin_base import ReadOnlyAdmin, ReadOnlyKeysetAdmin, all_fields, link, register, short
from govcrawler.admin_wording import in_words


@register(SourceHealth)
class HealthAdmin(ReadOnlyAdmin):
    list_display = (
        "target_link",
        "last_success_at",
        "last_failure_at",
        "consecutive_failures",
        "runs_7d",
        "rate",
        "last_inserted_at",
    )
    list_select_related = ("target",)
    ordering = ("-consecutive_failures", "target")
    fields = ("target_link", *all_fields(SourceHealth, "target"))
    goes_with_parent = True

    @display(description=_("target"))
    def target_link(self, row: SourceHealth) -> str | SafeString:
        return link(row.target)

    @display(description=_("success rate, 7 days"))
    def rate(self, row: SourceHealth) -> str:
        return "-" if row.success_rate_7d is None else f"{row.success_rate_7d:.0%}"


@register(FieldCoverage)
class CoverageAdmin(ReadOnlyKeysetAdmin):
    list_display = (
        *("recorded_at", "target", "run_id", "articles", "with_title", "with_date", "with_index_no", "with_doc_no"),
        *("with_publisher", "with_body", "body_chars"),
    )
    list_prefetch = ("target",)
    fields = all_fields(FieldCoverage, "id")
    goes_with_parent = True


@register(Alarm)
class AlarmAdmin(ReadOnlyKeysetAdmin):
    list_display = ("no", "severity", "kind", "subject", "said", "status", "occurrences", "last_seen_at")
    list_display_links = ("no", "subject")
    list_filter = ("status", "severity", "kind")
    fields = ("said", *all_fields(Alarm, "id", "open_key", "message"))

    @display(description=_("message"))
    def said(self, row: Alarm) -> str | SafeString:
        return short(in_words(row.message), 200)
