"""Field-level audit of the registry: what changed, from what, to what; never a secret, never what the crawler writes itself."""

from __future__ import annotations

from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth import get_user_model
from django.utils import timezone

from govcrawler.access import keys
from govcrawler.access.models import ApiKey
from tests import rows

pytestmark = pytest.mark.django_db


def entries(row: Any) -> list[dict[str, list[str]]]:
    """The recorded changes of a row, the oldest first, without its creation."""
    found = LogEntry.objects.get_for_object(row).filter(action=LogEntry.Action.UPDATE).order_by("id")
    return [entry.changes for entry in found]


@pytest.mark.parametrize(
    ("make", "column", "before", "after"),
    [
        (rows.site, "remark", "old", "new"),
        (rows.target, "target_name", "旧名", "新名"),
        (rows.path, "dept_display_name", "旧名", "新名"),
        (rows.department, "short_name", "旧名", "新名"),
    ],
)
def test_a_change_of_a_registry_row_is_told_by_field(make: Any, column: str, before: str, after: str) -> None:
    row = make(**{column: before})
    setattr(row, column, after)
    row.save()
    assert entries(row) == [{column: [before, after]}]


def test_what_the_crawler_writes_into_a_target_is_no_entry() -> None:
    target = rows.target()
    target.last_crawled_at = target.last_article_time = target.next_due_at = timezone.now()
    target.save()
    assert entries(target) == []


def test_no_entry_holds_the_hash_of_a_key_or_password() -> None:
    key, _ = keys.create("rag", ["read"])
    user = get_user_model().objects.create_user("steward", password="correct horse")
    hashes = [key.key_hash, user.password]
    key.key_hash, key.name = "f" * 64, "rag 2"
    key.save()
    user.set_password("battery staple")
    user.first_name = "清"
    user.save()
    hashes += [key.key_hash, user.password]
    assert entries(key) == [{"name": ["rag", "rag 2"]}]
    assert entries(user) == [{"first_name": ["", "清"]}]
    stored = " ".join(str(entry.__dict__) for entry in LogEntry.objects.all())
    assert not [digest for digest in hashes if digest[-16:] in stored]


def test_using_a_key_is_no_change_of_it() -> None:
    key, text = keys.create("rag", ["read"])
    keys.verify(text)
    ApiKey.objects.get(pk=key.pk).save()
    assert entries(key) == []
