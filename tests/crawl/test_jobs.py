"""The life of a job's row: one active job a target, claimed once, fenced, recovered (fault-model P1, P4, P5, P7, P8, N6)."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from django_q.models import OrmQ

from crawl import health, hosts, jobs, runs, slices
from crawl.models import CrawlHost, CrawlJob, CrawlRun, SourceHealth
from govcrawler.clock import now_plus
from sources.models import CrawlTarget
from tests import rows
from tests.crawl.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def ready(**fields: Any) -> CrawlTarget:
    return rows.target(**{"entry_url": "http://www.a.example/list.html", **fields})


def claimed(target: CrawlTarget | None = None) -> jobs.Lease:
    job, _ = jobs.enqueue(target or ready())
    lease = jobs.claim(job_id=job.job_id)
    assert lease is not None
    return lease


def stored(lease: jobs.Lease) -> CrawlJob:
    return CrawlJob.objects.get(pk=lease.job.pk)


def fall_silent(lease: jobs.Lease) -> None:
    """The worker has not been heard of for longer than a lease."""
    CrawlJob.objects.filter(pk=lease.job.pk).update(heartbeat_at=now_plus(-121))
    CrawlHost.objects.filter(host=lease.job.host).update(lease_until=now_plus(-1))


class TestEnqueue:
    def test_orders_at_the_same_moment_make_one_active_job(self) -> None:
        target = ready()
        made = [row for got in at_once(2, lambda _: [jobs.enqueue(target) for _ in range(50)]) for row in got]
        assert sum(created for _, created in made) == 1
        assert {job.job_id for job, _ in made} == {CrawlJob.objects.get().job_id}

    def test_an_ended_job_makes_room_for_the_next(self) -> None:
        target = ready()
        lease = claimed(target)
        jobs.finish(lease, "done")
        assert stored(lease).active_key is None
        assert jobs.enqueue(target)[1]
        assert CrawlJob.objects.filter(active_key=target.target_code).count() == 1

    def test_the_same_due_time_makes_one_job_even_after_it_ended(self) -> None:
        target, moment = ready(), timezone.now()
        first, _ = jobs.enqueue(target, source="schedule", scheduled_for=moment)
        jobs.cancel(first.job_id)
        again, created = jobs.enqueue(target, source="schedule", scheduled_for=moment)
        assert (again.job_id, created) == (first.job_id, False)

    def test_the_bell_rings_when_the_order_commits_and_not_before(self) -> None:
        with transaction.atomic():
            jobs.enqueue(ready())
            assert OrmQ.objects.count() == 0
        assert OrmQ.objects.count() == 1

    def test_an_order_that_is_rolled_back_rings_nobody(self) -> None:
        with transaction.atomic():
            jobs.enqueue(ready())
            transaction.set_rollback(True)
        assert (OrmQ.objects.count(), CrawlJob.objects.count()) == (0, 0)

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"enabled": False}, "the target of"),
            ({"entry_url": None}, "no entry_url and its site no base_url"),
        ],
    )
    def test_a_target_that_cannot_be_crawled_is_refused_with_the_reason(self, fields: dict[str, Any], words: str) -> None:
        with pytest.raises(jobs.TargetNotReady, match=words):
            jobs.enqueue(ready(**fields))
        assert CrawlJob.objects.count() == 0

    def test_a_site_that_needs_a_browser_is_refused_and_not_fetched_without_one(self) -> None:
        target = ready(site=rows.site(default_fetch_strategy="playwright"))
        with pytest.raises(jobs.TargetNotReady, match="set its fetch_strategy to httpx or auto"):
            jobs.enqueue(target)
        assert not CrawlJob.objects.exists()

    def test_a_disabled_site_refuses_its_targets(self) -> None:
        with pytest.raises(jobs.TargetNotReady, match="the site of"):
            jobs.enqueue(ready(site=rows.site(enabled=False)))


class TestCheckpoint:
    def left_at(self, page: int, cursor: str | None, **fields: Any) -> tuple[int, str | None]:
        """Where the next job of a target begins whose last job failed after ``page``."""
        force = fields.pop("force", False)
        target = ready(**{"track_checkpoint": True, **fields})
        rows.job(target_code=target.target_code, status="failed", last_completed_page=page, cursor=cursor)
        job, _ = jobs.enqueue(target, force=force)
        return job.last_completed_page, job.cursor

    def test_an_unfinished_backfill_goes_on_at_its_cursor(self) -> None:
        assert self.left_at(7, "http://www.a.example/list_8.html") == (7, "http://www.a.example/list_8.html")

    def test_pages_asked_for_by_number_overlap_by_one(self) -> None:
        assert self.left_at(7, jobs.BY_NUMBER) == (6, jobs.BY_NUMBER)

    def test_a_list_that_was_read_to_its_end_begins_anew(self) -> None:
        assert self.left_at(7, None) == (0, None)

    def test_a_target_that_keeps_no_checkpoint_begins_anew(self) -> None:
        assert self.left_at(7, "c", track_checkpoint=False) == (0, None)

    def test_a_finished_backfill_begins_anew(self) -> None:
        assert self.left_at(7, "c", backfill_completed_at=timezone.now()) == (0, None)

    def test_force_ignores_the_checkpoint(self) -> None:
        assert self.left_at(7, "c", force=True) == (0, None)


class TestClaim:
    def test_each_job_is_claimed_once_and_a_host_has_one_job_at_a_time(self) -> None:
        for host in range(4):
            for _ in range(5):
                jobs.enqueue(ready(entry_url=f"http://h{host}.example/l.html"))
        running: Counter[str] = Counter()
        too_many: list[str] = []

        def work(_: int) -> list[str]:
            got = []
            while CrawlJob.objects.filter(status="queued").exists():
                lease = jobs.claim()
                if lease is None:
                    continue
                host = lease.job.host
                running[host] += 1
                if running[host] > 1 or CrawlJob.objects.filter(status="running", host=host).count() > 1:
                    too_many.append(host)
                got.append(lease.job.job_id)
                running[host] -= 1
                jobs.finish(lease, "done")
            return got

        taken = [job_id for got in at_once(8, work) for job_id in got]
        assert sorted(taken) == sorted(CrawlJob.objects.values_list("job_id", flat=True))
        assert too_many == []
        assert set(CrawlJob.objects.values_list("status", "attempt_count")) == {("done", 1)}

    def test_orders_by_hand_come_before_retries_and_those_before_the_plan(self) -> None:
        for number, source in enumerate(("schedule", "retry", "manual", "schedule", "retry", "manual")):
            rows.job(job_id=f"{source}{number}", host=f"h{number}", source=source)
        order = [lease.job.job_id for _ in range(6) if (lease := jobs.claim())]
        assert order == ["manual2", "manual5", "retry1", "retry4", "schedule0", "schedule3"]

    def test_jobs_of_a_busy_host_do_not_hide_those_behind_them(self) -> None:
        for number in range(210):
            rows.job(job_id=f"busy{number}", host="busy")
        rows.job(job_id="free", host="free")
        assert jobs.claim().job.job_id == "busy0"
        assert jobs.claim().job.job_id == "free"
        assert jobs.claim() is None

    def test_not_before_is_kept_by_the_clock_of_the_database(self) -> None:
        job = rows.job(not_before=timezone.now() + timedelta(days=1))
        CrawlJob.objects.update(not_before=now_plus(5))
        assert jobs.claim() is None
        CrawlJob.objects.update(not_before=now_plus(-1))
        assert jobs.claim().job.pk == job.pk

    def test_the_database_says_utc_whatever_the_zone_of_its_machine(self) -> None:
        lease = claimed()
        row = stored(lease)
        for moment in (row.heartbeat_at, row.started_at, CrawlHost.objects.get().lease_until - timedelta(seconds=120)):
            assert abs(moment - timezone.now()) < timedelta(minutes=5)
        assert jobs.recover() == []

    def test_a_job_that_may_kill_its_worker_waits_until_it_can_run_alone(self) -> None:
        rows.job(job_id="suspect", attempt_count=jobs.ALONE_FROM_ATTEMPT)
        assert jobs.claim(alone=False) is None
        assert jobs.claim(alone=True).job.job_id == "suspect"

    def test_a_host_in_the_middle_of_somebody_elses_request_is_not_claimed(self) -> None:
        job, _ = jobs.enqueue(ready())
        hosts.ask_slot(job.host, "stranger")
        assert hosts.take_slot(job.host, "stranger")
        assert jobs.claim() is None
        hosts.free_slot(job.host, "stranger", 0)
        assert jobs.claim() is not None


class TestFence:
    def taken_over(self) -> tuple[jobs.Lease, jobs.Lease]:
        """A worker that slept through its lease, and the one that has its job now."""
        late = claimed()
        fall_silent(late)
        jobs.recover()
        now = jobs.claim()
        assert now is not None and now.job.pk == late.job.pk
        return late, now

    @pytest.mark.parametrize(
        "write",
        [
            lambda lease: jobs.progress(lease, current_page=9),
            lambda lease: jobs.page_done(lease, 9, "late"),
            lambda lease: jobs.release(lease),
            lambda lease: jobs.finish(lease, "done", result={"late": True}),
            lambda lease: jobs.stop_wanted(lease),
        ],
    )
    def test_a_late_worker_writes_nothing(self, write: Any, caplog: pytest.LogCaptureFixture) -> None:
        late, now = self.taken_over()
        before = CrawlJob.objects.values().get()
        with pytest.raises(jobs.LeaseLost):
            write(late)
        assert CrawlJob.objects.values().get() == before
        assert CrawlHost.objects.get().lease_token == now.token

    def test_a_late_heartbeat_and_a_late_pace_leave_the_new_lease_alone(self) -> None:
        late, now = self.taken_over()
        before = CrawlJob.objects.values().get(), CrawlHost.objects.values().get()
        jobs.heartbeat([late])
        assert not hosts.reserve(late.job.host, late.token, 60)
        hosts.release(late.job.host, late.token)
        assert (CrawlJob.objects.values().get(), CrawlHost.objects.values().get()) == before
        assert not jobs.stop_wanted(now)

    def test_a_refused_write_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        late, _ = self.taken_over()
        with caplog.at_level(logging.WARNING), pytest.raises(jobs.LeaseLost):
            jobs.progress(late, current_page=9)
        assert "late write refused" in caplog.text


class TestCancel:
    def test_a_waiting_job_ends_at_once_with_its_run(self) -> None:
        lease = claimed(target := ready())
        receipt = runs.open_run(lease.job, target)
        jobs.release(lease, wait_sec=100, reason="window")
        assert jobs.cancel(lease.job.job_id) == "canceled"
        row = stored(lease)
        assert (row.status, row.active_key) == ("canceled", None) and row.finished_at is not None
        assert CrawlRun.objects.get(pk=receipt.run.pk).status == "canceled"
        assert jobs.enqueue(target)[1]

    def test_a_running_job_is_told_to_stop(self) -> None:
        lease = claimed()
        assert not jobs.stop_wanted(lease)
        assert jobs.cancel(lease.job.job_id) == "stopping"
        assert jobs.stop_wanted(lease)
        assert stored(lease).status == "running"

    def test_an_ended_job_stays_as_it_ended(self) -> None:
        lease = claimed()
        jobs.finish(lease, "done")
        before = CrawlJob.objects.values().get()
        assert jobs.cancel(lease.job.job_id) == "done"
        assert CrawlJob.objects.values().get() == before

    def test_no_such_job_is_said(self) -> None:
        with pytest.raises(CrawlJob.DoesNotExist):
            jobs.cancel("nothing")


class TestRecover:
    def test_a_silent_job_goes_back_to_the_queue_with_its_page_and_frees_its_host(self) -> None:
        lease = claimed(target := ready())
        receipt = runs.open_run(lease.job, target)
        jobs.page_done(lease, 4, "cursor of 5")
        assert jobs.recover() == []
        fall_silent(lease)
        (line,) = jobs.recover()
        assert target.target_code in line and "queued again" in line
        row = stored(lease)
        assert (row.status, row.last_completed_page, row.cursor) == ("queued", 4, "cursor of 5")
        assert "worker died" in (row.wait_reason or "")
        assert CrawlRun.objects.get(pk=receipt.run.pk).status == "failed"
        assert SourceHealth.objects.get(target=target).consecutive_failures == 1
        assert jobs.claim() is not None

    def test_a_silent_job_frees_the_request_slot_it_held_on_another_host(self) -> None:
        lease = claimed()
        hosts.ask_slot("files.a.example", lease.token)
        assert hosts.take_slot("files.a.example", lease.token)
        fall_silent(lease)
        jobs.recover()
        hosts.ask_slot("files.a.example", "another")
        assert hosts.take_slot("files.a.example", "another")

    def test_a_heartbeat_keeps_the_job(self) -> None:
        lease = claimed()
        fall_silent(lease)
        jobs.heartbeat([lease])
        assert jobs.recover() == []
        assert not jobs.stop_wanted(lease)

    def test_two_sweepers_put_a_job_back_once(self) -> None:
        fall_silent(claimed())
        assert len([line for lines in at_once(4, lambda _: jobs.recover()) for line in lines]) == 1

    def test_attempts_are_counted_before_the_work_and_the_fifth_silent_one_is_the_last(self) -> None:
        target = ready()
        job, _ = jobs.enqueue(target)
        for attempt in range(1, 6):
            lease = jobs.claim()
            assert lease is not None and lease.job.attempt_count == stored(lease).attempt_count == attempt
            fall_silent(lease)
            jobs.recover()
        row = CrawlJob.objects.get(pk=job.pk)
        assert (row.status, row.active_key) == ("failed", None)
        assert (row.error_msg or "").startswith("POISON: 5 workers died")
        assert jobs.claim() is None

    def test_a_finished_page_sets_the_attempts_back(self) -> None:
        lease = claimed()
        jobs.page_done(lease, 1, "c")
        assert stored(lease).attempt_count == lease.job.attempt_count == 0

    def test_a_job_that_was_told_to_stop_ends_as_canceled(self) -> None:
        lease = claimed()
        jobs.cancel(lease.job.job_id)
        fall_silent(lease)
        (line,) = jobs.recover()
        assert "canceled" in line
        assert (stored(lease).status, stored(lease).active_key) == ("canceled", None)


class TestRelease:
    def test_the_end_of_a_turn_costs_no_attempt_and_a_failure_does(self) -> None:
        lease = claimed()
        jobs.release(lease)
        assert stored(lease).attempt_count == 0
        lease = jobs.claim()
        jobs.release(lease, reason="robots.txt cannot be read", counts=True)
        row = stored(lease)
        assert (row.attempt_count, row.wait_reason, row.lease_token) == (1, "robots.txt cannot be read", None)

    def test_what_may_go_on_at_once_rings_and_what_must_wait_does_not(self) -> None:
        lease = claimed()
        OrmQ.objects.all().delete()
        jobs.release(lease, wait_sec=60, reason="window")
        assert OrmQ.objects.count() == 0
        CrawlJob.objects.update(not_before=None)
        jobs.release(jobs.claim())
        assert OrmQ.objects.count() == 1

    def test_the_end_of_a_job_rings_for_the_next_one_of_its_host(self) -> None:
        first, _ = claimed(), jobs.enqueue(ready())
        OrmQ.objects.all().delete()
        jobs.finish(first, "done")
        assert OrmQ.objects.count() == 1
        jobs.finish(jobs.claim(), "done")
        assert OrmQ.objects.count() == 1

    def test_more_bells_than_jobs_do_nothing(self) -> None:
        for _ in range(3):
            assert slices.run_slice(5) == 0
        assert health.worker_heartbeat_age() is None
        assert connection.in_atomic_block is False
