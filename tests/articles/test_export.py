"""Claim and acknowledge: each revision once, none lost, whoever dies in between."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from articles import changes, export
from articles.export import Ack
from articles.models import Article, ConsumerCursor, ConsumerState
from articles.store import retried
from tests import rows
from tests.articles import feed

pytestmark = pytest.mark.django_db
LEASE = 600


def claimed(consumer: str = "rag", limit: int = 50) -> list[tuple[int, int]]:
    return [(item.article_id, item.revision) for item in export.claim(consumer, limit, LEASE).items]


def ack(article_id: int, revision: int | None, status: Any = "done", consumer: str = "rag", **fields: Any) -> export.AckResult:
    (result,) = export.ack(consumer, [Ack(article_id, revision or 0, status, **fields)])
    return result


def make_due() -> None:
    """Time passes: every lease and retry is over."""
    ConsumerState.objects.update(retry_at=Now() - timedelta(seconds=1), lease_until=Now() - timedelta(seconds=1))


def projection(article: Article) -> tuple[str | None, bool, bool, bool]:
    article.refresh_from_db()
    return (
        article.rag_export_status,
        article.exported_to_rag_at is not None,
        article.rag_export_started_at is not None,
        article.rag_export_finished_at is not None,
    )


def test_ready_articles_are_handed_out_once_in_the_order_of_their_changes() -> None:
    first, second, third = feed.ready(), feed.ready(), feed.ready()
    feed.revise(first, "v2")
    assert [pk for pk, _ in claimed(limit=2)] == [second.pk, third.pk]
    assert [pk for pk, _ in claimed(limit=2)] == [first.pk]
    claim = export.claim("rag", 2, LEASE)
    assert (claim.token, claim.items) == (None, [])


def test_held_failed_and_duplicate_articles_are_passed_over() -> None:
    original = feed.ready()
    feed.ready(status="raw")
    feed.ready(status="failed")
    feed.ready(duplicate_of=original)
    rows.article(status="ready")  # no change number: not told yet
    assert [pk for pk, _ in claimed()] == [original.pk]
    assert ConsumerCursor.objects.get().position == 4


def test_a_claim_goes_on_over_many_articles_that_are_not_for_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "SCAN", 2)
    for _ in range(7):
        feed.ready(status="failed")
    last = feed.ready()
    assert claimed() == [(last.pk, last.current_revision_id)]


def test_each_consumer_has_its_own_place_and_only_rag_is_projected_into_the_article() -> None:
    article = feed.ready()
    assert len(claimed("mirror")) == 1
    ack(article.pk, article.current_revision_id, consumer="mirror")
    assert projection(article) == ("pending", False, False, False)
    assert len(claimed("rag")) == 1
    assert projection(article) == ("exporting", False, True, False)
    assert ack(article.pk, article.current_revision_id, task_ids=["t1"]).code == "acked"
    assert projection(article) == ("done", True, True, True)
    assert article.rag_export_task_ids == ["t1"]


def test_an_acknowledged_revision_is_not_offered_again_and_claims_take_no_change_number() -> None:
    article = feed.ready()
    claimed()
    ack(article.pk, article.current_revision_id)
    make_due()
    assert claimed() == []
    assert changes.current_number() == 1


def test_a_repeated_acknowledgement_answers_the_first_time() -> None:
    article = feed.ready()
    claimed()
    first = ack(article.pk, article.current_revision_id)
    again = ack(article.pk, article.current_revision_id, "failed", error="late and wrong")
    assert (first.code, again.code) == ("acked", "repeat")
    assert first.acked_at is not None and again.acked_at == first.acked_at
    assert projection(article)[0] == "done"


def test_what_a_dead_consumer_left_is_offered_again_until_it_is_parked() -> None:
    article = feed.ready()
    for attempt in range(1, export.MAX_ATTEMPTS + 1):
        (item,) = export.claim("rag", 5, LEASE).items
        assert item.attempt == attempt
        assert claimed() == []  # the lease holds
        make_due()
    assert claimed() == []
    assert ConsumerState.objects.get().state == "parked"
    assert projection(article)[0] == "failed"


def test_a_late_acknowledgement_of_a_lost_lease_counts() -> None:
    article = feed.ready()
    claimed()
    make_due()
    claimed()
    assert ack(article.pk, article.current_revision_id).code == "acked"
    make_due()
    assert claimed() == []


def test_a_failure_waits_and_comes_again_and_its_report_may_be_repeated() -> None:
    article = feed.ready()
    claimed()
    assert ack(article.pk, article.current_revision_id, "failed", error="no GPU", retry_after_sec=30).code == "failed_recorded"
    assert ack(article.pk, article.current_revision_id, "failed", error="no GPU").code == "repeat"
    row = ConsumerState.objects.get()
    assert (row.error, row.attempts, row.token) == ("no GPU", 1, None)
    assert row.retry_at is not None and timezone.now() < row.retry_at <= timezone.now() + timedelta(seconds=30)
    assert projection(article) == ("failed", False, True, True) and article.rag_export_error == "no GPU"
    assert claimed() == []
    make_due()
    assert len(claimed()) == 1
    assert projection(article) == ("exporting", False, True, False) and article.rag_export_error is None


def test_the_tenth_failure_parks_the_revision_and_a_success_still_counts() -> None:
    article = feed.ready()
    claimed()
    ConsumerState.objects.update(attempts=export.MAX_ATTEMPTS)
    assert ack(article.pk, article.current_revision_id, "failed", error="bad").code == "parked"
    assert ack(article.pk, article.current_revision_id, "failed", error="bad").code == "parked"
    make_due()
    assert claimed() == []
    assert ack(article.pk, article.current_revision_id).code == "acked"


def test_retries_wait_longer_each_time_up_to_an_hour() -> None:
    assert [export.retry_delay(attempts) for attempts in (0, 1, 2, 3, 7, 50)] == [60, 60, 120, 240, 3600, 3600]


@pytest.mark.parametrize("state", ["exporting", "failed", "parked", "done"])
def test_a_new_revision_is_offered_whatever_became_of_the_old_one(state: str) -> None:
    article = feed.ready()
    claimed()
    ConsumerState.objects.update(state=state, attempts=export.MAX_ATTEMPTS, acked_revision_id=article.current_revision_id)
    newer = feed.revise(article, "v2")
    (item,) = export.claim("rag", 5, LEASE).items
    assert (item.revision, item.attempt) == (newer, 1)


def test_the_acknowledgement_of_an_old_revision_does_not_hide_the_new_one() -> None:
    article = feed.ready()
    old = article.current_revision_id
    claimed()
    newer = feed.revise(article, "v2")
    result = ack(article.pk, old)
    assert (result.code, result.newer_revision) == ("superseded", newer)
    assert projection(article)[:2] == ("pending", False)
    assert claimed() == [(article.pk, newer)]
    assert ack(article.pk, old).code == "superseded"
    assert projection(article)[0] == "exporting"
    assert ack(article.pk, newer).code == "acked"
    make_due()
    assert claimed() == []


def test_a_new_revision_taken_over_by_a_retry_is_not_handed_out_twice_by_the_cursor() -> None:
    article = feed.ready()
    claimed()
    make_due()
    newer = feed.revise(article, "v2")
    other = feed.ready()
    assert claimed(limit=1) == [(article.pk, newer)]
    ack(article.pk, newer)
    assert claimed() == [(other.pk, other.current_revision_id)]


def test_an_article_withdrawn_while_it_was_claimed_is_not_handed_out_again() -> None:
    article = feed.ready()
    claimed()
    Article.objects.filter(pk=article.pk).update(status="raw")
    make_due()
    assert claimed() == []
    assert not ConsumerState.objects.exists()


def test_unknown_articles_and_foreign_revisions_are_not_found_and_the_rest_of_the_batch_counts() -> None:
    article, other = feed.ready(), feed.ready()
    claimed()
    results = export.ack(
        "rag",
        [
            Ack(10**9, 1, "done"),
            Ack(article.pk, other.current_revision_id or 0, "done"),
            Ack(article.pk, article.current_revision_id or 0, "done"),
            Ack(article.pk, article.current_revision_id or 0, "done"),
        ],
    )
    assert [result.code for result in results] == ["not_found", "not_found", "acked", "repeat"]


def test_a_consumer_that_only_polls_acknowledges_without_a_claim() -> None:
    article = feed.ready()
    old = article.current_revision_id
    newer = feed.revise(article, "v2")
    assert ack(article.pk, old).code == "superseded"
    assert ack(article.pk, newer).code == "acked"
    assert projection(article)[:2] == ("done", True)
    assert claimed() == []
    held = feed.ready(status="raw")
    assert ack(held.pk, held.current_revision_id).code == "not_found"


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_concurrent_claimers_get_disjoint_sets_and_together_everything() -> None:
    site = rows.site()
    made = [feed.ready(site=site).pk for _ in range(60)]
    start = threading.Barrier(4)
    taken: list[list[int]] = []

    def work() -> None:
        mine: list[int] = []
        try:
            start.wait()
            while items := export.claim("rag", 4, LEASE).items:
                mine += [item.article_id for item in items]
                results = export.ack("rag", [Ack(item.article_id, item.revision, "done") for item in items])
                assert {result.code for result in results} == {"acked"}
        finally:
            taken.append(mine)
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(pk for mine in taken for pk in mine) == sorted(made)
    assert Article.objects.filter(rag_export_status="done", exported_to_rag_at__isnull=False).count() == 60


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_articles_that_change_while_they_are_exported_end_with_their_last_revision_acknowledged() -> None:
    site = rows.site()
    made = [feed.ready(site=site) for _ in range(12)]
    written = threading.Event()
    handed: list[tuple[int, int]] = []
    failures: list[BaseException] = []

    def guarded(work: Any) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)
                raise
            finally:
                connection.close()

        return threading.Thread(target=run)

    def change() -> None:
        for number in range(4):
            for article in made:
                retried(lambda article=article, number=number: feed.revise(article, f"v{number}"))  # type: ignore[misc]

    def consume() -> None:
        while True:
            last_round = written.is_set()
            items = export.claim("rag", 3, LEASE).items
            handed.extend((item.article_id, item.revision) for item in items)
            export.ack("rag", [Ack(item.article_id, item.revision, "done") for item in items])
            if last_round and not items:
                return

    writer, consumers = guarded(change), [guarded(consume) for _ in range(2)]
    for thread in (writer, *consumers):
        thread.start()
    writer.join()
    written.set()
    for thread in consumers:
        thread.join()
    assert not failures
    assert len(handed) == len(set(handed))
    for article in Article.objects.all():
        state = ConsumerState.objects.get(article=article)
        assert state.state == "done" and state.acked_revision_id == article.current_revision_id
        assert article.rag_export_status == "done" and article.exported_to_rag_at is not None
