"""URLs: one spelling for identity, links of a page made absolute, host and file names out of them.

Two different things are kept apart: ``resolve`` gives the URL to fetch, as a browser would (WHATWG URL standard);
``canonical_url`` gives the spelling under which an article is known (source-systems 0.11), never used for fetching.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import parse_qsl, quote, urljoin, urlsplit, urlunsplit

import idna

URL_RULE = 1
"""Version of ``canonical_url``; stored with each hash, raised when the same URL gets another spelling."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_EDGE = "".join(map(chr, range(0x21))) + "\u00a0\u3000\u200b\u200c\u200d\u2060\ufeff"
_TAB_NEWLINE = re.compile(r"[\t\r\n]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_JSESSIONID = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_MOBILE_POST = re.compile(r"(/content/(?:[^/]+/)*)mpost_(\d+\.html)$")
_SINGLE_DOT = frozenset({".", "%2e"})
_DOUBLE_DOT = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
_PATH_SAFE = "/%!$&'()*+,;=:@-._~[]|^"
_QUERY_SAFE = "/%!$&()*+,;=:@-._~?[]|^`{}\\"

_SESSION_PARAMS = frozenset(
    {
        "jsessionid",
        "phpsessid",
        "sessionid",
        "session_id",
        "aspsessionid",
        "cfid",
        "cftoken",
        "spm",
        "fbclid",
        "gclid",
    }
    | {"isappinstalled", "share_token", "scene_share"}
)
_SHARE_VALUES = frozenset({"timeline", "singlemessage", "groupmessage"})
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?")

_FILE_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,7}|7z)$")
_SCRIPT_EXTENSIONS = frozenset({"", "jsp", "do", "action", "aspx", "asp", "ashx", "php", "cgi"})


def canonical_url(url: str) -> str:
    """The spelling of an http(s) URL that stands for all its equal spellings. Raises ValueError for anything else.

    http and https, and hosts with and without ``www``, stay different: they are not always the same site.
    """
    scheme, host, port, path, query = _parts(url)
    path = _clean_path(_JSESSIONID.sub("", path))
    path = _MOBILE_POST.sub(r"\1post_\2", path)
    query = "&".join(pair for pair in query.split("&") if pair and not _is_noise(pair))
    return urlunsplit(
        (
            scheme,
            _netloc(scheme, host, port),
            _upper_escapes(path),
            _upper_escapes(query),
            "",
        )
    )


def url_hash(url: str) -> str:
    """sha256 of ``canonical_url`` in lower-case hex. Raises ValueError as that does."""
    return hashlib.sha256(canonical_url(url).encode("ascii")).hexdigest()


def resolve(base: str, href: str, encoding: str = "utf-8") -> str | None:
    """The absolute http(s) URL that ``href`` names on the page ``base``, in ASCII; None when it names no web page.

    Path in UTF-8, query in the page's ``encoding`` (URL standard, fault-model A3b H17). A fragment is kept.
    """
    href = _tidy(href)
    if not href or href.startswith("#"):
        return None
    scheme = _SCHEME.match(href)
    if scheme and scheme.group(1).lower() not in _DEFAULT_PORTS:
        return None
    head, mark, tail = href.partition("?")
    href = head.replace("\\", "/") + mark + tail
    if scheme:
        href = _with_authority(scheme.group(1).lower(), href[scheme.end() :], _tidy(base))
    if href in ("http://", "https://"):
        return None
    try:
        joined = urlsplit(urljoin(_tidy(base), href))
        host, port = _host(joined.hostname or ""), joined.port
    except ValueError:
        return None
    if joined.scheme not in _DEFAULT_PORTS or not host:
        return None
    query = quote(joined.query, safe=_QUERY_SAFE, encoding=encoding, errors="xmlcharrefreplace")
    fragment = quote(joined.fragment, safe=_QUERY_SAFE + "#")
    path = quote(_without_dots(joined.path) or "/", safe=_PATH_SAFE)
    return urlunsplit((joined.scheme, _netloc(joined.scheme, host, port), path, query, fragment))


