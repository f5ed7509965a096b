"""What a page says about its article: metadata table, meta tags and the source line (source-systems 0.4 to 0.6).

Values are cleaned, never invented, and dates are not substituted for one another: 成文日期 (signed), 发布日期 (published).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from lxml.html import HtmlElement

from sources.parsing.dates import PartialDate, find_date, parse_date
from sources.parsing.html import collapse, text_of

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "index_no": ("索引号", "信息索引", "信息索引号", "索引编号", "索取号"),
    "open_category": (
        "主题分类",
        "分类",
        "信息分类",
        "公开类别",
        "组配分类",
        "体裁分类",
    ),
    "publisher": (
        "发文机关",
        "发文机构",
        "制发机关",
        "发文单位",
        "发布机构",
        "发布机关",
        "公开机构",
        "发布单位",
        "信息来源",
        "来源",
    ),
    "written_on": (
        "成文日期",
        "生成日期",
        "发文日期",
        "成文时间",
        "生成时间",
        "签发日期",
    ),
    "title": ("标题", "名称", "信息名称", "文件名称"),
    "doc_no": ("发文字号", "文号", "文件编号", "文件号", "公文文号", "发文文号"),
    "published_on": ("发布日期", "发布时间", "公开日期", "公布日期", "发布日"),
    "topic_words": ("主题词", "关键词"),
    "validity": ("有效性", "时效", "时效性", "效力状态", "是否有效", "信息有效性"),
    "effective_on": ("实施日期", "生效日期", "施行日期", "生效时间", "实施时间"),
    "expiry_on": ("废止日期", "失效日期", "失效时间", "废止时间", "有效期至"),
}
"""Field -> labels that mean it, the preferred one first (0.5); all white space is taken out before comparing."""

PLACEHOLDERS = frozenset({"", "无", "null", "undefined", "none", "暂无", "-", "--", "—", "/", "nil", "n/a"})

_LABELS = frozenset(label for labels in SYNONYMS.values() for label in labels)
_VALID = frozenset({"有效", "现行有效", "是", "现行", "继续有效"})
_INVALID = frozenset({"失效", "废止", "已废止", "已失效", "全文失效", "全文废止", "否", "无效"})
_META_PLACEHOLDERS = frozenset(
    {
        "网站名称",
        "栏目名称",
        "文章标题",
        "标题",
        "来源",
        "关键词",
        "站点名称",
        "信息标题",
        "网站域名",
    }
)
_BRACKETS = "〔\\[［（(【〖"
_CLOSING = "〕\\]］）)】〗"
_DOC_NO = re.compile(
    rf"[\u4e00-\u9fff]{{1,20}}[{_BRACKETS}]\s*(?:19|20)\d{{2}}\s*[{_CLOSING}]\s*(?:第\s*)?\d{{1,5}}\s*号"
    r"|[\u4e00-\u9fff]{0,20}令?[（(]?第\s*\d{1,5}\s*号[）)]?令?|公告\s*(?:19|20)\d{2}\s*年\s*第\s*\d{1,5}\s*号"
)
_YEAR_NUMBER = re.compile(rf"[{_BRACKETS}]\s*(?:19|20)\d{{2}}\s*[{_CLOSING}]\s*(?:第\s*)?\d{{1,5}}\s*号")
_TITLE_BRACKET = re.compile(r"[（(]([^（）()]*(?:[（(][^（）()]*[）)][^（）()]*)*)[）)]\s*$")
_LABEL_VALUE = re.compile(r"^\s*([^：:]{2,14})\s*[：:]\s*(.*)$", re.DOTALL)
_SOURCE = re.compile(r"(?:信息来源|文章来源|稿件来源|来\s*源)\s*[：:]\s*([^\n|【\[]{0,80})")
# A bare 时间 or 日期 counts only as a label of its own: 生成日期, 实施日期 and the like are other dates.
_PUBLISHED = re.compile(r"(?:发布时间|发布日期|发表时间|公开日期|(?<!\w)时\s*间|(?<!\w)日\s*期)\s*[：:]\s*([^\n]{0,40})")
_NEXT_LABEL = re.compile(r"\s+\S{0,8}[：:]|\s{2,}|(?:发布|成文|公开|更新)?(?:日期|时间)\s*[：:]|字体|字号|浏览|打印|分享|作者")
_MAX_LABEL = 14
_MAX_SOURCE_TEXT = 400


@dataclass(frozen=True, slots=True)
class Metadata:
    """``fields``: standard name -> cleaned value, only what the page states; ``raw``: all label -> value pairs."""

    fields: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """The value of a standard field, '' when the page does not state it. Raises KeyError for an unknown field name."""
        return self.fields.get(name, "") if name in SYNONYMS else self.fields[name]

    def date(self, name: str, seen_on: datetime | None = None) -> PartialDate | None:
        """A date field as far as it is stated, e.g. ``date("written_on")``."""
        value = self[name]
        return (parse_date(value, seen_on=seen_on) or find_date(value, seen_on=seen_on)) if value else None

    @property
    def is_effective(self) -> bool | None:
        return validity(self["validity"])


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The line under a title: ``发布时间：... 来源：...``; texts as shown, '' when absent."""

    published: str = ""
    source: str = ""


