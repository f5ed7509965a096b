"""A scripted HTTP server on raw loopback sockets, with its own access log: the independent witness of the fetching tests.

    with FaultServer() as server:
        server.add("/page", reply(b"hello"))
        server.add("/flaky", reply(status=503), reply(b"at last"))      # one answer per hit, the last one repeats
        ... fetch server.url("/page") ...
        assert [hit.path for hit in server.log] == ["/page"]

An answer is a callable that gets a ``Turn``: the request, and a socket to be as rude as the test needs. It returns True when
the connection shall stay open for the next request. Waiting happens inside the server and ends when the server is closed.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Self

Answer = Callable[["Turn"], bool]


@dataclass(frozen=True)
class Hit:
    """One request as it arrived. ``at`` is monotonic seconds; ``connection`` counts accepted connections from 1."""

    at: float
    connection: int
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclass
class Turn:
    """An answer's view of the server: the request and the open socket."""

    hit: Hit
    sock: socket.socket
    closing: threading.Event

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def pause(self, seconds: float) -> None:
        self.closing.wait(seconds)

    def hang(self) -> None:
        """Say nothing until the client leaves or the server is closed."""
        self.sock.settimeout(None)
        while self.sock.recv(4096):
            continue


def head(status: int = 200, headers: Mapping[str, str | bytes] | None = None, reason: str = "Scripted") -> bytes:
    """Status line and header, values as they are (str: latin-1), with the blank line."""
    lines = [f"HTTP/1.1 {status} {reason}".encode()]
    for name, value in (headers or {}).items():
        lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode("latin-1")))
    return b"\r\n".join(lines) + b"\r\n\r\n"


def reply(body: bytes = b"", status: int = 200, headers: Mapping[str, str | bytes] | None = None) -> Answer:
    """A correct answer with its length; the connection stays open."""
    length: dict[str, str | bytes] = {} if status in (204, 304) else {"Content-Length": str(len(body))}
    return raw(head(status, length | dict(headers or {})) + body, keep=True)


def redirect(location: str | bytes, status: int = 302, headers: Mapping[str, str | bytes] | None = None) -> Answer:
    return reply(b"", status, {"Location": location, **(headers or {})})


def raw(data: bytes, *, keep: bool = False) -> Answer:
    """Exactly these bytes, then the end of the connection, or with ``keep`` the next request."""

    def answer(turn: Turn) -> bool:
        turn.send(data)
        return keep

    return answer


def trickle(start: bytes, piece: bytes, gap: float) -> Answer:
    """``start``, and then ``piece`` again and again, ``gap`` seconds apart, without end."""

    def answer(turn: Turn) -> bool:
        turn.send(start)
        while not turn.closing.is_set():
            turn.send(piece)
            turn.pause(gap)
        return False

    return answer


def endless(start: bytes, piece: bytes) -> Answer:
    return trickle(start, piece, 0.0)


def silence(turn: Turn) -> bool:
    """Take the request and never answer."""
    turn.hang()
    return False


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


@dataclass
class FaultServer:
    """Serves until the ``with`` block is left. ``tls`` makes it an https server; ``greeting`` is said at once and is all."""

    tls: ssl.SSLContext | None = None
    greeting: bytes = b""
    log: list[Hit] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._answers: dict[str, list[Answer]] = {}
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        socket.create_connection(self._listener.getsockname()).close()  # wakes the accepting thread
        with self._lock:
            for sock in self._open:
                _hang_up(sock)
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    @property
    def netloc(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def add(self, path: str, *answers: Answer) -> None:
        """Script ``path`` (without query). Unknown paths answer 404."""
        self._answers[path] = list(answers)

    def hits(self, path: str) -> list[Hit]:
        return [hit for hit in self.log if hit.path == path]

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            if self._closing.is_set():
                sock.close()
                return
            self.connections += 1
            self._start(self._serve, sock, self.connections)

    def _serve(self, sock: socket.socket, number: int) -> None:
        sock.settimeout(30)
        try:
            if self.greeting:
                sock.sendall(self.greeting)
                sock.recv(4096)
                return
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
            with self._lock:
                self._open.add(sock)
            while not self._closing.is_set() and (hit := self._read(sock, number)) is not None:
                if not self._answer(hit)(Turn(hit, sock, self._closing)):
                    break
        except OSError:
            return  # the client left, which is what many of these scripts are for
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _answer(self, hit: Hit) -> Answer:
        with self._lock:
            self.log.append(hit)
            answers = self._answers.get(hit.path, [reply(b"no such path", 404)])
            return answers.pop(0) if len(answers) > 1 else answers[0]

    def _read(self, sock: socket.socket, number: int) -> Hit | None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65536)
            if not piece:
                return None
            data += piece
        top, _, body = data.partition(b"\r\n\r\n")
        line, *fields = top.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
        while len(body) < int(headers.get("content-length", 0)):
            body += sock.recv(65536)
        method, target, _ = line.split(" ")
        return Hit(monotonic(), number, method, target, headers, body)


def _hang_up(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