def host_key(url: str) -> str:
    """Lower-case host, with ``:port`` when it is not the scheme's default. Raises ValueError for a URL without a host."""
    scheme, host, port, _, _ = _parts(url)
    return _netloc(scheme, host, port)


def file_extension(url: str) -> str:
    """Lower-case extension of the file a URL names, without the dot; of a download script, that of its file parameter."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    extension = _extension(parts.path)
    if extension in _SCRIPT_EXTENSIONS:
        for _, value in parse_qsl(parts.query, errors="replace"):
            named = _extension(value)
            if named and named not in _SCRIPT_EXTENSIONS and named not in ("html", "htm", "cn", "com"):
                return named
    return extension


def _with_authority(scheme: str, rest: str, base: str) -> str:
    """``http:a/b`` is relative on an http page and names the host ``a`` elsewhere (URL standard, special schemes)."""
    if not rest.startswith("//") and base.lower().startswith(f"{scheme}:"):
        return rest
    return f"{scheme}://{rest.lstrip('/')}"


def _extension(path: str) -> str:
    match = _FILE_EXTENSION.search(path.rsplit("/", 1)[-1])
    return match.group(1).lower() if match else ""


def _tidy(url: str) -> str:
    return _TAB_NEWLINE.sub("", _SURROGATE.sub("\ufffd", url)).strip(_EDGE)


def _parts(url: str) -> tuple[str, str, int | None, str, str]:
    """Scheme, ASCII host, port, quoted path and quoted query of an absolute http(s) URL, or ValueError that names it."""
    tidy = _tidy(url)
    head, mark, tail = tidy.partition("?")
    try:
        parts = urlsplit(head.replace("\\", "/") + mark + tail)
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError as error:
        raise ValueError(f"not a usable URL: {url!r} ({error})") from error
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise ValueError(f"not an absolute http(s) URL: {url!r}")
    path = quote(parts.path, safe=_PATH_SAFE)
    return parts.scheme, host, port, path, quote(parts.query, safe=_QUERY_SAFE)


def _host(host: str) -> str:
    """Lower-case ASCII host; full-width letters and ideographic dots as IDNA maps them. Raises ValueError."""
    host = "".join(host.split()).lower()
    if not host.isascii():
        host = idna.encode(host, uts46=True).decode("ascii").lower()
    host = host.rstrip(".")
    if re.search(r"[\x00-\x20\"#%/<>?@\\^`{|}\x7f]", host):
        raise ValueError(f"host {host!r} has a character that no host may have")
    return host


def _netloc(scheme: str, host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None or port == _DEFAULT_PORTS[scheme] else f"{shown}:{port}"


def _without_dots(path: str) -> str:
    """RFC 3986 5.2.4; unlike ``_clean_path`` it keeps empty segments, which some servers tell apart."""
    if not any(f"/{dots}" in path.lower() for dots in (".", "%2e")):
        return path
    segments = path.split("/")
    kept: list[str] = []
    for segment in segments[1:]:
        low = segment.lower()
        if low in _DOUBLE_DOT:
            del kept[-1:]
        elif low not in _SINGLE_DOT:
            kept.append(segment)
    if segments[-1].lower() in _SINGLE_DOT | _DOUBLE_DOT:
        kept.append("")
    return "/" + "/".join(kept)


def _clean_path(path: str) -> str:
    cleaned = re.sub(r"/{2,}", "/", path)
    return re.sub(r"/{2,}", "/", _without_dots(cleaned)) or "/"


def _is_noise(pair: str) -> bool:
    name, _, value = pair.partition("=")
    name = name.lower()
    if name.startswith(("utm_", "aspsessionid")) or name in _SESSION_PARAMS:
        return True
    if name == "from":
        return value.lower() in _SHARE_VALUES
    return name in ("_", "t", "timestamp") and _EPOCH.fullmatch(value) is not None


def _upper_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda match: match.group().upper(), text)
