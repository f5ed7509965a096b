"""``manage.py worker`` as a real process: a queue cluster that crawls, stops in good order, and puts right what one left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django_q.models import OrmQ, Schedule

from articles.models import Article
from crawl import jobs
from crawl.models import CrawlCluster, CrawlHost, CrawlJob
from govcrawler.clock import now_plus
from tests.crawl.listed import job_of, watched
from tests.crawl.witness import Witness, article, serve
from tests.demo_crawl import kill_group, wait_until, worker
from tests.faultserver import FaultServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

FIVE = [[f"/a{n}.html" for n in range(5)]]
MANY = [[f"/a{n}.html" for n in range(200)]]


@pytest.fixture
def env(process_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    own = {"CRAWL_ALLOW_ADDRESSES": "127.0.0.1", "CONTENT_DIR": str(tmp_path / "content"), "CRAWL_WORKERS": "1"}
    return {**process_env, **own}


def seen(check: Callable[[], bool]) -> Callable[[], bool]:
    """``check`` on a fresh connection: what other processes have committed."""

    def look() -> bool:
        connection.close()
        return check()

    return look


def group_is_empty(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_worker_crawls_what_is_queued_and_makes_the_service_ready_while_it_lives(
    server: FaultServer, witness: Witness, env: dict[str, str], tmp_path: Path
) -> None:
    serve(server, witness, FIVE)
    target = watched(server)
    jobs.enqueue(target)
    assert Client().get("/readyz").status_code == 503
    with worker(env, tmp_path / "worker.log") as process:
        wait_until("the job is done", seen(lambda: job_of(target).status == "done"), 60)
        assert Client().get("/readyz").status_code == 200
        later = watched(server)
        jobs.enqueue(later)
        wait_until("a job queued later is done", seen(lambda: job_of(later).status == "done"), 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert group_is_empty(process.pid)
    connection.close()
    assert Article.objects.count() == 5
    assert CrawlCluster.objects.count() == 0
    assert Client().get("/readyz").status_code == 503
    assert list(Schedule.objects.values_list("func", "minutes")) == [("crawl.tasks.tick", 1)]


def test_a_worker_that_is_told_to_stop_gives_its_jobs_back_and_the_next_one_finishes_them(
    server: FaultServer, witness: Witness, env: dict[str, str], tmp_path: Path
) -> None:
    serve(server, witness, MANY, hold=0.1)
    target = watched(server)
    jobs.enqueue(target)
    with worker(env, tmp_path / "worker.log") as process:
        wait_until("it is in the middle of the page", lambda: len(witness.spans) > 5, 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert group_is_empty(process.pid)
    connection.close()
    row = job_of(target)
    assert (row.status, row.lease_token, row.attempt_count) == ("queued", None, 0)
    assert CrawlHost.objects.get().lease_token is None
    asked = len(witness.spans)
    assert 5 < asked < 200
    assert Article.objects.count() == asked - 2
    serve(server, witness, MANY)
    with worker(env, tmp_path / "worker.log"):
        wait_until("the job is done", seen(lambda: job_of(target).status == "done"), 60)
    assert Article.objects.count() == 200
    assert all(witness.paths(server.netloc).count(name) == 1 for name in MANY[0])


def test_jobs_that_a_killed_worker_left_running_are_recovered_by_the_next_start_without_their_bell(
    server: FaultServer, witness: Witness, env: dict[str, str], tmp_path: Path
) -> None:
    serve(server, witness, FIVE)
    server.add("/a2.html", witness.answer(article("/a2.html"), hold=20))
    target = watched(server)
    jobs.enqueue(target)
    with worker(env, tmp_path / "worker.log") as process:
        wait_until("it is in the middle of the page", lambda: server.hits("/a2.html") != [], 60)
        kill_group(process)
    connection.close()
    row = job_of(target)
    assert (row.status, row.attempt_count) == ("running", 1)
    # Its leases have run out, and the queue has lost every task (fault-model P7).
    CrawlJob.objects.update(heartbeat_at=now_plus(-121))
    CrawlHost.objects.update(lease_until=now_plus(-1), next_allowed_at=None)
    OrmQ.objects.all().delete()
    server.add("/a2.html", witness.answer(article("/a2.html")))
    with worker(env, tmp_path / "restarted.log"):
        wait_until("the job is done", seen(lambda: job_of(target).status == "done"), 60)
    assert "recovered" in (tmp_path / "restarted.log").read_text()
    assert Article.objects.count() == 5
    assert [len(server.hits(name)) for name in FIVE[0]] == [1, 1, 2, 1, 1]
