"""What calls about jobs and runs answer, for OpenAPI."""

from __future__ import annotations

from rest_framework import serializers

from crawl.models import CrawlJob, CrawlRun, SourceHealth

JOB = (
    "job_id",
    "target_code",
    "site_code",
    "host",
    "source",
    "status",
    "force",
    "stop_requested",
    "attempt_count",
    "current_page",
    "last_completed_page",
    "enqueued_at",
    "started_at",
    "finished_at",
    "not_before",
    "wait_reason",
    "error_msg",
    "result_json",
)
RUN = (
    "id",
    "job_id",
    "site_code",
    "target_code",
    "scope",
    "status",
    "started_at",
    "finished_at",
    "declared_total",
    "declared_pages",
    "pages",
    "requests",
    "bytes",
    "discovered",
    "fetched",
    "inserted",
    "updated",
    "known",
    "duplicate",
    "skipped",
    "failed",
    "metrics_json",
    "warnings_json",
    "errors_json",
)


HEALTH = (
    "last_run_id",
    "last_success_at",
    "last_failure_at",
    "last_inserted_at",
    "consecutive_failures",
    "runs_7d",
    "success_rate_7d",
    "mean_duration_sec",
    "updated_at",
)


class JobOut(serializers.ModelSerializer):
    class Meta:
        model = CrawlJob
        fields = JOB


class JobPageOut(serializers.Serializer):
    items = JobOut(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class EnqueuedOut(serializers.Serializer):
    created = serializers.BooleanField(help_text="false: the target has an active job already, this one")
    job = JobOut()


class CanceledOut(serializers.Serializer):
    job_id = serializers.CharField()
    status = serializers.ChoiceField(["canceled", "stopping"], help_text="`stopping`: it runs and ends before its next request")


class RunOut(serializers.ModelSerializer):
    class Meta:
        model = CrawlRun
        fields = RUN


class HealthOut(serializers.ModelSerializer):
    site = serializers.CharField(help_text="site_code")
    target = serializers.CharField(help_text="target_code")

    class Meta:
        model = SourceHealth
        fields = ("site", "target", *HEALTH)


class HealthPageOut(serializers.Serializer):
    items = HealthOut(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RunPageOut(serializers.Serializer):
    items = RunOut(many=True)
    next_cursor = serializers.CharField(allow_null=True)
