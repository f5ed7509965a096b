"""A private MariaDB server: temporary data folder, free port, 127.0.0.1 only, gone at the end whatever happens.

    python -m tests.mariadb -- pytest tests/articles        runs a command with DATABASE_URL naming such a server

Configured as users have it: 128 MB of buffer pool, utf8mb4 with utf8mb4_unicode_ci, no time-zone tables, and a machine clock
eight hours ahead of UTC, so that code that trusts the server's local time fails its tests.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from tests import parts

START_SECONDS = 60
STOP_SECONDS = 30
ATTEMPTS = 3
USER = "govcrawler"
# A POSIX zone, because a small machine has no zone files: UTC+8 under the name China's servers show.
SERVER_ZONE = "CST-8"


class ServerError(RuntimeError):
    """The server could not be started; the message holds the end of its log."""


@contextmanager
def private_server() -> Iterator[str]:
    """A running server for the time of the block; the value is its ``mysql://`` URL, whose user may create databases.

    Raises ServerError when the server is not installed or does not start.
    """
    programs = parts.mariadb_server()
    if programs is None:
        raise ServerError("no MariaDB server: install the Debian packages mariadb-server-core and mariadb-client-core")
    server, installer = programs
    folder = Path(tempfile.mkdtemp(prefix="govcrawler-mariadb-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        password = secrets.token_urlsafe(18)
        prepare(installer, folder, password)
        process, port = start(server, folder)
        yield f"mysql://{USER}:{password}@127.0.0.1:{port}/govcrawler"
    finally:
        if process is not None:
            stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def prepare(installer: Path, folder: Path, password: str) -> None:
    """Make the data folder and the statements that the server runs before it takes connections."""
    command = [str(installer), "--no-defaults", f"--datadir={folder / 'data'}", "--skip-test-db", *as_root()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            # A script: its own children must be gone before the folder is removed. The pipe ends with the last of them.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    if process.returncode:
        raise ServerError(f"{installer} failed:\n{tail(output)}")
    (folder / "init.sql").write_text(
        f"CREATE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO '{USER}'@'127.0.0.1';\n"
    )


def start(server: Path, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start it on a free port and wait until it greets. Another program may take the port first: then once more."""
    log = folder / "server.log"
    for _ in range(ATTEMPTS):
        port = free_port()
        command = [*dies_with_us(), str(server), *options(folder, port), *as_root()]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "TZ": SERVER_ZONE},
                start_new_session=True,  # Ctrl-C is for us: we stop the server when the tests have ended
            )
        try:
            if wait_until_ready(process, port):
                return process, port
        except BaseException:
            stop(process)
            raise
        text = log.read_bytes()
        if b"already in use" not in text:
            break
    raise ServerError(f"{server} did not start:\n{tail(text)}")


def options(folder: Path, port: int) -> list[str]:
    return [
        "--no-defaults",
        f"--datadir={folder / 'data'}",
        f"--init-file={folder / 'init.sql'}",
        f"--socket={folder / 'server.sock'}",
        f"--pid-file={folder / 'server.pid'}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        "--skip-name-resolve",
        "--innodb-buffer-pool-size=128M",
        "--character-set-server=utf8mb4",
        "--collation-server=utf8mb4_unicode_ci",
    ]


def as_root() -> list[str]:
    """The server refuses to run as root unless told so."""
    return ["--user=root"] if os.geteuid() == 0 else []


def dies_with_us() -> list[str]:
    """A prefix by which the kernel ends the server should we be killed without a chance to do so."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(process: subprocess.Popen[bytes], port: int) -> bool:
    """True once the server sends its greeting, False when it ended. Raises ServerError after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise ServerError(f"the MariaDB server did not answer on port {port} within {START_SECONDS} s")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                if connection.recv(5):
                    return True
        except OSError:
            pass  # not listening yet
        time.sleep(0.05)
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tail(output: bytes, lines: int = 20) -> str:
    return "\n".join(output.decode(errors="replace").splitlines()[-lines:])


def run(command: list[str], env: dict[str, str]) -> int:
    """Run a child to its end and give its status. An interrupt is left to the child first, which has its own clean-up."""
    child = subprocess.Popen(command, env=env)
    try:
        return child.wait()
    except BaseException:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise


def end_on_signals() -> None:
    """Let TERM and HUP unwind like Ctrl-C does, so that every ``finally`` runs."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)


def main(arguments: list[str]) -> int:
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        print("usage: python -m tests.mariadb -- COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    end_on_signals()
    try:
        with private_server() as url:
            return run(command, {**os.environ, "DATABASE_URL": url})
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
