"""Where a benchmark works: a state folder and databases of its own, gone at the end, and the processes that are measured.

The state folder is in ``.bench/``, on the disk the program is on: a folder in memory would make every fsync look free.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / ".bench"
CHILD_SECONDS = 1800


class BenchFailed(Exception):
    """A benchmark could not be carried out; the message says which step and why."""


class Place:
    """The folder, the kind of database and the environment of one run. ``server``: a ``mysql://`` URL, None for SQLite."""

    def __init__(self, folder: Path, server: str | None) -> None:
        self.folder = folder
        self.server = server
        self._template: Path | None = None

    @property
    def kind(self) -> str:
        return "MariaDB" if self.server else "SQLite"

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[str]:
        """The URL of a fresh database, with the program's tables or none; dropped afterwards. Raises BenchFailed."""
        name = f"govcrawler_bench_{secrets.token_hex(6)}"
        with self._on_server(name) if self.server else self._in_file(name, migrated) as url:
            if migrated and self.server:
                self.manage(url, "migrate", "--verbosity", "0")
            yield url

    @contextmanager
    def _in_file(self, name: str, migrated: bool) -> Iterator[str]:
        file = self.folder / f"{name}.sqlite3"
        if migrated:
            shutil.copy(self._migrated_file(), file)
        yield f"sqlite:///{file}"
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)

    def _migrated_file(self) -> Path:
        if self._template is None:
            self._template = self.folder / "template.sqlite3"
            self.manage(f"sqlite:///{self._template}", "migrate", "--verbosity", "0")
        return self._template

    @contextmanager
    def _on_server(self, name: str) -> Iterator[str]:
        assert self.server is not None, "asked for MariaDB only"
        self._execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
        try:
            yield urlsplit(self.server)._replace(path=f"/{name}").geturl()
        finally:
            self._execute(f"DROP DATABASE {name}")

    def _execute(self, statement: str) -> None:
        try:
            import MySQLdb
        except ImportError as error:
            raise BenchFailed("--database mysql://...: mysqlclient is missing; `make test` installs it") from error
        url = urlsplit(self.server or "")
        try:
            connection = MySQLdb.connect(
                host=url.hostname,
                port=url.port or 3306,
                user=unquote(url.username or ""),
                password=unquote(url.password or ""),
            )
            with connection.cursor() as cursor:
                cursor.execute(statement)
            connection.close()
        except MySQLdb.Error as error:
            raise BenchFailed(f"--database: {url.hostname}:{url.port or 3306} refuses `{statement}`: {error}") from error

    def environment(self, database: str, **more: str) -> dict[str, str]:
        """The program's settings for a measured process: as deployed, with nothing of this machine's own crawl settings."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("CRAWL_")}
        return own | {
            "DJANGO_SETTINGS_MODULE": "govcrawler.settings",
            "SECRET_KEY": "only for a benchmark",
            "DEBUG": "0",
            "HTTPS": "0",
            "LOG_JSON": "1",
            "LOG_LEVEL": "INFO",
            "STATE_DIR": str(self.folder),
            "CONTENT_DIR": str(self.folder / "content"),
            "SITES_DIR": str(self.folder / "sites"),
            "DATABASE_URL": database,
            "BROKER_URL": "",
            **more,
        }

    def child(self, name: str, database: str, *arguments: str, given: Any = None, **settings: str) -> dict[str, Any]:
        """Runs ``deploy.bench.children.<name>`` in a fresh process; ``given`` is its input, its figures the result."""
        command = [sys.executable, "-m", f"deploy.bench.children.{name}", *arguments]
        output = self._run(command, self.environment(database, **settings), json.dumps(given))
        figures: dict[str, Any] = json.loads(output.splitlines()[-1])
        return figures

    def manage(self, database: str, *arguments: str) -> None:
        self._run([sys.executable, "manage.py", *arguments], self.environment(database), "")

    def _run(self, command: Sequence[str], env: dict[str, str], given: str) -> str:
        log = self.folder / "log"
        told = f"`{' '.join(command[1:])}`"
        with log.open("w") as errors:
            try:
                done = subprocess.run(
                    command,
                    cwd=ROOT,
                    env=env,
                    input=given,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    timeout=CHILD_SECONDS,
                )
            except subprocess.TimeoutExpired as error:
                raise BenchFailed(f"{told} did not end within {CHILD_SECONDS} s") from error
        if done.returncode:
            last = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise BenchFailed(f"{told} ended with status {done.returncode}:\n{last}")
        return done.stdout


@contextmanager
def place(server: str | None) -> Iterator[Place]:
    """A place for the time of the block, also when the run is ended by a signal."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    BENCH.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=BENCH))
    try:
        yield Place(folder, server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # another run is using it
            BENCH.rmdir()
