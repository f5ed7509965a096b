from __future__ import annotations

import pytest

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.connections import Exchange


@pytest.mark.parametrize("seconds", [0, -3.5])
def test_an_exchange_without_time_left_ends_at_its_first_step(seconds: float) -> None:
    with pytest.raises(FetchError) as caught:
        Exchange(seconds).check()
    assert caught.value.error_class is ErrorClass.DEADLINE


def test_time_can_be_taken_away_but_not_given() -> None:
    exchange = Exchange(100)
    exchange.shorten(10)
    exchange.shorten(1000)
    assert 0 < exchange.check() <= 10


@pytest.mark.parametrize("size", [1, 2, 3, 10_000])
def test_bytes_after_the_final_header_are_counted_however_they_arrive(size: int) -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nA: b\r\n\r\nbody\r\n\r\nand more"
    exchange = Exchange(10)
    for start in range(0, len(data), size):
        exchange.note(data[start : start + size])
    assert (exchange.received, exchange.body_received, exchange.tail) == (len(data), 16, b"nd more")
    assert not exchange.ended
    exchange.note(b"")
    assert exchange.ended
