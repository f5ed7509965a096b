"""API keys: shown once, stored as a hash, limited over all processes."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from govcrawler.access import keys
from govcrawler.access.models import ApiKey, ApiKeyUsage
from govcrawler.audit.models import AdminAuditLog

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)


def test_a_key_opens_with_its_whole_text_and_the_database_does_not_hold_it() -> None:
    key, text = keys.create("rag server", ["export", "read"], consumer="rag")
    assert text.startswith(f"gc_{key.prefix}_")
    assert keys.verify(text) == key
    assert key.scopes == ["read", "export"]
    stored = ApiKey.objects.values_list("key_hash", "prefix", "name").get()
    assert not any(text.split("_", 2)[2] in str(value) for value in stored)


@pytest.mark.parametrize("change", ["tail", "prefix", "scheme", "empty", "prefix only", "surrogate"])
def test_anything_but_the_whole_key_is_unknown(change: str) -> None:
    key, text = keys.create("a", ["read"])
    wrong = {
        "tail": text[:-1] + ("A" if text[-1] != "A" else "B"),
        "prefix": text.replace(key.prefix, "0" * 12),
        "scheme": "xx" + text[2:],
        "empty": "",
        "prefix only": f"gc_{key.prefix}_",
        "surrogate": f"gc_{key.prefix}_\udc80",
    }[change]
    with pytest.raises(keys.KeyRefused) as refused:
        keys.verify(wrong)
    assert refused.value.code == "key_unknown"


def test_expired_and_revoked_keys_are_told_so_but_only_to_those_who_hold_them() -> None:
    _, expired = keys.create("old", ["read"], expires_at=timezone.now() - timedelta(seconds=1))
    gone, revoked = keys.create("gone", ["read"])
    ApiKey.objects.filter(pk=gone.pk).update(revoked_at=timezone.now())
    for text, code in ((expired, "key_expired"), (revoked, "key_revoked"), (revoked + "x", "key_unknown")):
        with pytest.raises(keys.KeyRefused) as refused:
            keys.verify(text)
        assert refused.value.code == code


def test_the_last_use_is_written_at_most_once_a_minute() -> None:
    key, text = keys.create("a", ["read"])
    keys.verify(text)
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None
    keys.verify(text)
    key.refresh_from_db()
    assert key.last_used_at == first
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=first - timedelta(minutes=2))
    keys.verify(text)
    key.refresh_from_db()
    assert key.last_used_at is not None and key.last_used_at >= first


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"scopes": ["read", "root"]}, "root"),
        ({"scopes": []}, "scopes"),
        ({"name": " "}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"consumer": ""}, "consumer"),
        ({"rate_per_minute": 0}, "rate_per_minute"),
        ({"daily_quota": -1}, "daily_quota"),
        ({"name": "taken"}, "taken"),
    ],
)
def test_a_wrong_argument_is_named_and_no_key_is_made(arguments: dict[str, object], named: str) -> None:
    keys.create("taken", ["read"])
    with pytest.raises(ValueError, match=named):
        keys.create(**{"name": "n", "scopes": ["read"], **arguments})  # type: ignore[arg-type]
    assert ApiKey.objects.count() == 1


def test_requests_of_a_minute_are_counted_and_the_next_minute_begins_anew() -> None:
    key, _ = keys.create("a", ["read"], rate_per_minute=2)
    keys.count_request(key, NOON)
    keys.count_request(key, NOON)
    with pytest.raises(keys.LimitReached) as reached:
        keys.count_request(key, NOON)
    assert reached.value.wait_sec == 30
    keys.count_request(key, NOON + timedelta(seconds=30))
    assert list(ApiKeyUsage.objects.values_list("window", "requests")) == [("m:2026-03-02T12:01", 1)]


def test_the_daily_quota_ends_at_midnight_utc() -> None:
    key, _ = keys.create("a", ["read"], daily_quota=1)
    keys.count_request(key, NOON)
    with pytest.raises(keys.LimitReached) as reached:
        keys.count_request(key, NOON)
    assert NOON + timedelta(seconds=reached.value.wait_sec) == datetime(2026, 3, 3, tzinfo=UTC)
    keys.count_request(key, datetime(2026, 3, 3, tzinfo=UTC))


def test_a_key_without_limits_writes_nothing() -> None:
    key, _ = keys.create("a", ["read"])
    keys.count_request(key, NOON)
    assert not ApiKeyUsage.objects.exists()


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_eight_processes_together_get_exactly_the_limit() -> None:
    key, _ = keys.create("a", ["read"], rate_per_minute=40)
    allowed: list[bool] = []

    def ask() -> None:
        try:
            for _ in range(10):
                try:
                    keys.count_request(key, NOON)
                    allowed.append(True)
                except keys.LimitReached:
                    allowed.append(False)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (allowed.count(True), allowed.count(False)) == (40, 40)


def test_the_command_prints_a_working_key_and_leaves_an_audit_row_without_it() -> None:
    out, err = StringIO(), StringIO()
    call_command(
        "create_api_key", "rag", "--scope", "read", "--scope", "export", "--per-day", "5", "--days", "2", stdout=out, stderr=err
    )
    text = out.getvalue().strip()
    key = keys.verify(text)
    assert (key.name, key.scopes, key.daily_quota) == ("rag", ["read", "export"], 5)
    assert key.expires_at is not None and key.expires_at > timezone.now() + timedelta(days=1)
    row = AdminAuditLog.objects.get()
    assert (row.action, row.resource_id, row.method) == ("key.create", "rag", "CLI")
    assert text not in str(row.__dict__)


@pytest.mark.parametrize("arguments", [["rag", "--scope", "read", "--days", "0"], ["rag", "--scope", "read", "--per-day", "0"]])
def test_the_command_refuses_a_wrong_number_with_status_2(arguments: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("create_api_key", *arguments, stdout=StringIO(), stderr=StringIO())
    assert refused.value.returncode == 2
    assert not ApiKey.objects.exists()
