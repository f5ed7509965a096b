"""Pagers of static list pages: how many pages there are and what the others are called (source-systems 0.2).

One number decides between the forms: whether ``index_1`` is page 2 (zero-based) or page 1 again (one-based). It is read from
the call's shape, never guessed from a link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from math import ceil
from urllib.parse import urlsplit, urlunsplit

_CALL = re.compile(r"\bcreatePage(?:HTML)?\s*\(([^()]*)\)", re.IGNORECASE)
_ARGUMENT = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^,\s][^,]*)")
_COUNT_PAGE = re.compile(r"\bcountPage\s*=\s*[\"']?(\d+)")
_PAGE_ID = re.compile(r"\bindex_(\d+)_\d+\.(s?html?)\b", re.IGNORECASE)
_PAGINATION = re.compile(r"\.pagination\s*\(\s*\{(.{0,2000}?)\}", re.DOTALL)
_CLIENT_SIDE = re.compile(r"\bvar\s+pageSize\s*=\s*\d+")
_PAGES_TEXT = re.compile(r"共\s*(?:<[^>]{0,200}>\s*)*(\d{1,6})\s*(?:<[^>]{0,200}>\s*)*页")
_NUMBERED = re.compile(r"^(.*?)_\d+$")
MAX_PAGES = 100_000
_MAX_CALLS = 50


@dataclass(frozen=True, slots=True)
class Pager:
    """A pager that was recognised.

    ``pattern`` is the URL of a page with ``{n}`` for its number; page ``p`` (from 1) has the number ``p + offset``. Page 1 is
    ``first_url`` when that is set. ``pages`` is what the source declares.
    """

    form: str
    pages: int
    pattern: str
    offset: int
    first_url: str
    total: int | None = None

    def page_url(self, page: int) -> str:
        """URL of list page ``page``, counted from 1. Raises ValueError for pages below 1."""
        if page < 1:
            raise ValueError(f"list pages count from 1, not {page}")
        if page == 1 or not self.pattern:
            return self.first_url
        return self.pattern.replace("{n}", str(page + self.offset))

    def page_of(self, url: str) -> int:
        """Which list page (from 1) ``url`` is; 1 for any other URL, as the first page goes by several names."""
        head, _, tail = self.pattern.partition("{n}")
        match = re.fullmatch(rf"{re.escape(head)}(\d+){re.escape(tail)}", url) if self.pattern else None
        return max(int(match[1]) - self.offset, 1) if match else 1


def find_pager(html_text: str, url: str, page: int) -> Pager | None:
    """The pager of list page ``page`` at ``url``; None when the page has none that is known.

    ``url`` may be the column's folder (ending in ``/``), its ``index.html`` or any later page; ``page`` counts from 1.
    """
    named = _create_page(html_text, url, page)
    if named is not None:
        return named
    for reader in (_count_page, _pagination, _client_side, _pages_text):
        pager = reader(html_text, url)
        if pager is not None:
            return pager
    return None


def _create_page(text: str, url: str, page: int) -> Pager | None:
    for call in islice(_CALL.finditer(text), _MAX_CALLS):
        if _is_commented_out(text, call.start()):
            continue
        arguments = [(m[1] or m[2] or m[3] or "").strip() for m in _ARGUMENT.finditer(call[1])]
        numbers = [int(item) if item.isascii() and item.isdigit() else None for item in arguments]
        pager = _from_call(arguments, numbers, "html" in call[0][:15].lower(), url, page)
        if pager is not None:
            return pager
    return None


def _from_call(arguments: list[str], numbers: list[int | None], html: bool, url: str, page: int) -> Pager | None:
    if len(arguments) >= 5 and numbers[0] is None and numbers[1] is not None and numbers[2] is not None:
        total = numbers[5] if len(numbers) > 5 else None
        return _named("createPageHTML6", url, numbers[1], arguments[3], arguments[4], offset=0, total=total)
    if len(arguments) >= 5 and None not in numbers[:3]:
        offset = _offset(numbers[2], arguments[3], url, page)
        return _named("createPageHTML3n", url, numbers[1] or 0, arguments[3], arguments[4], offset=offset, total=numbers[0])
    if len(arguments) >= 4 and None not in numbers[:2]:
        form = "createPageHTML" if html else "createPage"
        offset = _offset(numbers[1], arguments[2], url, page)
        return _named(form, url, numbers[0] or 0, arguments[2], arguments[3], offset=offset)
    return None


def _offset(current: int | None, stem: str, url: str, page: int) -> int:
    """-1, as these calls count from zero, unless the page contradicts it: the first one says 1, or ``index_2`` is page 2."""
    _, name, _ = _split(url)
    if name in ("", stem):
        return 0 if current == 1 else -1
    return 0 if current == page and name == f"{stem}_{page}" else -1


def _is_commented_out(text: str, position: int) -> bool:
    """Behind ``//`` on its line, or in an HTML comment that does not merely wrap a script for browsers of old."""
    line = text[max(text.rfind("\n", 0, position) + 1, position - 200) : position]
    if re.search(r"(?<![:\"'])//[^\"'<>]*$", line):
        return True
    opened = text.rfind("<!--", 0, position)
    if opened <= text.rfind("-->", 0, position):
        return False
    return text.rfind("<script", 0, opened) <= text.rfind("</script", 0, opened)


