"""File names that come from pages and headers: cleaned for display, never used as a path (fault-model C5, C8)."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote_to_bytes

from sources.parsing.charset import known_encoding

MAX_NAME_BYTES = 255

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}$")
_PARAMETER = re.compile(
    rb";\s*([A-Za-z0-9!#$&+\-.^_`|~]+\*?)\s*=\s*(\"(?:[^\"\\]|\\.)*\"?|[^;]*)",
    re.DOTALL,
)
_HIGH_ESCAPE = re.compile(rb"%[89A-Fa-f][0-9A-Fa-f]")
_EXTENDED = re.compile(rb"([^']*)'[^']*'(.*)", re.DOTALL)


def safe_display_name(name: str) -> str:
    """``name`` without path, control and direction characters, at most 255 bytes of UTF-8, the extension kept; may be ''.

    Names that Windows reserves get an underscore in front, trailing dots and blanks go.
    """
    visible = "".join(" " if char in "\t\r\n" else char for char in name if char in "\t\r\n" or not _is_unseen(char))
    last = re.split(r"[/\\]", visible)[-1]
    tidy = " ".join(last.split()).strip(" .") if not last.startswith(".") else " ".join(last.split()).rstrip(" .")
    if _RESERVED.match(tidy):
        tidy = f"_{tidy}"
    return _cut(tidy)


def filename_from_content_disposition(value: str | bytes) -> str | None:
    """The file name in a Content-Disposition header, not yet cleaned; None when there is none that can be read.

    RFC 6266: ``filename*`` first, else ``filename``. Raw bytes are tried as UTF-8, then as gb18030; a str is taken for the
    latin-1 reading of the bytes when it can be one. Escapes of non-ASCII bytes in ``filename`` are decoded as browsers do.
    """
    raw = value if isinstance(value, bytes) else _header_bytes(value)
    parameters: dict[bytes, bytes] = {}
    for match in _PARAMETER.finditer(b";" + raw if raw.lstrip().lower().startswith(b"filename") else raw):
        parameters.setdefault(match.group(1).lower(), match.group(2).strip())
    name = _extended_value(parameters.get(b"filename*", b""))
    if name is None:
        name = _plain_value(parameters.get(b"filename", b""))
    return name or None


def _is_unseen(char: str) -> bool:
    """Control, format (which holds the bidi overrides) and surrogate characters."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co")


def _cut(name: str) -> str:
    if len(name.encode("utf-8")) <= MAX_NAME_BYTES:
        return name
    match = _EXTENSION.search(name)
    extension = match.group() if match else ""
    stem = name[: len(name) - len(extension)].encode("utf-8")[: MAX_NAME_BYTES - len(extension)]
    return stem.decode("utf-8", "ignore").rstrip(" .") + extension


def _header_bytes(value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")


def _extended_value(value: bytes) -> str | None:
    """RFC 5987: charset'language'escapes; None when broken, so that ``filename`` is used."""
    match = _EXTENDED.fullmatch(value.strip(b'"'))
    if not match:
        return None
    encoding = known_encoding(match.group(1).decode("ascii", "replace"))
    if encoding is None:
        return None
    try:
        return unquote_to_bytes(match.group(2)).decode(encoding) or None
    except UnicodeDecodeError:
        return None


def _plain_value(value: bytes) -> str | None:
    if value.startswith(b'"'):
        value = re.sub(rb"\\(.)", rb"\1", value[1:].removesuffix(b'"'), flags=re.DOTALL)
    if _HIGH_ESCAPE.search(value):
        value = unquote_to_bytes(value)
    for encoding in ("utf-8", "gb18030"):
        try:
            return value.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None
