"""The admin's theme: titles, the menu in the order of a steward's day, the status box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

TITLE = _("GovCrawler")


def _allowed(permission: str) -> Callable[[HttpRequest], bool]:
    def check(request: HttpRequest) -> bool:
        return request.user.has_perm(permission)

    return check


def _item(title: Any, icon: str, app: str, model: str) -> dict[str, Any]:
    return {
        "title": capfirst(title),
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{model}_changelist"),
        "permission": _allowed(f"{app}.view_{model}"),
    }


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": TITLE,
    "SITE_HEADER": TITLE,
    "SITE_URL": None,
    "SITE_SYMBOL": "travel_explore",
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "govcrawler.dashboard.status",
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {
                "items": [
                    {"title": _("Overview"), "icon": "dashboard", "link": reverse_lazy("admin:index")},
                    _item(_("articles"), "article", "articles", "article"),
                    _item(_("targets"), "target", "sources", "crawltarget"),
                    _item(_("jobs"), "play_circle", "crawl", "crawljob"),
                    _item(_("runs"), "receipt_long", "crawl", "crawlrun"),
                ]
            },
            {
                "title": _("Sources"),
                "collapsible": True,
                "items": [
                    _item(_("sites"), "public", "sources", "crawlsite"),
                    _item(_("department paths"), "account_tree", "sources", "sitedepartment"),
                    _item(_("columns"), "view_column", "sources", "mastercolumn"),
                    _item(_("departments"), "corporate_fare", "departments", "localdepartment"),
                    _item(_("source health"), "monitor_heart", "crawl", "sourcehealth"),
                ],
            },
            {
                "title": _("Articles"),
                "collapsible": True,
                "items": [
                    _item(_("files"), "attach_file", "articles", "attachment"),
                    _item(_("revisions"), "history", "articles", "articlerevision"),
                    _item(_("deletions"), "delete", "articles", "tombstone"),
                    _item(_("standard metadata"), "rule", "articles", "articlestandardmeta"),
                    _item(_("listings"), "list", "articles", "articlelisting"),
                    _item(_("bodies"), "notes", "articles", "articlecontent"),
                ],
            },
            {
                "title": _("Crawling"),
                "collapsible": True,
                "items": [
                    _item(_("failed articles"), "error", "crawl", "crawlfailure"),
                    _item(_("requests"), "http", "crawl", "crawllog"),
                    _item(_("hosts"), "dns", "crawl", "crawlhost"),
                    _item(_("politeness ledger"), "handshake", "crawl", "crawlhostday"),
                    _item(_("requests by day"), "calendar_month", "crawl", "crawlsiteday"),
                    _item(_("workers"), "engineering", "crawl", "crawlcluster"),
                ],
            },
            {
                "title": _("API and RAG"),
                "collapsible": True,
                "items": [
                    _item(_("API keys"), "key", "access", "apikey"),
                    _item(_("key usage"), "bar_chart", "access", "apikeyusage"),
                    _item(_("consumers"), "move_to_inbox", "articles", "consumercursor"),
                    _item(_("consumer states"), "checklist", "articles", "consumerstate"),
                ],
            },
            {
                "title": _("Administration"),
                "collapsible": True,
                "items": [
                    _item(_("audit log"), "policy", "audit", "adminauditlog"),
                    _item(_("field changes"), "difference", "auditlog", "logentry"),
                    _item(_("users"), "person", "auth", "user"),
                    _item(_("groups"), "group", "auth", "group"),
                    _item(_("schedules"), "schedule", "django_q", "schedule"),
                    _item(_("task failures"), "report", "django_q", "failure"),
                ],
            },
        ],
    },
}

AUDITLOG_INCLUDE_TRACKING_MODELS: tuple[dict[str, Any], ...] = (
    {"model": "departments.LocalDepartment", "exclude_fields": ["site_paths", "targets", "articles"]},
    {
        "model": "sources.CrawlSite",
        "exclude_fields": ["id", "updated_at", "departments", "targets", "columns", "articles", "runs", "days"],
    },
    {
        "model": "sources.SiteDepartment",
        "exclude_fields": ["id", "updated_at", "last_probed_at", "last_classify_json", "targets"],
    },
    {
        "model": "sources.CrawlTarget",
        "exclude_fields": [
            *("id", "updated_at", "next_due_at", "last_crawled_at", "last_article_time", "backfill_completed_at"),
            *("columns", "articles", "listings", "runs", "failures", "health"),
        ],
    },
    {"model": "access.ApiKey", "exclude_fields": ["id", "key_hash", "last_used_at", "usage"]},
    {"model": "auth.User", "exclude_fields": ["id", "password", "last_login"]},
    {"model": "auth.Group", "exclude_fields": ["id"]},
)
"""Whose fields' changes are kept one by one; never hashes, nor what workers move, nor the rows of other tables."""
