"""Saving what was found: identity, versions, changes told, files, and a bad row that fails alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from articles import changes, export, store
from articles.attaching import ATTEMPTS
from articles.models import Article, ArticleListing, ArticleRevision, Attachment, ConsumerState
from sources.adapters.base import ArticleRef
from sources.models import CrawlTarget
from tests import rows
from tests.articles.finds import URL, file, found, save, saved, unreadable

pytestmark = pytest.mark.django_db
HOST = "http://www.yun.example"


@pytest.fixture
def target() -> CrawlTarget:
    return rows.target()


def told(after: int = 0) -> list[tuple[str, int]]:
    return [(change.type, change.article_id) for change in changes.changes(after, 500).items]


def position() -> int:
    return changes.changes(0, 500).next_after


def texts(article: Article) -> list[str | None]:
    return list(article.revisions.order_by("number").values_list("content_text", flat=True))


class TestVersions:
    def test_found_changed_unchanged(self, target: CrawlTarget) -> None:
        assert save(found(target)) == [("inserted", "ready")]
        first = Article.objects.get()
        assert save(found(target)) == [("known", "ready")]
        assert save(found(target, text="改")) == [("updated", "ready")]
        article = Article.objects.get()
        assert texts(article) == ["正文", "改"]
        assert (article.pk, article.content_text, article.created_at) == (first.pk, "改", first.created_at)
        assert (article.change_seq or 0) > (first.change_seq or 0)
        assert article.current_revision_id == article.revisions.get(number=2).pk

    def test_a_b_a_makes_three_revisions_so_that_nobody_stays_on_b(self, target: CrawlTarget) -> None:
        for text in ("A", "B", "A"):
            save(found(target, text=text))
        article = Article.objects.get()
        assert texts(article) == ["A", "B", "A"]
        current = ArticleRevision.objects.get(pk=article.current_revision_id)
        assert (current.number, current.content_hash) == (3, article.content_hash)

    def test_an_unchanged_article_is_told_nobody_and_only_its_check_is_noted(self, target: CrawlTarget) -> None:
        before = saved(found(target))
        after = saved(replace(found(target), fetched_at=timezone.now(), manifest=[{"key": "raw/other.gz"}]))
        assert (after.change_seq, after.fetched_at, after.raw_html_path) == (
            before.change_seq,
            before.fetched_at,
            before.raw_html_path,
        )
        assert after.last_checked_at and before.last_checked_at and after.last_checked_at > before.last_checked_at

    def test_a_revision_keeps_fields_files_and_what_replay_needs(self, target: CrawlTarget) -> None:
        article = saved(found(target, doc_no="〔2024〕1号", files=[file()], ref_native_id="9", ref_raw={"id": 9}))
        revision = article.revisions.get()
        assert revision.fields_json["doc_no"] == "〔2024〕1号"
        assert revision.fields_json["files"][0]["sha256"] == file().sha256
        assert revision.raw_manifest["list_row"] == {"id": 9}
        assert revision.raw_manifest["ref"] == {
            "url": URL,
            "title": "通知",
            "native_id": "9",
            "published_on": "2024-03-15",
        }
        assert revision.raw_html_path == revision.raw_manifest["responses"][-1]["key"] == article.raw_html_path

    def test_a_failed_parse_never_replaces_a_good_version(self, target: CrawlTarget) -> None:
        good = saved(found(target, files=[file()]))
        held = saved(found(target, f"{HOST}/held", files=[file("b.pdf", "pending")]))
        after = position()
        assert save(unreadable(target), unreadable(target, f"{HOST}/held")) == [("failed", "failed")] * 2
        for before in (good, held):
            now = Article.objects.select_related("content").get(pk=before.pk)
            assert (now.status, now.content_text, now.content_hash) == (before.status, "正文", before.content_hash)
            assert (now.attachments.count(), now.revisions.count()) == (1, 1)
        assert told(after) == []

    def test_a_page_that_could_not_be_parsed_becomes_ready_when_it_can(self, target: CrawlTarget) -> None:
        failed = saved(unreadable(target))
        assert save(unreadable(target)) == [("failed", "failed")]
        assert failed.revisions.count() == 1
        article = saved(found(target))
        assert (article.pk, article.status, texts(article)) == (failed.pk, "ready", ["", "正文"])
        assert told() == [("upsert", article.pk)]

    def test_a_row_that_failed_under_the_forwarders_url_is_the_article_once_it_can_be_read(self, target: CrawlTarget) -> None:
        failed = saved(unreadable(target, f"{HOST}/go"))
        article = saved(found(target, f"{HOST}/final", ref_url=f"{HOST}/go"))
        assert (article.pk, article.url, Article.objects.count()) == (failed.pk, f"{HOST}/final", 1)
        assert store.known(target.site_id, [ArticleRef(f"{HOST}/go"), ArticleRef(f"{HOST}/final")]) == {
            f"{HOST}/go": article.pk,
            f"{HOST}/final": article.pk,
        }


class TestChanges:
    def test_ready_to_raw_is_a_withdrawal_with_a_new_number_and_back_an_upsert(self, target: CrawlTarget) -> None:
        article = saved(found(target))
        after = position()
        assert save(found(target, files=[file(status="pending")])) == [("updated", "raw")]
        assert told(after) == [("withdraw", article.pk)]
        after = position()
        assert save(found(target, files=[file()])) == [("updated", "ready")]
        assert told(after) == [("upsert", article.pk)]

    def test_an_article_that_was_never_ready_has_no_number(self, target: CrawlTarget) -> None:
        assert save(found(target, title=""), found(target, f"{URL}?2", text="")) == [("inserted", "raw")] * 2
        save(found(target, title="", text="改"))
        assert told() == []
        assert set(Article.objects.values_list("change_seq", flat=True)) == {None}

    def test_a_change_makes_the_article_pending_for_rag_again(self, target: CrawlTarget) -> None:
        article = saved(found(target))
        Article.objects.update(
            rag_export_status="failed",
            exported_to_rag_at=timezone.now(),
            rag_export_started_at=timezone.now(),
            rag_export_finished_at=timezone.now(),
            rag_export_error="x",
        )
        save(found(target))
        assert Article.objects.get().rag_export_status == "failed"
        save(found(target, text="改"))
        article.refresh_from_db()
        assert article.rag_export_status == "pending"
        assert {
            article.exported_to_rag_at,
            article.rag_export_started_at,
            article.rag_export_finished_at,
            article.rag_export_error,
        } == {None}
        (claimed,) = export.claim("rag", 10, 600).items
        assert claimed.revision == article.current_revision_id


class TestIdentity:
    def test_urls_that_differ_by_case_or_accent_are_different_articles(self, target: CrawlTarget) -> None:
        urls = [f"{HOST}/{path}" for path in ("A", "a", "%C3%A9", "e", "b", "b%20", "A/")]
        assert save(*(found(target, url) for url in urls)) == [("inserted", "ready")] * len(urls)
        assert sorted(Article.objects.values_list("url", flat=True)) == sorted(urls)
        assert len(store.known(target.site_id, [ArticleRef(url) for url in urls])) == len(urls)

    def test_native_ids_that_differ_by_case_are_different_and_belong_to_their_site(self, target: CrawlTarget) -> None:
        other = rows.target()
        batch = [found(target, f"{HOST}/1", native_id="x"), found(target, f"{HOST}/2", native_id="X")]
        assert save(*batch, found(other, f"{HOST}/3", native_id="x")) == [("inserted", "ready")] * 3

    def test_an_article_that_moved_keeps_its_id_by_the_sources_id(self, target: CrawlTarget) -> None:
        article = saved(found(target, f"{HOST}/old", native_id="7"))
        moved = saved(found(target, f"{HOST}/new", native_id="7", text="改"))
        assert (moved.pk, moved.url, moved.content_text) == (article.pk, f"{HOST}/old", "改")
        assert store.known(target.site_id, [ArticleRef(f"{HOST}/new")]) == {f"{HOST}/new": article.pk}

    def test_the_sources_id_wins_over_the_url_and_the_other_row_becomes_its_duplicate(self, target: CrawlTarget) -> None:
        by_id = saved(found(target, f"{HOST}/one", native_id="7"))
        by_url = saved(found(target, f"{HOST}/two"))
        after = position()
        assert save(found(target, f"{HOST}/two", native_id="7", text="改")) == [("updated", "ready")]
        by_url.refresh_from_db()
        assert (by_url.duplicate_of_id, by_url.duplicate_reason) == (by_id.pk, "native_id")
        assert told(after) == [("withdraw", by_url.pk), ("upsert", by_id.pk)]
        after = position()
        assert save(found(target, f"{HOST}/two", native_id="7", text="改")) == [("known", "ready")]
        assert told(after) == []

    def test_two_rows_never_stand_for_each_other(self, target: CrawlTarget) -> None:
        one = saved(found(target, f"{HOST}/one", native_id="1"))
        two = saved(found(target, f"{HOST}/two", native_id="2"))
        save(found(target, f"{HOST}/two", native_id="1"))
        after = position()
        save(found(target, f"{HOST}/one", native_id="2"))
        one.refresh_from_db()
        two.refresh_from_db()
        assert (one.duplicate_of_id, two.duplicate_of_id) == (two.pk, None)
        assert sorted(told(after)) == [("upsert", two.pk), ("withdraw", one.pk)]

    @pytest.mark.parametrize("second", [{"url": URL}, {"url": f"{URL}?2", "native_id": "7"}])
    def test_two_rows_of_one_batch_that_are_one_article_become_one(self, target: CrawlTarget, second: dict[str, Any]) -> None:
        url = second.pop("url")
        batch = found(target, native_id="7", text="A"), found(target, url, text="B", **second), found(target, f"{HOST}/z")
        assert save(*batch) == [("inserted", "ready"), ("updated", "ready"), ("inserted", "ready")]
        article = Article.objects.get(native_post_id="7")
        assert texts(article) == ["A", "B"]

    def test_two_rows_that_meet_in_a_stored_article_are_saved_one_after_the_other(self, target: CrawlTarget) -> None:
        article = saved(found(target, f"{HOST}/one", native_id="7"))
        batch = found(target, f"{HOST}/moved", native_id="7", text="B"), found(target, f"{HOST}/one", text="B")
        with CaptureQueriesContext(connection) as seen:
            assert save(*batch) == [("updated", "ready"), ("known", "ready")]
        assert not [query for query in seen if "ROLLBACK" in query["sql"]]
        assert texts(article) == ["正文", "B"]


class TestKnown:
    def test_by_url_by_the_sources_id_and_by_a_row_that_led_elsewhere(self, target: CrawlTarget) -> None:
        plain = saved(found(target, f"{HOST}/1", native_id="1"))
        forwarded = saved(found(target, f"{HOST}/final", ref_url=f"{HOST}/go"))
        refs = [
            ArticleRef(f"{HOST}/1"),
            ArticleRef(f"{HOST}/1?utm_source=x"),
            ArticleRef(f"{HOST}/moved", native_id="1 "),
            ArticleRef(f"{HOST}/go"),
            ArticleRef(f"{HOST}/new", native_id="2"),
        ]
        assert store.known(target.site_id, refs) == {
            f"{HOST}/1": plain.pk,
            f"{HOST}/1?utm_source=x": plain.pk,
            f"{HOST}/moved": plain.pk,
            f"{HOST}/go": forwarded.pk,
        }
        assert store.known(rows.site().pk, [ArticleRef(f"{HOST}/moved", native_id="1")]) == {}

    def test_what_could_not_be_parsed_is_not_known(self, target: CrawlTarget) -> None:
        save(unreadable(target))
        assert store.known(target.site_id, [ArticleRef(URL)]) == {}

    def test_a_further_target_is_noted_once_and_the_first_never(self, target: CrawlTarget) -> None:
        article, second = saved(found(target)), rows.target(site=target.site)
        for _ in range(2):
            store.note_listings([article.pk], target)
            store.note_listings([article.pk, article.pk], second)
        assert list(ArticleListing.objects.values_list("article", "target")) == [(article.pk, second.pk)]


class TestFiles:
    def test_one_row_a_url_and_two_rows_for_one_name(self, target: CrawlTarget) -> None:
        one = file("附件.pdf", url=f"{HOST}/f/1")
        batch = [one, replace(one, url=f"{HOST}/f/2", position=1), replace(one, url=f"{HOST}//f/1#x", position=2)]
        article = saved(found(target, files=batch))
        assert list(article.attachments.order_by("position").values_list("source_url", "file_name")) == [
            (f"{HOST}/f/1", "附件.pdf"),
            (f"{HOST}/f/2", "附件.pdf"),
        ]
        assert save(found(target, files=batch)) == [("known", "ready")]

    def test_a_file_that_arrives_later_makes_a_revision_and_the_article_ready(self, target: CrawlTarget) -> None:
        article = saved(found(target, files=[file(status="pending")]))
        assert (article.status, article.change_seq) == ("raw", None)
        assert save(found(target, files=[file()])) == [("updated", "ready")]
        row = Attachment.objects.get()
        assert (row.status, row.attempts, row.next_retry_at, row.error_class) == ("done", 2, None, None)
        assert [one["status"] for rev in article.revisions.order_by("number") for one in rev.fields_json["files"]] == [
            "pending",
            "done",
        ]

    def test_tries_grow_apart_and_the_fifth_is_the_last(self, target: CrawlTarget) -> None:
        minutes, statuses = [], []
        for _ in range(ATTEMPTS - 1):
            began = timezone.now()
            statuses += save(found(target, files=[file(status="pending")]))
            due = Attachment.objects.get().next_retry_at
            assert due is not None
            minutes.append((due - began) // timedelta(minutes=1))
        assert minutes == [30, 60, 120, 240]
        assert {status for _, status in statuses} == {"raw"}
        assert save(found(target, files=[file(status="pending")])) == [("updated", "ready")]
        row = Attachment.objects.get()
        assert (row.status, row.error_class, row.attempts, row.next_retry_at) == ("failed", "TIMEOUT", ATTEMPTS, None)
        assert ArticleRevision.objects.count() == 1  # the same content: a change of state is no version

    def test_a_full_disk_never_makes_a_file_fail_for_good(self, target: CrawlTarget) -> None:
        for _ in range(ATTEMPTS + 2):
            save(found(target, files=[file(status="pending", error="STORAGE_FULL")]))
        row = Attachment.objects.get()
        assert (row.status, row.error_class, row.attempts) == ("pending", "STORAGE_FULL", ATTEMPTS + 2)
        assert row.next_retry_at is not None

    @pytest.mark.parametrize("status", ["pending", "failed", "skipped"])
    def test_a_stored_file_that_cannot_be_had_again_stays(self, target: CrawlTarget, status: str) -> None:
        article = saved(found(target, files=[file()]))
        assert save(found(target, files=[file(status=status)])) == [("known", "ready")]
        save(found(target, text="改", files=[file(status=status)]))
        row = Attachment.objects.get()
        assert (row.status, row.file_hash, row.downloaded_at) == ("done", file().sha256, file().fetched_at)
        last = article.revisions.get(number=2)
        assert last.fields_json["files"][0]["status"] == "done"

    def test_a_file_that_is_gone_from_the_page_stays_in_the_older_revision_only(self, target: CrawlTarget) -> None:
        article = saved(found(target, files=[file("a.pdf"), file("b.pdf")]))
        saved(found(target, files=[file("b.pdf")]))
        assert [row.file_name for row in article.attachments.all()] == ["b.pdf"]
        assert [len(rev.fields_json["files"]) for rev in article.revisions.order_by("number")] == [2, 1]

    def test_new_bytes_under_an_old_url_forget_the_old_ones_text(self, target: CrawlTarget) -> None:
        article = saved(found(target, files=[file()]))
        Attachment.objects.update(text_path="text/aa", word_count=5, parser_version="pdf/1")
        save(found(target, files=[file(sha256="b" * 64, key="attachments/bb")]))
        row = article.attachments.get()
        assert (row.file_hash, row.text_path, row.word_count, row.parser_version) == ("b" * 64, None, None, None)

    @pytest.mark.parametrize("name", ["../../etc/passwd", "a\x00b\nc.pdf", "长" * 300 + ".pdf", "\u202efdp.exe", "CON", ""])
    def test_hostile_names_are_only_shown_cleaned(self, target: CrawlTarget, name: str) -> None:
        row = saved(found(target, files=[file(name, url=f"{HOST}/f")])).attachments.get()
        shown = row.file_name or ""
        assert not set(shown) & set("/\\\x00\n\u202e") and len(shown.encode()) <= 255
        assert row.file_path == file(name).key


class TestHeld:
    def age(self, article: Article, hours: int) -> None:
        Article.objects.filter(pk=article.pk).update(created_at=timezone.now() - timedelta(hours=hours))

    def test_an_article_that_waited_a_day_is_released_and_told_and_stays_so(self, target: CrawlTarget) -> None:
        waits = found(target, files=[file(status="pending")])
        article = saved(waits)
        self.age(article, 23)
        assert store.release_held() == 0
        self.age(article, 25)
        assert store.release_held() == 1
        assert store.release_held() == 0
        assert told() == [("upsert", article.pk)]
        assert save(waits) == [("known", "ready")]  # the next try that fails does not take it back

    def test_nothing_without_content_and_nothing_a_person_took_back_is_released(self, target: CrawlTarget) -> None:
        empty = saved(found(target, text="", files=[file(status="pending")]))
        taken = saved(found(target, f"{HOST}/2", files=[file("b.pdf")]))
        changes.withdraw(taken, "raw", "wrong page")
        Attachment.objects.update(status="pending")
        for article in (empty, taken):
            self.age(article, 48)
        assert store.release_held() == 0
        assert set(Article.objects.values_list("status", flat=True)) == {"raw"}

    def test_an_article_taken_back_and_found_again_is_offered_again(self, target: CrawlTarget) -> None:
        article = saved(found(target))
        ConsumerState.objects.create(
            consumer="rag", article=article, revision_id=1, state="done", acked_revision_id=article.current_revision_id
        )
        changes.withdraw(article, "raw", "wrong page")
        assert save(found(target)) == [("updated", "ready")]
        assert article.revisions.count() == 1
        assert [item.article_id for item in export.claim("rag", 5, 600).items] == [article.pk]


class TestBadRows:
    def test_a_row_that_the_database_refuses_fails_alone(self, target: CrawlTarget) -> None:
        bad = found(target, f"{HOST}/bad", files=[file(size=2**70)])
        outcomes = store.save_batch([found(target, f"{HOST}/1"), bad, found(target, f"{HOST}/2")])
        assert [outcome.kind for outcome in outcomes] == ["inserted", "failed", "inserted"]
        assert outcomes[1].error.startswith("DB: ")
        assert sorted(Article.objects.values_list("url", flat=True)) == [f"{HOST}/1", f"{HOST}/2"]
        assert told() == [("upsert", outcomes[0].article_id), ("upsert", outcomes[2].article_id)]

    def test_a_bad_change_leaves_the_stored_version(self, target: CrawlTarget) -> None:
        article = saved(found(target, files=[file()]))
        assert save(found(target, text="改", files=[file(size=2**70, sha256="b" * 64)])) == [("failed", "")]
        assert Article.objects.select_related("content").get().content_text == "正文"
        assert (article.revisions.count(), article.attachments.get().size_bytes) == (1, 9)

    def test_long_bodies_are_saved_too(self, target: CrawlTarget) -> None:
        batch = [found(target, f"{HOST}/{n}", text="字" * 700_000, body_html="<p>" * 200_000) for n in range(8)]
        assert save(*batch) == [("inserted", "ready")] * 8

    def test_an_empty_batch_is_nothing(self) -> None:
        assert store.save_batch([]) == []


class TestCost:
    def batch(self, target: CrawlTarget, text: str = "正文") -> list[Any]:
        return [
            found(target, f"{HOST}/{n}", text=text, native_id=str(n), files=[file(f"{n}.pdf"), file(f"{n}.doc")])
            for n in range(50)
        ]

    def queries(self, batch: list[Any]) -> int:
        with CaptureQueriesContext(connection) as seen:
            store.save_batch(batch)
        return len(seen)

    def test_fifty_new_articles_cost_a_fixed_number_of_queries(self, target: CrawlTarget) -> None:
        assert self.queries(self.batch(target)) <= 20
        assert Article.objects.count() == 50

    def test_fifty_known_articles_cost_a_fixed_number_of_queries(self, target: CrawlTarget) -> None:
        save(*self.batch(target))
        assert self.queries(self.batch(target)) <= 12

    def test_fifty_changed_articles_cost_few_queries_each(self, target: CrawlTarget) -> None:
        save(*self.batch(target))
        assert self.queries(self.batch(target, "改")) <= 20 + 2 * 50
        assert ArticleRevision.objects.count() == 100
