"""Polite-by-hook, bounded HTTP/1.1 fetching on httpcore, the engine under httpx (fault-model A3).

    with HttpFetcher(FetchSettings(user_agent=...)) as fetcher:
        fetched = fetcher.fetch(Request(url), before_hop=wait_for_my_turn)
        stored = fetcher.download(Request(file_url), directory, before_hop=wait_for_my_turn)

Nothing happens that is not written here: no proxies from the environment, no cookies beyond one redirect chain, no redirect
that was not checked, no decoding in one piece. Every failure is a ``FetchError`` with url and chain. Make the fetcher after a
fork; it may be shared between threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

import httpcore

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import AddressGuard, AllowList, Origin
from crawl.fetching.answers import Head, read_head, retry_after, wire_chunks
from crawl.fetching.connections import Exchange, GuardedBackend, tls_context
from crawl.fetching.decoding import ACCEPT_ENCODING, codings_of, decode
from crawl.fetching.redirects import REDIRECTS, ChainCookies, Message, redirect_url, wire_url
from crawl.fetching.robots import MAX_REDIRECTS as ROBOTS_REDIRECTS
from crawl.fetching.sinks import FileSink, MemorySink, Sink
from sources.adapters.base import Request, Response

MIB = 1024 * 1024
BeforeHop = Callable[[str], object]
AfterHop = Callable[[int | None, int], object]

# What the body of a redirect or of a refusal may cost: it keeps a connection alive or tells a block page, no more.
_SIDE_BODY_BYTES = 64 * 1024
_SIDE_BODY_SECONDS = 3.0
_SIDE_BODY_SHARE = 0.25  # of the whole deadline, if that is less


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one call: seconds on the network (pauses of ``before_hop`` not counted), bytes, redirects followed."""

    deadline: float
    wire_bytes: int
    decoded_bytes: int
    redirects: int = 10


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Defaults of fault-model A3. Seconds and bytes. ``ca_file`` is trusted beside the system's store.

    Raises ValueError naming the field.
    """

    user_agent: str
    connect_timeout: float = 10.0
    read_timeout: float = 20.0
    page_deadline: float = 60.0
    file_deadline: float = 150.0
    page_wire_limit: int = 10 * MIB
    file_wire_limit: int = 100 * MIB
    decoded_limit: int = 20 * MIB
    max_redirects: int = 10
    max_header_bytes: int = 64 * 1024
    allow: AllowList = field(default_factory=AllowList)
    ca_file: Path | None = None
    accept_language: str = "zh-CN,zh;q=0.9,en;q=0.5"

    def __post_init__(self) -> None:
        if not self.user_agent.strip() or not self.user_agent.isascii() or not self.user_agent.isprintable():
            raise ValueError(f"user_agent: {self.user_agent!r} must be printable ASCII text, with a contact")
        for name in ("connect_timeout", "read_timeout", "page_deadline", "file_deadline"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)!r} must be a number of seconds above 0")
        for name in ("page_wire_limit", "file_wire_limit", "decoded_limit", "max_header_bytes"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)!r} must be a number of bytes above 0")
        if self.max_redirects < 0:
            raise ValueError(f"max_redirects: {self.max_redirects!r} must be 0 or more")

    @property
    def page_limits(self) -> Limits:
        return Limits(self.page_deadline, self.page_wire_limit, self.decoded_limit, self.max_redirects)

    @property
    def robots_limits(self) -> Limits:
        return Limits(self.page_deadline, self.page_wire_limit, self.decoded_limit, ROBOTS_REDIRECTS)

    @property
    def file_limits(self) -> Limits:
        return Limits(self.file_deadline, self.file_wire_limit, self.file_wire_limit, self.max_redirects)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page. ``chain`` holds the URLs that redirected, in order; ``wire_bytes`` the body as it came, before decoding.

    ``not_modified``: status 304, empty body, keep the last version. ``length_unknown``: the body ended with the connection,
    so nothing proves that it is whole. ``duration_ms`` is time on the network, all hops.
    """

    response: Response
    chain: tuple[str, ...]
    wire_bytes: int
    not_modified: bool
    length_unknown: bool
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file, on disk and synced, for the caller to move or remove. ``size`` and ``sha256`` are of the decoded bytes."""

    path: Path
    sha256: str
    size: int
    head: bytes
    url: str
    status: int
    headers: Mapping[str, str]
    chain: tuple[str, ...]
    wire_bytes: int
    length_unknown: bool
    fetched_at: datetime
    duration_ms: int


_Hooks = tuple[BeforeHop | None, AfterHop | None]


@dataclass(slots=True)
class _Chain:
    """The state of one call while it goes from hop to hop."""

    request: Request
    url: str
    message: Message
    limits: Limits
    before_hop: BeforeHop | None
    after_hop: AfterHop | None
    verify_tls: bool
    cookies: ChainCookies = field(default_factory=ChainCookies)
    visited: list[str] = field(default_factory=list)
    seconds: float = 0.0
    wire_bytes: int = 0
    status: int | None = None  # of the hop in flight
    hop_bytes: int = 0  # of the hop in flight, bodies of redirects and refusals included
    retried: set[str] = field(default_factory=set)

    def retry_once(self, why: str) -> bool:
        first = why not in self.retried
        self.retried.add(why)
        return first


class HttpFetcher:
    """Makes requests, one per hop. ``guard`` replaces the address guard that the settings would give."""

    def __init__(self, settings: FetchSettings, *, guard: AddressGuard | None = None) -> None:
        self._settings = settings
        self._guard = guard or AddressGuard(settings.allow, timeout=settings.connect_timeout)
        self._backend = GuardedBackend(self._guard)
        # Two pools: a connection whose certificate nobody checked must never serve a request that wants it checked.
        self._pools = {
            verify: httpcore.ConnectionPool(
                ssl_context=tls_context(settings.ca_file, verify=verify),
                max_connections=200,
                max_keepalive_connections=64,
                keepalive_expiry=15.0,
                network_backend=self._backend,
            )
            for verify in (True, False)
        }

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def fetch(
        self,
        request: Request,
        *,
        before_hop: BeforeHop | None = None,
        after_hop: AfterHop | None = None,
        validators: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        verify_tls: bool = True,
    ) -> Fetched:
        """Fetch a page into memory. ``validators`` are If-None-Match and If-Modified-Since of the last version.

        ``before_hop(url)`` runs before every single request, redirects and the two kinds of retry included; what it raises
        ends the call. ``after_hop(status, wire bytes)`` runs when each of them has ended; status None: no answer came.
        Raises FetchError.
        """
        sink = MemorySink()
        hooks = (before_hop, after_hop)
        chain = self._chain(request, limits or self._settings.page_limits, hooks, validators or {}, verify_tls)
        head = self._run(chain, sink)
        response = Response(request, chain.url, head.status, head.headers, sink.body, head.received_at)
        return Fetched(
            response=response,
            chain=tuple(chain.visited),
            wire_bytes=chain.wire_bytes,
            not_modified=head.status == HTTPStatus.NOT_MODIFIED,
            length_unknown=head.length_unknown,
            duration_ms=round(chain.seconds * 1000),
        )

    def download(
        self,
        request: Request,
        directory: Path,
        *,
        before_hop: BeforeHop | None = None,
        after_hop: AfterHop | None = None,
        limits: Limits | None = None,
        verify_tls: bool = True,
    ) -> Downloaded:
        """Stream a file into ``directory`` (see FileSink). On any error no file is left. Raises FetchError."""
        chain = self._chain(request, limits or self._settings.file_limits, (before_hop, after_hop), {}, verify_tls)
        with FileSink(directory) as sink:
            head = self._run(chain, sink)
            sha256 = sink.finish()
        return Downloaded(
            path=sink.path,
            sha256=sha256,
            size=sink.size,
            head=sink.head,
            url=chain.url,
            status=head.status,
            headers=head.headers,
            chain=tuple(chain.visited),
            wire_bytes=chain.wire_bytes,
            length_unknown=head.length_unknown,
            fetched_at=head.received_at,
            duration_ms=round(chain.seconds * 1000),
        )

    def _chain(
        self, request: Request, limits: Limits, hooks: _Hooks, validators: Mapping[str, str], verify_tls: bool
    ) -> _Chain:
        headers = {"accept": "*/*", "accept-language": self._settings.accept_language}
        headers |= {name.lower(): value for name, value in (*request.headers.items(), *validators.items())}
        # What belongs to the connection or to this module is not the caller's to set.
        for name in ("host", "connection", "content-length", "transfer-encoding", "user-agent", "accept-encoding", "te"):
            headers.pop(name, None)
        message = Message(request.method.upper(), headers, request.body)
        return _Chain(request, request.url, message, limits, *hooks, verify_tls)

    def _run(self, chain: _Chain, sink: Sink) -> Head:
        try:
            while True:
                origin, target = self._guard.screen(chain.url)
                target = wire_url(target.encode("utf-8", "surrogatepass"))
                chain.url = f"{origin}{target}"
                if chain.before_hop is not None:
                    chain.before_hop(chain.url)
                head = self._hop(chain, origin, target, sink)
                if head is not None:
                    return head
        except FetchError as error:
            error.url = error.url or chain.url
            error.chain = error.chain or tuple(chain.visited)
            raise

    def _hop(self, chain: _Chain, origin: Origin, target: str, sink: Sink) -> Head | None:
        """One request. Returns the head of the final answer, its body written; None when the chain goes on."""
        started = monotonic()
        chain.status, chain.hop_bytes = None, 0
        exchange = Exchange(chain.limits.deadline - chain.seconds)
        try:
            with self._backend.exchanging(exchange), self._send(chain, origin, target, exchange) as answer:
                return self._judge(chain, origin, target, exchange, answer, sink)
        except FetchError as error:
            # A server may close an idle connection in the very moment it is used again (RFC 9112, 9.3.1).
            stale = error.error_class is ErrorClass.TRUNCATED and exchange.reused and not exchange.received
            if stale and chain.message.method in ("GET", "HEAD") and chain.retry_once("stale connection"):
                return None
            raise
        finally:
            chain.seconds += monotonic() - started
            if chain.after_hop is not None:
                chain.after_hop(chain.status, chain.hop_bytes)

    @contextmanager
    def _send(self, chain: _Chain, origin: Origin, target: str, exchange: Exchange) -> Iterator[httpcore.Response]:
        settings, message = self._settings, chain.message
        headers = {"host": origin.netloc, "user-agent": settings.user_agent, "accept-encoding": ACCEPT_ENCODING}
        headers |= message.headers
        cookies = chain.cookies.header(origin, target, headers.pop("cookie", ""))
        if cookies:
            headers["cookie"] = cookies
        if message.body is not None:
            headers["content-length"] = str(len(message.body))
        timeouts = {"connect": settings.connect_timeout, "read": settings.read_timeout, "write": settings.read_timeout}
        try:
            request = httpcore.Request(
                method=message.method.encode("ascii"),
                url=httpcore.URL(
                    scheme=origin.scheme.encode(), host=origin.host.encode(), port=origin.port, target=target.encode()
                ),
                headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()],
                content=message.body or b"",
                extensions={"timeout": {**timeouts, "pool": settings.connect_timeout}},
            )
            with closing(self._pools[chain.verify_tls].handle_request(request)) as answer:
                yield answer
        except (httpcore.LocalProtocolError, UnicodeEncodeError) as error:
            # The engine's own words would quote the header, which may be a secret.
            raise FetchError(
                ErrorClass.CONFIG, "the request cannot be sent: its method or a header is not valid HTTP"
            ) from error
        except httpcore.PoolTimeout as error:
            raise FetchError(ErrorClass.TIMEOUT, "no free connection in the pool") from error
        except httpcore.RemoteProtocolError as error:
            kind = ErrorClass.TRUNCATED if exchange.ended else ErrorClass.PROTOCOL
            raise FetchError(kind, str(error).partition(":")[0]) from error  # behind the colon it quotes header lines

    def _judge(
        self, chain: _Chain, origin: Origin, target: str, exchange: Exchange, answer: httpcore.Response, sink: Sink
    ) -> Head | None:
        head = read_head(answer, chain.message, self._settings.max_header_bytes)
        chain.status = head.status
        chain.cookies.store(origin, target, head.values("set-cookie"))
        if head.status in REDIRECTS:
            self._side_body(answer, head, exchange, chain)
            self._follow(chain, origin, head)
            return None
        if head.status == HTTPStatus.NOT_MODIFIED and not chain.message.conditional:
            if not chain.retry_once("304 to an unconditional request"):
                raise FetchError(ErrorClass.PROTOCOL, "304 to an unconditional request, twice", status=head.status)
            return None
        if head.status >= 300 and head.status != HTTPStatus.NOT_MODIFIED:
            raise self._refusal(chain, answer, head, exchange)
        self._body(answer, head, exchange, chain, sink)
        return head

    def _follow(self, chain: _Chain, origin: Origin, head: Head) -> None:
        url = redirect_url(chain.url, head.values("location"))
        if len(chain.visited) >= chain.limits.redirects:
            raise FetchError(ErrorClass.TOO_MANY_REDIRECTS, f"more than {chain.limits.redirects} redirects", status=head.status)
        chain.visited.append(chain.url)
        chain.url = url
        new_origin, _ = self._guard.screen(url)
        chain.message = chain.message.redirected(head.status, origin, new_origin)

    def _body(self, answer: httpcore.Response, head: Head, exchange: Exchange, chain: _Chain, sink: Sink) -> None:
        declared = head.length
        if declared is not None and declared > chain.limits.wire_bytes and not head.bodyless:
            message = f"Content-Length {declared} is above the limit of {chain.limits.wire_bytes} bytes"
            raise FetchError(ErrorClass.TOO_LARGE, message, status=head.status)

        def count(size: int) -> None:
            chain.wire_bytes += size
            chain.hop_bytes += size

        chunks = wire_chunks(answer, exchange, chain.limits.wire_bytes, count)
        codings = () if head.bodyless else codings_of(head.texts("content-encoding"))
        for piece in decode(chunks, codings, chain.limits.decoded_bytes):
            sink.write(piece)
        if head.doubtful(exchange) and exchange.stream is not None:
            exchange.stream.close()

    def _refusal(self, chain: _Chain, answer: httpcore.Response, head: Head, exchange: Exchange) -> FetchError:
        body = self._side_body(answer, head, exchange, chain)
        response = Response(chain.request, chain.url, head.status, head.headers, body, head.received_at)
        if head.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            wait = retry_after(head.headers.get("retry-after"), head.headers.get("date"), datetime.now(UTC))
            return FetchError(
                ErrorClass.RATE_LIMITED, f"status {head.status}", status=head.status, retry_after=wait, response=response
            )
        return FetchError(ErrorClass.HTTP_STATUS, f"status {head.status}", status=head.status, response=response)

    def _side_body(self, answer: httpcore.Response, head: Head, exchange: Exchange, chain: _Chain) -> bytes:
        """The beginning of a body that is not the page asked for. Its own failures are not the failure of the request."""
        exchange.shorten(min(_SIDE_BODY_SECONDS, _SIDE_BODY_SHARE * chain.limits.deadline))
        body = bytearray()

        def count(size: int) -> None:
            chain.hop_bytes += size

        try:
            chunks = wire_chunks(answer, exchange, _SIDE_BODY_BYTES, count)
            codings = () if head.bodyless else codings_of(head.texts("content-encoding"))
            for piece in decode(chunks, codings, _SIDE_BODY_BYTES):
                body += piece
        except (FetchError, httpcore.RemoteProtocolError):
            return bytes(body)  # the connection is closed with the answer, for it was not read to its end
        if head.doubtful(exchange) and exchange.stream is not None:
            exchange.stream.close()
        return bytes(body)
