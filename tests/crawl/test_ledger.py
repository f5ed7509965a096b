"""The politeness ledger against the servers' own record of requests, and its ways out to a webmaster."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crawl import ledger, politeness
from crawl.models import CrawlHostDay
from tests.crawl.listed import crawl_once, watched
from tests.crawl.witness import SLACK, Witness, serve
from tests.faultserver import FaultServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]


def today(host: str) -> CrawlHostDay:
    return CrawlHostDay.objects.get(host=host, day=politeness.day_of(timezone.now()))


class TestAgainstTheServer:
    def test_requests_statuses_bytes_and_gaps_are_those_the_server_saw(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html", "/gone.html"], ["/moved.html"]], robots="User-agent: *\nCrawl-delay: 0.2\n")
        server.add("/gone.html", witness.answer(b"gone", status=404))
        server.add("/moved.html", witness.answer(b"12", status=302, headers={"Location": "/a1.html"}))
        crawl_once(watched(server))
        kept, gaps = today(server.netloc), witness.gaps(server.netloc)
        assert kept.requests == len(witness.spans)
        assert (kept.status_3xx, kept.status_4xx, kept.status_5xx, kept.unanswered) == (1, 1, 0, 0)
        assert kept.status_2xx == kept.requests - 2
        assert kept.bytes > 0
        assert kept.shortest_gap_ms is not None and kept.longest_gap_ms is not None
        assert 200 - SLACK * 1000 <= kept.shortest_gap_ms <= kept.longest_gap_ms
        # The client sees an answer's end after the server does, so its gap is never the longer one.
        assert kept.shortest_gap_ms <= (min(gaps) + SLACK) * 1000
        assert kept.longest_gap_ms <= (max(gaps) + SLACK) * 1000

    def test_a_later_job_goes_on_with_the_day_and_with_the_gap(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html"]])
        target = watched(server, interval_sec=1)
        crawl_once(target)
        crawl_once(target, force=True)
        assert today(server.netloc).requests == len(witness.spans)
        assert (today(server.netloc).shortest_gap_ms or 0) >= 1000 - SLACK * 1000

    def test_a_refusal_by_robots_counts_and_asks_nothing(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a1.html", "/private/a2.html"]], robots="User-agent: *\nDisallow: /private/\n")
        crawl_once(watched(server))
        kept = today(server.netloc)
        assert kept.robots_refusals == 1
        assert kept.requests == len(witness.spans) == 3
        assert "/private/a2.html" not in witness.paths(server.netloc)

    def test_each_host_has_its_own_page(self, server: FaultServer, witness: Witness, second: FaultServer) -> None:
        second.add("/robots.txt", witness.answer(b""))
        second.add("/f.pdf", witness.answer(b"%PDF-1.4 x", headers={"Content-Type": "application/pdf"}))
        serve(server, witness, [["/a1.html"]], files=[second.url("/f.pdf")])
        crawl_once(watched(server))
        for host in (server.netloc, second.netloc):
            assert today(host).requests == len(witness.of(host)) > 0


class TestAccount:
    def test_it_adds_up_and_keeps_the_extremes(self) -> None:
        for gaps in ((None, 3.0), (0.5, 9.0)):
            account = ledger.Account()
            for gap in gaps:
                account.request("h", gap)
                account.answer("h", 200, 10)
            account.request("h", 4.0)
            account.answer("h", None, 0)
            account.save()
            account.save()  # what was written is not written again
        kept = today("h")
        assert (kept.requests, kept.status_2xx, kept.unanswered, kept.bytes) == (6, 4, 2, 40)
        assert (kept.shortest_gap_ms, kept.longest_gap_ms) == (500, 9000)

    def test_what_the_database_did_not_take_is_added_the_next_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        account = ledger.Account()
        account.request("h", None)

        def away(*arguments: object) -> None:
            raise OperationalError("away")

        with monkeypatch.context() as patched:
            patched.setattr(ledger, "_add", away)
            with pytest.raises(OperationalError):
                account.save()
        account.save()
        assert today("h").requests == 1


class TestReport:
    @pytest.fixture(autouse=True)
    def _rows(self) -> None:
        day = politeness.day_of(timezone.now())
        for host, back in (("a", 0), ("a", 40), ("b", 0), ("=cmd", 0)):
            CrawlHostDay.objects.create(host=host, day=day - timedelta(days=back), requests=5)

    def report(self, *arguments: str) -> list[list[str]]:
        out = io.StringIO()
        call_command("politeness_report", *arguments, stdout=out)
        return list(csv.reader(io.StringIO(out.getvalue())))[1:]

    def test_hosts_and_days_narrow_it(self) -> None:
        since = str(politeness.day_of(timezone.now()) - timedelta(days=2))
        assert len(self.report()) == 4
        assert [row[1] for row in self.report("--host", "a", "--from", since)] == ["a"]
        assert len(self.report("--to", since)) == 1

    def test_a_host_that_a_spreadsheet_would_run_is_text(self) -> None:
        assert self.report("--host", "=cmd")[0][1] == "'=cmd"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--from", "1.1.2026"), "--from: got '1.1.2026'; write a day as YYYY-MM-DD"),
            (("--to", "2026-02-30"), "--to: got '2026-02-30'; write a day as YYYY-MM-DD"),
            (("--from", "2026-02-02", "--to", "2026-01-01"), "--from: 2026-02-02 is after --to 2026-01-01; swap them"),
        ],
    )
    def test_a_wrong_day_is_named(self, arguments: tuple[str, ...], said: str) -> None:
        with pytest.raises(CommandError, match=said) as refused:
            self.report(*arguments)
        assert refused.value.returncode == 2


def test_the_admin_saves_the_selected_rows_as_the_command_does(admin_client: Client) -> None:
    day = politeness.day_of(timezone.now())
    ids = [CrawlHostDay.objects.create(host=host, day=day, requests=5).pk for host in ("a", "b", "c")]
    answer = admin_client.post(
        reverse("admin:crawl_crawlhostday_changelist"), {"action": "export_csv", "_selected_action": ids[:2]}
    )
    out = io.StringIO()
    call_command("politeness_report", "--host", "a", "--host", "b", stdout=out)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.content.decode("utf-8-sig").splitlines() == out.getvalue().splitlines()
    assert len(out.getvalue().splitlines()) == 3
