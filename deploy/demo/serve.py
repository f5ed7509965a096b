"""Serves the demo site on 127.0.0.1, three ports for its three hosts.

    python deploy/demo/serve.py --ports 18101,18102,18103 [--crawl-delay 0.2] [--access-log FILE] [--manifest FILE]

Port 0 is any free port. One JSON line on standard output tells when it is ready: ``{"hosts": [...], "pid": ...}``. SIGTERM or
SIGINT ends it with status 0. The access log has one JSON line a request: start and end (seconds of the machine's monotonic
clock), host and port, method, path with query, status, bytes of the body sent.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast

if __package__ in (None, ""):
    # Started as a script: the package is found from the root of the repository.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deploy.demo.generate import Site, generate
from deploy.demo.model import Resource

ADDRESS = "127.0.0.1"
HOST_LETTERS = ("a", "b", "c")
IDLE_SECONDS = 30
"""An idle kept-alive connection is closed after this time."""


class AccessLog:
    """Finished requests in order of their end, in memory and, when ``stream`` is given, as JSON lines."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._entries: list[dict[str, Any]] = []
        self._running = 0
        self._changed = threading.Condition()

    def began(self) -> None:
        with self._changed:
            self._running += 1

    def ended(self, entry: dict[str, Any]) -> None:
        with self._changed:
            self._running -= 1
            self._entries.append(entry)
            if self._stream is not None:
                self._stream.write(json.dumps(entry) + "\n")
                self._stream.flush()
            self._changed.notify_all()

    def entries(self, wait_seconds: float = 5.0) -> list[dict[str, Any]]:
        """All entries, after requests that still run have ended (at most ``wait_seconds``)."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0, wait_seconds)
            return list(self._entries)


class _Server(ThreadingHTTPServer):
    """One host. It knows its open connections, so that stopping also ends kept-alive ones."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, letter: str, port: int, log: AccessLog) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.letter = letter
        self.log = log
        self.site: Site | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):  # the client was faster
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no event; anything else is shown by the base class."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "DemoSite/1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True  # head and body are two writes: kept alive, the second would wait 40 ms for an ACK

    def handle_one_request(self) -> None:
        """One request, then its line in the access log. Nothing is logged for a connection that closes without asking."""
        self._started: float | None = None
        self._status, self._sent = 0, 0
        try:
            super().handle_one_request()
        finally:
            if self._started is not None:
                cast(_Server, self.server).log.ended(self._entry(self._started))

    def parse_request(self) -> bool:
        self._started = time.monotonic()
        cast(_Server, self.server).log.began()
        return super().parse_request()

    def do_GET(self) -> None:
        self._respond(with_body=True)

    def do_HEAD(self) -> None:
        self._respond(with_body=False)

    def send_response(self, code: int, message: str | None = None) -> None:
        self._status = int(code)
        super().send_response(code, message)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the access log has it."""

    def _respond(self, *, with_body: bool) -> None:
        server = cast(_Server, self.server)
        assert server.site is not None, "requests are served after the site is set"
        resource = server.site.answer(server.letter, self.path)
        etag = f'"{hashlib.sha256(resource.body).hexdigest()[:16]}"'
        known = resource.status == 200 and etag in self.headers.get("If-None-Match", "")
        self.send_response(304 if known else resource.status)
        self.send_header("ETag", etag)
        if not known:
            self.send_header("Content-Type", resource.content_type)
            self.send_header("Content-Length", str(len(resource.body)))
        self.end_headers()
        if with_body and not known:
            self._write(resource)

    def _write(self, resource: Resource) -> None:
        self.wfile.write(resource.body)
        self._sent = len(resource.body)

    def _entry(self, started: float) -> dict[str, Any]:
        port = cast(_Server, self.server).server_port
        return {
            "start": started,
            "end": time.monotonic(),
            "host": f"{ADDRESS}:{port}",
            "port": port,
            "method": self.command or "",
            "path": getattr(self, "path", ""),
            "status": self._status,
            "bytes": self._sent,
        }


class DemoSite:
    """The site while it is served; a context manager. ``hosts`` and ``manifest`` are known from ``start`` on."""

    def __init__(self, ports: Sequence[int] = (0, 0, 0), crawl_delay: float = 0.2, access_log: Path | None = None) -> None:
        if len(ports) != len(HOST_LETTERS):
            raise ValueError(f"ports: {list(ports)} has {len(ports)} numbers; give three, one for each host (0: any free port)")
        self._ports = tuple(ports)
        self._crawl_delay = crawl_delay
        self._log_path = access_log
        self._closers = contextlib.ExitStack()
        self._log = AccessLog()
        self.site: Site | None = None

    @property
    def hosts(self) -> list[str]:
        """Base URLs of hosts a, b, c."""
        return list(self.manifest["hosts"].values())

    @property
    def manifest(self) -> dict[str, Any]:
        if self.site is None:
            raise RuntimeError("the demo site has no manifest before start()")
        return self.site.manifest

    @property
    def access_log(self) -> list[dict[str, Any]]:
        """Finished requests; waits for those that still run."""
        return self._log.entries()

    def start(self) -> None:
        """Listen, generate, serve. Raises OSError when a port is taken; then nothing stays open."""
        with contextlib.ExitStack() as opened:
            stream = None
            if self._log_path is not None:
                stream = opened.enter_context(self._log_path.open("a", encoding="utf-8"))
            self._log = AccessLog(stream)
            servers = []
            for letter, port in zip(HOST_LETTERS, self._ports, strict=True):
                servers.append(_Server(letter, port, self._log))
                opened.callback(servers[-1].server_close)
            first, second, third = (f"http://{ADDRESS}:{server.server_port}" for server in servers)
            self.site = generate((first, second, third), self._crawl_delay)
            for server in servers:
                server.site = self.site
                opened.callback(_start(server))
            self._closers = opened.pop_all()

    def stop(self) -> None:
        """End all connections and free the ports; a second call does nothing."""
        self._closers.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def _start(server: _Server) -> Callable[[], None]:
    """Serve in a thread; the result stops it."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        thread.join()
        server.close_connections()

    return stop


def _ports(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) < 65536 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: give three port numbers with commas between, e.g. 18101,18102,18103")
    return tuple(map(int, parts))


def _delay(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r}: give seconds from 0 to 3600")
    return value


def _write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Whole or not at all: readers never see half a file."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Status 0 then, 2 when the site cannot start."""
    parser = argparse.ArgumentParser(description="Serve the demo government site on 127.0.0.1.")
    parser.add_argument(
        "--ports", type=_ports, default=(18101, 18102, 18103), help="ports of hosts A, B and C; 0: any free port"
    )
    parser.add_argument("--crawl-delay", type=_delay, default=0.2, help="Crawl-delay in robots.txt, seconds; 0: none")
    parser.add_argument("--access-log", type=Path, help="append one JSON line a request to this file")
    parser.add_argument("--manifest", type=Path, help="write the manifest to this file before being ready")
    options = parser.parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    site = DemoSite(options.ports, options.crawl_delay, options.access_log)
    try:
        with site:
            if options.manifest is not None:
                _write_manifest(options.manifest, site.manifest)
            print(json.dumps({"hosts": site.hosts, "pid": os.getpid()}), flush=True)
            ended.wait()
    except OSError as error:
        print(f"demo site: cannot start on ports {','.join(map(str, options.ports))}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
