"""Politeness over real HTTP, judged by the servers' own record of requests (invariant 4; fault-model N4, P10, H10, H16)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from articles.models import Article, Attachment
from crawl import hosts, jobs, politeness, slices
from crawl.models import CrawlHost, CrawlJob, CrawlLog, CrawlRun, CrawlSiteDay
from tests.crawl.listed import crawl_once, job_of, watched, work_on
from tests.crawl.witness import SLACK, Witness, article, list_page, serve
from tests.faultserver import FaultServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

SLOW = "User-agent: *\nCrawl-delay: 0.3\n"
PDF = b"%PDF-1.4 a file"


def add_file(server: FaultServer, witness: Witness, path: str, **how: Any) -> str:
    server.add(path, witness.answer(PDF, headers={"Content-Type": "application/pdf"}, **how))
    return server.url(path)


def run_now(target: Any) -> CrawlRun:
    return CrawlRun.objects.filter(target=target).latest("id")


def test_a_job_asks_robots_first_and_stores_every_article(server: FaultServer, witness: Witness) -> None:
    serve(server, witness, [["/a1.html", "/a2.html"], ["/a3.html"]])
    target = watched(server)
    assert crawl_once(target) == "done"
    paths = ["/robots.txt", "/list1.html", "/a1.html", "/a2.html", "/list2.html", "/a3.html"]
    assert witness.paths(server.netloc) == paths
    assert Article.objects.count() == 3
    assert job_of(target).result_json["status"] == "succeeded"
    assert set(CrawlLog.objects.values_list("article_url", flat=True)) == {server.url(path) for path in paths}


class TestPace:
    def test_crawl_delay_holds_between_the_end_of_each_request_and_the_next_robots_included(
        self, server: FaultServer, witness: Witness
    ) -> None:
        files = [add_file(server, witness, "/f.pdf")]
        serve(server, witness, [["/a1.html"], ["/a2.html"]], robots=SLOW, hold=0.1, files=files)
        assert crawl_once(watched(server)) == "done"
        assert len(witness.spans) == 6  # the file is named twice and fetched once
        assert min(witness.gaps(server.netloc)) >= 0.3 - SLACK

    def test_the_interval_of_the_target_holds_where_robots_asks_for_less(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"]], robots=SLOW)
        assert crawl_once(watched(server, interval_sec=1)) == "done"
        assert min(witness.gaps(server.netloc)) >= 1 - SLACK

    def test_the_longest_interval_of_the_targets_of_a_host_is_the_pace_of_all(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html"]])
        watched(server, interval_sec=1)
        watched(server, interval_sec=9, enabled=False)
        assert crawl_once(watched(server)) == "done"
        assert min(witness.gaps(server.netloc)) >= 1 - SLACK

    def test_the_next_job_on_the_host_waits_for_the_pause_the_last_one_owes(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html"]], hold=1.2)
        first, second = watched(server, interval_sec=1), watched(server, interval_sec=1)
        assert crawl_once(first) == "done"
        assert crawl_once(second) == "done"
        assert witness.paths(server.netloc).count("/list1.html") == 2
        assert min(witness.gaps(server.netloc)) >= 1 - SLACK

    def test_a_longer_wait_than_a_turn_allows_gives_the_host_back_with_its_reason(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html"]], robots="User-agent: *\nCrawl-delay: 60\n")
        target = watched(server)
        assert crawl_once(target) == "waits"
        job = job_of(target)
        assert witness.paths(server.netloc) == ["/robots.txt"]
        assert (job.status, job.attempt_count) == ("queued", 0)
        assert "is due in" in (job.wait_reason or "")
        assert job.not_before is not None and job.not_before > timezone.now() + timedelta(seconds=30)
        assert CrawlHost.objects.get(host=server.netloc).lease_token is None


class TestOtherHosts:
    def test_a_redirect_to_a_second_host_keeps_that_hosts_robots_and_pace(
        self, server: FaultServer, second: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html", "/a2.html"]])
        serve(second, witness, [["/m1.html", "/m2.html"]], robots=SLOW)
        for name, moved in (("/a1.html", "/m1.html"), ("/a2.html", "/m2.html")):
            server.add(name, witness.answer(status=302, headers={"Location": second.url(moved)}))
        assert crawl_once(watched(server)) == "done"
        assert witness.paths(second.netloc) == ["/robots.txt", "/m1.html", "/m2.html"]
        assert min(witness.gaps(second.netloc)) >= 0.3 - SLACK
        assert Article.objects.count() == 2

    def test_files_on_a_host_that_another_job_works_on_are_never_asked_for_at_the_same_time(
        self, server: FaultServer, second: FaultServer, witness: Witness
    ) -> None:
        files = [add_file(second, witness, f"/f{n}.pdf", hold=0.2) for n in range(2)]
        serve(server, witness, [["/a1.html", "/a2.html"]], files=files)
        serve(second, witness, [[f"/b{n}.html" for n in range(6)]], hold=0.2)
        asking, working = watched(server), watched(second)
        for target in (asking, working):
            jobs.enqueue(target)
        slices.run_slice(30)
        assert {job_of(asking).status, job_of(working).status} == {"done"}
        assert Attachment.objects.filter(status="done").count() == 4
        assert len(witness.of(second.netloc)) == 10
        assert min(witness.gaps(second.netloc)) >= 0

    def test_two_jobs_that_want_each_others_host_both_finish(
        self, server: FaultServer, second: FaultServer, witness: Witness
    ) -> None:
        here, there = add_file(server, witness, "/f.pdf", hold=0.2), add_file(second, witness, "/f.pdf", hold=0.2)
        serve(server, witness, [[f"/a{n}.html" for n in range(3)]], robots=SLOW, hold=0.1, files=[there])
        serve(second, witness, [[f"/b{n}.html" for n in range(3)]], robots=SLOW, hold=0.1, files=[here])
        targets = [watched(server), watched(second)]
        for target in targets:
            jobs.enqueue(target)
        slices.run_slice(60)
        assert {job_of(target).status for target in targets} == {"done"}
        assert Attachment.objects.filter(status="done").count() == 6
        for host in (server.netloc, second.netloc):
            assert min(witness.gaps(host)) >= 0.3 - SLACK

    def test_a_file_host_that_rests_costs_its_files_a_later_try_and_not_the_job(
        self, server: FaultServer, second: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html"]], files=[add_file(second, witness, "/f.pdf")])
        hosts.back_off(second.netloc, 3600, "it said 429")
        assert crawl_once(watched(server)) == "done"
        assert witness.paths(second.netloc) == []
        assert Attachment.objects.get().status == "pending"
        assert CrawlHost.objects.get(host=second.netloc).robots_fetched_at is None


class TestRobots:
    def test_a_forbidden_article_is_a_skipped_row_and_not_a_request(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/secret/a1.html", "/a2.html"]], robots="User-agent: *\nDisallow: /secret/\n")
        target = watched(server)
        assert crawl_once(target) == "done"
        assert "/secret/a1.html" not in witness.paths(server.netloc)
        run = run_now(target)
        assert (run.skipped, run.inserted, run.failed) == (1, 1, 0)
        assert run.metrics_json == {"reasons": {"skipped:robots": 1}}

    def test_an_unreachable_robots_makes_the_job_wait_with_the_reason_and_asks_for_no_page(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html"]])
        server.add("/robots.txt", witness.answer(status=500))
        target = watched(server)
        assert crawl_once(target) == "waits"
        job = job_of(target)
        assert witness.paths(server.netloc) == ["/robots.txt"]
        assert job.attempt_count == 1
        assert "robots.txt" in (job.wait_reason or "") and "500" in (job.wait_reason or "")
        assert job.not_before is not None and job.not_before > timezone.now() + timedelta(minutes=9)

    def test_a_retry_after_of_robots_rests_the_host_for_as_long(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"]])
        server.add("/robots.txt", witness.answer(status=503, headers={"Retry-After": "7200"}))
        target = watched(server)
        assert crawl_once(target) == "waits"
        soon = timezone.now() + timedelta(minutes=119)
        assert job_of(target).not_before > soon and CrawlHost.objects.get(host=server.netloc).backoff_until > soon

    def test_an_unreachable_robots_of_a_file_host_does_not_stop_the_job(
        self, server: FaultServer, second: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html"]], files=[add_file(second, witness, "/f.pdf")])
        second.add("/robots.txt", witness.answer(status=500))
        assert crawl_once(watched(server)) == "done"
        assert witness.paths(second.netloc) == ["/robots.txt"]
        assert Attachment.objects.get().status == "pending"

    def test_robots_is_kept_for_a_day_over_jobs(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"]])
        for target in (watched(server), watched(server)):
            assert crawl_once(target) == "done"
        assert witness.paths(server.netloc).count("/robots.txt") == 1
        CrawlHost.objects.update(robots_fetched_at=timezone.now() - timedelta(hours=25))
        assert crawl_once(watched(server)) == "done"
        assert witness.paths(server.netloc).count("/robots.txt") == 2

    def test_a_site_that_does_not_respect_robots_is_not_asked_for_it(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"]], robots="User-agent: *\nDisallow: /\n")
        assert crawl_once(watched(server, site={"respect_robots": False})) == "done"
        assert witness.paths(server.netloc) == ["/list1.html", "/a1.html"]


class TestRest:
    def test_a_429_rests_the_host_for_all_its_jobs_and_they_say_why(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html", "/a2.html"]])
        server.add("/a1.html", witness.answer(status=429, headers={"Retry-After": "1800"}))
        met, other = watched(server), watched(server)
        assert crawl_once(met) == "waits"
        assert witness.paths(server.netloc)[-1] == "/a1.html"
        jobs.enqueue(other)
        assert jobs.claim() is None
        for job in (job_of(met), job_of(other)):
            assert job.status == "queued" and job.attempt_count == 0
            assert "429" in (job.wait_reason or "")
            assert job.not_before > timezone.now() + timedelta(minutes=29)

    def test_a_host_that_somebody_else_backed_off_from_is_left_alone_at_once(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a1.html", "/a2.html"]])

        def another_job_is_refused() -> None:
            hosts.back_off(server.netloc, 600, "a file of another job met 429")
            connection.close()

        server.add("/a1.html", witness.answer(article("一"), meanwhile=another_job_is_refused))
        target = watched(server)
        assert crawl_once(target) == "waits"
        assert witness.paths(server.netloc)[-1] == "/a1.html"
        assert job_of(target).wait_reason == "a file of another job met 429"
        assert Article.objects.count() == 1

    def test_a_short_wish_of_the_server_does_not_shorten_a_longer_rest(self) -> None:
        hosts.back_off("www.x.example", 600, "long")
        hosts.back_off("www.x.example", 1, "short")
        seen = hosts.look("www.x.example")
        assert seen.backoff_sec > 590 and seen.backoff_reason == "long"


class TestSiteLimits:
    def test_outside_its_window_a_site_is_not_asked_and_the_job_knows_until_when(
        self, server: FaultServer, witness: Witness
    ) -> None:
        local = timezone.now().astimezone(politeness.CHINA)
        opens = (local + timedelta(hours=2)).time().replace(microsecond=0)
        closes = (local + timedelta(hours=3)).time().replace(microsecond=0)
        serve(server, witness, [["/a1.html"]])
        target = watched(server, site={"crawl_window_start": opens, "crawl_window_end": closes})
        assert crawl_once(target) == "waits"
        job = job_of(target)
        assert witness.spans == []
        assert "outside the window" in (job.wait_reason or "")
        assert timedelta(hours=1, minutes=58) < job.not_before - timezone.now() <= timedelta(hours=2)

    def test_the_daily_cap_counts_robots_lists_articles_and_files_and_is_never_exceeded(
        self, server: FaultServer, witness: Witness
    ) -> None:
        files = [add_file(server, witness, "/f.pdf")]
        serve(server, witness, [["/a1.html", "/a2.html"]], files=files)
        target = watched(server, site={"daily_max_requests": 4})
        assert crawl_once(target) == "waits"
        assert witness.paths(server.netloc) == ["/robots.txt", "/list1.html", "/a1.html", "/f.pdf"]
        assert "daily cap of 4" in (job_of(target).wait_reason or "")
        assert CrawlSiteDay.objects.get(site=target.site).requests == 4
        CrawlJob.objects.update(not_before=None)
        assert work_on(job_of(target)) == "waits"
        assert len(witness.spans) == 4

    def test_two_hosts_of_one_site_share_the_cap_to_the_last_request(
        self, server: FaultServer, second: FaultServer, witness: Witness
    ) -> None:
        for one in (server, second):
            serve(one, witness, [[f"/a{n}.html" for n in range(8)]], hold=0.02)
        first = watched(server, site={"daily_max_requests": 11})
        other = watched(second)
        other.site = first.site
        other.save()
        for target in (first, other):
            jobs.enqueue(target)
        slices.run_slice(20)
        assert len(witness.spans) == CrawlSiteDay.objects.get(site=first.site).requests == 11

    def test_without_a_cap_the_requests_of_a_day_are_counted_all_the_same(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"]])
        target = watched(server)
        assert crawl_once(target) == "done"
        assert CrawlSiteDay.objects.get(site=target.site).requests == 3


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_loopback_host_off_the_allow_list_fails_the_job_before_any_request(
    name: str, server: FaultServer, loopback: Any
) -> None:
    loopback.CRAWL = {**loopback.CRAWL, "allow_addresses": ""}
    target = watched(server, entry_url=server.url("/list1.html", host=name))
    assert crawl_once(target) == "failed"
    assert "BLOCKED_ADDRESS" in (job_of(target).error_msg or "")
    assert server.connections == 0


def test_a_list_whose_every_row_fails_ends_the_turn_instead_of_hammering(server: FaultServer, witness: Witness) -> None:
    names = [f"/a{n}.html" for n in range(20)]
    serve(server, witness, [names])
    server.add("/list1.html", witness.answer(list_page(names)))
    for name in names:
        server.add(name, witness.answer(status=500))
    target = watched(server)
    assert crawl_once(target) == "waits"
    assert len(witness.spans) == 2 + 5
    assert hosts.look(server.netloc).backoff_sec > 0
