"""Which encoding a body is in, and how sure that is.

Order (fault-model H15, A3b; source-systems 0.9): byte order mark, HTTP header, meta or XML declaration, detection. Chinese
servers label loosely, so two rules stand above the labels: bytes that are valid UTF-8 with multi-byte characters are UTF-8,
and gb2312 or gbk mean gb18030. A latin-1 header is a server default, not a statement.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from charset_normalizer import from_bytes

PRESCAN_BYTES = 4096
"""How far a meta or XML declaration is looked for; the HTML standard asks for at least 1024."""

MAX_REPLACED = 0.001
"""Share of U+FFFD above which the text is suspect (H15)."""

_SAMPLE_BYTES = 262_144
_MIN_COMMON = 8
_FAR_FEWER = 3

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Python codec name -> the codec the WHATWG encoding standard reads that label with. Anything else is an unknown label: Python
# also knows codecs such as utf-7, rot13 or unicode_escape, which no web page may choose.
_READ_AS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "big5hkscs": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "cp932": "cp932",
    "euc_jp": "euc_jp",
    "iso2022_jp": "iso2022_jp",
    "euc_kr": "cp949",
    "cp949": "cp949",
    "utf-16": "utf-16-le",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    **{f"cp125{n}": f"cp125{n}" for n in range(9)},
    **{f"iso8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}
_EXTRA_LABELS = {
    "gb_2312-80": "gbk",
    "x-gbk": "gbk",
    "gb2312-80": "gbk",
    "x-sjis": "cp932",
    "x-euc-jp": "euc_jp",
    "x-big5": "big5",
}
_DETECTABLE = [
    "utf_8",
    "gb18030",
    "big5hkscs",
    "cp932",
    "euc_jp",
    "cp949",
    "cp1251",
    "cp1252",
]

_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta\b[^>]{0,300}?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)

# The characters that make up most of any official text, simplified first, then the traditional forms that differ.
_COMMON = frozenset(
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
    "十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全"
    "表间样与关各重新线内数正心反明看原又利比或但质第向道此变条只没结解问意建月公无系情者最立代已通并提直题党程展五果员位入常文总次品式"
    "活设及管特件长求基资流路级少统接知较将组计别期根论运农指几九区强放决做必先则任取据处给光门即保治造百规领七海口东导增争济思术交受联"
    "什认六共权收证改清再转更单切教安场身车例真务具万每目至达积示议声报完类八名确才科信节整元况今集许广记需段研界律究观织算持众书布复容"
    "须际商非验连断难近千周委技备半办省列约支团历市除构府称准值号率维划选标存候效院查按格易置派层专状育识适属调满县局照参细引该价严厅印"
    "來時們發學對經進實現點體開關東長門問間無業動產電種義務處報設據總統條變從後與為說過還當應該機構區廣選證國會這個將護費準關於億萬"
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text without NUL and byte order mark, the Python codec it was read with, and whether that is in doubt."""

    text: str
    encoding: str
    suspect: bool = False


def decode(body: bytes, content_type: str, url: str = "") -> Decoded:
    """Decode ``body`` by the order of this module. Never raises: bytes that fit nothing become U+FFFD and ``suspect``."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return _judged(body[len(bom) :], encoding, compare=False)
    if body.isascii() and b"\x1b" not in body:
        label = _header_label(content_type)
        if label not in ("utf-16-le", "utf-16-be"):
            return Decoded(_clean(body.decode("ascii")), label or _declared_label(body) or "utf-8")
    label = _header_label(content_type) or _declared_label(body)
    if _is_utf8_multibyte(body, label):
        return _judged(body, "utf-8", compare=False)
    if label:
        return _judged(body, label, compare=True)
    return _judged(body, _detect(body, url), compare=True)


def known_encoding(label: str) -> str | None:
    """The Python codec that a charset label of the web means, or None for a label that no page may use."""
    name = label.strip().lower()
    try:
        codec = codecs.lookup(_EXTRA_LABELS.get(name, name)).name
    except (LookupError, ValueError):
        return None
    return _READ_AS.get(codec)


def read_as(body: bytes, encoding: str) -> str:
    """``body`` in ``encoding``, wrong bytes as U+FFFD; the lone byte 0x80 is the euro sign of GBK."""
    if encoding == "gb18030" and b"\x80" in body:
        return body.decode(encoding, "govcrawler-gbk")
    return body.decode(encoding, "replace")


def _gbk_errors(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    euro = error.object[error.start] == 0x80
    return ("€", error.start + 1) if euro else ("\ufffd", error.end)


codecs.register_error("govcrawler-gbk", _gbk_errors)


def _header_label(content_type: str) -> str | None:
    match = _HEADER_CHARSET.search(content_type)
    encoding = known_encoding(match.group(1)) if match else None
    return None if encoding == "cp1252" and match and "125" not in match.group(1) else encoding


def _declared_label(body: bytes) -> str | None:
    head = _COMMENT.sub(b"", body[:PRESCAN_BYTES])
    for match in (_XML_ENCODING.search(head), _META_CHARSET.search(head)):
        encoding = known_encoding(match.group(1).decode("ascii", "replace")) if match else None
        if encoding:
            # A declaration that could be read byte by byte is not in UTF-16 (HTML standard, "prescan").
            return "utf-8" if encoding.startswith("utf-16") else encoding
    return None


def _is_utf8_multibyte(body: bytes, label: str | None) -> bool:
    """Valid UTF-8 with multi-byte characters; a handful of two-byte ones can be GBK ("联通"), so there the label decides."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    if text.isascii():
        return False
    short_forms_only = not any(char > "\u07ff" for char in text)
    return not (short_forms_only and label == "gb18030")


def _detect(body: bytes, url: str) -> str:
    """Detection on the whole body; on .cn hosts gb18030 is tried first (stack.md, charset detection)."""
    if _is_cn_host(url):
        text = read_as(body, "gb18030")
        if text.count("\ufffd") <= MAX_REPLACED * len(text):
            return "gb18030"
    best = from_bytes(body, cp_isolation=_DETECTABLE).best()
    found = known_encoding(best.encoding) if best is not None else None
    return found or "utf-8"


def _is_cn_host(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host.rstrip(".").endswith(".cn")


def _judged(body: bytes, encoding: str, *, compare: bool) -> Decoded:
    text = read_as(body, encoding)
    suspect = text.count("\ufffd") > MAX_REPLACED * len(text)
    if compare and not suspect:
        suspect = _another_reads_better(body[:_SAMPLE_BYTES], encoding)
    return Decoded(_clean(text), encoding, suspect)


def _another_reads_better(sample: bytes, encoding: str) -> bool:
    own = _common_characters(read_as(sample, encoding))
    others = (name for name in ("utf-8", "gb18030", "big5hkscs") if name != encoding)
    best = max(_common_characters(read_as(sample, name)) for name in others)
    return best >= _MIN_COMMON and best > _FAR_FEWER * own


def _common_characters(text: str) -> int:
    return sum(map(_COMMON.__contains__, text))


def _clean(text: str) -> str:
    return text.replace("\0", "")
