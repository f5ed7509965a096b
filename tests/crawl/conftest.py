"""Fixtures of the crawler's tests: a content store of their own, and servers on loopback that may be asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.witness import Witness
from tests.faultserver import FaultServer


@pytest.fixture
def loopback(settings: Any, tmp_path: Path) -> Any:
    """Settings under which the crawler may ask 127.0.0.1 and stores into a temporary folder."""
    settings.CONTENT_DIR = str(tmp_path / "content")
    settings.CRAWL = {**settings.CRAWL, "allow_addresses": "127.0.0.1"}
    return settings


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


@pytest.fixture
def second() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running
