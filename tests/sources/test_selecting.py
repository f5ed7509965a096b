"""Rules pick texts out of pages and JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pydantic
import pytest

from sources.parsing.html import parse_document
from sources.parsing.selecting import Rule, date_of, elements, exists, matches, value, values

PAGE = parse_document(
    "<ul><li class=a><a href='/1.html' title='全称'>简称…</a><i class=top></i><em>[2024-03-15]</em></li>"
    "<li><a href='/2.html'>乙</a></li></ul><b>共 12 页</b>"
)
DATA = {
    "total": 3,
    "price": 2.0,
    "none": None,
    "rows": [{"id": 7, "top": 0, "name": " 甲  乙 "}, {"id": 8, "top": 1, "name": ""}],
}


def rule(spec: Any) -> Rule:
    return Rule.model_validate(spec)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("li a", ["简称…", "乙"]),
        ({"css": "li a", "attr": "title"}, ["全称"]),
        ({"xpath": "//li/a/@href"}, ["/1.html", "/2.html"]),
        ({"xpath": "count(//li)"}, ["2"]),
        ({"xpath": "string(//em)", "transforms": ["strip"]}, ["2024-03-15"]),
        ({"css": "b", "regex": r"共\s*(\d+)\s*页"}, ["12"]),
        ({"css": "b", "regex": r"\d+"}, ["12"]),
        ({"css": "b", "regex": r"第(\d+)页"}, []),
        ({"css": "em", "transforms": ["date"]}, ["2024-03-15"]),
        (
            {
                "css": "a",
                "attr": "href",
                "transforms": [{"regex_sub": [r"^/(\d)\.html$", r"\1"]}, {"template": "/d?id={value}"}],
            },
            ["/d?id=1", "/d?id=2"],
        ),
        ({"const": "固定"}, ["固定"]),
        ("i.top", []),
        ({"css": "a", "transforms": [{"regex_sub": [".+", ""]}, {"template": "x{value}"}]}, []),
    ],
)
def test_a_rule_picks_texts_of_a_page(spec: Any, found: list[str]) -> None:
    assert values(rule(spec), PAGE) == found
    assert value(rule(spec), PAGE) == (found[0] if found else "")


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("$.total", ["3"]),
        ("$.price", ["2"]),
        ("$.none", []),
        ("$.rows[*].name", ["甲 乙"]),
        ("$..id", ["7", "8"]),
        ("$.missing", []),
        ("$.rows", []),
    ],
)
def test_a_rule_picks_texts_of_json(spec: str, found: list[str]) -> None:
    assert values(rule(spec), DATA) == found


def test_existence_counts_elements_without_text_and_no_false_values() -> None:
    assert exists(rule("i.top"), PAGE) and not exists(rule("i.none"), PAGE)
    assert exists(rule({"css": "a", "attr": "title"}), PAGE) and not exists(rule({"css": "a", "attr": "name"}), PAGE)
    assert not exists(rule("$.top"), DATA["rows"][0]) and exists(rule("$.top"), DATA["rows"][1])  # type: ignore[index]
    assert exists(rule({"xpath": "boolean(//em)"}), PAGE) and not exists(rule({"xpath": "boolean(//h9)"}), PAGE)
    assert not exists(None, PAGE)


def test_an_empty_list_is_found_and_a_missing_one_is_not() -> None:
    assert matches(rule("$.rows"), {"rows": []}) == [[]]
    assert matches(rule("$.rows"), {"code": 500}) == []


def test_only_elements_are_elements() -> None:
    assert [element.tag for element in elements(rule({"xpath": "//li[1]/node()"}), PAGE)] == ["a", "i", "em"]


def test_dates_are_epochs_or_texts_and_nothing_else() -> None:
    seen = datetime(2024, 6, 1, tzinfo=UTC)
    shown = [date_of(text, seen) for text in ("1710468753", "1710432000000", "2024.3.5", "发布于 2024年3月5日 9:30", "03-05")]
    assert [str(found and found.date) for found in shown] == [
        "2024-03-15",
        "2024-03-15",
        "2024-03-05",
        "2024-03-05",
        "2024-03-05",
    ]
    assert date_of("", seen) is None and date_of("7", seen) is None


def test_a_pattern_sees_a_bounded_text() -> None:
    page = parse_document(f"<p>{'a' * 30_000}终</p>")
    assert value(rule({"css": "p", "regex": "终"}), page) == ""


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"css": ""},
        {"css": "a", "attr": "x", "jsonpath": "$.a"},
        {"jsonpath": "$.a", "attr": "x"},
        {"css": "a", "transform": []},
        5,
    ],
)
def test_a_rule_that_is_none_is_refused(spec: Any) -> None:
    with pytest.raises(pydantic.ValidationError):
        rule(spec)
