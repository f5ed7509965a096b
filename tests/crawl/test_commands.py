"""``crawl``, ``enqueue``, ``jobs`` and ``cancel_job``: what they print, and that bad input changes nothing and ends with 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from articles.models import Article
from crawl import hosts, jobs
from crawl.models import CrawlJob
from govcrawler.audit.models import AdminAuditLog
from govcrawler.clock import now_plus
from tests import rows
from tests.conftest import RunManage
from tests.crawl.listed import job_of, watched
from tests.crawl.witness import Witness, article, serve
from tests.faultserver import FaultServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

TWO = [["/a1.html", "/a2.html"], ["/a3.html"]]
PACE_TABLES = {"crawl_host", "crawl_host_day", "crawl_site_day"}
"""A dry run is polite too: lease, pace and count of requests are written, and nothing else."""


def tables(but: set[str] = frozenset()) -> dict[str, list[dict[str, Any]]]:  # type: ignore[assignment]
    """Every row of every table."""
    models = [model for model in apps.get_models() if model._meta.db_table not in but]
    return {model._meta.db_table: list(model._base_manager.order_by("pk").values()) for model in models}


def ends_with(status: int, *arguments: str, **options: Any) -> str:
    """The message of a command that ends with this status."""
    with pytest.raises(CommandError) as caught:
        call_command(*arguments, **options)
    assert caught.value.returncode == status, str(caught.value)
    return str(caught.value)


class TestCrawl:
    def test_it_crawls_and_ends_with_a_summary(
        self, server: FaultServer, witness: Witness, capsys: pytest.CaptureFixture[str]
    ) -> None:
        serve(server, witness, TWO)
        target = watched(server)
        call_command("crawl", target.target_code)
        told = capsys.readouterr().out
        assert f"{target.target_code}: done" in told
        counts = dict(line.split("│")[1:3] for line in told.splitlines() if line.count("│") == 3)
        counts = {name.strip(): value.strip() for name, value in counts.items()}
        assert (counts["pages"], counts["requests"], counts["inserted"], counts["failed"]) == ("2", "6", "3", "0")
        assert job_of(target).status == "done"
        assert AdminAuditLog.objects.get().action == "target.run"

    def test_max_pages_ends_it_early_and_force_fetches_again(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, TWO)
        target = watched(server)
        call_command("crawl", target.target_code, "--max-pages", "1")
        assert Article.objects.count() == 2
        call_command("crawl", target.target_code, "--force", "--max-pages", "1")
        assert witness.paths(server.netloc).count("/a1.html") == 2

    def test_a_failure_is_the_message_and_status_1(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, TWO)
        server.add("/list1.html", witness.answer(b"gone", status=404))
        target = watched(server)
        message = ends_with(1, "crawl", target.target_code)
        assert "failed" in message and "404" in message

    def test_a_job_that_must_wait_says_why(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, TWO)
        target = watched(server)
        hosts.back_off(server.netloc, 600, "429 a minute ago")
        assert "429 a minute ago" in ends_with(1, "crawl", target.target_code)
        assert witness.spans == []

    def test_a_job_that_a_worker_is_on_is_left_to_it(self, server: FaultServer) -> None:
        target = watched(server)
        jobs.enqueue(target)
        assert jobs.claim() is not None
        assert "a worker is on it" in ends_with(1, "crawl", target.target_code)

    def test_force_is_not_dropped_in_silence_when_a_job_waits_without_it(self, server: FaultServer, witness: Witness) -> None:
        target = watched(server)
        jobs.enqueue(target)
        before = tables()
        assert "without --force" in ends_with(2, "crawl", target.target_code, "--force")
        assert tables() == before


class TestDryRun:
    def test_it_prints_the_record_and_writes_nothing(
        self,
        server: FaultServer,
        witness: Witness,
        capsys: pytest.CaptureFixture[str],
        loopback: Any,
    ) -> None:
        serve(server, witness, TWO)
        server.add("/a1.html", witness.answer(article("样例", files=["/f.pdf"])))
        target = watched(server, sample_article_url=server.url("/a1.html"))
        before = tables(PACE_TABLES)
        call_command("crawl", target.target_code, "--dry-run")
        told = capsys.readouterr().out
        assert "样例" in told and "现将有关事项通知如下" in told and server.url("/f.pdf") in told
        assert tables(PACE_TABLES) == before
        assert witness.paths(server.netloc) == ["/robots.txt", "/a1.html"]
        assert not Path(loopback.CONTENT_DIR).exists()
        assert hosts.lease(server.netloc, "next", "job")

    def test_a_sample_that_cannot_be_had_is_said(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, TWO)
        target = watched(server, sample_article_url=server.url("/nothing.html"))
        assert "404" in ends_with(1, "crawl", target.target_code, "--dry-run")

    def test_a_busy_host_is_not_asked(self, server: FaultServer, witness: Witness) -> None:
        target = watched(server, sample_article_url=server.url("/a1.html"))
        hosts.lease(server.netloc, "somebody", "job")
        assert "busy" in ends_with(1, "crawl", target.target_code, "--dry-run")
        assert server.log == []

    def test_without_a_sample_it_says_which_field_is_missing(self, server: FaultServer) -> None:
        target = watched(server)
        before = tables()
        assert "sample_article_url" in ends_with(2, "crawl", target.target_code, "--dry-run")
        assert tables() == before

    def test_parameters_that_the_adapter_refuses_are_named(self, server: FaultServer) -> None:
        bad = {"list": {"row": "li"}, "colour": 1}
        target = watched(server, sample_article_url=server.url("/a1.html"), site={"adapter_params_json": bad})
        before = tables()
        assert "colour" in ends_with(2, "crawl", target.target_code, "--dry-run")
        assert tables() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crawl", "nobody"], "unknown target nobody"),
        (["crawl", "known", "--max-pages", "0"], "--max-pages 0"),
        (["crawl", "off"], "target of off is disabled"),
        (["crawl", "bare"], "bare has no entry_url"),
        (["enqueue"], "name targets, or give --all"),
        (["enqueue", "known", "--all"], "name targets, or give --all"),
        (["enqueue", "known", "nobody"], "unknown target nobody"),
        (["enqueue", "known", "off"], "target of off is disabled"),
        (["cancel_job", "nothing"], "no job nothing"),
        (["jobs", "--limit", "0"], "--limit 0"),
    ],
)
def test_bad_input_ends_with_one_message_and_changes_nothing(arguments: list[str], words: str) -> None:
    rows.target(target_code="known", entry_url="http://www.a.example/l.html")
    rows.target(target_code="off", entry_url="http://www.a.example/l.html", enabled=False)
    rows.target(target_code="bare")
    before = tables()
    message = ends_with(2, *arguments)
    assert words in message and "\n" not in message
    assert tables() == before


class TestQueue:
    def test_enqueue_takes_names_or_all_and_keeps_active_jobs(self, capsys: pytest.CaptureFixture[str]) -> None:
        for code in ("a", "b"):
            rows.target(target_code=code, entry_url="http://www.a.example/l.html")
        rows.target(target_code="off", enabled=False)
        call_command("enqueue", "a", "--force")
        call_command("enqueue", "--all")
        told = capsys.readouterr().out
        assert "a: job" in told and "is already queued" in told
        assert dict(CrawlJob.objects.values_list("target_code", "force")) == {"a": True, "b": False}
        assert AdminAuditLog.objects.filter(action="target.run").count() == 2

    def test_jobs_tells_what_waits_and_why_and_what_ended_how(self, capsys: pytest.CaptureFixture[str]) -> None:
        rows.job(target_code="waits", wait_reason="outside the window")
        CrawlJob.objects.update(not_before=now_plus(3600))
        rows.job(target_code="broken", status="failed", error_msg="HTTP_STATUS: status 404")
        rows.job(target_code="fine", status="done", result_json={"inserted": 3, "known": 2, "failed": 0})
        call_command("jobs")
        told = capsys.readouterr().out
        assert "outside the window until" in told and "status 404" in told and "inserted 3, known 2" in told
        call_command("jobs", "--status", "failed")
        told = capsys.readouterr().out
        assert "broken" in told and "fine" not in told and "waits" not in told

    def test_watching_nothing_ends_at_once_and_shows_the_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        rows.job(target_code="fine", status="done")
        call_command("jobs", "--watch")
        assert "fine" in capsys.readouterr().out

    def test_cancel_says_what_became_of_the_job(self, capsys: pytest.CaptureFixture[str]) -> None:
        rows.job(job_id="waiting", target_code="a", active_key="a")
        rows.job(job_id="busy", status="running", host="h")
        rows.job(job_id="over", status="done")
        for job_id in ("waiting", "busy", "over"):
            call_command("cancel_job", job_id)
        assert capsys.readouterr().out.split("\n")[:3] == ["waiting: canceled", "busy: stopping", "over: done"]
        assert CrawlJob.objects.get(job_id="waiting").active_key is None
        assert CrawlJob.objects.get(job_id="busy").stop_requested
        assert AdminAuditLog.objects.filter(action="job.cancel").count() == 3


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"DATABASE_URL": "mysql://root:wrong@127.0.0.1:1/gone"}, "database error: "),
        ({"DATABASE_URL": "oracle://root@127.0.0.1/x"}, "DATABASE_URL begins with 'oracle'"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"CRAWL_LEASE_SECONDS": "soon"}, "CRAWL_LEASE_SECONDS='soon'"),
    ],
)
@pytest.mark.parametrize("command", [["enqueue", "known"], ["worker"]])
def test_a_missing_database_or_setting_ends_with_one_line_and_status_2(
    run_manage: RunManage, env: dict[str, str], words: str, command: list[str]
) -> None:
    done = run_manage(*command, env=env)
    lines = done.stderr.strip().splitlines()
    assert (done.returncode, len(lines), done.stdout) == (2, 1, ""), done.stderr
    assert words in lines[0]
    assert CrawlJob.objects.count() == 0


def test_status_2_reaches_the_shell(run_manage: RunManage) -> None:
    done = run_manage("enqueue", "nobody")
    assert done.returncode == 2
    assert done.stderr.strip() == "CommandError: unknown target nobody: `manage.py sync_sites` shows what exists"
