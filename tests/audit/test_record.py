"""Audit rows: cut to their columns, without control characters and secrets, from the right address."""

from __future__ import annotations

import getpass
from hashlib import sha256

import pytest
from django.http import HttpRequest

from govcrawler.audit.models import AdminAuditLog
from govcrawler.audit.record import client_address, record

pytestmark = pytest.mark.django_db


def row() -> AdminAuditLog:
    return AdminAuditLog.objects.get()


def test_a_command_leaves_who_ran_it_and_a_digest_of_what_it_was_given() -> None:
    record(action="sites.sync", resource_type="site", resource_id="qingfu", path="sync_sites", payload=b"the diff")
    assert (row().actor, row().method, row().path) == (getpass.getuser(), "CLI", "sync_sites")
    assert row().payload_digest == sha256(b"the diff").hexdigest()[:32]


def test_values_longer_than_their_columns_are_cut_and_empty_ones_are_null() -> None:
    record(action="a" * 65, resource_type="t" * 33, resource_id="i" * 129, actor="政" * 65, path="p" * 501, method="TASK")
    assert [len(value or "") for value in (row().action, row().resource_type, row().resource_id, row().actor, row().path)] == [
        64,
        32,
        128,
        64,
        500,
    ]
    assert row().actor_ip is None and row().payload_digest is None


def test_a_value_cannot_forge_a_second_line_or_carry_a_secret() -> None:
    record(action="x", resource_id="7\nroot deleted everything \x1b[31m", path="/a?token=canary-4711&b=1\ud800")
    assert "\n" not in (row().resource_id or "") and "\x1b" not in (row().resource_id or "")
    assert "canary-4711" not in row().path


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "198.51.100.9", "192.0.2.1"),
        (1, "", "192.0.2.1"),
        (1, "198.51.100.9", "198.51.100.9"),
        (1, "203.0.113.5, 198.51.100.9", "198.51.100.9"),
        (2, "203.0.113.66, 203.0.113.5, 198.51.100.9", "203.0.113.5"),
        (3, "198.51.100.9", "198.51.100.9"),
        (1, "<script>", "192.0.2.1"),
        (1, "2001:DB8::1", "2001:db8::1"),
    ],
)
def test_only_hops_that_our_own_proxies_wrote_count_as_addresses(
    settings: object, proxies: int, forwarded: str, address: str
) -> None:
    settings.TRUSTED_PROXIES = proxies  # type: ignore[attr-defined]
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": "192.0.2.1", "HTTP_X_FORWARDED_FOR": forwarded}
    assert client_address(request) == address
