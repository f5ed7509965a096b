"""Heartbeats of workers for the probes, and the state of a source as its runs tell it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from crawl import health
from crawl.models import CrawlCluster, CrawlRun, SourceHealth
from govcrawler.clock import now_plus
from sources.models import CrawlTarget
from tests import rows

pytestmark = pytest.mark.django_db


def cluster(age: float, **fields: Any) -> CrawlCluster:
    made = CrawlCluster.objects.create(**{"cluster_id": f"c{age}", "hostname": "here", "pid": 1, **fields})
    CrawlCluster.objects.filter(pk=made.pk).update(heartbeat_at=now_plus(-age))
    return made


class TestWorkers:
    def test_no_worker_no_age(self) -> None:
        assert health.worker_heartbeat_age() is None
        assert Client().get("/readyz").status_code == 503

    def test_the_youngest_heartbeat_counts(self) -> None:
        cluster(4000)
        cluster(20)
        age = health.worker_heartbeat_age()
        assert age is not None and 20 <= age < 80
        assert Client().get("/readyz").status_code == 200

    def test_a_worker_that_is_silent_for_too_long_makes_the_service_unready(self) -> None:
        cluster(health.HEARTBEAT_LATE_SEC + 1)
        answer = Client().get("/readyz")
        assert answer.status_code == 503 and answer.json()["status"] == "unavailable"

    def test_a_process_beats_for_its_own_cluster_and_listens_to_it_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own, other = cluster(500, cluster_id="own"), cluster(600, cluster_id="other", stop=True)
        monkeypatch.setenv(health.CLUSTER_VARIABLE, "own")
        health.beat()
        assert not health.stop_asked()
        own.refresh_from_db()
        other.refresh_from_db()
        assert own.heartbeat_at - other.heartbeat_at > timedelta(seconds=500)
        CrawlCluster.objects.filter(cluster_id="own").update(stop=True)
        assert health.stop_asked()

    def test_a_process_of_no_cluster_beats_for_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(health.CLUSTER_VARIABLE, raising=False)
        cluster(500, stop=True)
        health.beat()
        assert not health.stop_asked()
        assert health.worker_heartbeat_age() >= 500


class TestSources:
    def ran(self, target: CrawlTarget, status: str, ago: timedelta, **fields: Any) -> CrawlRun:
        ended = timezone.now() - ago
        run = CrawlRun.objects.create(target=target, site_code="s", target_code="t", scope="incremental", status=status)
        CrawlRun.objects.filter(pk=run.pk).update(started_at=ended - timedelta(seconds=30), finished_at=ended, **fields)
        return run

    def test_the_projection_tells_last_ends_failures_in_a_row_and_the_week(self) -> None:
        target, day = rows.target(), timedelta(days=1)
        self.ran(target, "failed", 20 * day)
        self.ran(target, "succeeded", 5 * day, inserted=3)
        self.ran(target, "partial", 4 * day)
        self.ran(target, "failed", 2 * day)
        self.ran(target, "canceled", 1 * day)
        last = self.ran(target, "failed", timedelta(hours=1))
        health.project(target.pk)
        row = SourceHealth.objects.get(target=target)
        assert (row.last_run_id, row.consecutive_failures, row.runs_7d) == (last.pk, 2, 5)
        assert row.success_rate_7d == 0.5
        assert row.mean_duration_sec == pytest.approx(30)
        assert row.last_inserted_at < row.last_success_at < row.last_failure_at

    def test_a_target_that_never_succeeded_has_only_failures(self) -> None:
        target = rows.target()
        for hours in (3, 2, 1):
            self.ran(target, "failed", timedelta(hours=hours))
        health.project(target.pk)
        row = SourceHealth.objects.get(target=target)
        assert (row.consecutive_failures, row.success_rate_7d, row.last_success_at) == (3, 0.0, None)

    def test_projecting_again_changes_nothing_and_a_target_without_runs_has_no_row(self) -> None:
        target, bare = rows.target(), rows.target()
        self.ran(target, "succeeded", timedelta(hours=1))
        for _ in range(2):
            health.project(target.pk)
            health.project(bare.pk)
        assert SourceHealth.objects.count() == 1
        assert SourceHealth.objects.get().consecutive_failures == 0
