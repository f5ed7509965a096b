"""What is on a page: its base URL, the body found and turned into text or clean HTML, noise taken out.

All walks are iterative: no page can exhaust the stack (fault-model C1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from html import escape
from typing import cast

from cssselect import SelectorError
from lxml import etree
from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from sources.parsing.tree import is_partial, parse_document
from sources.parsing.urls import file_extension, resolve

__all__ = [
    "BODY_SELECTORS",
    "base_url",
    "body_html",
    "body_text",
    "collapse",
    "drop_noise",
    "find_body",
    "has_media",
    "is_file_url",
    "is_partial",
    "parse_document",
    "select",
    "text_of",
]

BODY_SELECTORS = (
    "#UCAP-CONTENT, .trs_editor_view, .TRS_UEDITOR, .TRS_Editor",
    "#zoom, #Zoom, #zoomcon, #fontzoom",
    ".article_con, .article-content, .content_body_box, .artile_zw",
    ".Three_xilan_07",
    ".Article_content, #ivs_content",
    ".main-txt, .tyxxy_main, .news_cont_d_wrap",
    "#BodyLabel, .pages_content, #printContent, .art-con",
)
"""Body containers from the most to the least specific (source-systems 0.7)."""

_UNSEEN = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "head",
        "title",
        "iframe",
        "object",
        "select",
        "textarea",
    }
)
_BLOCKS = frozenset(
    (
        "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer "
        "form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tbody tfoot thead tr ul"
    ).split()
)
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[\s\u00a0\u3000\u200b-\u200f\u2060\ufeff\u180e\x00]+")
_NOISE_NAMES = frozenset(
    (
        "share share-box share_box shares sharebox social-share bdsharebuttonbox bdshare fenxiang xglj xgwd xgxx "
        "related ewm qrcode qr-code erweima saoyisao print dayin close fontsize zihao pages-print "
        "article-share"
    ).split()
)
_NOISE_START = re.compile(
    r"^[【\[（(]?(?:扫一扫|(?:打印(?:本页|此页)?|关闭(?:窗口|本页)?|分享到?|字体|字号|返回顶部|相关链接)(?=$|[\s：:】\]）)|]))"
)
_NOISE_LENGTH = 60
_NOISE_BLOCK = 200
_MEDIA = ("img", "video", "audio", "embed")
_FILE_TYPES = frozenset("pdf doc docx xls xlsx ppt pptx wps et dps ofd ceb rtf txt csv zip rar 7z tif tiff mp4 mp3 wmv".split())
_URL_ATTRIBUTES = ("href", "src", "poster", "background", "action", "data")


def base_url(doc: HtmlElement, url: str) -> str:
    """The URL that links of the page are relative to: the first ``<base href>`` or the page's own."""
    for element in doc.iter("base"):
        href = element.get("href")
        if href:
            return resolve(url, href) or url
    return url


def collapse(text: str) -> str:
    """``text`` on one line: each run of white space, also full-width, no-break and zero-width, is one blank; ends stripped."""
    return _SPACE.sub(" ", text).strip()


def text_of(element: HtmlElement | None) -> str:
    """What a reader sees of ``element``, on one line; '' for None."""
    return "" if element is None else collapse(" ".join(_lines(element)))


def body_text(element: HtmlElement | None) -> str:
    """Plain text: one line per paragraph or table row (cells joined by `` | ``), no empty lines."""
    return "" if element is None else "\n".join(_lines(element))


def body_html(element: HtmlElement | None, base: str, encoding: str = "utf-8") -> str:
    """The inner HTML with absolute links, without scripts, styles, comments and event attributes. Not sanitised."""
    if element is None:
        return ""
    copy = deepcopy(element)
    copy.tail = None
    for node in list(copy.iter()):
        if node is copy or not isinstance(node.tag, str):
            continue
        if node.tag in ("script", "style"):
            _drop(node)
        else:
            _clean_attributes(node, base, encoding)
    for node in list(copy.iter(etree.Comment, etree.ProcessingInstruction)):
        _drop(node)
    inner = [escape(copy.text or "", quote=False)]
    inner += [etree.tostring(child, encoding="unicode", method="html") for child in copy]
    return "".join(inner).strip()


def select(doc: HtmlElement, selector: str) -> list[HtmlElement]:
    """Elements that match a CSS selector, in document order. Raises ValueError for a selector that cannot be read."""
    return cast("list[HtmlElement]", _compiled(selector)(doc))


def find_body(doc: HtmlElement, extra: Sequence[str] = ()) -> HtmlElement | None:
    """The element that holds the article: ``extra`` selectors first, then ``BODY_SELECTORS``.

    A container without text is passed over when a later one has some; one that holds only images or files is taken last.
    """
    media_only = None
    for selector in (*extra, *BODY_SELECTORS):
        for element in select(doc, selector):
            if any(_lines(element)):
                return element
            if media_only is None and has_media(element):
                media_only = element
    return media_only


