"""What an answer is, before any adapter reads it: the page asked for, or a wall, a login, a soft 404, a shell, another type.

    classify(response, expected=...) -> Verdict(kind, reason, signature)

The texts and statuses of known walls are data: ``signatures.json`` beside this module. Words alone never condemn a page that
gives evidence of an article (meta tags, a full date, long text): an article may be about 404 pages or captchas.
Walls are recognised, recorded and backed off from; none is solved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from sources.adapters.base import Response
from sources.parsing.page_signs import PageSigns, read_signs

Expected = Literal["list", "detail", "file", "json"]

FILE_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP or Office"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x89PNG\r\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
)
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,400}?-->\s*)?<(?:!doctype\s+html|html|head|body|script|meta|title)\b", re.I | re.S
)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[\[{]|[\w$.]{1,60}\s*\(\s*[\[{])")
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|rss|feed|datastore|rdf:RDF|urlset|sitemapindex)\b", re.I)


class Kind(StrEnum):
    """What an answer turned out to be."""

    OK = "ok"
    EMPTY = "empty"
    SOFT_404 = "soft_404"
    BLOCK_PAGE = "block_page"
    LOGIN = "login"
    SCRIPT_SHELL = "script_shell"
    WRONG_TYPE = "wrong_type"
    HTTP_ERROR = "http_error"  # a status of 400 or more that no signature explains


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is for people; ``signature`` names the entry of signatures.json that decided, if one did."""

    kind: Kind
    reason: str = ""
    signature: str = ""

    @property
    def ok(self) -> bool:
        return self.kind is Kind.OK


@dataclass(frozen=True, slots=True)
class Signature:
    """One entry of signatures.json, compiled."""

    name: str
    kind: Kind
    reason: str
    statuses: frozenset[int]
    body: tuple[re.Pattern[str], ...]
    title: tuple[re.Pattern[str], ...]
    headers: Mapping[str, re.Pattern[str]]
    max_bytes: int | None
    max_text: int | None
    without_article: bool


@dataclass(frozen=True, slots=True)
class Signatures:
    walls: tuple[Signature, ...]
    soft_404: Mapping[str, Any]
    home_page: Mapping[str, Any]


def classify(response: Response, *, expected: Expected) -> Verdict:
    """Judge one answer. ``expected`` is what the request was for; JSON and XML are good answers to ``list`` and ``detail``."""
    known = signatures()
    body = response.body
    markup = _is_markup(response)
    signs = read_signs(response.text) if markup else None
    for wall in known.walls:
        if _matches(wall, response, signs):
            return Verdict(wall.kind, wall.reason, wall.name)
    if response.status >= 400:
        return Verdict(Kind.HTTP_ERROR, f"status {response.status}")
    if not body.strip():
        return Verdict(Kind.EMPTY, "the body is empty")
    if signs is not None:
        return _judge_page(response, signs, expected, known)
    return _judge_other(body, expected)


@cache
def signatures() -> Signatures:
    """signatures.json, read and compiled once."""
    data = json.loads((Path(__file__).parent / "signatures.json").read_text(encoding="utf-8"))
    soft_404 = dict(data["soft_404"])
    soft_404["body"], soft_404["title"] = _compiled(soft_404["body"]), _compiled(soft_404["title"])
    return Signatures(tuple(_signature(entry) for entry in data["signatures"]), soft_404, data["home_page"])


def _signature(entry: Mapping[str, Any]) -> Signature:
    return Signature(
        name=entry["name"],
        kind=Kind(entry["kind"]),
        reason=entry["reason"],
        statuses=frozenset(entry.get("statuses", ())),
        body=_compiled(entry.get("body", ())),
        title=_compiled(entry.get("title", ())),
        headers={name: re.compile(pattern) for name, pattern in entry.get("headers", {}).items()},
        max_bytes=entry.get("max_bytes"),
        max_text=entry.get("max_text"),
        without_article=entry.get("without_article", False),
    )


def _compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in patterns)


