"""The only way out of a browser: a forward proxy on 127.0.0.1 that checks every address (review of the design, 2.9 and 3.9).

A browser resolves names and follows redirects by itself; through this proxy each of its requests is resolved once here, all
answers are checked, and the connection goes to the checked address. One request at a time is open to a host. Plain HTTP is one
request a connection; for HTTPS the unit is the CONNECT tunnel. Who does not know the secret of this launch is answered 407.
"""

from __future__ import annotations

import base64
import hmac
import secrets
import select
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from socketserver import BaseRequestHandler, ThreadingTCPServer
from types import TracebackType
from typing import Self

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import AddressGuard, Origin

_HEAD_BYTES = 64 * 1024
_PIECE = 64 * 1024
_HOP_BY_HOP = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:", b"te:")

Admit = Callable[[str], object]
Refused = Callable[[str, FetchError], object]


class ForwardProxy:
    """Serves until the ``with`` block is left. ``timeout``: seconds without a byte that end a connection.

    ``admit(url)`` runs in the proxy's threads before each request or tunnel and may raise FetchError; ``refused(url, error)``
    is told of everything that was not let through.
    """

    def __init__(self, guard: AddressGuard, admit: Admit, refused: Refused, timeout: float = 20.0) -> None:
        self.guard, self.admit, self.refused, self.timeout = guard, admit, refused, timeout
        self.user, self.password = "browser", secrets.token_urlsafe(24)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._locks_guard = threading.Lock()
        proxy = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                proxy._serve(self.request)

        class Server(ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="forward proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _lock(self, origin: Origin) -> threading.Lock:
        with self._locks_guard:
            return self._locks[origin.netloc]

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(self.timeout)
        try:
            head, rest = _read_head(client)
            line, *fields = head.split(b"\r\n")
            if not self._knows_the_secret(fields):
                client.sendall(
                    b'HTTP/1.1 407 Secret\r\nProxy-Authenticate: Basic realm="browser"\r\n'
                    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
                )
                return
            method, target, _ = line.decode("latin-1").split(" ")
            url = f"https://{target}/" if method == "CONNECT" else target
        except (OSError, ValueError):
            return  # the browser left, or sent what is no request
        try:
            self._forward(client, method, url, fields, rest)
        except FetchError as error:
            self.refused(url, error)
            _say(client, 403 if error.error_class is ErrorClass.BLOCKED_ADDRESS else 502)
        except (OSError, ValueError) as error:
            self.refused(url, FetchError(ErrorClass.CONNECT, str(error), url=url))

    def _knows_the_secret(self, fields: list[bytes]) -> bool:
        login = base64.b64encode(f"{self.user}:{self.password}".encode())
        told = [field.partition(b":")[2].strip() for field in fields if field.lower().startswith(b"proxy-authorization:")]
        return len(told) == 1 and hmac.compare_digest(told[0], b"Basic " + login)

    def _forward(self, client: socket.socket, method: str, url: str, fields: list[bytes], rest: bytes) -> None:
        origin, path = self.guard.screen(url)
        with self._lock(origin):
            pinned = self.guard.pin(origin.host, origin.port)
            self.admit(url)
            with socket.create_connection((pinned.address, origin.port), timeout=self.timeout) as server:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    server.sendall(rest)
                    _relay(client, server, self.timeout)
                else:
                    _send_request(client, server, f"{method} {path} HTTP/1.1", origin, fields, rest)
                    _relay_answer(client, server, self.timeout)


def _send_request(
    client: socket.socket, server: socket.socket, line: str, origin: Origin, fields: list[bytes], body: bytes
) -> None:
    """One request and no byte more: what the browser would send next is checked as a request of its own."""
    lengths = [int(field.partition(b":")[2]) for field in fields if field.lower().startswith(b"content-length:")]
    if any(field.lower().startswith(b"transfer-encoding:") for field in fields) or len(lengths) > 1:
        raise FetchError(ErrorClass.PROTOCOL, "a request whose body has no plain length")
    own = (*_HOP_BY_HOP, b"host:", b"upgrade:")  # the Host header names what was checked, not what the browser says
    kept = [field for field in fields if not field.lower().startswith(own)]
    top = [line.encode("latin-1"), f"Host: {origin.netloc}".encode(), *kept, b"Connection: close", b"", b""]
    server.sendall(b"\r\n".join(top))
    left = sum(lengths)
    while left > 0:
        body = body or client.recv(_PIECE)
        if not body:
            raise FetchError(ErrorClass.PROTOCOL, "the browser broke its request off")
        server.sendall(body[:left])
        left, body = left - len(body), b""


def _relay_answer(client: socket.socket, server: socket.socket, timeout: float) -> None:
    """The answer, marked as the last one of its connection, whatever the server says about that."""
    try:
        head, rest = _read_head(server)
        while head.startswith((b"HTTP/1.1 100", b"HTTP/1.1 102", b"HTTP/1.1 103")) and b"\r\n\r\n" in rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
    except ValueError as error:
        raise FetchError(ErrorClass.PROTOCOL, "the server's answer has no whole head") from error
    kept = [field for field in head.split(b"\r\n") if not field.lower().startswith((b"connection:", b"keep-alive:"))]
    client.sendall(b"\r\n".join([*kept, b"Connection: close", b"", b""]) + rest)
    _relay(client, server, timeout, answer_only=True)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """The head without its blank line, and what came after it. Raises ValueError when it is too long or cut off."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(_PIECE)
        if not piece or len(data) > _HEAD_BYTES:
            raise ValueError("no whole head")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _say(client: socket.socket, status: int) -> None:
    try:
        client.sendall(f"HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    except OSError:
        return  # the browser has left


def _relay(client: socket.socket, server: socket.socket, timeout: float, *, answer_only: bool = False) -> None:
    """Bytes both ways until one side ends or nothing comes for ``timeout`` seconds; ``answer_only``: none to the server."""
    other = {client: server, server: client}
    while True:
        ready, _, _ = select.select([client, server], [], [], timeout)
        if not ready:
            return
        for side in ready:
            piece = side.recv(_PIECE)
            if not piece or (answer_only and side is client):
                return
            other[side].sendall(piece)
