"""What a page shows at first sight, whatever its layout: how much text, how many links, is it a shell or an article.

Adapters and the classifier judge "blocked or changed" by these signs alone; texts of known walls are data of the classifier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from lxml.html import HtmlElement

from sources.parsing.html import collapse, is_file_url, parse_document, text_of

SHELL_TEXT_MAX = 20
"""A page that shows fewer characters than this carries no content in its markup."""

_HAN = re.compile(r"[\u4e00-\u9fff]|\\u[4-9][0-9a-fA-F]{3}")
_HAN_IN_SCRIPT_MIN = 12  # a message box has fewer, a column tree or a list of rows has more
_DAY = re.compile(r"(?:19|20)\d{2}\s*[-/.年]\s*\d{1,2}\s*[-/.月]\s*\d{1,2}")
_ARTICLE_META = frozenset({"articletitle", "pubdate"})
_REFRESH = re.compile(r"""^\s*[\d.]*\s*[;,]\s*url\s*=\s*['"]?([^'"]+)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageSigns:
    """``text`` is what a reader sees, white space collapsed. ``link_chars`` of it stand in ``links`` links to pages."""

    title: str
    text: str
    links: int
    link_chars: int
    scripts: int
    content_in_script: bool
    frames: tuple[str, ...]
    password_fields: int
    refresh_to: str
    article_meta: bool

    @property
    def article_evidence(self) -> bool:
        """Article meta tags, a full date in the text, or content that a script carries."""
        return self.article_meta or self.content_in_script or bool(_DAY.search(self.text))

    @property
    def is_shell(self) -> bool:
        """Scripts or frames only: nothing to read in the markup and no content in the inline scripts."""
        bare = len(self.text) < SHELL_TEXT_MAX and not self.content_in_script and not self.refresh_to
        return bare and (self.scripts > 0 or bool(self.frames))


def read_signs(source: str) -> PageSigns:
    """The signs of an HTML page. A text without any markup is all visible text."""
    root = parse_document(source)
    links = [link for link in root.iter("a") if _is_page_link(link.get("href") or "")]
    scripts = list(root.iter("script"))
    metas = list(root.iter("meta"))
    return PageSigns(
        title=collapse(root.findtext(".//title") or ""),
        text=text_of(root),
        links=len(links),
        link_chars=sum(len("".join("".join(link.itertext()).split())) for link in links),
        scripts=len(scripts),
        content_in_script=any(_has_content(script.text or "") for script in scripts),
        frames=tuple(frame.get("src") or "" for frame in root.iter("iframe", "frame") if frame.get("src")),
        password_fields=sum((field.get("type") or "").lower() == "password" for field in root.iter("input")),
        refresh_to=next(filter(None, (_refresh(meta) for meta in metas)), ""),
        article_meta=any((meta.get("name") or "").lower() in _ARTICLE_META and meta.get("content") for meta in metas),
    )


def looks_blocked(source: str) -> bool:
    """Whether the page is a shell that only a browser could fill, as challenge pages are."""
    return not source.strip() or read_signs(source).is_shell


def _has_content(script: str) -> bool:
    found = islice(_HAN.finditer(script), _HAN_IN_SCRIPT_MIN)
    return sum(1 for _ in found) == _HAN_IN_SCRIPT_MIN


def _is_page_link(href: str) -> bool:
    return bool(href) and not href.startswith(("#", "javascript:", "mailto:", "tel:")) and not is_file_url(href)


def _refresh(meta: HtmlElement) -> str:
    if (meta.get("http-equiv") or "").lower() != "refresh":
        return ""
    found = _REFRESH.match(meta.get("content") or "")
    return found.group(1).strip() if found else ""
