"""Sockets under the HTTP engine: pinned addresses, TLS with named reasons, and one clock for everything a request does.

``GuardedBackend`` is httpcore's network backend. It connects only to addresses the guard has checked, and it bounds each
socket operation by what is left of the request's total time, so that a server which trickles a byte a second (in the body,
the header or the handshake) runs into the deadline (fault-model H1, H2).
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import httpcore

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import AddressGuard

_WRITE_STEP = 64 * 1024
_MAX_ADDRESSES = 4  # of one name, tried one after the other
_TAIL = 7
_BLANK_LINE = re.compile(rb"\n\r?\n")
_INTERIM = re.compile(rb"HTTP/\d\.\d 1\d\d")

# X509_V_ERR_* of OpenSSL
_CERTIFICATE_REASONS = {
    2: "unknown authority",
    9: "certificate not valid yet",
    10: "certificate expired",
    18: "self-signed certificate",
    19: "unknown authority (a self-signed root)",
    20: "unknown authority",
    21: "unknown authority",
    62: "certificate for another name",
    64: "certificate for another name",
}


class Exchange:
    """One request and its answer: the time left, and what the socket saw (for the framing checks of H9)."""

    def __init__(self, seconds: float) -> None:
        self._ends = monotonic() + seconds
        self.stream: GuardedStream | None = None
        self.reused = False  # the connection had served a request before
        self.received = 0
        self.ended = False  # the server closed its side
        self.body_received = 0  # bytes after the header, chunk framing included
        self.tail = b""  # the last of them
        self._head = bytearray()
        self._in_head = True

    def check(self) -> float:
        """Seconds left. Raises FetchError(DEADLINE) when there are none."""
        left = self._ends - monotonic()
        if left <= 0:
            raise FetchError(ErrorClass.DEADLINE, "the total time of the request is used up")
        return left

    def shorten(self, seconds: float) -> None:
        self._ends = min(self._ends, monotonic() + seconds)

    def overdue(self, waited_for: str, seconds: float) -> FetchError:
        """The error for an operation that was given ``seconds``: the deadline, if that was what bounded them."""
        if self._ends - monotonic() <= 0.001:
            return FetchError(ErrorClass.DEADLINE, f"the total time of the request is used up ({waited_for})")
        return FetchError(ErrorClass.TIMEOUT, f"{waited_for}: nothing within {seconds:.1f} s")

    def note(self, data: bytes) -> None:
        self.received += len(data)
        self.ended = self.ended or not data
        if not self._in_head:
            self._note_body(data)
            return
        start = max(0, len(self._head) - 2)
        self._head += data
        while (blank := _BLANK_LINE.search(self._head, start)) is not None:
            head, rest = self._head[: blank.end()], self._head[blank.end() :]
            if _INTERIM.match(head) is None:
                self._in_head, self._head = False, bytearray()
                self._note_body(bytes(rest))
                return
            self._head, start = rest, 0

    def _note_body(self, data: bytes) -> None:
        self.body_received += len(data)
        self.tail = (self.tail + data)[-_TAIL:]


class GuardedStream(httpcore.NetworkStream):
    """A connected socket. Between exchanges it stays open for the next request to the same origin."""

    def __init__(self, sock: socket.socket, backend: GuardedBackend) -> None:
        self._sock = sock
        self._backend = backend
        self._used_by: Exchange | None = None
        self._closed = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = self._exchange()
        seconds = _bounded(exchange, timeout)
        self._sock.settimeout(seconds)
        try:
            data = self._sock.recv(max_bytes)
        except TimeoutError as error:
            raise exchange.overdue("waiting for the server", seconds) from error
        except ssl.SSLError as error:
            raise tls_error(error) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise FetchError(ErrorClass.TRUNCATED, f"the connection broke before the answer was complete: {reason}") from error
        exchange.note(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        exchange = self._exchange()
        for start in range(0, len(buffer), _WRITE_STEP):
            seconds = _bounded(exchange, timeout)
            self._sock.settimeout(seconds)
            try:
                self._sock.sendall(buffer[start : start + _WRITE_STEP])
            except TimeoutError as error:
                raise exchange.overdue("sending the request", seconds) from error
            except OSError as error:
                # The engine then still reads what the server may have answered before it closed.
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._closed = True
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        exchange = self._backend.exchange
        seconds = _bounded(exchange, timeout)
        self._sock.settimeout(seconds)
        try:
            wrapped = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname)
        except TimeoutError as error:
            self.close()
            raise exchange.overdue("TLS handshake", seconds) from error
        except (ssl.SSLEOFError, ConnectionError) as error:
            self.close()
            raise FetchError(ErrorClass.CONNECT, "the server closed the connection during the TLS handshake") from error
        except ssl.SSLError as error:
            self.close()
            raise tls_error(error) from error
        return GuardedStream(wrapped, self._backend)

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        if info == "is_readable":
            # Asked of idle connections only: bytes nobody asked for, or the end, both make one unusable.
            return self._closed or _readable(self._sock)
        return None

    def _exchange(self) -> Exchange:
        exchange = self._backend.exchange
        if exchange is not self._used_by:
            exchange.reused = self._used_by is not None
            exchange.stream = self
            self._used_by = exchange
        return exchange


class GuardedBackend(httpcore.NetworkBackend):
    """Connects to checked addresses only, whatever the engine asks for. Safe to share between threads."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._local = threading.local()

    @contextmanager
    def exchanging(self, exchange: Exchange) -> Iterator[None]:
        """Bound everything this thread does on the network by ``exchange``."""
        self._local.exchange = exchange
        try:
            yield
        finally:
            self._local.exchange = None

    @property
    def exchange(self) -> Exchange:
        exchange: Exchange | None = getattr(self._local, "exchange", None)
        if exchange is None:
            raise RuntimeError("network use outside of an exchange")
        return exchange

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        exchange = self.exchange
        ends = monotonic() + _bounded(exchange, timeout)
        addresses = self._guard.pin(host, port, ends - monotonic()).addresses[:_MAX_ADDRESSES]
        for position, address in enumerate(addresses, start=1):
            # A black hole behind the first address must leave time for the others.
            seconds = max(0.001, (ends - monotonic()) / (len(addresses) - position + 1))
            try:
                sock = socket.create_connection((address, port), timeout=seconds)
            except TimeoutError:
                failure = exchange.overdue(f"connecting to {host}, port {port}", seconds)
            except OSError as error:
                failure = FetchError(ErrorClass.CONNECT, f"{host}, port {port}: {error.strerror or error}")
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return GuardedStream(sock, self)
        raise failure

    def sleep(self, seconds: float) -> None:
        raise NotImplementedError("the engine's own retries are off")


def _bounded(exchange: Exchange, timeout: float | None) -> float:
    left = exchange.check()
    return left if timeout is None else min(left, timeout)


def _readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def tls_context(ca_file: Path | None, *, verify: bool) -> ssl.SSLContext:
    """Trusts the system's store and, in addition, the operator's ``ca_file`` (PEM). Raises ValueError if that is unusable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context.load_default_certs()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one too
            raise ValueError(f"ca_file: {ca_file} is not a readable file of PEM certificates ({error})") from error
    return context


def tls_error(error: ssl.SSLError) -> FetchError:
    """TLS_ERROR with one of: expired, another name, self-signed, unknown authority, protocol (fault-model H14)."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = _CERTIFICATE_REASONS.get(error.verify_code, f"certificate refused: {error.verify_message}")
    else:
        reason = f"protocol: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return FetchError(ErrorClass.TLS_ERROR, reason)
