"""The stream of changes: nothing skipped, deletions and withdrawals told, whoever writes at the same time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import RestrictedError

from articles import changes, export
from articles.models import (
    Article,
    ArticleRevision,
    Attachment,
    ChangeCounter,
    ConsumerState,
    DeleteRefused,
    Tombstone,
)
from articles.store import retried
from tests import rows
from tests.articles import feed

pytestmark = pytest.mark.django_db


def told(after: int = 0, limit: int = 200) -> list[tuple[str, int]]:
    return [(change.type, change.article_id) for change in changes.changes(after, limit).items]


def test_numbers_follow_each_other_and_a_rolled_back_transaction_gives_its_own_back() -> None:
    with transaction.atomic():
        assert list(changes.next_numbers(3)) == [1, 2, 3]
    with transaction.atomic():
        changes.next_numbers(5)
        transaction.set_rollback(True)
    with transaction.atomic():
        assert list(changes.next_numbers(1)) == [4]
        assert list(changes.next_numbers(0)) == []


def test_the_stream_tells_the_last_change_of_each_article_in_order() -> None:
    first, second = feed.ready(), feed.ready()
    rows.article(status="raw")  # never told, so not in the stream
    revision = feed.revise(first, "v2")
    page = changes.changes(0, 200)
    assert [(c.number, c.type, c.article_id, c.revision) for c in page.items] == [
        (2, "upsert", second.pk, second.current_revision_id),
        (3, "upsert", first.pk, revision),
    ]
    assert (page.next_after, page.has_more) == (3, False)
    assert told(after=2) == [("upsert", first.pk)]


def test_pages_join_without_gap_or_repetition_over_both_tables() -> None:
    made = [feed.ready() for _ in range(5)]
    changes.delete(made[1], reason="wrong", actor="steward")
    changes.delete(made[3], reason="wrong", actor="steward")
    seen, after, more = [], 0, True
    while more:
        page = changes.changes(after, 2)
        assert len(page.items) <= 2
        seen += [(change.number, change.type) for change in page.items]
        after, more = page.next_after, page.has_more
    assert seen == [(1, "upsert"), (3, "upsert"), (5, "upsert"), (6, "delete"), (7, "delete")]
    assert after == 7


def test_a_cursor_from_another_database_is_refused() -> None:
    with pytest.raises(changes.CursorAhead, match="after=1"):
        changes.changes(1, 10)


def test_a_deletion_leaves_a_tombstone_and_nothing_else() -> None:
    article = feed.ready(native_post_id="77", text_path="text/a.txt")
    revision = feed.revise(article, "v2")
    Attachment.objects.create(article=article, file_path="attachments/aa/aa.pdf", url_hash="a" * 64)
    export.claim("rag", 5, 600)
    changes.delete(article, reason="published by mistake", actor="steward")
    stone = Tombstone.objects.get()
    assert (stone.article_id, stone.native_post_id, stone.revision_id, stone.change_seq) == (article.pk, "77", revision, 3)
    assert (stone.site_code, stone.deleted_by, stone.reason) == (article.site.site_code, "steward", "published by mistake")
    raw = f"raw/{article.pk}"
    assert stone.paths_json == ["attachments/aa/aa.pdf", f"{raw}/1.gz", f"{raw}/2.gz", f"{raw}/meta.gz", "text/a.txt"]
    for table in (Article, ArticleRevision, Attachment, ConsumerState):
        assert not table._default_manager.exists()
    (change,) = changes.changes(0, 10).items
    assert (change.type, change.reason, change.revision) == ("delete", "published by mistake", revision)


def test_a_deletion_that_fails_leaves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    article = feed.ready()

    def refuse(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(changes, "_free_duplicates", refuse)
    with pytest.raises(RuntimeError):
        changes.delete(article, reason="wrong", actor="steward")
    assert Article.objects.filter(pk=article.pk).exists() and not Tombstone.objects.exists()
    assert changes.current_number() == 1


def test_nothing_else_deletes_an_article() -> None:
    article = feed.ready()
    for delete in (article.delete, Article.objects.all().delete, article.site.articles.all().delete):
        with pytest.raises(DeleteRefused, match="tombstone"):
            delete()
    with pytest.raises(RestrictedError):
        article.site.delete()
    assert Article.objects.count() == 1


@pytest.mark.parametrize("reason", ["", "  ", "x" * 41])
def test_a_reason_that_does_not_fit_is_refused_before_anything_happens(reason: str) -> None:
    article = feed.ready()
    with pytest.raises(ValueError, match="reason"):
        changes.delete(article, reason=reason, actor="steward")
    assert changes.current_number() == 1


def test_copies_of_a_deleted_article_are_offered_for_themselves() -> None:
    original, copy = feed.ready(), feed.ready()
    Article.objects.filter(pk=copy.pk).update(duplicate_of=original, duplicate_reason="same native id")
    assert told() == [("upsert", original.pk), ("withdraw", copy.pk)]
    changes.delete(original, reason="wrong", actor="steward")
    assert told() == [("delete", original.pk), ("upsert", copy.pk)]
    assert [item.article_id for item in export.claim("rag", 5, 600).items] == [copy.pk]


def test_a_withdrawn_article_is_told_and_offered_again_once_it_is_ready() -> None:
    article = feed.ready()
    (item,) = export.claim("rag", 5, 600).items
    export.ack("rag", [export.Ack(article.pk, item.revision, "done")])
    changes.withdraw(article, "raw", "file is missing")
    (change,) = changes.changes(1, 10).items
    assert (change.type, change.reason, change.number) == ("withdraw", "raw", 2)
    article.refresh_from_db()
    assert article.metadata_json["withdrawn"]["reason"] == "file is missing"
    assert export.claim("rag", 5, 600).items == []
    with transaction.atomic():
        (number,) = changes.next_numbers(1)
        Article.objects.filter(pk=article.pk).update(status="ready", change_seq=number)
    assert [again.revision for again in export.claim("rag", 5, 600).items] == [item.revision]


def test_an_article_that_was_never_told_is_withdrawn_without_a_number() -> None:
    article = rows.article(status="ready")
    changes.withdraw(article, "failed", "cannot be parsed")
    assert told() == []
    with pytest.raises(ValueError, match="ready"):
        changes.withdraw(article, "ready", "no")


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_reader_beside_eight_writers_misses_nothing() -> None:
    """Writers insert, change and delete; a reader follows by the cursor and must end with what the tables hold."""
    site = rows.site()
    done = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for number in range(15):
                article = retried(lambda: feed.ready(site=site))
                if number % 3 == 1:
                    retried(lambda: feed.revise(article, "v2"))  # noqa: B023  (called at once)
                if number % 3 == 2:
                    retried(lambda: changes.delete(article, reason="wrong", actor="writer"))  # noqa: B023
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            connection.close()

    seen: dict[int, tuple[str, int | None]] = {}
    last = 0

    def read(after: int) -> int:
        page = changes.changes(after, 50)
        for change in page.items:
            assert change.number > after
            seen[change.article_id] = (change.type, change.revision)
        return page.next_after

    writers = [threading.Thread(target=write) for _ in range(8)]
    for writer in writers:
        writer.start()
    threading.Thread(target=lambda: ([writer.join() for writer in writers], done.set())).start()
    while not done.is_set():
        last = read(last)
    while (further := read(last)) != last:
        last = further
    assert not failures
    expected: dict[int, tuple[str, int | None]] = {
        pk: ("upsert", revision) for pk, revision in Article.objects.values_list("id", "current_revision_id")
    } | {pk: ("delete", revision) for pk, revision in Tombstone.objects.values_list("article_id", "revision_id")}
    assert seen == expected and len(seen) == 120
    assert last == ChangeCounter.objects.get().value