def collect_metadata(doc: HtmlElement, body: HtmlElement | None = None) -> Metadata:
    """Label and value pairs of tables, definition lists, list items and div grids below ``doc``.

    Only blocks that hold at least one known label count. What lies inside ``body`` counts only when nothing outside of it
    does: tables of an article have columns called 名称 and 分类 too.
    """
    inside = frozenset() if body is None else frozenset(body.iter())
    raw = _pairs(doc, inside)
    return from_pairs(raw or _pairs(doc, frozenset()))


def _pairs(doc: HtmlElement, inside: frozenset[HtmlElement]) -> dict[str, str]:
    raw: dict[str, str] = {}
    for pairs in (_table_pairs(doc, inside), _definition_pairs(doc, inside), _item_pairs(doc, inside)):
        for label, value in pairs:
            if not raw.get(label):
                raw[label] = value
    return raw


def from_pairs(raw: Mapping[str, str]) -> Metadata:
    """Standard fields out of label and value pairs that were found otherwise (an API, a list row)."""
    fields: dict[str, str] = {}
    for name, labels in SYNONYMS.items():
        value = next(
            (value for label in labels if (value := clean_value(raw.get(label, "")))),
            "",
        )
        if value:
            fields[name] = clean_doc_no(value) if name == "doc_no" else value
    return Metadata({name: value for name, value in fields.items() if value}, dict(raw))


def normal_label(text: str) -> str:
    """A label without white space and without its colon: ``索 引 号：`` is ``索引号``."""
    return "".join(collapse(text).split()).strip("：:【】[]")


def clean_value(value: str | None) -> str:
    """``value`` on one line, '' for the placeholders of empty fields (无, null, undefined ...)."""
    tidy = collapse(value or "")
    return "" if tidy.lower() in PLACEHOLDERS else tidy


def validity(text: str) -> bool | None:
    """True for 有效 and 现行有效, False for 失效 and 废止, None for anything else: a word in doubt is no statement."""
    word = normal_label(text)
    return True if word in _VALID else False if word in _INVALID else None


def clean_doc_no(value: str) -> str:
    """A document number as written, without the blanks and the outer brackets that pages put around it."""
    tidy = clean_value(value)
    if tidy and len(tidy) > 2 and tidy[0] in "（(" and tidy[-1] in "）)" and not _YEAR_NUMBER.match(tidy):
        tidy = tidy[1:-1].strip()
    return re.sub(rf"\s*([{_BRACKETS}])\s*(\d{{4}})\s*([{_CLOSING}])\s*", r"\1\2\3", tidy)


def doc_no_in_title(title: str) -> str:
    """The document number that a title carries in brackets at its end, '' when there is none."""
    match = _TITLE_BRACKET.search(title)
    if not match:
        return ""
    found = _DOC_NO.fullmatch(collapse(match[1]))
    return clean_doc_no(found[0]) if found else ""


def find_doc_no(text: str) -> str:
    """The document number if ``text`` is one, '' otherwise; for list cells and the lines above a body."""
    tidy = clean_value(text).strip("　 ")
    return clean_doc_no(tidy) if _DOC_NO.fullmatch(tidy) else ""


def meta_tags(doc: HtmlElement) -> dict[str, str]:
    """Named meta tags, names in lower case, placeholder values of site templates left out (0.6). Authors are left out."""
    found: dict[str, str] = {}
    for element in doc.iter("meta"):
        name = collapse(element.get("name") or "").lower()
        value = clean_value(element.get("content"))
        if name and name != "author" and value and value not in _META_PLACEHOLDERS and name not in found:
            found[name] = value
    return found


