"""System checks: a queue, an allow-list or a clock that breaks the crawler's promises is told before it runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import Tags, run_checks

from crawl import checks


def ids(found: list[Any]) -> list[str]:
    return [message.id for message in found]


@pytest.mark.django_db
def test_the_shipped_settings_pass() -> None:
    assert checks.queue_times(None) == checks.allowed_addresses(None) == []
    told = run_checks(tags=[Tags.database], databases=["default"]) + run_checks()
    assert [message.id for message in told if message.id and message.id.startswith("crawl.")] == []


def test_the_shipped_allow_list_is_empty(settings: Any) -> None:
    assert settings.CRAWL["allow_addresses"] == ""


@pytest.mark.parametrize("queue", [{"timeout": None}, {"retry": 60}, {"timeout": 300, "retry": 659}])
def test_a_queue_that_redelivers_before_its_limit_has_ended_a_task_is_an_error(settings: Any, queue: dict[str, Any]) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, **queue}
    assert ids(checks.queue_times(None)) == ["crawl.E001"]


def test_a_slice_that_the_queue_would_kill_is_an_error_that_names_the_setting(settings: Any) -> None:
    settings.CRAWL = {**settings.CRAWL, "slice_seconds": 150}
    (error,) = checks.queue_times(None)
    assert error.id == "crawl.E003" and "CRAWL_SLICE_SECONDS=150" in error.msg


def test_an_allow_list_that_cannot_be_read_is_an_error_that_names_the_setting(settings: Any) -> None:
    settings.CRAWL = {**settings.CRAWL, "allow_addresses": "127.0.0.1,nowhere"}
    (error,) = checks.allowed_addresses(None)
    assert error.id == "crawl.E002" and "CRAWL_ALLOW_ADDRESSES" in error.msg


@pytest.mark.django_db
def test_the_database_and_this_machine_agree_on_the_time() -> None:
    assert checks.database_clock(None) == []
