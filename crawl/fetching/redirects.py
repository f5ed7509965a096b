"""What changes from hop to hop of a redirect chain: URL, method, headers, cookies (fault-model H3, H17, Part B httpx)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from urllib.parse import urljoin

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import DEFAULT_PORTS, Origin

REDIRECTS = frozenset(
    {
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    }
)

_UNSENDABLE = re.compile(rb"[^!#-;=?-~]")  # blank, control, quote, angle brackets, all above ASCII
_ELSEWHERE = frozenset({"accept", "accept-language"})  # the request's own headers that another origin may see
_OF_A_BODY = frozenset({"content-type", "content-length", "content-encoding", "content-language", "transfer-encoding"})
_VALIDATORS = frozenset({"if-none-match", "if-modified-since"})


def wire_url(raw: bytes) -> str:
    """A URL as it can be sent: bytes that may not stand in one are percent-encoded as they are, whatever their charset."""
    return _UNSENDABLE.sub(lambda match: b"%%%02X" % match[0][0], raw).decode("ascii")


def redirect_url(base: str, locations: Iterable[bytes]) -> str:
    """Where the Location header leads. Raises FetchError(PROTOCOL) if there is none, or several different ones."""
    values = {value.strip(b" \t") for value in locations}
    if len(values) != 1:
        raise FetchError(ErrorClass.PROTOCOL, f"a redirect with {len(values)} Location headers")
    path, mark, query = values.pop().partition(b"?")
    # Browsers read a backslash before the query as a slash; a second reading of the same URL would be an open door.
    location = wire_url(path.replace(b"\\", b"/") + mark + query)
    try:
        return urljoin(base, location).partition("#")[0]
    except ValueError as error:
        raise FetchError(ErrorClass.PROTOCOL, f"a redirect to an unreadable URL ({error})") from error


def same_site(old: Origin, new: Origin) -> bool:
    """The same origin, or its move from http to https on the default ports."""
    upgrade = (old.scheme, old.port, new.scheme, new.port) == ("http", DEFAULT_PORTS["http"], "https", DEFAULT_PORTS["https"])
    return old == new or (old.host == new.host and upgrade)


@dataclass(frozen=True, slots=True)
class Message:
    """Method, headers (lower-case names) and body of the next request of a chain."""

    method: str
    headers: Mapping[str, str]
    body: bytes | None

    @property
    def conditional(self) -> bool:
        return not _VALIDATORS.isdisjoint(self.headers)

    def without(self, names: frozenset[str], body: bytes | None) -> Message:
        return Message(self.method, {name: value for name, value in self.headers.items() if name not in names}, body)

    def redirected(self, status: int, old: Origin, new: Origin) -> Message:
        """The message after a redirect. What it carries (credentials, body) is for its own origin only, and stays gone."""
        after = self
        turns_to_get = status == HTTPStatus.SEE_OTHER or (status in (301, 302) and self.method == "POST")
        if turns_to_get and self.method != "HEAD":
            after = Message("GET", self.headers, None).without(_OF_A_BODY, None)
        if same_site(old, new):
            return after
        if after.body is not None:
            message = f"{old.netloc} redirects a request with a body to another origin, {new.netloc}"
            raise FetchError(ErrorClass.PROTOCOL, message)
        return after.without(frozenset(after.headers) - _ELSEWHERE, None)


@dataclass(frozen=True, slots=True)
class _Cookie:
    value: str
    path: str
    secure: bool


class ChainCookies:
    """Cookies of one chain: each goes back only to the host that set it (the Domain attribute widens nothing)."""

    def __init__(self) -> None:
        self._by_host: dict[str, dict[str, _Cookie]] = {}

    def store(self, origin: Origin, target: str, set_cookies: Iterable[bytes]) -> None:
        jar = self._by_host.setdefault(origin.host, {})
        for line in set_cookies:
            pair, *rest = line.decode("latin-1").split(";")
            name, equals, value = (part.strip() for part in pair.partition("="))
            attributes = {key.strip().lower(): text.strip() for key, _, text in (item.partition("=") for item in rest)}
            if not equals or not name:
                continue
            if _expired(attributes):
                jar.pop(name, None)
                continue
            path = attributes.get("path", "")
            if not path.startswith("/"):
                path = target.partition("?")[0].rpartition("/")[0] or "/"
            jar[name] = _Cookie(value, path, "secure" in attributes)

    def header(self, origin: Origin, target: str, own: str = "") -> str:
        """The Cookie header for this request; ``own`` are cookies the request brings, replaced by newer ones of that name."""
        pairs = dict(pair.strip().partition("=")[::2] for pair in own.split(";") if pair.strip())
        path = target.partition("?")[0]
        for name, cookie in self._by_host.get(origin.host, {}).items():
            inside = path == cookie.path or path.startswith(cookie.path.rstrip("/") + "/")
            if inside and (origin.scheme == "https" or not cookie.secure):
                pairs[name] = cookie.value
        return "; ".join(f"{name}={value}" for name, value in pairs.items())


def _expired(attributes: Mapping[str, str]) -> bool:
    age = attributes.get("max-age", "")
    if re.fullmatch(r"-?\d{1,12}", age):
        return int(age) <= 0
    try:
        return parsedate_to_datetime(attributes["expires"]).timestamp() <= time()
    except (KeyError, ValueError, OverflowError):
        return False
