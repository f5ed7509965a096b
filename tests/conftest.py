"""The environment of all tests, which tests run where, and fixtures for processes and the browser.

DATABASE_URL chooses the database (default: a SQLite file in a temporary folder). Tests that need a part this machine lacks are
deselected, never skipped; with CI=true they stay and fail.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests import parts

ROOT = Path(__file__).resolve().parent.parent
# Settings read the environment when they load, which is after this file: a worker of pytest-xdist gets its own folder.
STATE = Path(tempfile.mkdtemp(prefix="govcrawler-tests-"))
os.environ.update(
    DJANGO_SETTINGS_MODULE="govcrawler.settings",
    DEBUG="0",
    SECRET_KEY="a key for tests only",
    HTTPS="0",
    STATE_DIR=str(STATE),
    CONTENT_DIR=str(STATE / "content"),
)
os.environ.setdefault("DATABASE_URL", f"sqlite:///{STATE}/govcrawler.sqlite3")

# Folders whose tests neither use the database nor start processes that do.
PURE_FOLDERS = tuple(ROOT / "tests" / name for name in ("adapters", "sources/parsing", "crawl/fetching", "demo", "deploy"))
DATABASE_FIXTURES = {"django_db_setup", "db", "transactional_db", "live_server", "run_manage", "empty_database"}
# Migrations whose rows every test may count on; flushing after a transactional test takes them away.
ROWS_FROM_MIGRATIONS = ("articles.migrations.0002_change_counter_row",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--needs-database", action="store_true", help="leave out tests marked pure")


def pytest_configure(config: pytest.Config) -> None:
    from django.conf import settings

    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        # A file, not memory: processes and threads must see it, and its locks are those of a deployment.
        settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(STATE / "test.sqlite3")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; none of it is kept


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(STATE, ignore_errors=True)


def is_pure(item: pytest.Item) -> bool:
    if item.get_closest_marker("pure"):
        return True
    if any(item.get_closest_marker(name) for name in ("django_db", "mariadb", "browser", "processes")):
        return False
    if any(folder in item.path.parents for folder in PURE_FOLDERS):
        return True
    return DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from django.conf import settings

    on_mysql = settings.DATABASES["default"]["ENGINE"].endswith("mysql")
    without_browser = parts.chromium() is None and not parts.in_ci()
    kept, dropped = [], []
    for item in items:
        if "chromium_path" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if is_pure(item):
            item.add_marker("pure")
        leave = (
            (item.get_closest_marker("mariadb") and not on_mysql)
            or (item.get_closest_marker("browser") and without_browser)
            or (item.get_closest_marker("pure") and config.getoption("needs_database"))
        )
        (dropped if leave else kept).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """The test database; rows that migrations put in come back after the flush that ends a transactional test."""
    from django.apps import apps
    from django.db.models.signals import post_migrate

    migrations = [importlib.import_module(name) for name in ROWS_FROM_MIGRATIONS]

    def restore(**sent: Any) -> None:
        if "plan" in sent:  # by migrate, which runs the migrations themselves; a flush has no plan
            return
        for migration in migrations:
            migration.create(apps, None)

    post_migrate.connect(restore, sender=apps.get_app_config("articles"), weak=False, dispatch_uid="rows from migrations")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser's program. Without one, its tests are deselected, or fail here with CI=true."""
    found = parts.chromium()
    if found is None:
        pytest.fail("no Chromium on this machine: install it or set CHROMIUM; with CI=true browser tests are not left out")
    return str(found)


def database_url(settings: Mapping[str, Any]) -> str:
    """The DATABASE_URL of a connection's settings, for a process that shall use the same database."""
    if settings["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{settings['NAME']}"
    login = f"{quote(settings['USER'], safe='')}:{quote(settings['PASSWORD'], safe='')}"
    return f"mysql://{login}@{settings['HOST']}:{settings['PORT'] or 3306}/{settings['NAME']}"


@pytest.fixture
def empty_database(django_db_setup: None, django_db_blocker: Any, tmp_path: Path) -> Iterator[str]:
    """The DATABASE_URL of a database without tables, of the kind under test; dropped afterwards."""
    from django.db import connection

    settings = dict(connection.settings_dict)
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.sqlite3"
        return
    settings["NAME"] += "_empty"
    name = connection.ops.quote_name(settings["NAME"])
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f"CREATE OR REPLACE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
    yield database_url(settings)
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name}")


RunManage = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def process_env(transactional_db: None) -> dict[str, str]:
    """The environment of a process that works on this test's database and state folder."""
    from django.db import connection

    return {**os.environ, "DATABASE_URL": database_url(connection.settings_dict), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def run_manage(process_env: dict[str, str]) -> RunManage:
    """``run_manage("sync_sites", "--dry-run", env={"SITES_DIR": "..."})``: manage.py in a process of its own, to its end.

    It works on this test's database; give ``env`` a DATABASE_URL (fixture ``empty_database``) for another one. Output is
    text; the status is not checked; a run longer than ``timeout`` seconds raises subprocess.TimeoutExpired.
    """

    def run(*arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            cwd=ROOT,
            env={**process_env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
