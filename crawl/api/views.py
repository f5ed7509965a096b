"""Jobs and runs over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from articles.api.inputs import PageQuery, Strict, body, decode_cursor, encode_cursor, query
from crawl import jobs
from crawl.api import outputs
from crawl.models import CrawlJob, CrawlRun, SourceHealth
from govcrawler.access.openapi import problems
from govcrawler.access.problems import Problem, invalid, respond
from govcrawler.audit.record import describe
from sources.models import CrawlTarget


class JobsQuery(PageQuery):
    status = serializers.ChoiceField(CrawlJob.Status.choices, required=False)
    target = serializers.CharField(required=False, help_text="target_code")
    site = serializers.CharField(required=False, help_text="site_code")


class RunsQuery(PageQuery):
    status = serializers.ChoiceField(CrawlRun.Status.choices, required=False)
    target = serializers.CharField(required=False, help_text="target_code")
    site = serializers.CharField(required=False, help_text="site_code")


class JobIn(Strict):
    target = serializers.CharField(help_text="target_code")
    force = serializers.BooleanField(default=False, help_text="Ignore checkpoint and early stop, refetch what is known.")


ENDED = (CrawlJob.Status.DONE, CrawlJob.Status.FAILED)


def absent(job_id: str) -> Problem:
    return Problem(404, "not_found", f"There is no job {job_id!r}.", "Take ids from jobs/.")


def _filters(asked: dict[str, Any]) -> dict[str, Any]:
    columns = {"status": "status", "target": "target_code", "site": "site_code"}
    return {column: asked[name] for name, column in columns.items() if name in asked}


def _job(job_id: str) -> dict[str, Any]:
    row = CrawlJob.objects.filter(pk=job_id).values(*outputs.JOB).first()
    if row is None:
        raise absent(job_id)
    return dict(row)


class JobsView(APIView):
    required_scope = {"GET": "read", "POST": "operate"}
    audit_action = "target.run"

    @extend_schema(operation_id="jobs_list", parameters=[JobsQuery], responses={200: outputs.JobPageOut, **problems()})
    def get(self, request: Request) -> Response:
        """Jobs, the newest first."""
        asked = query(request, JobsQuery)
        rows = CrawlJob.objects.filter(**_filters(asked)).order_by("-enqueued_at", "-job_id")
        if "cursor" in asked:
            text, last = decode_cursor(asked["cursor"], "enqueued", str, str)
            try:
                when = datetime.fromisoformat(text)
            except ValueError as error:
                raise invalid("cursor", "Not a cursor of this list: begin again without it.") from error
            rows = rows.filter(Q(enqueued_at__lt=when) | Q(enqueued_at=when, job_id__lt=last))
        found = list(rows.values(*outputs.JOB)[: asked["limit"] + 1])
        items = found[: asked["limit"]]
        more = len(found) > len(items)
        place = (items[-1]["enqueued_at"].isoformat(), items[-1]["job_id"]) if more else ()
        return Response({"items": items, "next_cursor": encode_cursor("enqueued", *place) if more else None})

    @extend_schema(
        operation_id="jobs_create",
        request=JobIn,
        responses={200: outputs.EnqueuedOut, 201: outputs.EnqueuedOut, **problems(400, 409, 413)},
    )
    def post(self, request: Request) -> Response:
        """Asks for a crawl of a target now. A target has one active job: asking again gives that one, with status 200."""
        asked = body(request, JobIn)
        describe(request, resource_type="target", resource_id=asked["target"])
        target = CrawlTarget.objects.select_related("site", "site_department").filter(target_code=asked["target"]).first()
        if target is None:
            raise invalid("target", f"There is no target {asked['target']!r}.", "not_found")
        try:
            job, created = jobs.enqueue(target, source=CrawlJob.Source.MANUAL, force=asked["force"])
        except jobs.TargetNotReady as error:
            raise Problem(409, "target_not_ready", str(error), "Mend the target or its site first.") from error
        return Response({"created": created, "job": _job(job.job_id)}, status=201 if created else 200)


class JobView(APIView):
    required_scope = "read"

    @extend_schema(operation_id="jobs_get", responses={200: outputs.JobOut, **problems(404)})
    def get(self, request: Request, job_id: str) -> Response:
        """One job."""
        query(request, Strict)
        return Response(_job(job_id))


class CancelJobView(APIView):
    required_scope = "operate"
    audit_action = "job.cancel"

    @extend_schema(operation_id="jobs_cancel", request=None, responses={200: outputs.CanceledOut, **problems(404, 409)})
    def post(self, request: Request, job_id: str) -> Response:
        """Cancels a job: at once while it waits, before its next request while it runs."""
        try:
            status = jobs.cancel(job_id)
        except CrawlJob.DoesNotExist as error:
            raise absent(job_id) from error
        if status in ENDED:
            raise Problem(409, "job_ended", f"Job {job_id} has ended: {status}.", "There is nothing to cancel.")
        return Response({"job_id": job_id, "status": status})


class RunsView(APIView):
    required_scope = "read"

    @extend_schema(operation_id="runs_list", parameters=[RunsQuery], responses={200: outputs.RunPageOut, **problems()})
    def get(self, request: Request) -> Response:
        """Runs, the newest first: what each job attempt saw and what became of it."""
        asked = query(request, RunsQuery)
        rows = CrawlRun.objects.filter(**_filters(asked)).order_by("-id")
        if "cursor" in asked:
            (last,) = decode_cursor(asked["cursor"], "run", int)
            rows = rows.filter(id__lt=last)
        found = list(rows.values(*outputs.RUN)[: asked["limit"] + 1])
        items = found[: asked["limit"]]
        more = len(found) > len(items)
        return Response({"items": items, "next_cursor": encode_cursor("run", items[-1]["id"]) if more else None})


class HealthQuery(PageQuery):
    site = serializers.CharField(required=False, help_text="site_code")
    failing = serializers.BooleanField(default=False, help_text="Only targets whose last run failed.")


class HealthView(APIView):
    required_scope = "read"

    @extend_schema(operation_id="health_list", parameters=[HealthQuery], responses={200: outputs.HealthPageOut, **problems()})
    def get(self, request: Request) -> Response:
        """The state of each target as its runs tell it. A target that never ran has no entry."""
        asked = query(request, HealthQuery)
        rows = SourceHealth.objects.order_by("target_id").annotate(
            site=F("target__site__site_code"), code=F("target__target_code")
        )
        if "site" in asked:
            rows = rows.filter(site=asked["site"])
        if asked["failing"]:
            rows = rows.filter(consecutive_failures__gt=0)
        if "cursor" in asked:
            (last,) = decode_cursor(asked["cursor"], "health", int)
            rows = rows.filter(target_id__gt=last)
        found = list(rows.values("target_id", "site", "code", *outputs.HEALTH)[: asked["limit"] + 1])
        items = found[: asked["limit"]]
        last_id = items[-1]["target_id"] if len(found) > len(items) else None
        for item in items:
            del item["target_id"]
            item["target"] = item.pop("code")
        return Response({"items": items, "next_cursor": encode_cursor("health", last_id) if last_id else None})


@csrf_exempt
def no_such_call(request: HttpRequest) -> HttpResponse:
    """Whatever else is asked below the API: a problem instead of a page, also without a key."""
    return respond(404, "no_such_call", f"The API has no {request.path}.")
