from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from crawl.errors import FetchError
from crawl.fetching.address_guard import AllowList
from crawl.fetching.http import FetchSettings, HttpFetcher
from sources.adapters.base import Request
from tests.faultserver import FaultServer

LOOPBACK = FetchSettings(
    user_agent="GovCrawler-Test/1.0 (+mailto:steward@example.test)",
    allow=AllowList.parse("127.0.0.1"),
    connect_timeout=5,
    read_timeout=5,
    page_deadline=10,
    file_deadline=10,
)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


@pytest.fixture
def make_fetcher() -> Iterator[Callable[..., HttpFetcher]]:
    """A fetcher that may reach loopback, with the settings the test names."""
    made: list[HttpFetcher] = []

    def make(guard: Any = None, **changes: Any) -> HttpFetcher:
        made.append(HttpFetcher(replace(LOOPBACK, **changes), guard=guard))
        return made[-1]

    yield make
    for fetcher in made:
        fetcher.close()


@pytest.fixture(scope="session")
def fetcher() -> Iterator[HttpFetcher]:
    """One for all tests, as a worker has it; each test's server has its own port, hence its own connections."""
    with HttpFetcher(LOOPBACK) as shared:
        yield shared


def failure(fetcher: HttpFetcher, url: str, **options: Any) -> FetchError:
    """The error that fetching ``url`` ends with."""
    with pytest.raises(FetchError) as caught:
        fetcher.fetch(Request(url), **options)
    return caught.value
