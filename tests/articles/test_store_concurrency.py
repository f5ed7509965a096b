"""Many writers and a reader at once: numbers in commit order, undone transactions done again (fault-model D3, D4)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, connections, transaction

from articles import changes, store
from articles.models import Article, ChangeCounter
from sources.models import CrawlTarget
from tests import rows
from tests.articles.finds import found, save, saved

WRITERS, BATCHES, ROWS = 8, 6, 5
HOST = "http://www.yun.example"


def at_once(*works: Callable[[], None]) -> None:
    """Each work in a thread and connection of its own, to the end; raises what the first of them raised."""

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(run, work) for work in works]
    for one in running:
        one.result()


def write(target: CrawlTarget, writer: int) -> None:
    """New articles of this writer, changes of them, and one article that all writers change."""
    for number in range(BATCHES):
        own = [found(target, f"{HOST}/{writer}/{number // 2}-{row}", text=f"{number % 2}") for row in range(ROWS)]
        shared = found(target, f"{HOST}/shared", text=f"{writer} {number}", native_id="shared")
        assert all(outcome.kind in ("inserted", "updated") for outcome in store.save_batch([*own, shared]))


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_reader_that_polls_while_eight_write_misses_nothing() -> None:
    target = rows.target()
    done = threading.Event()
    seen: dict[int, int] = {}
    polls = 0

    def read() -> None:
        nonlocal polls
        after = 0
        last_round = False
        while True:
            last_round = last_round or done.is_set()
            page = changes.changes(after, 7)
            numbers = [change.number for change in page.items]
            assert numbers == sorted(numbers) and all(number > after for number in numbers)
            seen.update((change.article_id, change.number) for change in page.items)
            polls += 1
            after = page.next_after
            if last_round and not page.has_more:
                return

    def all_write() -> None:
        try:
            at_once(*(lambda number=number: write(target, number) for number in range(WRITERS)))  # type: ignore[misc]
        finally:
            done.set()

    at_once(read, all_write)
    assert seen == dict(Article.objects.values_list("id", "change_seq"))
    assert len(seen) == WRITERS * BATCHES // 2 * ROWS + 1
    assert polls > WRITERS
    shared = Article.objects.get(native_post_id="shared")
    assert shared.revisions.count() == WRITERS * BATCHES


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_the_server_undid_as_a_deadlock_is_done_again() -> None:
    """Two connections lock the counter and an article in opposite order: the server picks one, both end well."""
    target = rows.target()
    article = saved(found(target))
    holds_article, tries = threading.Event(), []

    def opposite() -> None:
        tries.append(1)
        with transaction.atomic():
            Article.objects.filter(pk=article.pk).update(publisher="x")
            holds_article.set()
            if len(tries) == 1:
                wait_until_somebody_updates_articles()
            ChangeCounter.objects.filter(pk=changes.COUNTER).update(value=100)

    def regular() -> None:
        assert holds_article.wait(30)
        assert save(found(target, text="改")) == [("updated", "ready")]

    before = deadlocks()
    at_once(lambda: store.retried(opposite), regular)
    assert deadlocks() > before
    article.refresh_from_db()
    assert article.content_hash != "" and article.revisions.count() == 2
    assert ChangeCounter.objects.get().value >= 100


def wait_until_somebody_updates_articles() -> None:
    """Another connection's UPDATE of an article stands in the list of processes, for it waits for the row that we hold."""
    for _ in range(500):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT COUNT(*), SLEEP(0.02) FROM information_schema.processlist "
                "WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE 'UPDATE `article`%'"
            )
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits for the article")


def deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")
        return int(cursor.fetchone()[1])


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_lock_that_is_held_too_long_is_waited_for_again() -> None:
    target = rows.target()
    held, waited = threading.Event(), threading.Event()
    tries = []

    def hold() -> None:
        with transaction.atomic():
            changes.next_numbers(1)
            held.set()
            assert waited.wait(30)

    def work() -> None:
        tries.append(1)
        if len(tries) == 2:
            waited.set()  # the first try ran into the server's limit: now the lock is let go
        with transaction.atomic():
            changes.next_numbers(1)

    def want() -> None:
        assert held.wait(30)
        with connection.cursor() as cursor:
            cursor.execute("SET innodb_lock_wait_timeout = 1")
        store.retried(work)
        assert save(found(target)) == [("inserted", "ready")]

    at_once(hold, want)
    assert len(tries) >= 2


@pytest.mark.django_db(transaction=True)
def test_other_database_errors_are_not_tried_again() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column FROM article")

    with pytest.raises(OperationalError):
        store.retried(work)
    assert len(tries) == 1


@pytest.mark.django_db(transaction=True)
def test_an_article_that_two_save_at_once_is_stored_once() -> None:
    target, start = rows.target(), threading.Barrier(2)

    def work(text: str) -> None:
        start.wait(30)
        for number in range(10):
            assert save(found(target, f"{HOST}/{number}", text=text))[0][0] in ("inserted", "updated")

    at_once(lambda: work("A"), lambda: work("B"))
    assert Article.objects.count() == 10
    assert {article.revisions.count() for article in Article.objects.all()} == {2}
