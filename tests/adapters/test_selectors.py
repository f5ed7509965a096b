"""Rules of a site are refused with the field and the reason; pages are numbered as the rules say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sources import adapters
from sources.adapters.base import Adapter, ArticleRef, ParseError, ParseProblem, Request, Response, TargetInfo

ENTRY = "http://www.yunling.example/tzgg/index.html"
ROWS = {"row": "li"}


def build(entry_url: str = ENTRY, **rules: Any) -> Adapter:
    return adapters.build("selectors", {"list": ROWS, **rules}, TargetInfo("yunling-tzgg", entry_url))


def answer(body: str, url: str = ENTRY) -> Response:
    return Response(
        Request(url), url, 200, {"content-type": "text/html; charset=utf-8"}, body.encode(), datetime(2024, 6, 1, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"list": {}}, "list.row: missing"),
        ({"list": {"row": "li["}}, "list.row: selector 'li[' cannot be read"),
        (
            {"list": {"row": "li", "url": {"css": "a", "xpath": "//a"}}},
            "list.url: exactly one of css, xpath, jsonpath, const is needed, got css, xpath",
        ),
        (
            {"list": {"row": "li", "url": {"attr": "href"}}},
            "list.url: exactly one of css, xpath, jsonpath, const is needed, got none",
        ),
        ({"list": {"row": "li", "colour": "a"}}, "list.colour: unknown key"),
        ({"list": {"row": {"xpath": "//a["}}}, "list.row: xpath '//a[' cannot be read"),
        ({"list": {"row": {"xpath": "nosuch(.)"}}}, "list.row: xpath 'nosuch(.)' cannot be read"),
        ({"list": {"row": "$.a[", "format": "json", "url": "$.u"}}, "list.row: jsonpath '$.a[' cannot be read"),
        ({"list": {"row": "$.a", "format": "json"}}, "list: url is needed for format json"),
        ({"list": {"row": "$.rows"}}, "list: row is a jsonpath rule, which cannot read a list of format html"),
        ({"list": {"row": "li", "date": {"css": "i", "regex": "("}}}, "list.date: regular expression '(' cannot be read"),
        (
            {"list": {"row": "li", "date": {"css": "i", "regex": "a" * 501}}},
            "list.date.regex: String should have at most 500 characters",
        ),
        ({"list": {"row": "li " * 200}}, "list.row.css: String should have at most 500 characters"),
        (
            {"list": {"row": "li", "date": {"css": "i", "transforms": ["dat"]}}},
            "list.date.transforms.0.name: Input should be 'strip' or 'date', got 'dat'",
        ),
        (
            {"list": {"row": "li", "url": {"css": "i", "transforms": [{"template": "/x"}]}}},
            "list.url.transforms.0: a template needs {value}",
        ),
        (
            {"detail": {"date": {"css": "i", "transforms": [{"regex_sub": ["(a)", "\\2"]}]}}},
            "detail.date.transforms.0: replacement '\\\\2' does not fit",
        ),
        ({"detail": {"fields": {"index": "td"}}}, "detail.fields.index.[key]: Input should be 'index_no', 'doc_no'"),
        ({"pager": {"form": "guess"}}, "pager.form: Input should be 'auto', 'none'"),
        ({"pager": {"form": "pattern", "pattern": "index.html"}}, "pager: form pattern needs a pattern with {n}"),
        ({"pager": {"form": "next_link"}}, "pager: form next_link needs next"),
        ({"pager": {"form": "json_page", "total": "$.total"}}, "pager: total and size go together"),
        ({"pager": {"max": 0}}, "pager.max: Input should be greater than or equal to 1, got 0"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_field_and_the_reason(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(adapters.InvalidParams) as caught:
        build(**rules)
    assert len(caught.value.errors) == 1
    assert caught.value.errors[0].startswith(message)


def test_an_entry_url_that_is_none_is_refused() -> None:
    with pytest.raises(adapters.InvalidParams, match="entry_url: not an absolute http"):
        build(entry_url="/tzgg/")


@pytest.mark.parametrize(
    ("pager", "entry_url", "wanted"),
    [
        ({"form": "pattern", "pattern": "index_{n}.html", "first": 0}, ENTRY, "http://www.yunling.example/tzgg/index_1.html"),
        ({"form": "pattern", "pattern": "index_{n}.html"}, ENTRY, "http://www.yunling.example/tzgg/index_2.html"),
        ({"form": "pattern", "pattern": "?page={n}"}, ENTRY, f"{ENTRY}?page=2"),
        ({"form": "json_page"}, "http://a.example/api?page=1&col=7", "http://a.example/api?col=7&page=2"),
        (
            {"form": "json_page", "param": "pageNo", "first": 0},
            "http://a.example/api?col=7#x",
            "http://a.example/api?col=7&pageNo=1",
        ),
    ],
)
def test_numbered_pages_follow_the_rule_and_page_one_is_the_entry(pager: dict[str, Any], entry_url: str, wanted: str) -> None:
    site = build(entry_url, pager=pager)
    assert site.list_request(1, None).url == entry_url
    assert site.list_request(2, None).url == wanted


def test_a_page_that_only_the_page_before_can_name_needs_its_cursor() -> None:
    site = build(pager={"form": "next_link", "next": "a.next"})
    assert site.list_request(4, "http://www.yunling.example/p4").url == "http://www.yunling.example/p4"
    with pytest.raises(ValueError, match="page 4 of pager form next_link needs the cursor that page 3 gave"):
        site.list_request(4, None)


def test_max_ends_a_list_and_form_none_has_one_page() -> None:
    page = answer("<ul><li><a href='/1.html'>甲</a></li></ul>")
    two = build(pager={"form": "pattern", "pattern": "{n}.html", "max": 2})
    assert [two.parse_list(page, number, None).has_more for number in (1, 2)] == [True, False]
    assert not build(pager={"form": "none"}).parse_list(page, 1, None).has_more


def test_a_page_without_rows_ends_a_list_but_as_first_page_it_is_a_changed_layout() -> None:
    page = answer("<div><p>本栏目已经改版，内容请见新的栏目页面。</p></div>")
    site = build(pager={"form": "pattern", "pattern": "{n}.html"})
    assert not site.parse_list(page, 3, None).has_more
    with pytest.raises(ParseError) as caught:
        site.parse_list(page, 1, None)
    assert caught.value.problem is ParseProblem.CHANGED


def test_a_pager_that_counts_pages_without_naming_them_is_warned_about() -> None:
    page = build().parse_list(answer("<ul><li><a href='/1.html'>甲</a></li></ul><div>共 9 页</div>"), 1, None)
    assert not page.has_more
    assert page.warnings == ("the page counts its pages but does not name them: set pager form pattern",)


def test_hosts_of_the_entry_with_and_without_www_and_the_allowed_ones_are_the_source() -> None:
    rows = "".join(
        f"<li><a href='{url}'>x</a></li>"
        for url in ("/1", "https://yunling.example/2", "http://static.yunling.example/3", "http://b.example/4")
    )
    site = build(list={"row": "li", "allow_hosts": ["static.yunling.example"]})
    assert [ref.skip for ref in site.parse_list(answer(rows), 1, None).refs] == [None, None, None, "external"]


def test_a_chain_of_pages_that_leads_in_a_circle_ends() -> None:
    site = build(detail={"body": "div", "next": "a.next"})
    ref = ArticleRef("http://www.yunling.example/1.html", "甲")
    first = answer("<div>一</div><a class='next' href='2.html'>下</a>", ref.url)
    second = answer("<div>二</div><a class='next' href='1.html'>下</a>", "http://www.yunling.example/2.html")
    assert site.detail_request(ref, [first]) == Request("http://www.yunling.example/2.html")
    assert site.detail_request(ref, [first, second]) is None
    assert site.parse_detail(ref, [first, second]).body_text == "一\n二"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<script src=x></script>", ParseProblem.BLOCKED),
        ("<p>没有容器却有很长的正文文字，说明页面结构变了。</p>", ParseProblem.CHANGED),
    ],
)
def test_a_page_without_the_body_is_blocked_or_changed(body: str, problem: ParseProblem) -> None:
    ref = ArticleRef("http://www.yunling.example/1.html", "甲")
    with pytest.raises(ParseError) as caught:
        build(detail={"body": "div.text"}).parse_detail(ref, [answer(body, ref.url)])
    assert caught.value.problem is problem


def test_jsonp_and_numbers_that_json_does_not_know_are_read() -> None:
    rules = {"row": "$.rows[*]", "format": "json", "url": "$.u", "title": "$.t"}
    page = build(list=rules).parse_list(answer('cb({"rows": [{"u": "/1.html", "t": "甲", "score": NaN}]});'), 1, None)
    assert page.refs[0].raw == {"u": "/1.html", "t": "甲", "score": None}
