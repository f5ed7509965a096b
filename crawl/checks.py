"""System checks: settings of the queue and the database that the crawler's promises rest on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connection

from crawl.fetching.address_guard import AllowList
from crawl.slices import GRACE_SEC


@register()
def queue_times(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The queue may redeliver a task only after its hard limit has ended it (fault-model, Part B)."""
    queue: dict[str, Any] = settings.Q_CLUSTER
    timeout, retry = queue.get("timeout") or 0, queue.get("retry") or 0
    if not timeout or retry < 2 * timeout + 60:
        return [Error("Q_CLUSTER: timeout must be set and retry at least 2 * timeout + 60.", id="crawl.E001")]
    longest = settings.CRAWL["slice_seconds"] + GRACE_SEC
    if longest >= timeout:
        text = f"CRAWL_SLICE_SECONDS={settings.CRAWL['slice_seconds']}: a slice and its last request need {longest} s, "
        return [Error(f"{text}which must be less than the queue's timeout of {timeout} s.", id="crawl.E003")]
    return []


@register()
def allowed_addresses(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    try:
        AllowList.parse(settings.CRAWL["allow_addresses"])
    except ValueError as error:
        return [Error(f"CRAWL_ALLOW_ADDRESSES: {error}", id="crawl.E002")]
    return []


@register(Tags.database)
def database_clock(app_configs: Any, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Leases compare the database's ``Now()`` with UTC values: a session in another zone would expire them all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_TIMESTAMP")
        now = cursor.fetchone()[0]
    told = datetime.fromisoformat(now) if isinstance(now, str) else now
    if abs((told.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds()) > 300:
        return [
            Warning(
                f"The database's clock says {told:%Y-%m-%d %H:%M:%S}, UTC is {datetime.now(UTC):%Y-%m-%d %H:%M:%S}.",
                hint="Set the clock of the database host; the session zone is set to UTC by the settings.",
                id="crawl.W001",
            )
        ]
    return []
