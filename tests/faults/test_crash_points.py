"""A worker that is killed at any named point, restarted, finishes as if nothing had happened (fault-model A0, P1, P2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import override_settings

from articles import content_store
from crawl import jobs, judgement, store_check
from crawl.models import CrawlJob, CrawlRun
from deploy.demo.serve import DemoSite
from govcrawler.crashpoints import NAMES
from sources.models import CrawlTarget
from tests.demo_crawl import crawl_settings, manifest_of, wait_until, watch_demo, worker

TARGETS = ("edu-zcwj", "gk-32", "fgw-xmgs")
LEASE_SECONDS = 3
# A hit in the middle of the work, where the point is passed often enough.
HITS = {"job.after_claim": 2, "run.before_finish": 1, "page.after_checkpoint": 2}


@pytest.fixture
def site() -> Iterator[DemoSite]:
    with DemoSite(crawl_delay=0) as running:
        yield running


@pytest.mark.processes
@pytest.mark.parametrize("point", NAMES)
def test_a_worker_killed_at_the_point_and_restarted_reaches_the_manifest(
    point: str, site: DemoSite, process_env: dict[str, str], tmp_path: Path
) -> None:
    watch_demo(site, tmp_path / "sites", TARGETS)
    content, marker = tmp_path / "content", tmp_path / "killed"
    more = {"CRAWL_LEASE_SECONDS": str(LEASE_SECONDS), "CRAWL_WORKERS": "1"}
    env = {**process_env, **crawl_settings(site, content, **more)}
    for target in CrawlTarget.objects.filter(target_code__in=TARGETS).select_related("site"):
        jobs.enqueue(target)

    with worker({**env, "GOVCRAWLER_CRASHPOINT": f"{point}:{HITS.get(point, 5)}:{marker}"}, tmp_path / "killed.log"):
        wait_until(f"{point} is hit", marker.exists, 60)
    with override_settings(CRAWL={**_crawl(), "lease_seconds": LEASE_SECONDS}):
        wait_until("the dead worker's leases end", lambda: all_silent_jobs_recovered(), 30)
    with worker(env, tmp_path / "restarted.log"):
        wait_until("all jobs end", all_jobs_ended, 90)

    assert set(CrawlJob.objects.values_list("status", flat=True)) == {"done"}
    with override_settings(CONTENT_DIR=str(content)):
        assert judgement.compare(manifest_of(site, TARGETS)) == []
        assert list(store_check.breaches()) == []
        assert list(content_store.open_store().keys("spool")) == []
    assert_nothing_was_fetched_thrice(site)
    assert CrawlRun.objects.filter(finished_at=None).count() == 0


def _crawl() -> dict[str, object]:
    from django.conf import settings

    crawl: dict[str, object] = settings.CRAWL
    return crawl


def all_silent_jobs_recovered() -> bool:
    jobs.recover()
    return not CrawlJob.objects.filter(status="running").exists()


def all_jobs_ended() -> bool:
    connection.close()  # a fresh look: SQLite in another process, MariaDB in another transaction
    return not CrawlJob.objects.filter(status__in=jobs.ACTIVE).exists()


def assert_nothing_was_fetched_thrice(site: DemoSite) -> None:
    """A crash may cost the request in flight and the list page in work, each once for each of the jobs (P1)."""
    hits = Counter((entry["host"], entry["path"]) for entry in site.access_log if entry["status"] != 304)
    again = {key: count for key, count in hits.items() if count > 1 and not key[1].endswith("robots.txt")}
    assert max(again.values(), default=1) == 2 or not again, again
    assert len(again) <= 2 * len(TARGETS), again