def has_media(element: HtmlElement) -> bool:
    """Whether there is an image, a video or a link to a file."""
    if next(element.iter(*_MEDIA), None) is not None:
        return True
    return any(is_file_url(link.get("href") or "") for link in element.iter("a"))


def is_file_url(url: str) -> bool:
    """Whether a URL names a file rather than a page, by extension or as one of the known download scripts (0.8)."""
    low = url.lower()
    return file_extension(url.strip()) in _FILE_TYPES or bool(
        re.search(r"/(downfile|downloadfile|download)\.(jsp|do|aspx?)\b", low)
    )


def drop_noise(element: HtmlElement) -> None:
    """Remove share, print, QR code and related-link blocks (0.7) below ``element``; text after them stays."""
    for node in list(element.iterdescendants()):
        if not isinstance(node.tag, str) or node.getparent() is None:
            continue
        names = f"{node.get('class') or ''} {node.get('id') or ''}".lower().split()
        if (not _NOISE_NAMES.isdisjoint(names) and _is_small(node)) or _reads_as_noise(node):
            node.drop_tree()


class _Row:
    """A table row being read: cells that are finished and the words of the current one."""

    __slots__ = ("cells", "element", "words")

    def __init__(self, element: HtmlElement) -> None:
        self.element = element
        self.cells: list[str] = []
        self.words: list[str] = []

    def close_cell(self) -> None:
        self.cells.append(collapse("".join(self.words)))
        self.words.clear()

    def line(self) -> str:
        if collapse("".join(self.words)):
            self.close_cell()
        return collapse(" | ".join(self.cells)) if any(self.cells) else ""


def _lines(root: HtmlElement) -> Iterator[str]:
    words: list[str] = []
    row: _Row | None = None
    walker = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, node in walker:
        seen = event in ("start", "end") and (node is root or node.tag not in _UNSEEN)
        if event == "start" and not seen:
            walker.skip_subtree()
            continue
        if seen and row is None and node.tag in _BLOCKS:
            line = collapse("".join(words))
            words.clear()
            if line:
                yield line
        if event == "start":
            if row is None and node.tag == "tr" and _is_data_row(node):
                row = _Row(node)
            words_now = row.words if row else words
            if row and node.tag in _BLOCKS:
                words_now.append(" ")
            words_now.append(node.text or "")
            continue
        if seen and row is not None:
            if node.tag in _CELLS:
                row.close_cell()
            elif node is row.element:
                line = row.line()
                row = None
                if line:
                    yield line
        if seen and node.tag == "br":
            if row is None:
                line = collapse("".join(words))
                words.clear()
                if line:
                    yield line
            else:
                row.words.append(" ")
        if node is not root:
            target = row.words if row else words
            target.append(" " if seen and row and node.tag in _BLOCKS else "")
            target.append(node.tail or "")
    line = collapse("".join(words))
    if line:
        yield line


def _is_data_row(row: HtmlElement) -> bool:
    """A row with several cells and no table inside; other rows only lay the page out."""
    cells = sum(1 for child in row if child.tag in _CELLS)
    return cells > 1 and next(row.iterdescendants("table"), None) is None


def _reads_as_noise(node: HtmlElement) -> bool:
    if node.tag not in ("div", "p", "li", "ul"):
        return False
    words = collapse("".join(_first_text(node)))
    return bool(_NOISE_START.match(words)) and len(text_of(node)) <= _NOISE_LENGTH and not has_media(node)


def _is_small(node: HtmlElement) -> bool:
    """Not a block that holds the article: little text, or nearly all of it links. Some pages call the article "print"."""
    text = len(text_of(node))
    return text <= _NOISE_BLOCK or text * 3 < sum(len(text_of(link)) for link in node.iter("a")) * 4


def _first_text(node: HtmlElement) -> Iterator[str]:
    """The first words below ``node``, enough to judge how it begins."""
    length = 0
    for part in node.itertext():
        if isinstance(part, str) and part.strip():
            length += len(part)
            yield part
        if length > _NOISE_LENGTH:
            return


def _clean_attributes(node: HtmlElement, base: str, encoding: str) -> None:
    for name in list(node.attrib):
        low = name.lower()
        if low.startswith("on"):
            del node.attrib[name]
        elif low in _URL_ATTRIBUTES:
            value = node.get(name) or ""
            absolute = resolve(base, value, encoding)
            if absolute is not None:
                node.set(name, absolute)
            elif not value.strip().startswith("#") and not re.match(r"\s*(mailto|data:image/)", value, re.IGNORECASE):
                del node.attrib[name]


def _drop(node: HtmlElement) -> None:
    """Remove a node of any kind and keep the text behind it."""
    parent = node.getparent()
    if parent is None:
        return
    if node.tail:
        before = node.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + node.tail
        else:
            parent.text = (parent.text or "") + node.tail
    parent.remove(node)


@lru_cache(maxsize=256)
def _compiled(selector: str) -> CSSSelector:
    try:
        return CSSSelector(selector, translator="html")
    except SelectorError as error:
        raise ValueError(f"selector {selector!r} cannot be read: {error}") from error
