"""What could not be had is listed with its reason, tried again at growing distance, and given up (fault-model N3)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from django.utils import timezone

from crawl import failures
from crawl.errors import ErrorClass
from crawl.models import CrawlFailure
from sources.adapters.base import ArticleRef
from sources.models import CrawlTarget
from tests import rows

pytestmark = pytest.mark.django_db
REF = ArticleRef("http://www.yun.example/1", "标题\ud800", "7", date(2024, 3, 15), raw={"点击": float("nan"), "id": 7})


@pytest.fixture
def target() -> CrawlTarget:
    return rows.target()


def test_tries_double_their_distance_and_end_with_the_fifth(target: CrawlTarget) -> None:
    minutes = []
    for _ in range(failures.ATTEMPTS - 1):
        began = timezone.now()
        failures.record(target, REF, ErrorClass.TIMEOUT, "no answer")
        due = CrawlFailure.objects.get().next_retry_at
        assert due is not None
        minutes.append((due - began) // timedelta(minutes=1))
    assert minutes == [30, 60, 120, 240]
    failures.record(target, REF, ErrorClass.PARSE, "长" * 1000)
    row = CrawlFailure.objects.get()
    assert (row.attempts, row.next_retry_at, row.error_class, len(row.error_msg)) == (5, None, "PARSE", 500)
    assert row.last_failed_at > row.first_failed_at
    assert list(failures.due(target)) == []
    assert failures.waiting(target, [REF.url]) == {REF.url}


def test_a_row_is_due_as_it_was_listed(target: CrawlTarget) -> None:
    failures.record(target, REF, ErrorClass.TIMEOUT, "no answer")
    assert list(failures.due(target)) == []
    CrawlFailure.objects.update(next_retry_at=timezone.now())
    (ref,) = failures.due(target)
    assert (ref.url, ref.native_id, ref.published_on, ref.raw) == (REF.url, "7", date(2024, 3, 15), {"点击": None, "id": 7})
    assert failures.waiting(target, [REF.url]) == set()


def test_rows_wait_under_every_spelling_of_their_url_and_for_their_own_target_only(target: CrawlTarget) -> None:
    failures.record(target, REF, ErrorClass.TIMEOUT, "no answer")
    spelled, other = REF.url + "?utm_source=x", "http://www.yun.example/2"
    assert failures.waiting(target, [REF.url, spelled, other]) == {REF.url, spelled}
    assert failures.waiting(rows.target(), [REF.url]) == set()


def test_what_was_had_after_all_is_forgotten(target: CrawlTarget) -> None:
    other = rows.target()
    for one in (target, other):
        failures.record(one, REF, ErrorClass.TIMEOUT, "no answer")
    failures.clear(target, [REF.url])
    assert CrawlFailure.objects.get().target == other
