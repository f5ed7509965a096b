"""Jobs: what waits, what runs and why not; cancelled here, never edited."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin import display
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from crawl import jobs
from crawl.models import CrawlJob, CrawlRun
from govcrawler.admin_base import (
    ReadOnlyKeysetAdmin,
    action,
    back,
    button,
    link,
    register,
    require,
    short,
)
from govcrawler.admin_wording import in_words
from govcrawler.audit import record as audit
from sources.models import CrawlTarget

CANCEL = "crawl.change_crawljob"


def cancel_jobs(admin: Any, request: HttpRequest, job_ids: list[str]) -> None:
    """Cancels and says of each what became of it. Raises PermissionDenied."""
    require(request, CANCEL)
    words = {
        "canceled": _("Job %(job)s is canceled."),
        "stopping": _("Job %(job)s stops before its next request."),
    }
    active = set(CrawlJob.objects.filter(pk__in=job_ids, status__in=jobs.ACTIVE).values_list("pk", flat=True))
    for job_id in job_ids:
        state = jobs.cancel(job_id) if job_id in active else "ended"
        said = words.get(state, _("Job %(job)s has already ended."))
        level = messages.SUCCESS if state in words else messages.INFO
        admin.message_user(request, said % {"job": job_id[:8]}, level)
    audit.describe(request, action="job.cancel", resource_type="crawl_job", resource_id=",".join(job_ids))


@register(CrawlJob)
class JobAdmin(ReadOnlyKeysetAdmin):
    keyset = ("enqueued_at", "job_id")
    list_display = (
        "job",
        "target_code",
        "state",
        "buttons",
        "waits",
        "pages",
        "attempt_count",
        "source",
        "enqueued_at",
        "heartbeat_at",
    )
    list_filter = ("status", "source", "force")
    search_fields = ("=job_id", "=target_code", "=site_code", "=host")
    search_help_text = _("Job, target code, site code or host")
    actions = ("cancel_selected",)
    change_form_outer_before_template = "admin/crawl/crawljob/buttons.html"
    fieldsets = (
        (
            None,
            {"fields": (("target_page", "site_code"), ("state", "waits"), "not_before", ("pages", "attempt_count"), "failure")},
        ),
        (_("Order"), {"fields": (("source", "force"), ("enqueued_at", "scheduled_for"), "host")}),
        (
            _("Course"),
            {"fields": (("started_at", "finished_at"), ("heartbeat_at", "stop_requested"), "run_link", "result_json")},
        ),
        (_("Internals"), {"fields": ("job_id", "active_key", "lease_token", "cursor")}),
    )

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(CANCEL)

    def get_list_display(self, request: HttpRequest) -> Any:
        shown = super().get_list_display(request)
        return shown if self.has_cancel_permission(request) else [name for name in shown if name != "buttons"]

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.cancel_view)
        return [path("<str:object_id>/cancel/", view, name="crawl_crawljob_cancel"), *super().get_urls()]

    @action(description=_("Cancel selected jobs"), permissions=["cancel"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[CrawlJob]) -> None:
        cancel_jobs(self, request, list(queryset.values_list("job_id", flat=True)[: self.list_per_page]))

    @method_decorator(require_POST)
    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        require(request, CANCEL)
        if not CrawlJob.objects.filter(job_id=object_id).exists():
            raise Http404(object_id)
        cancel_jobs(self, request, [object_id])
        return back(request, reverse("admin:crawl_crawljob_changelist"))

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        row = self.get_object(request, object_id) if object_id else None
        can = row is not None and row.status in jobs.ACTIVE and self.has_cancel_permission(request)
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), "may_cancel": can})

    @display(description=_("job"))
    def job(self, row: CrawlJob) -> str:
        return row.job_id[:8]

    @display(description=_("status"))
    def state(self, row: CrawlJob) -> str:
        stopping = row.status == CrawlJob.Status.RUNNING and row.stop_requested
        return gettext("stopping") if stopping else row.get_status_display()

    @display(description=_("waits because"))
    def waits(self, row: CrawlJob) -> str | SafeString:
        return short(in_words(row.wait_reason)) if row.wait_reason else "-"

    @display(description=_("page"))
    def pages(self, row: CrawlJob) -> str:
        return f"{row.last_completed_page} / {row.current_page}"

    @display(description=_("error"))
    def failure(self, row: CrawlJob) -> str:
        return in_words(row.error_msg)

    @display(description=_("target"))
    def target_page(self, row: CrawlJob) -> str | SafeString:
        target = CrawlTarget.objects.filter(target_code=row.target_code).first()
        return link(target, row.target_code) if target else row.target_code

    @display(description=_("run"))
    def run_link(self, row: CrawlJob) -> str | SafeString:
        return link(CrawlRun.objects.filter(pk=row.run_id).first() if row.run_id else None)

    @display(description="")
    def buttons(self, row: CrawlJob) -> str | SafeString:
        if row.status not in jobs.ACTIVE:
            return ""
        return button(reverse("admin:crawl_crawljob_cancel", args=[row.pk]), gettext("Cancel job"), "danger")
