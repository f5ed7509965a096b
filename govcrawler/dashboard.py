"""The status box of the admin's first page: few queries, each by an index, each counted to a cap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from articles.models import Article
from crawl.health import HEARTBEAT_LATE_SEC, worker_heartbeat_age
from crawl.models import CrawlJob

CAP = 10_000
LONGEST_JOB = timedelta(days=30)
"""Jobs queued longer ago are not looked at when failures of the last day are counted."""


def status(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Adds the title, and ``status_cards`` for users who may see jobs."""
    context["title"] = gettext("Overview")
    if request.user.has_perm("crawl.view_crawljob"):
        context["status_cards"] = [_workers(), *_jobs(), _backlog()]
    return context


def _workers() -> dict[str, Any]:
    age = worker_heartbeat_age()
    alive = age is not None and age <= HEARTBEAT_LATE_SEC
    if age is None:
        note = gettext("No worker was ever started: start the worker command.")
    elif alive:
        note = gettext("last heard of %(sec)d s ago") % {"sec": age}
    else:
        note = gettext("silent for %(min)d min: start the worker command again") % {"min": age // 60}
    value = gettext("running") if alive else gettext("not running")
    return {"title": gettext("Workers"), "value": value, "note": note, "good": alive, "url": _list("crawl_crawlcluster")}


def _jobs() -> list[dict[str, Any]]:
    jobs = CrawlJob.objects.all()
    now = timezone.now()
    failed = jobs.filter(status="failed", enqueued_at__gte=now - LONGEST_JOB, finished_at__gte=now - timedelta(days=1))
    address = _list("crawl_crawljob")
    cards = (
        (gettext("Queued jobs"), jobs.filter(status="queued"), "?status__exact=queued", True),
        (gettext("Running jobs"), jobs.filter(status="running"), "?status__exact=running", True),
        (gettext("Failed jobs, 24 hours"), failed, "?status__exact=failed", not failed.exists()),
    )
    return [
        {"title": title, "value": _counted(rows), "note": "", "good": good, "url": address + query}
        for title, rows, query, good in cards
    ]


def _backlog() -> dict[str, Any]:
    waiting = Article.objects.filter(status="ready", rag_export_status="pending")
    address = _list("articles_article") + "?status__exact=ready&rag_export_status__exact=pending"
    return {"title": gettext("Waiting for RAG"), "value": _counted(waiting), "note": "", "good": True, "url": address}


def _counted(rows: QuerySet[Any]) -> str:
    count = rows.order_by()[: CAP + 1].count()
    return f"{CAP}+" if count > CAP else str(count)


def _list(name: str) -> str:
    return reverse(f"admin:{name}_changelist")
