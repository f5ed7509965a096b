"""Which addresses the crawler may connect to (design, invariant 10; fault-model H4 and H5).

``AddressGuard`` reads a URL strictly, resolves its host once, checks all answers and hands out the checked addresses; whoever
connects goes to these and never resolves again. Refusals are ``FetchError(BLOCKED_ADDRESS)`` and name the reason; a name that
does not resolve is CONNECT.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import idna

from crawl.errors import ErrorClass, FetchError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[..., list[Any]]

DEFAULT_PORTS = {"http": 80, "https": 443}

# The IANA special-purpose registries. A table, because ``is_global`` says True for several of them and its answers
# change with the Python version.
_REFUSED = tuple(
    (ipaddress.ip_network(network), why)
    for network, why in (
        ("0.0.0.0/8", "this-network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared carrier"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignment"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmark"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "local NAT64"),
        ("2001::/23", "protocol assignment"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::([0-9]{0,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def _blocked(why: str) -> FetchError:
    return FetchError(ErrorClass.BLOCKED_ADDRESS, why)


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port as they are compared and sent: lower case, ASCII, no trailing dot, IPv6 without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A host with the addresses that one resolution gave, all of them checked."""

    host: str
    port: int
    addresses: tuple[str, ...]

    @property
    def address(self) -> str:
        return self.addresses[0]


@dataclass(frozen=True, slots=True)
class AllowList:
    """Networks and addresses that may be reached although they are not public, each with an optional port."""

    entries: tuple[tuple[IPNetwork, int | None], ...] = ()

    @classmethod
    def parse(cls, text: str) -> AllowList:
        """``127.0.0.1:18500, 10.20.0.0/16, [fd00::/8]:443``. Raises ValueError naming the entry."""
        return cls(tuple(_allow_entry(entry) for entry in re.split(r"[,\s]+", text) if entry))

    def permits(self, address: IPAddress, port: int) -> bool:
        return any(address in network and allowed in (None, port) for network, allowed in self.entries)


def _allow_entry(entry: str) -> tuple[IPNetwork, int | None]:
    match = re.fullmatch(r"\[([^\]]+)\](?::(\d+))?|([^:]+)(?::(\d+))?|([^\[\]]*:[^\[\]]*:[^\[\]]*)", entry)
    remedy = "write an address or a network, with an optional port: 127.0.0.1:18500, 10.20.0.0/16, [fd00::1]:443"
    if match is None:
        raise ValueError(f"allow-list entry {entry!r} is not readable; {remedy}")
    v6, v6_port, v4, v4_port, bare = match.groups()
    try:
        network = ipaddress.ip_network(v6 or v4 or bare)
    except ValueError as error:
        raise ValueError(f"allow-list entry {entry!r}: {error}; {remedy}") from error
    port = v6_port or v4_port
    if port is not None and not 1 <= int(port) <= 65535:
        raise ValueError(f"allow-list entry {entry!r}: the port must lie between 1 and 65535")
    return network, int(port) if port is not None else None


def why_refused(address: IPAddress) -> str | None:
    """The kind of a special address (``loopback``, ``private`` ...), None for a public one."""
    for network, why in _REFUSED:
        if address in network:
            return why
    if address.version == 6 and address not in _GLOBAL_V6:
        return "not global unicast"
    return None


def split_url(url: str) -> tuple[Origin, str]:
    """Origin and request target (path and query, no fragment) of an absolute http(s) URL, read strictly.

    Anything that two readers could take for two different hosts is refused: user-info, escapes, backslashes, control
    characters, numeric hosts in other than plain dotted form. Raises FetchError(BLOCKED_ADDRESS).
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise _blocked("the URL has no scheme")
    scheme, authority, rest = match[1].lower(), match[2] or "", match[3]
    if scheme not in DEFAULT_PORTS:
        raise _blocked(f"scheme {scheme[:20]!r} is not http or https")
    if "@" in authority:
        raise _blocked("the URL has user-info before its host")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise _blocked("the URL has no readable host" if authority else "the URL has no host")
    port = int(parts[2]) if parts[2] else DEFAULT_PORTS[scheme]
    if not 1 <= port <= 65535:
        raise _blocked(f"port {port} does not exist")
    target = rest.partition("#")[0]
    return Origin(scheme, _host(parts[1]), port), target if target.startswith("/") else f"/{target}"


def _host(text: str) -> str:
    if text.startswith("["):
        try:
            return str(ipaddress.IPv6Address(text[1:-1]))
        except ValueError as error:
            raise _blocked("the host is not an IPv6 address") from error
    host = text.lower()
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError) as error:
            raise _blocked("the host is not a name") from error
    host = host.removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _blocked("the host is not a name")
    # The system's resolver reads 0x7f.1, 127.1 and 2130706433 as addresses.
    if _NUMBER.fullmatch(labels[-1]) and _literal(host) is None:
        raise _blocked("the host is a number, but not a plain IPv4 address")
    return host


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class AddressGuard:
    """Checks URLs and hosts; ``timeout`` (seconds) bounds a name resolution, which the system itself does not."""

    def __init__(self, allow: AllowList, resolver: Resolver = socket.getaddrinfo, timeout: float = 10.0) -> None:
        self._allow = allow
        self._resolver = resolver
        self._timeout = timeout

    def screen(self, url: str) -> tuple[Origin, str]:
        """What can be said without a resolution: form, scheme and literal address. Returns origin and request target."""
        origin, target = split_url(url)
        literal = _literal(origin.host)
        if literal is not None:
            self._check(origin.host, literal, origin.port)
        return origin, target

    def check(self, url: str) -> Pinned:
        """Screen the URL and resolve its host. Raises FetchError: BLOCKED_ADDRESS, CONNECT, TIMEOUT."""
        origin, _ = self.screen(url)
        return self.pin(origin.host, origin.port)

    def pin(self, host: str, port: int, timeout: float | None = None) -> Pinned:
        """Resolve ``host`` once and check every answer. Raises FetchError: BLOCKED_ADDRESS, CONNECT, TIMEOUT."""
        literal = _literal(host)
        found = [literal] if literal is not None else self._resolve(host, port, timeout or self._timeout)
        for address in found:
            self._check(host, address, port)
        return Pinned(host, port, tuple(dict.fromkeys(str(address) for address in found)))

    def _check(self, host: str, address: IPAddress, port: int) -> None:
        why = why_refused(address)
        if why is not None and not self._allow.permits(address, port):
            named = host if host == str(address) else f"{host} resolves to {address}"
            raise _blocked(f"{named}, port {port}: {why} address, and not on the allow-list")

    def _resolve(self, host: str, port: int, timeout: float) -> list[IPAddress]:
        answer: Future[list[Any]] = Future()

        def work() -> None:
            try:
                answer.set_result(self._resolver(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                answer.set_exception(error)

        # A resolution cannot be interrupted; in a thread of its own it can at least be left behind.
        threading.Thread(target=work, name=f"resolve {host}", daemon=True).start()
        try:
            found = answer.result(timeout)
        except TimeoutError as error:
            raise FetchError(ErrorClass.TIMEOUT, f"{host}: the name did not resolve within {timeout:.1f} s") from error
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise FetchError(ErrorClass.CONNECT, f"{host}: name not found ({reason or error})") from error
        addresses = [ipaddress.ip_address(entry[4][0].partition("%")[0]) for entry in found]
        if not addresses:
            raise FetchError(ErrorClass.CONNECT, f"{host}: name not found (no address)")
        return addresses