def _named(
    form: str,
    url: str,
    pages: int,
    stem: str,
    extension: str,
    *,
    offset: int,
    total: int | None = None,
) -> Pager | None:
    if not 0 <= pages <= MAX_PAGES or not re.fullmatch(r"[\w.\-]+", stem) or not re.fullmatch(r"\.?\w{2,6}", extension):
        return None
    folder, name, _ = _split(url)
    extension = extension.lstrip(".")
    bare = name == "" or name == stem
    first = f"{folder}{stem}.{extension}" if not bare else url
    return Pager(form, max(pages, 1), f"{folder}{stem}_{{n}}.{extension}", offset, first, total)


def _count_page(text: str, url: str) -> Pager | None:
    count = _COUNT_PAGE.search(text)
    if not count or int(count[1]) > MAX_PAGES:
        return None
    folder, name, extension = _split(url)
    page_id = _PAGE_ID.search(text) or _PAGE_ID.search(url)
    if page_id:
        pattern, extension = (
            f"{folder}index_{page_id[1]}_{{n}}.{page_id[2]}",
            page_id[2],
        )
    else:
        pattern = f"{folder}index_{{n}}.{extension or 'html'}"
    first = url if not _NUMBERED.match(name) else f"{folder}index.{extension or 'html'}"
    return Pager("countPage", max(int(count[1]), 1), pattern, -1, first)


def _pagination(text: str, url: str) -> Pager | None:
    call = _PAGINATION.search(text)
    if not call:
        return None
    options = call[1]
    total, shown, pages = (_option(options, name) for name in ("totalData", "showData", "totalPage"))
    folder, name, extension = _split(url)
    named = re.search(r"\bpageName\s*:\s*[\"']([\w\-]+)[\"']", options)
    stem = named[1] if named else ("index_pc" if pages is None else "index")
    if pages is None and total is not None and shown:
        pages, form = ceil(total / shown), "totalData"
    else:
        form = "totalPage"
    if pages is None or pages > MAX_PAGES:
        return None
    extension = extension or "html"
    first = f"{folder}{stem}_1.{extension}" if form == "totalData" else f"{folder}{stem}.{extension}"
    if not _NUMBERED.match(name):
        first = url
    return Pager(form, max(pages, 1), f"{folder}{stem}_{{n}}.{extension}", 0, first, total)


def _client_side(text: str, url: str) -> Pager | None:
    """Every row is in the page and a script slices it; only when nothing else pages."""
    return Pager("client", 1, "", 0, url) if _CLIENT_SIDE.search(text) else None


def _pages_text(text: str, url: str) -> Pager | None:
    """ "共 N 页" gives a count but no name; only a lone page is certain, so more pages keep an empty pattern."""
    match = _PAGES_TEXT.search(text)
    return Pager("text", max(int(match[1]), 1), "", 0, url) if match and int(match[1]) <= MAX_PAGES else None


def _option(options: str, name: str) -> int | None:
    match = re.search(rf"\b{name}\s*:\s*[\"']?(\d+)", options)
    return int(match[1]) if match else None


def _split(url: str) -> tuple[str, str, str]:
    """Folder with its slash, file name without extension, extension."""
    parts = urlsplit(url)
    folder, _, file = parts.path.rpartition("/")
    name, _, extension = file.rpartition(".") if "." in file else (file, "", "")
    return (
        urlunsplit((parts.scheme, parts.netloc, f"{folder}/", "", "")),
        name,
        extension,
    )
