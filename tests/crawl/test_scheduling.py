"""The one-minute tick: each due time once, whatever the number of tickers and the time missed (fault-model P8, P9)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django_q.models import OrmQ

from crawl import jobs, scheduling, tasks
from crawl.models import CrawlJob
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
