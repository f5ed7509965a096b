"""Run, force and cancel on the target screens: POST, permission and an audit row each (fault-model X1)."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import display
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from crawl import jobs
from crawl.admin.job import CANCEL, cancel_jobs
from crawl.models import CrawlJob
from govcrawler.admin_base import action, admin_url, back, button, link, register, require
from govcrawler.audit import record as audit
from sources.admin import TargetAdmin
from sources.models import CrawlSite, CrawlTarget

RUN = "crawl.add_crawljob"

admin.site.unregister(CrawlTarget)


@register(CrawlTarget)
class RunnableTargetAdmin(TargetAdmin):
    list_display: Any = (*TargetAdmin.list_display, "buttons")
    actions = ("run_selected", "force_selected", "cancel_selected", "delete_selected")
    change_form_outer_before_template = "admin/sources/crawltarget/buttons.html"

    def has_run_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(RUN)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(CANCEL)

    def get_list_display(self, request: HttpRequest) -> Any:
        shown = super().get_list_display(request)
        return shown if self.has_run_permission(request) else [name for name in shown if name != "buttons"]

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:object_id>/run/", wrap(self.run_view), {"force": False}, name="sources_crawltarget_run"),
            path("<int:object_id>/force/", wrap(self.run_view), {"force": True}, name="sources_crawltarget_force"),
            path("<int:object_id>/cancel/", wrap(self.cancel_view), name="sources_crawltarget_cancel"),
            *super().get_urls(),
        ]

    @method_decorator(require_POST)
    def run_view(self, request: HttpRequest, object_id: int, force: bool) -> HttpResponse:
        require(request, RUN)
        target = self._target(object_id)
        self._run(request, [target], force)
        return back(request, admin_url(target))

    @method_decorator(require_POST)
    def cancel_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        require(request, CANCEL)
        target = self._target(object_id)
        self._cancel(request, [target])
        return back(request, admin_url(target))

    @action(description=_("Run selected targets"), permissions=["run"])
    def run_selected(self, request: HttpRequest, queryset: QuerySet[CrawlTarget]) -> None:
        self._run(request, self._chosen(queryset), force=False)

    @action(description=_("Run selected targets anew, known pages too"), permissions=["run"])
    def force_selected(self, request: HttpRequest, queryset: QuerySet[CrawlTarget]) -> None:
        self._run(request, self._chosen(queryset), force=True)

    @action(description=_("Cancel the jobs of selected targets"), permissions=["cancel"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[CrawlTarget]) -> None:
        self._cancel(request, self._chosen(queryset))

    def _target(self, object_id: int) -> CrawlTarget:
        target = CrawlTarget.objects.select_related("site").filter(pk=object_id).first()
        if target is None:
            raise Http404(object_id)
        return target

    def _chosen(self, queryset: QuerySet[CrawlTarget]) -> list[CrawlTarget]:
        return list(queryset.select_related("site"))

    def _run(self, request: HttpRequest, targets: list[CrawlTarget], force: bool) -> None:
        require(request, RUN)
        for target in targets:
            try:
                job, created = jobs.enqueue(target, source=CrawlJob.Source.MANUAL, force=force)
            except jobs.TargetNotReady:
                self.message_user(request, self._why_not(target), messages.ERROR)
                continue
            text = _("{target}: queued as job {job}.") if created else _("{target}: job {job} is queued or running already.")
            said = format_html(str(text), target=target, job=link(job, job.job_id[:8]))
            self.message_user(request, said, messages.SUCCESS if created else messages.INFO)
        codes = ",".join(target.target_code for target in targets)
        audit.describe(
            request, action="target.force_run" if force else "target.run", resource_type="crawl_target", resource_id=codes
        )

    def _why_not(self, target: CrawlTarget) -> str:
        if not target.enabled:
            text = gettext("%(target)s is disabled: enable it first.")
        elif not target.site.enabled:
            text = gettext("The site of %(target)s is disabled: enable it first.")
        elif target.site.default_fetch_strategy == CrawlSite.Strategy.PLAYWRIGHT:
            text = gettext(
                "The site of %(target)s asks for a browser, which this version has not: set its strategy to httpx or auto."
            )
        else:
            text = gettext("%(target)s has no entry address and its site no base URL: give one of them.")
        return text % {"target": target}

    def _cancel(self, request: HttpRequest, targets: list[CrawlTarget]) -> None:
        codes = [target.target_code for target in targets]
        active = list(CrawlJob.objects.filter(active_key__in=codes).values_list("job_id", flat=True))
        if not active:
            self.message_user(request, _("No job is queued or running there."), messages.INFO)
        cancel_jobs(self, request, active)

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        row = self.get_object(request, object_id) if object_id else None
        context = {
            **(extra_context or {}),
            "active_job": CrawlJob.objects.filter(active_key=row.target_code).first() if row else None,
            "may_run": self.has_run_permission(request),
            "may_cancel": self.has_cancel_permission(request),
        }
        return super().changeform_view(request, object_id, form_url, context)

    @display(description="")
    def buttons(self, row: CrawlTarget) -> str | SafeString:
        if not (row.enabled and row.site.enabled):
            return ""
        return button(reverse("admin:sources_crawltarget_run", args=[row.pk]), gettext("Run"), "primary")
