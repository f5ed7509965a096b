"""Jobs and runs over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from crawl.api import outputs
from crawl.models import CrawlJob, CrawlRun, SourceHealth
from govcrawler.audit.models import AdminAuditLog
from tests import rows
from tests.articles import feed

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"


@pytest.fixture
def operator() -> Client:
    return feed.client("read", "operate")


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(path, body or {}, content_type="application/json")


def test_asking_for_a_crawl_makes_a_job_and_asking_again_gives_the_same(operator: Client) -> None:
    target = rows.target(entry_url="http://www.example/zwgk/")
    first = post(operator, JOBS, {"target": target.target_code, "force": True})
    again = post(operator, JOBS, {"target": target.target_code})
    assert (first.status_code, again.status_code) == (201, 200)
    assert set(first.json()["job"]) == set(outputs.JOB)
    assert (first.json()["created"], again.json()["created"]) == (True, False)
    assert first.json()["job"]["job_id"] == again.json()["job"]["job_id"]
    job = CrawlJob.objects.get()
    assert (job.source, job.status, job.force) == ("manual", "queued", True)
    row = AdminAuditLog.objects.earliest("id")
    assert (row.action, row.resource_type, row.resource_id) == ("target.run", "target", target.target_code)


@pytest.mark.parametrize(
    ("body", "field"), [({}, "target"), ({"target": "nowhere"}, "target"), ({"target": "x", "pages": 3}, "pages")]
)
def test_a_wrong_order_is_refused_and_names_the_field(operator: Client, body: dict[str, Any], field: str) -> None:
    response = post(operator, JOBS, body)
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert not CrawlJob.objects.exists()


def test_a_disabled_target_is_a_conflict_that_says_why(operator: Client) -> None:
    target = rows.target(entry_url="http://www.example/", enabled=False)
    response = post(operator, JOBS, {"target": target.target_code})
    assert (response.status_code, response.json()["code"]) == (409, "target_not_ready")
    assert "disabled" in response.json()["detail"]


def test_a_waiting_job_is_canceled_a_running_one_told_to_stop_an_ended_one_left(operator: Client) -> None:
    waiting, running, ended = rows.job(active_key="a"), rows.job(status="running", active_key="b"), rows.job(status="done")
    assert post(operator, f"{JOBS}{waiting.job_id}/cancel/").json() == {"job_id": waiting.job_id, "status": "canceled"}
    assert post(operator, f"{JOBS}{waiting.job_id}/cancel/").json()["status"] == "canceled"
    assert post(operator, f"{JOBS}{running.job_id}/cancel/").json()["status"] == "stopping"
    response = post(operator, f"{JOBS}{ended.job_id}/cancel/")
    assert (response.status_code, response.json()["code"]) == (409, "job_ended")
    assert post(operator, f"{JOBS}nothing/cancel/").status_code == 404
    row = AdminAuditLog.objects.latest("id")
    assert (row.action, row.resource_type, row.resource_id, row.status_code) == ("job.cancel", "job", "nothing", 404)


def test_jobs_are_listed_newest_first_by_key(operator: Client) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    made = [rows.job(status="done", target_code=f"t{number % 2}") for number in range(5)]
    for number, job in enumerate(made):
        CrawlJob.objects.filter(pk=job.pk).update(enqueued_at=start + timedelta(seconds=number // 2))
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = operator.get(JOBS, {"limit": 2, **cursor}).json()
        seen += [job["job_id"] for job in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == list(CrawlJob.objects.order_by("-enqueued_at", "-job_id").values_list("job_id", flat=True))
    assert len(operator.get(JOBS, {"target": "t1"}).json()["items"]) == 2
    assert operator.get(JOBS, {"status": "running"}).json()["items"] == []
    assert operator.get(JOBS, {"cursor": "WyJlbnF1ZXVlZCIsIngiLCJ5Il0"}).status_code == 422
    assert operator.get(f"{JOBS}{made[0].job_id}/").json()["job_id"] == made[0].job_id
    assert operator.get(f"{JOBS}nothing/").status_code == 404


def test_runs_are_listed_newest_first(operator: Client) -> None:
    target = rows.target()
    runs = [
        CrawlRun.objects.create(target=target, site_code="s", target_code=f"t{number}", scope="full", status="failed")
        for number in range(3)
    ]
    page = operator.get("/api/v1/runs/", {"limit": 2}).json()
    assert [run["id"] for run in page["items"]] == [runs[2].pk, runs[1].pk]
    assert set(page["items"][0]) == set(outputs.RUN)
    rest = operator.get("/api/v1/runs/", {"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [run["id"] for run in rest["items"]] == [runs[0].pk]
    assert [run["id"] for run in operator.get("/api/v1/runs/", {"target": "t1"}).json()["items"]] == [runs[1].pk]


def test_the_health_of_each_target_is_listed_by_key(operator: Client) -> None:
    targets = [rows.target() for _ in range(3)]
    for failures, target in enumerate(targets):
        SourceHealth.objects.create(target=target, consecutive_failures=failures)
    path = "/api/v1/sources/health/"
    page = operator.get(path, {"limit": 2}).json()
    assert [item["target"] for item in page["items"]] == [target.target_code for target in targets[:2]]
    assert set(page["items"][0]) == {"site", "target", *outputs.HEALTH}
    rest = operator.get(path, {"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [item["target"] for item in rest["items"]] == [targets[2].target_code] and rest["next_cursor"] is None
    assert [item["consecutive_failures"] for item in operator.get(path, {"failing": "true"}).json()["items"]] == [1, 2]
    assert len(operator.get(path, {"site": targets[0].site.site_code}).json()["items"]) == 1


def test_reading_jobs_does_not_allow_making_them() -> None:
    reader = feed.client("read")
    assert reader.get(JOBS).status_code == 200
    assert post(reader, JOBS, {"target": "x"}).status_code == 403
    assert feed.client("operate").get(JOBS).status_code == 403
