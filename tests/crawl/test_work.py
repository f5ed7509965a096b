"""A claimed job to its end: incremental runs, checkpoints, stops, and every failure as a named state of the row."""

from __future__ import annotations

import threading
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from articles.models import Article
from crawl import jobs
from crawl.models import CrawlHost, CrawlJob, CrawlRun
from crawl.work import Bounds
from govcrawler.clock import now_plus
from sources.models import CrawlTarget
from tests.crawl.listed import crawl_once, job_of, run, watched, work_on
from tests.crawl.witness import Witness, article, list_page, serve
from tests.faultserver import FaultServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

THREE = [["/a1.html", "/a2.html"], ["/a3.html", "/a4.html"], ["/a5.html"]]


def lists_asked(server: FaultServer, witness: Witness, since: int = 0) -> list[str]:
    return [span.path for span in witness.spans[since:] if span.path.startswith("/list")]


def runs_of(target: CrawlTarget) -> list[CrawlRun]:
    return list(CrawlRun.objects.filter(target=target).order_by("id"))


class TestIncremental:
    def test_a_second_run_stops_at_the_first_page_of_known_rows(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        assert crawl_once(target) == "done"
        target.refresh_from_db()
        assert target.backfill_completed_at is not None
        seen = len(witness.spans)
        assert crawl_once(target) == "done"
        assert [span.path for span in witness.spans[seen:]] == ["/list1.html"]
        assert [run.scope for run in runs_of(target)] == ["backfill", "incremental"]

    def test_new_rows_are_fetched_and_pinned_ones_do_not_count(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        assert crawl_once(target) == "done"
        server.add("/list1.html", witness.answer(list_page(["/top.html", "/a1.html"], "/list2.html", pinned=["/top.html"])))
        server.add("/top.html", witness.answer(article("top")))
        seen = len(witness.spans)
        assert crawl_once(target) == "done"
        # The pinned row is new, but what moves is known: the page still ends the run.
        assert [span.path for span in witness.spans[seen:]] == ["/list1.html", "/top.html"]
        server.add("/list1.html", witness.answer(list_page(["/top.html", "/new.html"], "/list2.html", pinned=["/top.html"])))
        server.add("/new.html", witness.answer(article("new")))
        seen = len(witness.spans)
        assert crawl_once(target) == "done"
        assert [span.path for span in witness.spans[seen:]] == ["/list1.html", "/new.html", "/list2.html"]

    def test_before_a_pass_has_reached_the_end_known_rows_do_not_stop_a_run(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        assert crawl_once(target, max_pages=1) == "done"
        target.refresh_from_db()
        assert target.backfill_completed_at is None
        assert crawl_once(target) == "done"
        assert lists_asked(server, witness) == ["/list1.html", "/list1.html", "/list2.html", "/list3.html"]
        assert Article.objects.count() == 5

    def test_an_incremental_run_that_was_cut_off_leaves_no_hole_to_the_next(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/old.html"]])
        target = watched(server)
        assert crawl_once(target) == "done"
        serve(server, witness, [*THREE, ["/old.html"]])
        assert crawl_once(target, max_pages=1) == "done"
        assert Article.objects.count() == 3
        assert crawl_once(target) == "done"
        assert Article.objects.count() == 6
        seen = len(witness.spans)
        assert crawl_once(target) == "done"
        assert lists_asked(server, witness, seen) == ["/list1.html"]

    def test_force_fetches_known_articles_again_to_the_end_of_the_list(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        assert crawl_once(target) == "done"
        assert crawl_once(target, force=True) == "done"
        assert witness.paths(server.netloc).count("/a5.html") == 2
        assert runs_of(target)[1].scope == "full"
        assert Article.objects.count() == 5

    def test_a_list_that_repeats_itself_ends_with_a_warning(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"], ["/a1.html"]])
        server.add("/list2.html", witness.answer(list_page(["/a1.html"], "/list1.html")))
        target = watched(server)
        assert crawl_once(target) == "done"
        assert lists_asked(server, witness) == ["/list1.html", "/list2.html"]
        assert "repeats page 1" in str(runs_of(target)[0].warnings_json)


class TestCheckpoint:
    def test_a_job_goes_on_from_its_last_page_in_the_same_run(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        job, _ = jobs.enqueue(target)
        stop = threading.Event()
        server.add("/a3.html", witness.answer(article("3"), meanwhile=stop.set))
        assert work_on(job, stop=stop) == "stopped"
        row = job_of(target)
        assert (row.status, row.last_completed_page, row.attempt_count) == ("queued", 1, 0)
        assert Article.objects.count() == 3
        assert work_on(row) == "done"
        assert lists_asked(server, witness) == ["/list1.html", "/list2.html", "/list2.html", "/list3.html"]
        assert witness.paths(server.netloc).count("/a3.html") == 1
        (receipt,) = runs_of(target)
        assert receipt.inserted == 5

    def test_an_unfinished_backfill_goes_on_in_the_next_job_where_checkpoints_are_kept(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        target = watched(server, track_checkpoint=True)
        assert crawl_once(target, max_pages=1) == "done"
        assert crawl_once(target) == "done"
        assert lists_asked(server, witness) == ["/list1.html", "/list2.html", "/list3.html"]
        target.refresh_from_db()
        assert target.backfill_completed_at is not None

    def test_a_worker_that_died_after_the_last_page_leaves_a_job_that_only_has_to_end(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        job, _ = jobs.enqueue(target)
        lease = jobs.claim(job_id=job.job_id)
        jobs.page_done(lease, 3, None)
        jobs.release(lease)
        assert work_on(job) == "done"
        assert witness.spans == []
        target.refresh_from_db()
        assert target.backfill_completed_at is not None

    def test_the_time_of_the_slice_ends_a_page_before_its_next_request(self, server: FaultServer, witness: Witness) -> None:
        names = [f"/a{n}.html" for n in range(10)]
        serve(server, witness, [names])
        server.add("/a3.html", witness.answer(article("3"), hold=1.5))
        target = watched(server)
        job, _ = jobs.enqueue(target)
        assert work_on(job, bounds=Bounds(deadline=monotonic() + 1.4)) == "stopped"
        assert witness.paths(server.netloc)[-1] == "/a3.html"
        assert (job_of(target).status, Article.objects.count()) == ("queued", 4)
        assert work_on(job_of(target)) == "done"
        assert all(witness.paths(server.netloc).count(name) == 1 for name in names)


class TestStop:
    def test_a_canceled_job_makes_no_further_request_and_keeps_what_it_had(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        job, _ = jobs.enqueue(target)

        def cancel() -> None:
            jobs.cancel(job.job_id)
            connection.close()

        server.add("/a2.html", witness.answer(article("2"), meanwhile=cancel))
        assert work_on(job) == "canceled"
        assert witness.paths(server.netloc)[-1] == "/a2.html"
        row = job_of(target)
        assert (row.status, row.active_key, Article.objects.count()) == ("canceled", None, 2)
        assert runs_of(target)[0].status == "canceled"
        assert CrawlHost.objects.get().lease_token is None

    def test_a_worker_that_lost_its_lease_stores_nothing_more(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html", "/a2.html", "/a3.html"]])
        target = watched(server)
        job, _ = jobs.enqueue(target)
        lease = jobs.claim(job_id=job.job_id)
        assert lease is not None

        def taken_over() -> None:
            CrawlJob.objects.update(heartbeat_at=now_plus(-500))
            CrawlHost.objects.update(lease_until=now_plus(-1))
            jobs.recover()
            assert jobs.claim(job_id=job.job_id) is not None
            connection.close()

        server.add("/a2.html", witness.answer(article("2"), meanwhile=taken_over))
        assert run(lease) == "lost"
        assert witness.paths(server.netloc)[-1] == "/a2.html"
        row = job_of(target)
        assert (row.status, row.last_completed_page) == ("running", 0)
        # What it had fetched is in the archive, where the job's new worker finds it.
        assert Article.objects.count() == 0
        assert CrawlHost.objects.get().lease_token == row.lease_token


class TestFailures:
    def failed(self, target: CrawlTarget) -> str:
        assert crawl_once(target) == "failed"
        job = job_of(target)
        assert (job.status, job.active_key, CrawlHost.objects.get().lease_token) == ("failed", None, None)
        assert runs_of(target)[0].status == "failed"
        return job.error_msg or ""

    def test_an_unknown_adapter_is_a_configuration_error(self, server: FaultServer, witness: Witness) -> None:
        target = watched(server, site={"cms_adapter": "nobody", "yaml_path": None})
        assert self.failed(target).startswith("CONFIG: ")
        assert "nobody" in (job_of(target).error_msg or "")
        assert witness.spans == []

    def test_parameters_that_the_adapter_refuses_name_the_field(self, server: FaultServer) -> None:
        target = watched(server, site={"adapter_params_json": {"list": {"row": "li", "colour": "red"}}})
        message = self.failed(target)
        assert message.startswith("CONFIG: ") and "colour" in message

    def test_a_page_that_is_no_list_any_more_fails_with_what_was_looked_for(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        server.add("/list1.html", witness.answer(article("a new layout of the site")))
        assert "list.container" in self.failed(watched(server))

    def test_a_list_that_is_gone_fails_at_once(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, THREE)
        server.add("/list1.html", witness.answer(b"gone", status=404))
        assert "404" in self.failed(watched(server))

    def test_a_target_that_was_deleted_meanwhile_fails_its_job(self, server: FaultServer) -> None:
        target = watched(server)
        job, _ = jobs.enqueue(target)
        lease = jobs.claim(job_id=job.job_id)
        CrawlTarget.objects.filter(pk=target.pk).delete()
        assert run(lease) == "failed"
        assert "no longer exists" in (CrawlJob.objects.get().error_msg or "")

    def test_a_server_in_trouble_is_tried_again_five_times_and_then_the_job_fails(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        server.add("/list1.html", witness.answer(status=500))
        target = watched(server)
        job, _ = jobs.enqueue(target)
        ends = []
        while job_of(target).status == "queued":
            CrawlJob.objects.update(not_before=None)
            CrawlHost.objects.update(backoff_until=None)
            ends.append(work_on(job))
        assert ends == ["waits"] * 4 + ["failed"]
        assert "500" in (job_of(target).error_msg or "")
        assert len(lists_asked(server, witness)) == 5

    def test_attempts_before_a_finished_page_do_not_count_against_the_pages_after_it(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        server.add("/list2.html", witness.answer(status=500))
        target = watched(server)
        job, _ = jobs.enqueue(target)
        CrawlJob.objects.update(attempt_count=4)
        assert work_on(job) == "waits"
        row = job_of(target)
        assert (row.status, row.last_completed_page, row.attempt_count) == ("queued", 1, 0)

    def test_a_database_that_is_away_for_a_moment_is_a_wait_and_not_the_end(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, THREE)
        target = watched(server)
        job, _ = jobs.enqueue(target)

        def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if "INSERT" in sql and "crawl_log" in sql and len(refused) < 1:
                refused.append(sql)
                raise OperationalError(2006, "Server has gone away")
            return execute(sql, params, many, context)

        refused: list[str] = []
        with connection.execute_wrapper(refuse):
            assert work_on(job) == "waits"
        row = job_of(target)
        assert row.status == "queued" and "DB: " in (row.wait_reason or "")
        assert row.not_before > timezone.now() + timedelta(seconds=30)
        CrawlJob.objects.update(not_before=None)
        assert work_on(job) == "done"
        assert Article.objects.count() == 5


def test_one_bad_article_is_listed_and_the_others_are_stored(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, THREE)
    server.add("/a3.html", witness.answer(b"gone", status=404))
    target = watched(server)
    assert crawl_once(target) == "done"
    (receipt,) = runs_of(target)
    assert (receipt.status, receipt.inserted, receipt.failed, receipt.discovered) == ("partial", 4, 1, 5)
    assert job_of(target).result_json["status"] == "partial"
