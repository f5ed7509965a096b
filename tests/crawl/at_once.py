"""Threads that do the same thing at the same moment, each with a database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

T = TypeVar("T")


def at_once(count: int, work: Callable[[int], T], seconds: float = 60) -> list[T]:
    """The results of ``work(0)`` ... ``work(count - 1)``, begun together behind a barrier; raises what any of them raises."""
    barrier = threading.Barrier(count)

    def begin(number: int) -> T:
        try:
            barrier.wait(seconds)
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return [future.result(seconds) for future in [pool.submit(begin, number) for number in range(count)]]
