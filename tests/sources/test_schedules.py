"""When targets are due: cron is read in Beijing time, answers are in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from sources.schedules import effective_cron, next_due, validate_cron


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_cron_is_read_in_beijing_time_and_answered_in_utc() -> None:
    assert next_due("30 3 * * *", utc("2024-03-15 00:00")) == utc("2024-03-15 19:30")
    assert next_due("30 3 * * *", utc("2024-03-15 00:00")).tzinfo is UTC


def test_a_weekday_is_the_weekday_of_beijing() -> None:
    sunday_evening_utc = utc("2024-03-17 17:00")  # Monday 01:00 in Beijing
    assert next_due("0 2 * * 1", sunday_evening_utc) == utc("2024-03-17 18:00")


def test_due_is_later_than_the_moment_asked_from_even_when_that_is_due_itself() -> None:
    assert next_due("0 * * * *", utc("2024-03-15 04:00")) == utc("2024-03-15 05:00")


def test_what_was_missed_is_skipped_when_asked_from_now() -> None:
    stopped = next_due("*/10 * * * *", utc("2024-03-15 00:00"))
    after_three_days = next_due("*/10 * * * *", utc("2024-03-18 00:03"))
    assert stopped == utc("2024-03-15 00:10")
    assert after_three_days == utc("2024-03-18 00:10")


@pytest.mark.parametrize("cron", ["* * * * *", "*/5 8-18 * * 1-5", "0 0 1,15 * *", "0 9 * jan-jun mon", "0 0 29 2 *"])
def test_five_field_cron_is_accepted(cron: str) -> None:
    validate_cron(cron)


@pytest.mark.parametrize(
    "cron",
    [
        "",
        "0 3 * *",
        "0 0 3 * * *",
        "@daily",
        "60 * * * *",
        "0 24 * * *",
        "R * * * *",
        "0 0 L * *",
        "0 0 31 2 *",
        "*/0 * * * *",
        "a b c d e",
    ],
)
def test_other_text_is_refused_with_the_remedy(cron: str) -> None:
    with pytest.raises(ValueError, match=r"write five fields: minute hour day month weekday") as caught:
        validate_cron(cron)
    assert repr(cron) in str(caught.value)


def test_a_moment_without_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        next_due("0 3 * * *", datetime(2024, 3, 15))


@pytest.mark.parametrize(
    ("target", "site", "expected"),
    [
        ("1 * * * *", "2 * * * *", "1 * * * *"),
        (None, "2 * * * *", "2 * * * *"),
        ("", "2 * * * *", "2 * * * *"),
        (None, None, None),
    ],
)
def test_the_cron_of_the_target_goes_before_that_of_its_site(
    target: str | None, site: str | None, expected: str | None
) -> None:
    assert effective_cron(SimpleNamespace(schedule_cron=target), SimpleNamespace(schedule_cron=site)) == expected
