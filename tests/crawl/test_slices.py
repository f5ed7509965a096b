"""Slices: several hosts at once, one request a host, an end in time, and what a doubtful job may do to the others."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection

from articles.models import Article
from crawl import health, jobs, slices
from crawl.models import CrawlCluster, CrawlHost, CrawlJob
from govcrawler.clock import now_plus
from tests import rows
from tests.crawl.at_once import at_once
from tests.crawl.listed import job_of, watched
from tests.crawl.witness import SLACK, Witness, article, serve
from tests.faultserver import FaultServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

FIVE = [[f"/a{n}.html" for n in range(5)]]


def test_hosts_are_worked_on_side_by_side_and_each_host_one_request_at_a_time(
    server: FaultServer, second: FaultServer, witness: Witness
) -> None:
    targets = []
    for one in (server, second):
        serve(one, witness, FIVE, hold=0.1)
        targets += [watched(one), watched(one)]
    for target in targets:
        jobs.enqueue(target)
    assert slices.run_slice(30) == 4
    assert set(CrawlJob.objects.values_list("status", flat=True)) == {"done"}
    assert witness.overlaps(server.netloc, second.netloc)
    for host in (server.netloc, second.netloc):
        assert min(witness.gaps(host)) >= 0


def test_two_workers_with_files_on_each_others_hosts_keep_every_hosts_pace(
    server: FaultServer, second: FaultServer, witness: Witness
) -> None:
    targets = []
    for one, other in ((server, second), (second, server)):
        other.add("/f.pdf", witness.answer(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}))
        serve(one, witness, FIVE, robots="User-agent: *\nCrawl-delay: 0.2\n", hold=0.05, files=[other.url("/f.pdf")])
        targets += [watched(one), watched(one)]
    for target in targets:
        jobs.enqueue(target)
    at_once(2, lambda _: slices.run_slice(45))
    assert set(CrawlJob.objects.values_list("status", flat=True)) == {"done"}
    for host in (server.netloc, second.netloc):
        assert min(witness.gaps(host)) >= 0.2 - SLACK


def test_a_slice_ends_in_its_time_and_the_next_one_finishes_the_job(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [[f"/a{page}-{n}.html" for n in range(3)] for page in range(4)], hold=0.2)
    target = watched(server)
    jobs.enqueue(target)
    assert slices.run_slice(1) == 1
    half = job_of(target)
    assert half.status == "queued" and 0 < Article.objects.count() < 12
    assert slices.run_slice(30) == 1
    done = job_of(target)
    assert (done.status, done.attempt_count, Article.objects.count()) == ("done", 0, 12)
    articles = [path for path in witness.paths(server.netloc) if path.startswith("/a")]
    assert len(articles) == len(set(articles)) == 12


def test_no_more_hosts_than_the_setting_are_taken_at_once(
    server: FaultServer, second: FaultServer, witness: Witness, loopback: Any
) -> None:
    loopback.CRAWL = {**loopback.CRAWL, "hosts_per_worker": 1}
    for one in (server, second):
        serve(one, witness, FIVE, hold=0.05)
        jobs.enqueue(watched(one))
    assert slices.run_slice(30) == 2
    assert set(CrawlJob.objects.values_list("status", flat=True)) == {"done"}
    assert not witness.overlaps(server.netloc, second.netloc)


def test_a_slice_without_work_ends_and_does_not_wait_for_jobs_far_ahead() -> None:
    rows.job(host="h")
    CrawlJob.objects.update(not_before=now_plus(3600))
    assert slices.run_slice(300) == 0


def test_a_job_that_is_due_in_a_moment_is_waited_for(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, FIVE)
    target = watched(server)
    jobs.enqueue(target)
    CrawlJob.objects.update(not_before=now_plus(1))
    assert slices.run_slice(30) == 1
    assert job_of(target).status == "done"


def test_a_cluster_that_shall_stop_stops_its_slices_before_their_next_request(
    server: FaultServer, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(health.CLUSTER_VARIABLE, "ours")
    CrawlCluster.objects.create(cluster_id="ours", hostname="here", pid=1)
    CrawlCluster.objects.create(cluster_id="other", hostname="there", pid=2, stop=True)
    serve(server, witness, [[f"/a{n}.html" for n in range(100)]], hold=0.1)

    def stop() -> None:
        CrawlCluster.objects.filter(cluster_id="ours").update(stop=True)
        connection.close()

    server.add("/a2.html", witness.answer(article("2"), meanwhile=stop))
    target = watched(server)
    jobs.enqueue(target)
    assert slices.run_slice(60) == 1
    row = job_of(target)
    assert (row.status, row.attempt_count, row.lease_token) == ("queued", 0, None)
    assert CrawlHost.objects.get().lease_token is None
    asked = len(witness.spans)
    assert asked < 50
    assert Article.objects.count() == asked - 2
    assert health.worker_heartbeat_age() is not None


def test_a_request_that_does_not_end_when_the_worker_stops_gives_job_and_host_back(
    server: FaultServer, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "STOP_GRACE_SEC", 1)
    monkeypatch.setenv(health.CLUSTER_VARIABLE, "ours")
    CrawlCluster.objects.create(cluster_id="ours", hostname="here", pid=1)
    serve(server, witness, FIVE)

    def stop() -> None:
        CrawlCluster.objects.update(stop=True)
        connection.close()

    server.add("/a2.html", witness.answer(article("2"), meanwhile=stop, hold=4))
    target = watched(server)
    jobs.enqueue(target)
    one = slices.Slice(60)
    one.run()
    row = job_of(target)
    assert (row.status, row.lease_token) == ("queued", None)
    assert "middle of a request" in (row.wait_reason or "")
    assert CrawlHost.objects.get().lease_token is None
    for thread in one.working:
        thread.join(30)
    one.fetcher.close()
    assert job_of(target).status == "queued"
    assert witness.paths(server.netloc)[-1] == "/a2.html"


def test_a_doubtful_job_runs_alone(server: FaultServer, second: FaultServer, witness: Witness) -> None:
    for one in (server, second):
        serve(one, witness, FIVE, hold=0.05)
    doubtful, other = watched(server), watched(second)
    jobs.enqueue(doubtful)
    CrawlJob.objects.update(attempt_count=jobs.ALONE_FROM_ATTEMPT)
    jobs.enqueue(other)
    assert slices.run_slice(30) == 2
    assert set(CrawlJob.objects.values_list("status", flat=True)) == {"done"}
    assert not witness.overlaps(server.netloc, second.netloc)


def test_a_database_that_is_away_for_a_moment_does_not_end_the_slice(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, FIVE)
    target = watched(server)
    jobs.enqueue(target)
    refused: list[str] = []

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT") and "crawl_job" in sql and len(refused) < 2:
            refused.append(sql)
            raise OperationalError(2006, "Server has gone away")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        assert slices.run_slice(30) == 1
    assert len(refused) == 2
    assert job_of(target).status == "done"