def _matches(wall: Signature, response: Response, signs: PageSigns | None) -> bool:
    """Every condition the signature names holds. Conditions on text need a page."""
    if wall.statuses and response.status not in wall.statuses:
        return False
    if not all(pattern.search(response.headers.get(name, "")) for name, pattern in wall.headers.items()):
        return False
    if not (wall.body or wall.title):
        return True
    if signs is None or (wall.max_bytes is not None and len(response.body) > wall.max_bytes):
        return False
    if wall.max_text is not None and len(signs.text) > wall.max_text:
        return False
    if wall.without_article and signs.article_evidence:
        return False
    return _any(wall.title, signs.title) and _any(wall.body, response.text)


def _any(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    return not patterns or any(pattern.search(text) for pattern in patterns)


def _is_markup(response: Response) -> bool:
    """HTML by its start, or by its header when no other type shows."""
    body = response.body
    if _HTML_START.match(body[:2048]):
        return True
    if not body.strip() or _file_type(body) or _JSON_START.match(body[:256]) or _XML_START.match(body[:256]):
        return False
    return "html" in response.headers.get("content-type", "") or body.lstrip()[:1] == b"<"


def _file_type(body: bytes) -> str:
    return next((name for magic, name in FILE_MAGIC if body.startswith(magic)), "")


def _judge_page(response: Response, signs: PageSigns, expected: Expected, known: Signatures) -> Verdict:
    if verdict := _soft_404(response, signs, known.soft_404):
        return verdict
    if signs.password_fields and len(signs.text) <= 600 and not signs.article_evidence:
        return Verdict(Kind.LOGIN, "a short page with a password field")
    if signs.is_shell:
        inner = f"; its frame is {signs.frames[0]}" if signs.frames else ""
        return Verdict(
            Kind.SCRIPT_SHELL, f"the page shows {len(signs.text)} characters and leaves the rest to scripts or frames{inner}"
        )
    if expected in ("file", "json"):
        return Verdict(Kind.WRONG_TYPE, f"a page came where a {expected} was asked for: {signs.title[:60]!r}")
    if expected == "detail" and (verdict := _home_page(response, signs, known.home_page)):
        return verdict
    return Verdict(Kind.OK)


def _soft_404(response: Response, signs: PageSigns, rule: Mapping[str, Any]) -> Verdict | None:
    if signs.article_evidence:
        return None
    by_title = len(signs.text) <= rule["title_max_text"] and _any(rule["title"], signs.title)
    short = len(signs.text) <= rule["max_text"] and len(response.body) <= rule["max_bytes"]
    if by_title or (short and _any(rule["body"], signs.text)):
        return Verdict(
            Kind.SOFT_404,
            f"status {response.status}, but the page says that there is nothing: {(signs.text or signs.title)[:60]!r}",
        )
    return None


def _home_page(response: Response, signs: PageSigns, rule: Mapping[str, Any]) -> Verdict | None:
    """The home page or an index served for an article: by address after redirects, or because it is nothing but links."""
    asked, came = urlsplit(response.request.url), urlsplit(response.url)
    if came.path in rule["paths"] and asked.path not in rule["paths"] and not came.query:
        return Verdict(Kind.SOFT_404, f"redirected to the home page {response.url}")
    if signs.article_evidence or signs.links < rule["min_links"]:
        return None
    shown = len("".join(signs.text.split()))
    other = shown - signs.link_chars
    if shown and signs.link_chars / shown >= rule["min_link_share"] and other <= rule["max_other_text"]:
        return Verdict(Kind.SOFT_404, f"an index of {signs.links} links instead of an article: {signs.title[:60]!r}")
    return None


def _judge_other(body: bytes, expected: Expected) -> Verdict:
    """Bodies that are no HTML page."""
    file_type = _file_type(body)
    if expected == "file":
        return Verdict(Kind.OK)
    if file_type:
        return Verdict(Kind.WRONG_TYPE, f"a {file_type} file came where a {expected} was asked for")
    if expected == "json" and not _JSON_START.match(body[:256]):
        return Verdict(Kind.WRONG_TYPE, "the body is no JSON")
    return Verdict(Kind.OK)
