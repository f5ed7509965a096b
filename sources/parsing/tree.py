"""HTML as a tree, with nothing lost unseen.

libxml2 stops at a depth of 256 (2,048 in its huge mode) and at text nodes over 10 MB, and hands out what it had so far
without an exception (fault-model C1). So the parser's error log is read after each parse.
"""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

PARTIAL = "data-govcrawler-partial"
"""Attribute on the root of a tree whose structure had to be changed or cut to be read at all."""

# Characters that no XML tree may hold, plain or as a reference: the parser lets some in, and then text cannot be moved.
_UNUSABLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\ufffe\uffff]"
    r"|&#(?:[xX]0*(?:[0-8bBeEfF]|1[0-9a-fA-F]|[fF]{3}[eEfF])|0*(?:[0-8]|11|1[4-9]|2\d|3[01]|6553[45]))(?![0-9a-fA-F]);?"
)
_FLAT_DEPTH = 150
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def parse_document(source: str | bytes, encoding: str = "utf-8") -> HtmlElement:
    """The page as a tree; an empty page is an empty ``html`` element. Never raises; see ``is_partial``."""
    text = source.decode(encoding, "replace") if isinstance(source, bytes) else source
    data = _UNUSABLE.sub("", text).encode("utf-8", "replace")
    for huge in (False, True):
        root, complete = _parse(data, huge)
        if complete:
            return root
    flat, complete = _parse(_flatten(data.decode("utf-8")).encode("utf-8"), huge=True)
    best = flat if complete else root
    best.set(PARTIAL, "1")
    return best


def is_partial(doc: HtmlElement) -> bool:
    """Whether the parser could not keep the page's structure: text may be missing (fault-model C1, ``parse_partial``)."""
    return doc.getroottree().getroot().get(PARTIAL) is not None


def _parse(data: bytes, huge: bool) -> tuple[HtmlElement, bool]:
    """The tree and whether the parser reached the end of the page."""
    parser = HTMLParser(encoding="utf-8", huge_tree=huge, no_network=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.ParserError:
        root = None
    except etree.XMLSyntaxError:
        root = None
    complete = not len(parser.error_log.filter_from_fatals())
    if root is None:
        root = parser.makeelement("html")
        complete = complete or not data.strip()
    return root, complete


def _flatten(text: str) -> str:
    """``text`` without the tags that lie deeper than ``_FLAT_DEPTH``: the words stay, in order."""
    depth = 0
    out: list[str] = []
    end = 0
    for tag in _TAG.finditer(text):
        out.append(text[end : tag.start()])
        end = tag.end()
        name = tag[2].lower()
        if name in _VOID:
            out.append(tag[0])
        elif tag[1]:
            out.append(tag[0] if depth <= _FLAT_DEPTH else " ")
            depth = max(depth - 1, 0)
        else:
            depth += 1
            out.append(tag[0] if depth <= _FLAT_DEPTH or name in ("script", "style") else " ")
    return "".join(out) + text[end:]
