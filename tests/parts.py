"""The parts of a full test run that a machine may lack: a MariaDB server, the MySQL client library, Chromium.

Standard library only: it also runs before the virtual environment exists (``python3 -m tests.parts chromium``).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SERVER_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def chromium() -> Path | None:
    """The browser that CHROMIUM names, else one on PATH that is not a snap (a snap cannot see the tests' temporary folders).

    Raises ValueError when CHROMIUM names no program: a browser asked for must not be left out quietly.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise ValueError(f"CHROMIUM={named!r} is no program: give the path of a Chromium or Chrome, or unset it")
        return Path(found)
    for name in CHROMIUM_NAMES:
        found = shutil.which(name)
        if found is not None and not is_snap(Path(found)):
            return Path(found)
    return None


def is_snap(program: Path) -> bool:
    """Whether it is snap's own launcher or the script that Ubuntu packages in place of the browser."""
    real = program.resolve()
    if real.name == "snap" or "snap" in program.parts or "snap" in real.parts:
        return True
    with real.open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"#!") and b"snap" in start


def mariadb_server() -> tuple[Path, Path] | None:
    """The server program and the one that makes its data folder, or None."""
    server = shutil.which("mariadbd", path=SERVER_PATH)
    installer = shutil.which("mariadb-install-db", path=SERVER_PATH)
    return (Path(server), Path(installer)) if server and installer else None


def mysql_client() -> bool:
    """Whether Django's MySQL backend can load its client library, mysqlclient."""
    return importlib.util.find_spec("MySQLdb") is not None


def in_ci() -> bool:
    """Whether nothing may be left out: CI=true."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


if __name__ == "__main__":
    if sys.argv[1:] != ["chromium"]:
        sys.exit("usage: python3 -m tests.parts chromium")
    try:
        browser = chromium()
    except ValueError as error:
        sys.exit(str(error))
    if browser is None:
        sys.exit(1)
    print(browser)
