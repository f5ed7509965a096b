"""Column values of a found article: inherited, cut with a flag, hashed by what a reader sees, judged ready or not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from articles.models import Article, ArticleRevision, ArticleStandardMeta
from articles.record import BODY_CHARACTERS, Record, build, status_of
from sources.adapters.base import StandardMeta
from tests import rows
from tests.articles.finds import FETCHED, URL, file, found, save, saved, unreadable

pytestmark = pytest.mark.django_db

HOSTILE = ["a\x00b", "a\ud800b", "𠮷野家😀", "é́" * 10, "' OR 1=1 --", "\\u0000 %s {0}", "\u202eexe.fdp", "﷽" * 50, "\x1b[31m"]


class TestInheritance:
    def test_the_targets_own_department_comes_before_that_of_its_path(self) -> None:
        own, mapped = rows.department(), rows.department()
        target = rows.target(dept=own, site_department=rows.path(local_dept=mapped, dept_binding="mapped"))
        assert saved(found(target)).dept == own

    def test_a_target_without_department_has_that_of_its_mapped_path_or_none(self) -> None:
        mapped = rows.department()
        assert saved(found(rows.target(site_department=rows.path(local_dept=mapped, dept_binding="mapped")))).dept == mapped
        assert saved(found(rows.target(site_department=rows.path()), f"{URL}?2")).dept is None
        assert saved(found(rows.target(), f"{URL}?3")).dept is None

    def test_category_and_channel_are_the_pages_else_the_targets(self) -> None:
        names = ("content_category", "content_subcategory", "channel_name", "channel_path")
        target = rows.target(**{name: f"target {name}" for name in names})
        article = saved(found(target, content_category="page category", channel_path="page path"))
        assert [getattr(article, name) for name in names] == [
            "page category",
            "target content_subcategory",
            "target channel_name",
            "page path",
        ]

    def test_what_the_page_says_is_stored_and_what_it_does_not_say_stays_empty(self) -> None:
        article = saved(
            found(
                rows.target(),
                publisher="某市教育局",
                source_raw="来源：本局",
                files=[file()],
                strategy="browser",
                is_effective=False,
                publish_time=datetime(2024, 3, 15, 1, tzinfo=UTC),
                publish_precision="minute",
                publish_date=date(2024, 3, 15),
            )
        )
        assert (article.publisher, article.source_raw, article.is_effective) == ("某市教育局", "来源：本局", False)
        assert (article.has_attachment, article.fetch_strategy, article.fetched_at) == (True, "browser", FETCHED)
        assert (article.publish_time, article.publish_precision) == (datetime(2024, 3, 15, 1, tzinfo=UTC), "minute")
        assert (article.doc_no, article.index_no, article.effective_date, article.native_post_id) == (None, None, None, None)
        assert saved(found(rows.target(), f"{URL}?2")).has_attachment is False

    def test_a_second_target_that_lists_the_article_changes_nothing_of_the_firsts(self) -> None:
        first, second = (
            rows.target(content_category="规划", channel_name="规划"),
            rows.target(content_category="政策", channel_name="政策"),
        )
        before = saved(found(first))
        assert save(found(second), found(first), found(second)) == [("known", "ready")] * 3
        after = saved(found(second, text="新"))
        assert (after.target, after.content_category, after.channel_name) == (first, "规划", "规划")
        assert [row.target for row in after.listings.all()] == [second]
        assert after.revisions.count() == 2 and after.content_hash != before.content_hash
        assert save(found(first, text="新")) == [("known", "ready")]


class TestCutting:
    def test_every_text_that_is_too_long_is_cut_and_flagged_and_none_fails(self) -> None:
        names = ("source_raw", "index_no", "doc_no", "publisher", "topic_words", "open_category", "content_category")
        article = saved(found(rows.target(), warnings=("odd",), **dict.fromkeys((*names, "channel_path"), "长" * 2000)))
        lengths = [len(getattr(article, name)) for name in (*names, "channel_path")]
        assert lengths == [500, 200, 200, 500, 500, 200, 100, 1000]
        assert set(article.metadata_json["flags"]) == {*(f"cut:{name}" for name in (*names, "channel_path")), "odd"}

    def test_titles_and_urls_are_never_cut(self) -> None:
        long_url = URL + "?" + "x" * 5000
        article = saved(found(rows.target(), long_url, title="题" * 3000))
        assert (article.url, len(article.title or "")) == (long_url, 3000)
        assert "flags" not in article.metadata_json

    def test_an_id_that_is_too_long_is_dropped_for_cut_it_could_meet_anothers(self) -> None:
        one = saved(found(rows.target(), native_id="9" * 65))
        assert (one.native_post_id, one.metadata_json["flags"]) == (None, ["cut:native_post_id"])
        assert saved(found(rows.target(), f"{URL}?2", native_id=" 77 ")).native_post_id == "77"

    def test_a_body_beyond_what_a_row_takes_is_cut_with_a_flag(self) -> None:
        article = saved(found(rows.target(), text="字" * (BODY_CHARACTERS + 1), body_html="<p>'" * 300_000))
        assert article.metadata_json["flags"] == ["cut:content_text", "cut:content_html"]
        assert len(article.content_text or "") == BODY_CHARACTERS
        assert article.status == "ready"

    def test_metadata_of_a_standard_are_cut_like_the_articles(self) -> None:
        meta = StandardMeta(standard_no="G" * 300, chinese_title="标\x00准\ud800", ccs_codes=("A00",), raw={"n": float("nan")})
        article = saved(found(rows.target(), standard=meta))
        row = ArticleStandardMeta.objects.get(article=article)
        assert (len(row.standard_no or ""), row.english_title) == (100, None)
        assert row.chinese_title == "标准" + "\ufffd" * 3
        assert (row.ccs_codes, row.ics_codes, row.raw_meta_json) == (["A00"], [], {"n": None})
        assert article.metadata_json["flags"] == ["cut:standard.standard_no"]


class TestHostileStrings:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_text_is_stored_in_every_column_that_takes_text(self, text: str) -> None:
        one = found(
            rows.target(),
            text=text,
            title=text,
            body_html=text,
            publisher=text,
            native_id=text,
            metadata={text: [text]},
            warnings=(text,),
            files=[file(name=text, url=f"{URL}/f", mime=text)],
            ref_raw={"标题": text},
        )
        article = saved(one)
        assert (article.status, article.attachments.count()) == ("ready", 1)
        assert article.title == article.publisher == article.content_text
        if "\ud800" in text:
            assert article.title == "a\ufffd\ufffd\ufffdb"
        else:
            assert article.title == text.replace("\x00", "")
        assert save(one) == [("known", "ready")]

    def test_numbers_that_json_does_not_know_become_null_with_a_flag(self) -> None:
        odd = {"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": -float("inf")}}
        article = saved(found(rows.target(), metadata=odd, ref_raw=odd))
        assert article.metadata_json == {"a": None, "b": [None, 1.5], "c": {"d": None}, "flags": ["cut:metadata"]}
        revision = ArticleRevision.objects.get(article=article)
        assert revision.raw_manifest["list_row"]["b"] == [None, 1.5]
        json.dumps(revision.raw_manifest, allow_nan=False)


class TestContentHash:
    def test_times_and_paths_are_not_in_it(self) -> None:
        target, now = rows.target(), timezone.now()
        one = found(target, files=[file()], metadata={"visits": 7}, body_html="<p>1</p>")
        again = replace(
            found(target, files=[file(key="attachments/elsewhere", fetched_at=now)], metadata={"visits": 8}),
            fetched_at=now,
            manifest=[{"key": "raw/elsewhere.gz"}],
            text_key="text/elsewhere.txt",
            parser_version="selectors/2",
            strategy="browser",
        )
        assert build(one, now).content_hash == build(again, now + timedelta(days=1)).content_hash

    @pytest.mark.parametrize(
        "change",
        [
            {"text": "别的"},
            {"title": "别的"},
            {"publish_date": date(2024, 3, 16)},
            {"publish_time": FETCHED},
            {"doc_no": "〔2024〕2号"},
            {"is_effective": False},
            {"content_category": "政策"},
            {"files": [file("b.pdf")]},
            {"files": [file(status="pending")]},
            {"files": []},
        ],
    )
    def test_everything_a_reader_sees_is_in_it(self, change: dict[str, Any]) -> None:
        target = rows.target()
        one = build(found(target, **{"files": [file()]}), FETCHED).content_hash
        assert build(found(target, **{"files": [file()], **change}), FETCHED).content_hash != one

    def test_the_order_in_which_files_are_named_is_not_in_it(self) -> None:
        target = rows.target()
        a, b = file("a.pdf"), file("b.pdf")
        assert (
            build(found(target, files=[a, b]), FETCHED).content_hash == build(found(target, files=[b, a]), FETCHED).content_hash
        )


class TestStatus:
    @pytest.mark.parametrize(
        ("changes", "age", "status"),
        [
            ({}, 0, "ready"),
            ({"title": ""}, 0, "raw"),
            ({"title": " \x00"}, 0, "raw"),
            ({"text": ""}, 0, "raw"),
            ({"text": " \n\u3000"}, 0, "raw"),
            ({"text": "", "files": [file()]}, 0, "ready"),
            ({"text": "", "files": [file(status="failed")]}, 0, "raw"),
            ({"files": [file(), file("b", "failed"), file("c", "skipped")]}, 0, "ready"),
            ({"files": [file(), file("b", "pending")]}, 0, "raw"),
            ({"files": [file(), file("b", "pending")]}, 23, "raw"),
            ({"files": [file(), file("b", "pending")]}, 24, "ready"),
            ({"text": "", "files": [file("b", "pending")]}, 48, "raw"),
        ],
    )
    def test_ready_needs_a_title_content_and_every_file_final_or_a_day_of_waiting(
        self, changes: dict[str, Any], age: int, status: str
    ) -> None:
        one = found(rows.target(), **changes)
        record: Record = build(one, FETCHED)
        assert status_of(one, record, timedelta(hours=age)) == status

    def test_bytes_that_cannot_be_parsed_are_failed_with_their_raw_page(self) -> None:
        article = saved(unreadable(rows.target(), ref_title="列表上的标题"))
        assert (article.status, article.title, article.change_seq) == (Article.Status.FAILED, "列表上的标题", None)
        assert article.raw_html_path and article.raw_html_path.startswith("raw/")
        assert article.metadata_json == {"error": "changed: looked for a body"}
