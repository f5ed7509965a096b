"""Links with a meaning: to files, to the next page, and pages that only forward to another one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import parse_qs, unquote, urlsplit

from lxml.html import HtmlElement

from sources.parsing.html import is_file_url, text_of
from sources.parsing.urls import canonical_url, file_extension, resolve

ATTACHMENT_BLOCKS = frozenset("attachment attachments attach fujian fj xgfj annex appendix enclosure accessory".split())
FORWARDER_TEXT_MAX = 60
"""A page that shows more than this is read, not passed through."""
FORWARDER_DELAY_MAX = 3
"""Seconds; pages that wait longer show the reader a message first, as soft 404 pages do."""

_REFRESH = re.compile(r"^\s*(\d+)(?:\.\d*)?\s*[;,]\s*url\s*=\s*['\"]?\s*([^'\"]+)", re.IGNORECASE)
_LOCATION = re.compile(
    r"(?:window\.|self\.|top\.|parent\.|document\.)?\blocation(?:\.href)?\s*(?:=\s*|\.(?:replace|assign)\s*\(\s*)"
    r"([\"'])([^\"'+]+)\1\s*(?:[;)\s]|$)"
)
_ATTACHMENT_TEXT = re.compile(r"^[【\[（(]?(?:相关附件|附件下载|附件|附：)")
_ATTACHMENT_TEXT_MAX = 400
_BLOCK_DEPTH = 8
_GENERIC_NAMES = frozenset({"", "下载", "点击下载", "附件下载", "下载附件", "查看", "点击查看", "附件"})
_NEXT_WORDS = frozenset({"下一页", "下页", "后一页", "下一页>", "下一页>>", "下一页»", "next"})


def forward_target(doc: HtmlElement, url: str) -> str | None:
    """Where a page that shows nothing sends its reader by meta refresh or script; None for pages of their own.

    A jump to the same page or to the home page is no forward: walls and soft 404 pages do that.
    """
    for href in _jumps(doc):
        target = resolve(url, href)
        if target and urlsplit(target).path not in ("", "/") and canonical_url(target) != canonical_url(url):
            return None if len(text_of(doc)) > FORWARDER_TEXT_MAX else target
    return None


def next_page_link(doc: HtmlElement, base: str, encoding: str = "utf-8") -> str | None:
    """The URL behind a link named 下一页; None when there is none or it leads nowhere."""
    for link in doc.iter("a"):
        if text_of(link).strip("[]【】 ").lower() in _NEXT_WORDS:
            target = resolve(base, link.get("href") or "", encoding)
            if target:
                return target
    return None


def attachments(doc: HtmlElement, body: HtmlElement | None, base: str, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """URL and name of the files of an article, each once: those of the body, then those of attachment blocks beside it.

    Links and embedded documents count, images do not.
    """
    inside = frozenset() if body is None else frozenset(body.iter())
    own: list[tuple[str, str]] = []
    beside: list[tuple[str, str]] = []
    for node in doc.iter("a", "embed", "iframe", "object"):
        href = node.get("href") or node.get("src") or node.get("data") or ""
        if not is_file_url(href):
            continue
        url = resolve(base, href, encoding)
        if url is not None and (node in inside or _in_attachment_block(node)):
            (own if node in inside else beside).append((url, _file_name(node, url)))
    found: dict[str, tuple[str, str]] = {}
    for url, name in own + beside:
        found.setdefault(canonical_url(url), (url, name))
    return list(found.values())


def _jumps(doc: HtmlElement) -> Iterator[str]:
    for meta in doc.iter("meta"):
        if (meta.get("http-equiv") or "").lower() == "refresh":
            match = _REFRESH.match(meta.get("content") or "")
            if match and int(match[1]) <= FORWARDER_DELAY_MAX:
                yield match[2].strip()
    for script in doc.iter("script"):
        match = _LOCATION.search(script.text or "")
        if match:
            yield match[2]


def _in_attachment_block(node: HtmlElement) -> bool:
    """Whether a block around ``node`` is named for attachments or begins with 附件, and is no larger than such blocks are."""
    for parent in islice(node.iterancestors(), _BLOCK_DEPTH):
        names = f"{parent.get('class') or ''} {parent.get('id') or ''}".lower().split()
        if not ATTACHMENT_BLOCKS.isdisjoint(names):
            return True
        if parent.tag in ("body", "html"):
            return False
        text = text_of(parent)
        if len(text) > _ATTACHMENT_TEXT_MAX:
            return False
        if _ATTACHMENT_TEXT.match(text):
            return True
    return False


def _file_name(node: HtmlElement, url: str) -> str:
    text = text_of(node) if node.tag == "a" else ""
    title = (node.get("title") or "").strip()
    if text not in _GENERIC_NAMES:
        return text
    if title not in _GENERIC_NAMES:
        return title
    parts = urlsplit(url)
    named = parse_qs(parts.query).get("fText") or parse_qs(parts.query).get("filename")
    if named:
        return named[0]
    last = unquote(parts.path.rsplit("/", 1)[-1])
    return last if file_extension(url) else text
