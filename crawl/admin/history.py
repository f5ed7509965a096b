"""What crawling left behind: requests, runs, failures, hosts, workers and days. Read-only."""

from __future__ import annotations

from django.contrib.admin import display
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from crawl.models import CrawlCluster, CrawlFailure, CrawlHost, CrawlLog, CrawlRun, CrawlSiteDay
from govcrawler.admin_base import ReadOnlyAdmin, ReadOnlyKeysetAdmin, all_fields, outward, register, short
from govcrawler.admin_wording import SCOPES, in_words


@register(CrawlLog)
class LogAdmin(ReadOnlyKeysetAdmin):
    list_display = ("occurred_at", "site_name", "address", "http_status", "duration_ms", "success", "error")
    list_filter = ("success", "site")
    list_prefetch = ("site",)
    fields = ("source", *all_fields(CrawlLog, "id", "article_url", "error_msg"), "error")

    def keyset_for(self, request: HttpRequest) -> tuple[str, ...]:
        """Rows of a site or target lie in the order of their time in an index; those of all sites in the order of ids."""
        narrowed = any(name.startswith(("site__", "target__")) for name in request.GET)
        return ("occurred_at", "id") if narrowed else ("id",)

    @display(description=_("site"))
    def site_name(self, row: CrawlLog) -> str | SafeString:
        return short(row.site, 20)

    @display(description=_("URL"))
    def address(self, row: CrawlLog) -> str | SafeString:
        return short(row.article_url)

    @display(description=_("URL"))
    def source(self, row: CrawlLog) -> str | SafeString:
        return outward(row.article_url)

    @display(description=_("error"))
    def error(self, row: CrawlLog) -> str | SafeString:
        return short(in_words(row.error_msg), 200)


@register(CrawlRun)
class RunAdmin(ReadOnlyKeysetAdmin):
    keyset = ("started_at", "id")
    list_display = (
        "no",
        "target_code",
        "status",
        "started_at",
        "finished_at",
        "pages",
        "requests",
        "discovered",
        "inserted",
        "updated",
        "known",
        "failed",
    )
    list_display_links = ("no", "target_code")
    list_filter = ("status", "site")
    search_fields = ("=id", "=job_id")
    search_help_text = _("Number of the run or its job")
    fields = (
        ("site", "target"),
        ("status", "extent"),
        ("started_at", "finished_at"),
        ("declared_total", "declared_pages"),
        ("pages", "requests", "bytes"),
        ("discovered", "fetched", "inserted", "updated"),
        ("known", "duplicate", "skipped", "failed"),
        ("site_code", "target_code", "job_id"),
        "errors_json",
        "warnings_json",
        "metrics_json",
    )

    @display(description=_("scope"))
    def extent(self, row: CrawlRun) -> str:
        return str(SCOPES.get(row.scope, row.scope))


@register(CrawlFailure)
class FailureAdmin(ReadOnlyKeysetAdmin):
    list_display = ("no", "address", "target", "kind", "message", "attempts", "last_failed_at", "next_retry_at")
    list_display_links = ("no", "address")
    list_filter = ("error_class",)
    list_prefetch = ("target",)
    search_fields = ("=url_hash",)
    search_help_text = _("Whole hash of the URL")
    fields = ("source", "kind", "message", *all_fields(CrawlFailure, "id", "url", "error_class", "error_msg"))

    goes_with_parent = True

    @display(description=_("URL"))
    def address(self, row: CrawlFailure) -> str | SafeString:
        return short(row.url)

    @display(description=_("URL"))
    def source(self, row: CrawlFailure) -> str | SafeString:
        return outward(row.url)

    @display(description=_("error"))
    def kind(self, row: CrawlFailure) -> str:
        return in_words(row.error_class)

    @display(description=_("message"))
    def message(self, row: CrawlFailure) -> str | SafeString:
        return short(in_words(row.error_msg), 200)


@register(CrawlHost)
class HostAdmin(ReadOnlyAdmin):
    list_display = (
        "host",
        "lease_until",
        "next_allowed_at",
        "backoff_until",
        "reason",
        "consecutive_failures",
        "robots_status",
    )
    search_fields = ("host__startswith",)
    search_help_text = _("Beginning of the host")
    ordering = ("host",)
    fields = (*all_fields(CrawlHost, "backoff_reason"), "reason")

    @display(description=_("backs off because"))
    def reason(self, row: CrawlHost) -> str | SafeString:
        return short(in_words(row.backoff_reason), 200)


@register(CrawlCluster)
class ClusterAdmin(ReadOnlyAdmin):
    list_display = ("hostname", "pid", "stop", "started_at", "heartbeat_at")
    ordering = ("-heartbeat_at",)
    fields = all_fields(CrawlCluster)


@register(CrawlSiteDay)
class SiteDayAdmin(ReadOnlyKeysetAdmin):
    list_display = ("day", "site", "requests")
    list_filter = ("site",)
    list_prefetch = ("site",)
    fields = ("site", "day", "requests")
    goes_with_parent = True
