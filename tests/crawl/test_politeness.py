"""When a site may be asked, and how fast: days and windows of Asia/Shanghai, pace and back-off within their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.politeness import CHINA, DAY, admission, backoff, day_of, pause, retry_after


@dataclass(frozen=True)
class Limits:
    crawl_window_start: time | None = None
    crawl_window_end: time | None = None
    daily_max_requests: int | None = None
    weekend_enabled: bool = True


def china(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=CHINA)


DAYTIME = Limits(time(9), time(17))
NIGHT = Limits(time(22), time(6))
WEEKDAYS = Limits(weekend_enabled=False)
CAPPED = Limits(daily_max_requests=100)

# 2024-03-15 is a Friday.
TABLE = [
    ("no limits", Limits(), "2024-03-16T03:00", 10**9, None),
    ("window: its first moment is inside", DAYTIME, "2024-03-15T09:00", 0, None),
    ("window: its last moment is outside", DAYTIME, "2024-03-15T17:00", 0, "2024-03-16T09:00"),
    ("window: before it opens", DAYTIME, "2024-03-15T08:59", 0, "2024-03-15T09:00"),
    ("window over midnight: late evening", NIGHT, "2024-03-15T23:59", 0, None),
    ("window over midnight: early morning", NIGHT, "2024-03-15T00:00", 0, None),
    ("window over midnight: closed by day", NIGHT, "2024-03-15T06:00", 0, "2024-03-15T22:00"),
    ("half a window is none: no end", Limits(time(9), None), "2024-03-15T03:00", 0, None),
    ("half a window is none: no start", Limits(None, time(17)), "2024-03-15T20:00", 0, None),
    ("a window of no length is none", Limits(time(9), time(9)), "2024-03-15T20:00", 0, None),
    ("weekend: Friday evening", WEEKDAYS, "2024-03-15T23:59", 0, None),
    ("weekend: Saturday", WEEKDAYS, "2024-03-16T00:00", 0, "2024-03-18T00:00"),
    ("weekend: Sunday", WEEKDAYS, "2024-03-17T23:00", 0, "2024-03-18T00:00"),
    ("weekend: Monday", WEEKDAYS, "2024-03-18T00:00", 0, None),
    ("cap: the last request", CAPPED, "2024-03-15T12:00", 99, None),
    ("cap: reached", CAPPED, "2024-03-15T12:00", 100, "2024-03-16T00:00"),
    ("cap of nothing", Limits(daily_max_requests=0), "2024-03-15T12:00", 0, "2024-03-16T00:00"),
]


@pytest.mark.parametrize(("case", "limits", "now", "requests", "until"), TABLE, ids=[row[0] for row in TABLE])
def test_a_site_may_be_asked_or_waits_until_a_named_moment(
    case: str, limits: Limits, now: str, requests: int, until: str | None
) -> None:
    wait = admission(limits, china(now), requests)
    if until is None:
        assert wait is None
    else:
        assert wait is not None
        assert wait.seconds == (china(until) - china(now)).total_seconds()
        assert f"{china(until):%Y-%m-%d %H:%M}" in wait.reason


def test_windows_and_days_are_those_of_shanghai_whatever_zone_the_moment_comes_in() -> None:
    morning = datetime(2024, 3, 15, 1, 30, tzinfo=UTC)  # 09:30 in Shanghai
    assert admission(DAYTIME, morning, 0) is None
    assert admission(WEEKDAYS, datetime(2024, 3, 15, 16, 0, tzinfo=UTC), 0) is not None  # Saturday there
    assert day_of(datetime(2024, 3, 15, 15, 59, 59, tzinfo=UTC)) == date(2024, 3, 15)
    assert day_of(datetime(2024, 3, 15, 16, 0, tzinfo=UTC)) == date(2024, 3, 16)


clock = st.builds(time, st.integers(0, 23), st.integers(0, 59))


@given(
    st.builds(Limits, st.none() | clock, st.none() | clock, st.none() | st.integers(0, 50), st.booleans()),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    st.integers(0, 100),
)
def test_after_the_wait_that_was_told_the_same_limit_no_longer_holds(limits: Limits, naive: datetime, requests: int) -> None:
    now = naive.replace(tzinfo=CHINA)
    for _ in range(4):  # weekend, window and cap may follow one another
        wait = admission(limits, now, requests)
        if wait is None:
            return
        assert 1 <= wait.seconds <= 3 * DAY
        before, now = now, now + timedelta(seconds=wait.seconds)
        requests = requests if day_of(now) == day_of(before) else 0
    assert limits.daily_max_requests == 0


seconds = st.floats(0, 1000)


@given(seconds, seconds, st.none() | seconds)
def test_a_pause_is_at_least_the_interval_and_the_crawl_delay_and_at_most_the_jitter_longer(
    interval: float, jitter: float, delay: float | None
) -> None:
    floor = max(interval, delay or 0.0)
    assert floor <= pause(interval, jitter, delay) <= floor + jitter


@given(st.integers(0, 10**6), st.floats(1, 1000), st.floats(1, 100_000))
def test_a_back_off_stays_between_the_shortest_and_the_longest(failures: int, shortest: float, longest: float) -> None:
    assert min(shortest, longest) <= backoff(failures, shortest, longest) <= longest


def test_back_off_grows_with_the_failures() -> None:
    assert max(backoff(0, 60, 3600) for _ in range(200)) <= 60
    assert max(backoff(5, 60, 3600) for _ in range(200)) > 60 * 8


@pytest.mark.parametrize(("asked", "told"), [(0.0, 1.0), (-5.0, 1.0), (1.5, 1.5), (3600.0, 3600.0), (10 * 366 * DAY, DAY)])
def test_retry_after_is_kept_within_a_second_and_a_day(asked: float, told: float) -> None:
    assert retry_after(asked, 3, 60, 3600) == told


def test_a_retry_after_that_cannot_be_read_gives_our_own_back_off() -> None:
    assert 60 <= retry_after(None, 3, 60, 3600) <= 480