def meta_published(tags: Mapping[str, str], seen_on: datetime | None = None) -> PartialDate | None:
    """``PubDate`` (or ``publishdate``, ``firstpublishedtime``) as far as it can be trusted.

    Some templates print it with a 12-hour clock and no AM or PM (0.6): when another tag or its own form does not settle the
    half of the day, callers compare it with the page's own line through ``trust_clock``.
    """
    for name in ("pubdate", "firstpublishedtime", "publishdate"):
        found = parse_date(tags.get(name, ""), seen_on=seen_on)
        if found:
            return found
    return None


def trust_clock(meta: PartialDate, shown: PartialDate | None) -> PartialDate:
    """``meta`` with its time, or only its day when the page shows the same day twelve hours later: a 12-hour clock."""
    if meta.time is None or shown is None or shown.time is None or shown.date != meta.date:
        return meta
    if shown.time.minute == meta.time.minute and abs(shown.time.hour - meta.time.hour) == 12:
        return PartialDate(meta.year, meta.month, meta.day, None, "day")
    return meta


def source_line(doc: HtmlElement) -> SourceLine:
    """``发布时间：... 来源：...`` from the first short block that has one of them."""
    published = source = ""
    for element in doc.iter("div", "p", "span", "li", "td", "h2", "h3", "h4", "em", "i", "font"):
        text = _short_text(element)
        if not text or ("：" not in text and ":" not in text):
            continue
        if not source and (match := _SOURCE.search(text)):
            source = clean_value(_NEXT_LABEL.split(match[1].strip())[0])
        if not published and (match := _PUBLISHED.search(text)) and find_date(match[1]):
            published = collapse(match[1])
        if published and source:
            break
    return SourceLine(published, source)


def _short_text(element: HtmlElement) -> str:
    """The text of an element that is too short to be a body, with blanks kept; '' otherwise."""
    parts: list[str] = []
    length = 0
    for part in element.itertext():
        length += len(part)
        if length > _MAX_SOURCE_TEXT:
            return ""
        parts.append(part)
    return "".join(parts).replace("\u3000", "  ").replace("\u00a0", " ").strip()


def _table_pairs(doc: HtmlElement, inside: frozenset[HtmlElement]) -> Iterator[tuple[str, str]]:
    """Rows of 2, 4 or 6 cells, label and value by turns, of the tables that hold a known label."""
    for row in doc.iter("tr"):
        if row in inside:
            continue
        cells = [text_of(cell) for cell in row if cell.tag in ("td", "th")]
        if len(cells) in (2, 4, 6):
            yield from _known(zip(cells[::2], cells[1::2], strict=True))
        elif cells and len(cells) <= 6:
            yield from _known(pair for cell in cells if (pair := _split_pair(cell)))


def _definition_pairs(doc: HtmlElement, inside: frozenset[HtmlElement]) -> Iterator[tuple[str, str]]:
    for block in doc.iter("dl"):
        if block in inside:
            continue
        items = [child for child in block if child.tag in ("dt", "dd")]
        pairs = [(text_of(one), text_of(two)) for one, two in pairwise(items) if (one.tag, two.tag) == ("dt", "dd")]
        yield from _known(pairs or [pair for item in items if (pair := _split_pair(text_of(item)))])


def _item_pairs(doc: HtmlElement, inside: frozenset[HtmlElement]) -> Iterator[tuple[str, str]]:
    """``<li>label：value</li>`` and grids of div or span pairs."""
    for element in doc.iter("li", "div", "p", "span", "h3"):
        if element in inside:
            continue
        text = collapse(_short_text(element))
        if not text or len(text) > 300:
            continue
        children = [child for child in element if isinstance(child.tag, str) and child.tag != "br"]
        if len(children) == 2 and not collapse(element.text or ""):
            yield from _known([(text_of(children[0]), text_of(children[1]))])
        if element.tag == "li" or len(children) <= 2:
            pair = _split_pair(text)
            if pair and not _holds_more_labels(pair[1]):
                yield from _known([pair])


def _split_pair(text: str) -> tuple[str, str] | None:
    match = _LABEL_VALUE.match(text)
    return (match[1], match[2]) if match else None


def _holds_more_labels(value: str) -> bool:
    """``发布时间：... 来源：...`` is a source line, not one pair."""
    return any(f"{label}：" in value or f"{label}:" in value for label in _LABELS)


def _known(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs of a block in which one label at least is known; the unknown ones come along only when they look like labels."""
    found = [(normal_label(label), label, collapse(value)) for label, value in pairs]
    if not any(name in _LABELS for name, _, _ in found):
        return
    for name, label, value in found:
        if name in _LABELS or (0 < len(name) <= _MAX_LABEL and collapse(label).endswith(("：", ":"))):
            yield name, value
