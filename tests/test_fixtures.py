"""The fixtures other tests stand on: rows of migrations after a flush, processes on the test's database, an empty database."""

from __future__ import annotations

import pytest
from django.db import connection

from articles.models import ChangeCounter
from tests.conftest import RunManage


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", ["before a flush", "after a flush"])
def test_the_rows_of_migrations_are_there(turn: str) -> None:
    assert ChangeCounter.objects.filter(id=1).count() == 1


def test_a_process_sees_what_the_test_committed(run_manage: RunManage) -> None:
    ChangeCounter.objects.filter(id=1).update(value=41)
    seen = run_manage("dumpdata", "articles.changecounter")
    assert seen.returncode == 0, seen.stderr
    assert '"value": 41' in seen.stdout


def test_an_empty_database_gets_its_tables_from_migrate(run_manage: RunManage, empty_database: str) -> None:
    plan = run_manage("showmigrations", "--plan", env={"DATABASE_URL": empty_database})
    assert plan.returncode == 0, plan.stderr
    assert "[X]" not in plan.stdout
    assert "articles.0001_initial" in plan.stdout


def test_a_process_of_another_database_leaves_this_one_alone(run_manage: RunManage, empty_database: str) -> None:
    ChangeCounter.objects.filter(id=1).update(value=41)
    other = {"DATABASE_URL": empty_database}
    migrated = run_manage("migrate", "--noinput", env=other)
    assert migrated.returncode == 0, migrated.stderr
    assert '"value": 0' in run_manage("dumpdata", "articles.changecounter", env=other).stdout
    assert ChangeCounter.objects.get(id=1).value == 41


@pytest.mark.mariadb
@pytest.mark.django_db
def test_the_session_is_in_utc_whatever_the_server_s_clock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@time_zone, TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())")
        assert cursor.fetchone() == ("+00:00", 0)
