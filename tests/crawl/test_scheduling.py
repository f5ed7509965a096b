"""The one-minute tick: each due time once, whatever the number of tickers and the time missed (fault-model P8, P9)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from articles.models import Attachment
from crawl import jobs, scheduling, tasks
from crawl.models import CrawlFailure, CrawlJob
from govcrawler.audit.models import AdminAuditLog
from sources import schedules
from sources.models import CrawlTarget
from tests import rows
from tests.crawl.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2024, 3, 15, 2, 0, 30, tzinfo=UTC)  # 10:00:30 in Shanghai
DUE = datetime(2024, 3, 15, 2, 0, tzinfo=UTC)
DAILY = "0 10 * * *"


def planned(**fields: Any) -> CrawlTarget:
    defaults = {"entry_url": "http://www.a.example/l.html", "schedule_cron": DAILY, "next_due_at": DUE}
    return rows.target(**{**defaults, **fields})


def next_due(target: CrawlTarget) -> datetime | None:
    target.refresh_from_db()
    return target.next_due_at


def test_a_due_target_gets_one_job_and_its_next_time_in_shanghai() -> None:
    target = planned()
    (job,) = scheduling.enqueue_due(NOW)
    assert (job.target_code, job.source, job.scheduled_for) == (target.target_code, "schedule", DUE)
    assert next_due(target) == DUE + timedelta(days=1)
    assert scheduling.enqueue_due(NOW) == []


def test_a_target_before_its_time_is_left_alone() -> None:
    target = planned(next_due_at=NOW + timedelta(seconds=1))
    assert scheduling.enqueue_due(NOW) == []
    assert next_due(target) == NOW + timedelta(seconds=1)


def test_tickers_at_the_same_moment_make_one_job_a_due_time() -> None:
    targets = [planned() for _ in range(5)]
    made = [job for got in at_once(4, lambda _: scheduling.enqueue_due(NOW)) for job in got]
    assert len(made) == CrawlJob.objects.count() == len(targets)
    assert {next_due(target) for target in targets} == {DUE + timedelta(days=1)}


def test_after_three_days_without_a_tick_there_is_one_run_and_not_seventy_two() -> None:
    target = planned(schedule_cron="0 * * * *", next_due_at=DUE - timedelta(days=3))
    assert len(scheduling.enqueue_due(NOW)) == 1
    assert next_due(target) == DUE + timedelta(hours=1)
    assert scheduling.enqueue_due(NOW) == []


def test_a_clock_that_went_back_does_not_run_a_due_time_again() -> None:
    planned()
    (job,) = scheduling.enqueue_due(NOW)
    jobs.cancel(job.job_id)
    assert scheduling.enqueue_due(NOW - timedelta(days=1)) == []


def test_a_target_with_an_active_job_keeps_it_and_its_plan_goes_on() -> None:
    target = planned()
    jobs.enqueue(target)
    assert scheduling.enqueue_due(NOW) == []
    assert CrawlJob.objects.count() == 1
    assert next_due(target) == DUE + timedelta(days=1)


def test_the_sites_cron_counts_where_the_target_has_none() -> None:
    target = planned(site=rows.site(schedule_cron="30 11 * * *"), schedule_cron=None)
    assert len(scheduling.enqueue_due(NOW)) == 1
    assert next_due(target) == datetime(2024, 3, 15, 3, 30, tzinfo=UTC)


def test_what_is_disabled_is_not_run() -> None:
    planned(enabled=False)
    planned(site=rows.site(enabled=False))
    assert scheduling.enqueue_due(NOW) == []


def test_a_target_whose_cron_was_taken_away_leaves_the_plan() -> None:
    target = planned(schedule_cron=None)
    assert scheduling.enqueue_due(NOW) == []
    assert next_due(target) is None


def test_a_bad_cron_or_a_target_without_url_stops_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    bad, bare = planned(schedule_cron="every day", next_due_at=DUE - timedelta(hours=1)), planned(entry_url=None)
    good = planned()
    with caplog.at_level(logging.WARNING):
        made = scheduling.enqueue_due(NOW)
    assert [job.target_code for job in made] == [good.target_code]
    assert next_due(bad) is None
    assert next_due(bare) == DUE + timedelta(days=1)
    assert "'every day'" in caplog.text and "no entry_url" in caplog.text
    with pytest.raises(ValueError, match="fields"):
        schedules.validate_cron("every day")


def test_a_tick_recovers_enqueues_and_rings() -> None:
    planned()
    silent = rows.job(status="running", lease_token="dead", host="h")
    tasks.tick()
    silent.refresh_from_db()
    assert silent.status == "queued"
    assert CrawlJob.objects.filter(source="schedule").count() == 1
    assert OrmQ.objects.exists()


def test_a_tick_with_nothing_to_do_rings_nobody() -> None:
    tasks.tick()
    assert not OrmQ.objects.exists()


def failed_row(target: CrawlTarget, **fields: Any) -> CrawlFailure:
    defaults = {"url": "http://www.a.example/1.html", "url_hash": "a" * 64, "error_class": "TIMEOUT", "error_msg": "slow"}
    return CrawlFailure.objects.create(target=target, **{**defaults, "next_retry_at": NOW - timedelta(minutes=1), **fields})


def test_a_row_that_failed_gets_a_retry_job_when_its_time_has_come() -> None:
    target = planned(next_due_at=None)
    failed_row(target)
    (job,) = scheduling.enqueue_retries(NOW)
    assert (job.target_code, job.source, job.last_completed_page) == (target.target_code, "retry", 0)
    (entry,) = AdminAuditLog.objects.filter(action="target.retry")
    assert (entry.method, entry.actor, entry.resource_id) == ("TASK", "scheduler", target.target_code)


def test_a_file_that_is_waited_for_gets_a_retry_job() -> None:
    target = planned(next_due_at=None)
    article = rows.article(site=target.site, target=target, status="raw")
    Attachment.objects.create(article=article, status="pending", next_retry_at=NOW - timedelta(minutes=1))
    assert [job.target_code for job in scheduling.enqueue_retries(NOW)] == [target.target_code]


@pytest.mark.parametrize(
    "fields",
    [{"next_retry_at": NOW + timedelta(minutes=1)}, {"next_retry_at": None}, {"attempts": 5}],
    ids=["early", "never", "given up"],
)
def test_a_row_that_is_not_due_gets_none(fields: dict[str, Any]) -> None:
    failed_row(planned(next_due_at=None), **fields)
    assert scheduling.enqueue_retries(NOW) == []


def test_a_target_that_fails_on_gets_no_retry_job_a_minute() -> None:
    target = planned(next_due_at=None)
    failed_row(target)
    (job,) = scheduling.enqueue_retries()
    CrawlJob.objects.filter(pk=job.pk).update(status="failed", active_key=None)
    assert scheduling.enqueue_retries() == []
    CrawlJob.objects.filter(pk=job.pk).update(enqueued_at=timezone.now() - scheduling.RETRY_EVERY)
    assert len(scheduling.enqueue_retries()) == 1


def test_a_retry_job_neither_takes_nor_leaves_the_checkpoint_of_a_backfill() -> None:
    target = planned(next_due_at=None, track_checkpoint=True)
    rows.job(target_code=target.target_code, status="failed", active_key=None, last_completed_page=7, cursor=jobs.BY_NUMBER)
    retry, _ = jobs.enqueue(target, source="retry")
    assert retry.last_completed_page == 0
    CrawlJob.objects.filter(pk=retry.pk).update(status="done", active_key=None)
    assert jobs.enqueue(target)[0].last_completed_page == 6
