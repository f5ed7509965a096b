"""The politeness ledger, to look at and to hand to a webmaster."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import display
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from crawl import ledger
from crawl.models import CrawlHostDay
from govcrawler.admin_base import ReadOnlyAdmin, all_fields, register


@register(CrawlHostDay)
class HostDayAdmin(ReadOnlyAdmin):
    list_display = (
        *("day", "host", "requests", "bytes", "status_2xx", "status_3xx", "status_4xx", "status_5xx", "unanswered"),
        *("robots_refusals", "shortest", "longest"),
    )
    list_display_links = ("day", "host")
    list_filter = ("day",)
    search_fields = ("host__startswith",)
    search_help_text = _("Beginning of the host")
    ordering = ("-day", "host")
    fields = all_fields(CrawlHostDay, "id")
    actions = ("export_csv",)

    @action(description=_("Save the selected rows as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet[CrawlHostDay]) -> HttpResponse:
        answer = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")  # the mark makes Excel read UTF-8
        answer["Content-Disposition"] = 'attachment; filename="politeness.csv"'
        ledger.write_csv(queryset.order_by("day", "host"), answer)
        return answer

    @display(description=_("shortest gap, s"), ordering="shortest_gap_ms")
    def shortest(self, row: CrawlHostDay) -> str:
        return _seconds(row.shortest_gap_ms)

    @display(description=_("longest gap, s"), ordering="longest_gap_ms")
    def longest(self, row: CrawlHostDay) -> str:
        return _seconds(row.longest_gap_ms)


def _seconds(milliseconds: Any) -> str:
    return "-" if milliseconds is None else f"{milliseconds / 1000:.1f}"
