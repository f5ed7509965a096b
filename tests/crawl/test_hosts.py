"""A host's row: lease, request slot, pace and rest, each taken by one at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crawl import hosts
from crawl.models import CrawlHost
from govcrawler.clock import now_plus
from tests import rows
from tests.crawl.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)
HOST = "www.a.example"


def row(**fields: Any) -> CrawlHost:
    """The host's row as stored, after setting ``fields``."""
    hosts.ensure(HOST)
    if fields:
        CrawlHost.objects.filter(host=HOST).update(**fields)
    return CrawlHost.objects.get(host=HOST)


def test_of_many_at_the_same_moment_one_gets_the_lease() -> None:
    got = at_once(8, lambda number: hosts.lease(HOST, f"token{number}", "job"))
    assert sorted(got) == [False] * 7 + [True]


def test_a_lease_that_ran_out_can_be_taken_and_is_lost_to_the_first_holder() -> None:
    assert hosts.lease(HOST, "first", "job 1")
    row(lease_until=now_plus(-1))
    assert hosts.lease(HOST, "second", "job 2")
    assert not hosts.renew(HOST, "first")
    assert not hosts.reserve(HOST, "first", 5)
    assert hosts.renew(HOST, "second")


def test_a_host_that_rests_is_leased_to_nobody_until_then() -> None:
    hosts.back_off(HOST, 100, "429")
    assert not hosts.lease(HOST, "token", "job")
    row(backoff_until=now_plus(-1))
    assert hosts.lease(HOST, "token", "job")


def test_a_rest_outlives_whoever_ordered_it_and_an_answer_that_was_still_on_its_way() -> None:
    hosts.back_off(HOST, 100, "429")
    hosts.back_off(HOST, 200, "503")
    stored = row()
    assert stored.consecutive_failures == 2 and stored.backoff_reason == "503"
    assert stored.backoff_until is not None and stored.backoff_until > timezone.now() + timedelta(seconds=190)
    hosts.succeeded(HOST)
    assert (row().consecutive_failures, row().backoff_until) == (0, stored.backoff_until)


class TestSlot:
    def test_of_many_that_want_the_slot_of_a_free_host_one_gets_it(self) -> None:
        def want(number: int) -> bool:
            hosts.ask_slot(HOST, f"token{number}")
            return hosts.take_slot(HOST, f"token{number}")

        assert sorted(at_once(8, want)) == [False] * 7 + [True]

    def test_on_a_leased_host_it_needs_the_holders_grant(self) -> None:
        hosts.lease(HOST, "holder", "job")
        hosts.ask_slot(HOST, "stranger")
        assert hosts.look(HOST).slot_wanted
        assert not hosts.take_slot(HOST, "stranger")
        hosts.grant_slot(HOST, "no holder")
        assert not hosts.take_slot(HOST, "stranger")
        hosts.grant_slot(HOST, "holder")
        assert hosts.look(HOST).slot_taken
        assert hosts.take_slot(HOST, "stranger")

    def test_a_free_host_at_pace_gives_it_only_when_its_pause_is_over(self) -> None:
        row(next_allowed_at=now_plus(60))
        hosts.ask_slot(HOST, "stranger")
        assert not hosts.take_slot(HOST, "stranger")
        row(next_allowed_at=now_plus(-1))
        assert hosts.take_slot(HOST, "stranger")

    def test_giving_it_back_leaves_the_pause_that_the_request_owes(self) -> None:
        hosts.ask_slot(HOST, "stranger")
        hosts.take_slot(HOST, "stranger")
        hosts.free_slot(HOST, "stranger", 30)
        seen = hosts.look(HOST)
        assert 29 < seen.wait_sec <= 30 and not seen.slot_taken

    def test_a_wish_taken_back_leaves_the_pace_as_it_was(self) -> None:
        row(next_allowed_at=now_plus(60))
        hosts.ask_slot(HOST, "stranger")
        hosts.free_slot(HOST, "stranger", None)
        assert hosts.look(HOST).wait_sec > 59 and not hosts.look(HOST).slot_wanted

    def test_the_slot_of_a_dead_worker_ends_by_itself(self) -> None:
        hosts.ask_slot(HOST, "dead")
        hosts.take_slot(HOST, "dead")
        row(slot_until=now_plus(-1))
        hosts.ask_slot(HOST, "alive")
        assert hosts.take_slot(HOST, "alive")
        hosts.free_slot(HOST, "dead", 100)
        assert hosts.look(HOST).slot_taken


def test_a_pace_written_later_never_shortens_one_that_stands() -> None:
    row(next_allowed_at=now_plus(60))
    hosts.postpone(HOST, 5)
    assert hosts.look(HOST).wait_sec > 59
    hosts.postpone(HOST, 90)
    assert hosts.look(HOST).wait_sec > 89


def test_a_host_nobody_asked_yet_is_free() -> None:
    assert hosts.look("new.example") == hosts.Seen()


@pytest.mark.parametrize(
    ("targets", "longest"),
    [
        ([], None),
        ([{"interval_sec": 2}, {"interval_sec": 7}], 7),
        ([{"interval_sec": None}, {"interval_sec": 1}], 3),
        ([{"interval_sec": 5}, {"interval_sec": 60, "enabled": False}], 5),
        ([{"interval_sec": 60, "entry_url": "http://www.a.example.cn/l.html"}], None),
        ([{"interval_sec": 60, "entry_url": "http://www.a.example:8080/l.html"}], None),
        ([{"interval_sec": 60, "entry_url": "http://b.example/?from=www.a.example"}], None),
        ([{"interval_sec": 8, "entry_url": "HTTP://WWW.A.EXAMPLE:80/l.html"}], 8),
        ([{"interval_sec": 9, "entry_url": None}], 9),
        ([{"interval_sec": 9, "entry_url": ""}], 9),
    ],
)
def test_the_pace_of_a_host_is_the_longest_interval_of_the_enabled_targets_that_begin_there(
    targets: list[dict[str, Any]], longest: float | None
) -> None:
    site = rows.site(base_url="http://www.a.example/")
    for fields in targets:
        rows.target(site=site, **{"entry_url": "http://www.a.example/list.html", **fields})
    assert hosts.longest_interval(HOST, 3) == longest
