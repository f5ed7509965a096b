"""What ``make test`` runs: every test on SQLite, then on MariaDB those that need a database or start processes.

MariaDB is a private server (tests/mariadb.py) unless TEST_DATABASE_URL names one. Arguments go to pytest, both times.
Ends with a list of what was left out on this machine; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests import parts
from tests.mariadb import ServerError, end_on_signals, private_server, run

NOTHING_COLLECTED = 5
INTERRUPTED = 2


def pytest_pass(name: str, database_url: str | None, arguments: list[str]) -> int:
    """One pytest run with its database; the status is pytest's."""
    print(f"\n==> Tests on {name}", flush=True)
    env = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}}
    if database_url is not None:
        env["DATABASE_URL"] = database_url
        arguments = ["--needs-database", *arguments]
    return run([sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", *arguments], env)


@contextmanager
def mariadb_url() -> Iterator[str]:
    """The server of the second pass."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    with private_server() as url:
        yield url


def missing_for_mariadb() -> str | None:
    """Why there can be no second pass on this machine, or None."""
    if not parts.mysql_client():
        return "all tests on MariaDB (no mysqlclient: it needs libmariadb-dev, pkg-config, gcc and Python's headers)"
    if not os.environ.get("TEST_DATABASE_URL") and parts.mariadb_server() is None:
        return "all tests on MariaDB (no server: install mariadb-server-core and mariadb-client-core, or set TEST_DATABASE_URL)"
    return None


def left_out() -> list[str]:
    reasons = []
    mariadb = missing_for_mariadb()
    if mariadb:
        reasons.append(mariadb)
    if parts.chromium() is None:
        reasons.append("browser tests (no Chromium: install the package chromium, or set CHROMIUM to its path)")
    return reasons


def verdict(statuses: list[int], missing: list[str], ci: bool) -> int:
    """The run's exit status: the first failure; 5 when no pass found a test; 1 when CI left something out; else 0."""
    failures = [status for status in statuses if status not in {0, NOTHING_COLLECTED}]
    if failures:
        return failures[0]
    if all(status == NOTHING_COLLECTED for status in statuses):
        return NOTHING_COLLECTED
    return 1 if missing and ci else 0


def report(missing: list[str], ci: bool) -> None:
    if not missing:
        return
    line = "!" * 78
    print(f"\n{line}\nNOT TESTED HERE:", file=sys.stderr)
    for reason in missing:
        print(f"  - {reason}", file=sys.stderr)
    if ci:
        print("With CI=true nothing may be left out: this run has failed.", file=sys.stderr)
    print(line, file=sys.stderr)


def main(arguments: list[str]) -> int:
    given = os.environ.get("TEST_DATABASE_URL", "")
    if given and not given.startswith("mysql://"):
        print(f"error: TEST_DATABASE_URL={given!r}: give mysql://USER:PASSWORD@HOST:PORT/NAME, or unset it", file=sys.stderr)
        return 2
    end_on_signals()
    ci = parts.in_ci()
    try:
        missing = left_out()
        statuses = [pytest_pass("SQLite", None, arguments)]
        if statuses[0] == INTERRUPTED:
            return INTERRUPTED
        if not missing_for_mariadb():
            with mariadb_url() as url:
                statuses.append(pytest_pass("MariaDB", url, arguments))
    except (ServerError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    report(missing, ci)
    return verdict(statuses, missing, ci)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
