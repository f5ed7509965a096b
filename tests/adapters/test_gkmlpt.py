"""Where a gkmlpt adapter finds its site, column and SID, and what it does with odd answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sources.adapters.base import ArticleRef, ParseError, ParseProblem, Request, Response, TargetInfo
from sources.adapters.gkmlpt import Adapter, GkmlptParams

HOST = "http://www.qinghe.example"


def adapter(entry_url: str = f"{HOST}/gkmlpt/index#6", base_url: str = "", **params: Any) -> Adapter:
    return Adapter(GkmlptParams(**params), TargetInfo("qinghe-6", entry_url, base_url))


def answer(body: Any, url: str = f"{HOST}/gkmlpt/api/all/6?page=1&sid=755001") -> Response:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Response(Request(url), url, 200, {}, data, datetime(2024, 6, 1, 2, tzinfo=UTC))


def row(**fields: Any) -> dict[str, Any]:
    return {
        "id": 7001,
        "title": "通知",
        "type": "normal",
        "url": f"{HOST}/gkmlpt/content/0/7/post_7001.html",
        "create_time": 1710468753,
    } | fields


@pytest.mark.parametrize(
    ("entry_url", "base_url", "params", "wanted"),
    [
        (f"{HOST}/gkmlpt/index#6", "", {}, f"{HOST}/gkmlpt/api/all/6?page=1&sid=9"),
        (f"{HOST}/gkmlpt/index#/6", "", {}, f"{HOST}/gkmlpt/api/all/6?page=1&sid=9"),
        (f"{HOST}/gkmlpt/index?column_id=6", "", {}, f"{HOST}/gkmlpt/api/all/6?page=1&sid=9"),
        (f"{HOST}/gkmlpt/api/all/6?page=3", "", {}, f"{HOST}/gkmlpt/api/all/6?page=1&sid=9"),
        (f"{HOST}/jyj/gkmlpt/index#6", HOST, {}, f"{HOST}/jyj/gkmlpt/api/all/6?page=1&sid=9"),
        (f"{HOST}/zwgk/", "", {"column_id": 8}, f"{HOST}/gkmlpt/api/all/8?page=1&sid=9"),
        (f"{HOST}/zwgk/", f"{HOST}/jyj/", {}, f"{HOST}/jyj/gkmlpt/api/all/0?page=1&sid=9"),
        (
            f"{HOST}/gkmlpt/index#6",
            "",
            {"base": "https://gk.qinghe.example/gkmlpt", "column_id": "7"},
            "https://gk.qinghe.example/gkmlpt/api/all/7?page=1&sid=9",
        ),
        ("http://gkmlpt.qinghe.example/", "", {}, "http://gkmlpt.qinghe.example/gkmlpt/api/all/0?page=1&sid=9"),
    ],
)
def test_site_and_column_come_from_parameters_else_from_the_target(
    entry_url: str, base_url: str, params: dict[str, Any], wanted: str
) -> None:
    assert adapter(entry_url, base_url, sid="9", **params).list_request(1, None).url == wanted


def test_page_zero_is_never_asked_because_it_answers_as_page_one() -> None:
    with pytest.raises(ValueError, match="count from 1, not 0"):
        adapter(sid="9").list_request(0, None)


def test_a_cursor_wins_over_the_page_number_and_a_foreign_one_is_refused() -> None:
    assert adapter().list_request(5, "755001:4").url.endswith("?page=4&sid=755001")
    with pytest.raises(ValueError, match="'next' is not <sid>:<page>"):
        adapter().list_request(2, "next")


def test_paging_goes_by_offset_and_total_else_until_an_empty_page() -> None:
    site = adapter(sid="9")
    rows = [row(id=n) for n in range(1, 4)]
    assert site.parse_list(answer({"articles": rows, "total": 7, "offset": 3}), 2, None).next_cursor == "9:3"
    assert not site.parse_list(answer({"articles": rows, "total": "6", "offset": "3"}), 2, None).has_more
    assert site.parse_list(answer({"articles": rows}), 2, None).has_more
    assert not site.parse_list(answer({"articles": []}), 3, None).has_more
    counted = {"articles": rows, "total": 3, "offset": 0, "classify": {"post_count": 2679}}
    assert not site.parse_list(answer(counted), 1, None).has_more


def test_the_day_is_the_day_in_china_and_ingestion_is_no_publication() -> None:
    site = adapter(sid="9")
    late = row(create_time=1710432060)  # 2024-03-15 00:01 in China, still the 14th in UTC
    only_created = row(create_time=0, display_publish_time=None, created_at="2024-03-15 10:10:02")
    refs = site.parse_list(answer({"articles": [late, only_created], "total": 2, "offset": 0}), 1, None).refs
    assert [str(ref.published_on) for ref in refs] == ["2024-03-15", "None"]


@pytest.mark.parametrize(
    ("fields", "skip"),
    [
        ({}, None),
        ({"url": "https://qinghe.example/gkmlpt/content/0/7/post_7001.html"}, None),
        ({"url": "//www.qinghe.example/gkmlpt/content/0/7/post_7001.html"}, None),
        ({"url": "http://jyj.qinghe.example/a.html"}, "external"),
        ({"type": "url"}, "external"),
        ({"url": "", "post_url": f"{HOST}/zwgk/post_7001.html"}, None),
        ({"url": "javascript:;", "post_url": ""}, "no_url"),
        ({"url": None}, "no_url"),
    ],
)
def test_rows_of_other_hosts_are_no_articles_of_this_source(fields: dict[str, Any], skip: str | None) -> None:
    page = adapter(sid="9").parse_list(answer({"articles": [row(**fields)], "total": 1, "offset": 0}), 1, None)
    assert page.refs[0].skip == skip
    assert page.refs[0].raw["id"] == 7001


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", ParseProblem.BLOCKED),
        ("<script>location.reload()</script>", ParseProblem.BLOCKED),
        ("<html><body><p>系统升级维护，请于六月一日之后再访问本平台的信息公开目录。</p></body></html>", ParseProblem.CHANGED),
        ("[]", ParseProblem.CHANGED),
        ({"articles": None, "total": 5}, ParseProblem.CHANGED),
        ({"articles": [{"title": "无编号"}], "total": 1}, ParseProblem.CHANGED),
        ({"articles": ["x"], "total": 1}, ParseProblem.CHANGED),
    ],
)
def test_what_is_no_list_is_told_apart(body: Any, problem: ParseProblem) -> None:
    with pytest.raises(ParseError) as caught:
        adapter(sid="9").parse_list(answer(body), 1, None)
    assert caught.value.problem is problem


def detail(script: str, body: str = "", raw: dict[str, Any] | None = None) -> Any:
    page = f"<html><head><meta charset='utf-8'></head><body>{body}<script>{script}</script></body></html>"
    ref = ArticleRef(f"{HOST}/gkmlpt/content/0/7/post_7001.html", "通知", "7001", raw=raw or {})
    return adapter().parse_detail(ref, [answer(page, ref.url)])


def test_a_broken_detail_falls_back_to_the_visible_page_with_a_warning() -> None:
    visible = '<div class="article-content"><p>正文第一段。</p></div>'
    for script in ("window._CONFIG = {DETAIL: {'id': 1, content: x}, TREE: []};", 'window._CONFIG = {DETAIL: {"content": "<p>'):
        article = detail(script, visible)
        assert article.body_text == "正文第一段。"
        assert article.warnings and "_CONFIG.DETAIL cannot be read" in article.warnings[0]


def test_validity_is_false_or_stated_never_concluded() -> None:
    script = 'window._CONFIG = {DETAIL: {"title": "通知", "content": "\\u003Cp\\u003E正文\\u003C/p\\u003E"}};'
    assert detail(script, raw={"is_abolished": 0, "is_expired": 0}).is_effective is None
    assert detail(script, raw={"is_abolished": 1}).is_effective is False
    assert detail(script, raw={"is_expired": "1"}).is_effective is False
    stated = "<table><tr><td>有效性</td><td>有效</td></tr></table>"
    assert detail(script, stated, raw={"is_abolished": 0}).is_effective is True
    assert detail(script, stated, raw={"is_abolished": 1}).is_effective is False


def test_the_signed_day_is_never_the_published_day() -> None:
    fields = '"title": "通知", "date": 1710086400, "created_at": "2024-03-15 10:10:02", "content": "<p>正文</p>"'
    script = f"window._CONFIG = {{DETAIL: {{{fields}}}}};"
    article = detail(script)
    assert article.metadata["written_on"] == "2024-03-11"
    assert article.publish_time is None and article.publish_date is None and article.publish_precision == "none"


def test_an_article_of_files_only_has_an_empty_body() -> None:
    files = [{"name": "全文.pdf", "url": "/attachment/0/1/1/7001.pdf", "mime": "application/pdf"}]
    article = detail('window._CONFIG = {DETAIL: {"title": "通知", "content": ""}};', raw={"attachment": files})
    assert (article.body_text, article.attachments[0].url) == ("", f"{HOST}/attachment/0/1/1/7001.pdf")
