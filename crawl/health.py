"""Whether the workers live, and how each source does: projections that can be made again at any time."""

from __future__ import annotations

import os
from datetime import timedelta

from django.db.models import Max, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from crawl.models import CrawlCluster, CrawlRun, SourceHealth

HEARTBEAT_LATE_SEC = 180
CLUSTER_VARIABLE = "GOVCRAWLER_CLUSTER"


def worker_heartbeat_age() -> float | None:
    """Seconds since any worker was last heard of, by the database's clock; None when none ever was."""
    row = CrawlCluster.objects.annotate(now=Now()).order_by("-heartbeat_at").values_list("heartbeat_at", "now").first()
    return None if row is None or row[0] is None else max((row[1] - row[0]).total_seconds(), 0.0)


def beat() -> None:
    """The heartbeat of the cluster this process belongs to, if it belongs to one."""
    _own_cluster().update(heartbeat_at=Now())


def stop_asked() -> bool:
    """Whether the cluster this process belongs to shall stop."""
    return _own_cluster().filter(stop=True).exists()


def _own_cluster() -> QuerySet[CrawlCluster]:
    return CrawlCluster.objects.filter(cluster_id=os.environ.get(CLUSTER_VARIABLE, ""))


def project(target_id: int) -> None:
    """``source_health`` of a target, from its finished runs."""
    runs = CrawlRun.objects.filter(target_id=target_id, finished_at__isnull=False).order_by("-started_at", "-id")
    last = runs.first()
    if last is None:
        return
    good = (CrawlRun.Status.SUCCEEDED, CrawlRun.Status.PARTIAL)
    week = list(runs.filter(started_at__gte=timezone.now() - timedelta(days=7)))
    judged = [run for run in week if run.status != CrawlRun.Status.CANCELED]
    durations = [(run.finished_at - run.started_at).total_seconds() for run in week if run.finished_at]
    last_success = runs.filter(status__in=good).aggregate(at=Max("finished_at"))["at"]
    failures = runs.filter(status=CrawlRun.Status.FAILED)
    SourceHealth.objects.update_or_create(
        target_id=target_id,
        defaults={
            "last_run_id": last.pk,
            "last_success_at": last_success,
            "last_failure_at": failures.aggregate(at=Max("finished_at"))["at"],
            "last_inserted_at": runs.filter(inserted__gt=0).aggregate(at=Max("finished_at"))["at"],
            "consecutive_failures": (failures.filter(finished_at__gt=last_success) if last_success else failures).count(),
            "runs_7d": len(week),
            "success_rate_7d": sum(run.status in good for run in judged) / len(judged) if judged else None,
            "mean_duration_sec": sum(durations) / len(durations) if durations else None,
        },
    )
