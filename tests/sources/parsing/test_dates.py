"""Dates are read as far as they are stated and no further (fault-model C4)."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.parsing.dates import find_date, from_epoch, parse_date, parse_roc

SEEN = datetime(2024, 3, 20, 2, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "iso", "precision"),
    [
        ("2024-03-15", "2024-03-15", "day"),
        ("2024/03/15", "2024-03-15", "day"),
        ("2024.03.15", "2024-03-15", "day"),
        ("2024.3.5", "2024-03-05", "day"),
        ("[2024-03-15]", "2024-03-15", "day"),
        ("（2024-03-15）", "2024-03-15", "day"),
        ("2024年3月5日", "2024-03-05", "day"),
        ("2024 年 03 月 05 日", "2024-03-05", "day"),
        ("2024年3月5号", "2024-03-05", "day"),
        ("２０２４－０３－１５", "2024-03-15", "day"),
        ("2024-\n   03-\n  15", "2024-03-15", "day"),
        ("2024-03-15 星期五", "2024-03-15", "day"),
        ("20240315", "2024-03-15", "day"),
        ("20240315163005", "2024-03-15T16:30:05", "second"),
        ("二〇二四年三月五日", "2024-03-05", "day"),
        ("二○二三年十二月三十一日", "2023-12-31", "day"),
        ("二零二四年二月廿一日", "2024-02-21", "day"),
        ("一九九八年十月十日", "1998-10-10", "day"),
        ("2024-03-15 17:32", "2024-03-15T17:32", "minute"),
        ("2024-03-15 17:32:10", "2024-03-15T17:32:10", "second"),
        ("2024-03-15 17:32:10.123", "2024-03-15T17:32:10", "second"),
        ("2024-03-15-16:30:00", "2024-03-15T16:30:00", "second"),
        ("2024-03-15T16:30:00", "2024-03-15T16:30:00", "second"),
        ("2024年3月5日 17时30分", "2024-03-05T17:30", "minute"),
        ("2024年3月5日下午3点20分", "2024-03-05T15:20", "minute"),
        ("2024年3月5日上午9:05", "2024-03-05T09:05", "minute"),
        ("2024年3月5日中午12:30", "2024-03-05T12:30", "minute"),
        ("2024-03-15 04:30 PM", "2024-03-15T16:30", "minute"),
        ("2024-03-15 12:30 AM", "2024-03-15T00:30", "minute"),
        ("2024年3月5日下午3点", "2024-03-05", "day"),
        ("2024-03-15 25:70", "2024-03-15", "day"),
        ("2024年3月", "2024-03", "month"),
        ("2024-03", "2024-03", "month"),
        ("二〇二四年三月", "2024-03", "month"),
        ("2024年", "2024", "year"),
    ],
)
def test_a_date_is_read_with_the_precision_it_states(text: str, iso: str, precision: str) -> None:
    found = parse_date(text, seen_on=SEEN)
    assert found is not None
    assert (found.iso, found.precision, found.year_inferred) == (iso, precision, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "无",
        "null",
        "2024-02-00018",
        "000014349/2024-00031",
        "2024-02-30",
        "2024-13-01",
        "2024年2月31日",
        "1970-01-01",
        "0000-00-00",
        "2024-03-23",
        "2024年4月",
        "2025年",
        "下午3点",
        "3",
        "第1/2页",
        "1.2.3",
        "192.168.1.1",
        "兰政办发〔2024〕9号",
    ],
)
def test_what_is_no_date_or_cannot_be_one_is_none(text: str) -> None:
    assert parse_date(text, seen_on=SEEN) is None
    assert find_date(text, seen_on=SEEN) is None


def test_two_days_ahead_are_believed() -> None:
    found = parse_date("2024-03-22", seen_on=SEEN)
    assert found is not None
    assert found.date == date(2024, 3, 22)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("03-15", date(2024, 3, 15)),
        ("[03-20]", date(2024, 3, 20)),
        ("03-21", date(2023, 3, 21)),
        ("12-31 08:00", date(2023, 12, 31)),
        ("3月5日", date(2024, 3, 5)),
        ("02-29", date(2024, 2, 29)),
        ("02-30", None),
    ],
)
def test_a_missing_year_is_the_latest_that_fits_and_is_marked(text: str, day: date | None) -> None:
    found = parse_date(text, seen_on=SEEN)
    assert (found.date if found else None) == day
    assert found is None or found.year_inferred
    assert parse_date(text) is None


def test_a_leap_day_without_year_goes_back_to_a_leap_year() -> None:
    found = parse_date("02-29", seen_on=datetime(2027, 3, 1, tzinfo=UTC))
    assert found is not None
    assert found.date == date(2024, 2, 29)


def test_the_day_of_china_decides_what_is_not_after_the_visit() -> None:
    evening_in_utc = datetime(2024, 3, 19, 17, 0, tzinfo=UTC)
    found = parse_date("03-20", seen_on=evening_in_utc)
    assert found is not None
    assert found.date == date(2024, 3, 20)


def test_times_are_china_time_unless_the_text_says_otherwise() -> None:
    plain, marked = parse_date("2024-03-15 07:30"), parse_date("2024-03-15T07:30:00Z")
    assert plain is not None
    assert marked is not None
    assert plain.utc() == datetime(2024, 3, 14, 23, 30, tzinfo=UTC)
    assert marked.utc() == datetime(2024, 3, 15, 7, 30, tzinfo=UTC)


def test_a_month_has_no_day_and_no_moment() -> None:
    found = parse_date("2024年3月")
    assert found is not None
    assert found.date is None
    assert found.utc() is None


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("发布时间：2024-03-18 09:26　来源：省政府办公厅", "2024-03-18T09:26"),
        ("索引号 2024-02-00018 发布日期 2024-03-01", "2024-03-01"),
        ("2024-02-30 更正为 2024-02-29", "2024-02-29"),
        ("兰政办发〔2024〕9号 2024年3月13日", "2024-03-13"),
        ("自二〇二四年三月一日起施行", "2024-03-01"),
        ("15 2024-03", "2024-03"),
        ("发布于 03-15", "2024-03-15"),
        ("共 12 条 1/2 页", None),
        ("电话 0750-12345678", None),
    ],
)
def test_a_date_is_found_inside_a_text(text: str, iso: str | None) -> None:
    found = find_date(text, seen_on=SEEN)
    assert (found.iso if found else None) == iso


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        (1710468753, "2024-03-15T10:12:33"),
        ("1710468753", "2024-03-15T10:12:33"),
        (1710468753000, "2024-03-15T10:12:33"),
        (1710086400, "2024-03-11"),
        (0, None),
        (-5, None),
        (None, None),
        ("x", None),
        (10**30, None),
        (float("nan"), None),
    ],
)
def test_epochs_in_seconds_and_milliseconds_are_china_time(value: float | str | None, iso: str | None) -> None:
    found = from_epoch(value)
    assert (found.iso if found else None) == iso


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("民國113年3月15日", "2024-03-15"),
        ("113/03/15", "2024-03-15"),
        ("1130315", "2024-03-15"),
        ("0991231", "2010-12-31"),
        ("1130230", None),
    ],
)
def test_years_of_the_republic_are_read_only_when_asked_for(text: str, iso: str | None) -> None:
    found = parse_roc(text)
    assert (found.iso if found else None) == iso
    assert parse_date(text) is None


@given(st.text(alphabet="0123456789年月日-/.: 〇二三十下午点PM", max_size=40))
def test_any_text_is_a_date_or_none(text: str) -> None:
    for found in (parse_date(text, seen_on=SEEN), find_date(text, seen_on=SEEN)):
        assert found is None or found.day is None or found.utc() is not None
