"""Dates as Chinese government pages write them (source-systems 0.3, fault-model C4).

Nothing is invented: a part that the text does not state stays None and ``precision`` says how much there was. General date
libraries miss or make up exactly these forms, so this parser is the only one. Times are China time unless the text says
otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

CHINA = ZoneInfo("Asia/Shanghai")
TAIPEI = ZoneInfo("Asia/Taipei")

DatePrecision = Literal["year", "month", "day", "minute", "second"]

FUTURE_TOLERANCE = timedelta(days=2)
"""A date later than this after the page was seen is a mistake of the page, not a date."""

_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_ROC_OFFSET = 1911
_MILLISECONDS_FROM = 100_000_000_000

_HALF_DAY = r"(?P<half>上午|下午|中午|凌晨|早上|早晨|晚上|晚间|傍晚|AM|PM)?"
_CLOCK = (
    rf"(?:[\s,T\-]{{0,3}}{_HALF_DAY}\s?(?P<h>\d{{1,2}})\s?(?::|时|點|点)\s?(?P<mi>\d{{1,2}})?"
    r"\s?分?(?:\s?:?\s?(?P<s>\d{2})秒?)?(?:\.\d{1,9})?\s?(?P<half2>AM|PM)?\s?(?P<zone>Z|[+\-]\d{2}:?\d{2})?(?!\d))?"
)
_BEFORE = r"(?<![\d/.])(?<!\d-)"
_AFTER_DAY = r"(?!\d)"
_NUMERIC_DAY = re.compile(
    rf"{_BEFORE}(?P<y>\d{{4}})\s*(?P<sep>[-/.])\s*(?P<m>\d{{1,2}})\s*(?P=sep)\s*(?P<d>\d{{1,2}}){_AFTER_DAY}{_CLOCK}",
    re.IGNORECASE,
)
_WORD_DAY = re.compile(
    rf"(?<!\d)(?P<y>\d{{4}})\s*年\s*(?P<m>\d{{1,2}})\s*月\s*(?P<d>\d{{1,2}})\s*(?:日|号|號|(?!\d)){_CLOCK}",
    re.IGNORECASE,
)
_WORD_MONTH = re.compile(r"(?<!\d)(?P<y>\d{4})\s*年\s*(?P<m>\d{1,2})\s*月(?:份)?(?!\s*\d)")
_NUMERIC_MONTH = re.compile(rf"{_BEFORE}(?P<y>\d{{4}})\s*[-/.]\s*(?P<m>\d{{1,2}})(?!\s*[-/.]?\s*\d)")
_WORD_YEAR = re.compile(r"(?<!\d)(?P<y>\d{4})\s*年?")
_COMPACT = re.compile(r"(?<!\d)(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?:(?P<h>\d{2})(?P<mi>\d{2})(?P<s>\d{2}))?(?!\d)")
_NO_YEAR = re.compile(
    rf"(?<![\d年/.\-])(?P<m>\d{{1,2}})(?:\s*[-/.]\s*(?P<d>\d{{1,2}})(?![\d/.\-])|\s*月\s*(?P<d2>\d{{1,2}})\s*[日号])(?!\d){_CLOCK}",
    re.IGNORECASE,
)
# Inside a text, "1/2" is more often a page count: only two digits each, or the words.
_NO_YEAR_INSIDE = re.compile(
    rf"(?<![\d年/.\-])(?P<m>\d{{1,2}})(?:(?<=\d\d)[-/.](?P<d>\d{{2}})(?![\d/.\-])|\s*月\s*(?P<d2>\d{{1,2}})\s*[日号])(?!\d){_CLOCK}",
    re.IGNORECASE,
)
_ROC = re.compile(
    r"(?:中華民國|中华民国|民國|民国)?\s*(?P<y>\d{2,3})\s*(?:年|[-/.])\s*(?P<m>\d{1,2})\s*(?:月|[-/.])\s*(?P<d>\d{1,2})\s*日?(?!\d)"
)
_ROC_COMPACT = re.compile(r"(?P<y>\d{2,3})(?P<m>\d{2})(?P<d>\d{2})")

_CN_DIGITS = {
    **{char: str(n) for n, char in enumerate("〇一二三四五六七八九")},
    "零": "0",
    "○": "0",
    "О": "0",
    "O": "0",
    "0": "0",
}
_CN_YEAR = r"[一二][〇○零OО0一二三四五六七八九]{3}"
_CN_NUMBER = r"(?:[一二三]?十[一二三四五六七八九]?|廿[一二三四五六七八九]?|卅一?|[一二三四五六七八九])"
_CN_DATE = re.compile(rf"({_CN_YEAR})\s*年(?:\s*({_CN_NUMBER})\s*月(?:\s*({_CN_NUMBER})\s*[日号])?)?")
_WEEKDAY = re.compile(r"[(（]?(?:星期|周|週)[一二三四五六日天][)）]?")
_WRAPPING = " []()（）【】〔〕「」<>《》:;,，。、|"
_FULL_WIDTH: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, "\u3000\u00a0\u200b\u200c\u200d\ufeff"), " "),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
}


@dataclass(frozen=True, slots=True)
class PartialDate:
    """What a text states of a date. ``time`` is wall-clock time of the source; ``offset`` is set only when the text gives one.

    ``year_inferred``: the text had no year and the latest fitting one was taken.
    """

    year: int
    month: int | None = None
    day: int | None = None
    time: time | None = None
    precision: DatePrecision = "year"
    year_inferred: bool = False
    offset: timedelta | None = None

    @property
    def date(self) -> date | None:
        """The calendar day in the source's own zone, None unless the day is known."""
        return None if self.month is None or self.day is None else date(self.year, self.month, self.day)

    @property
    def iso(self) -> str:
        """What is known in ISO form: ``2024``, ``2024-03``, ``2024-03-15``, ``2024-03-15T16:30``, ``2024-03-15T16:30:05``."""
        text = "-".join([f"{self.year:04}", *(f"{part:02}" for part in (self.month, self.day) if part is not None)])
        if self.time is None:
            return text
        return f"{text}T{self.time.isoformat('seconds' if self.precision == 'second' else 'minutes')}"

    def utc(self, zone: tzinfo = CHINA) -> datetime | None:
        """The moment in UTC, midnight of ``zone`` when no time is known; None unless the day is known."""
        day = self.date
        if day is None:
            return None
        stated = timezone(self.offset) if self.offset is not None else zone
        return datetime.combine(day, self.time or time(), stated).astimezone(UTC)


def parse_date(text: str, *, seen_on: datetime | None = None) -> PartialDate | None:
    """The date that ``text`` is, or None when it is none, an impossible one, or later than ``seen_on`` plus two days.

    ``seen_on`` (aware) also supplies the year of forms such as ``03-15``: the latest such day not after it.
    """
    cleaned = _WEEKDAY.sub(" ", _normal(text)).strip(_WRAPPING)
    patterns = (
        _NUMERIC_DAY,
        _WORD_DAY,
        _COMPACT,
        _WORD_MONTH,
        _NUMERIC_MONTH,
        _WORD_YEAR,
    )
    for pattern in patterns:
        match = pattern.fullmatch(cleaned)
        if match:
            return _checked(_from_match(match), seen_on)
    return _without_year(_NO_YEAR.fullmatch(cleaned), seen_on)


def find_date(text: str, *, seen_on: datetime | None = None) -> PartialDate | None:
    """The first full date inside ``text``, else the first year and month, else (with ``seen_on``) a date without its year."""
    cleaned = _WEEKDAY.sub(" ", _normal(text))
    for match in _in_order(cleaned, (_NUMERIC_DAY, _WORD_DAY)):
        found = _checked(_from_match(match), seen_on)
        if found:
            return found
    for match in _in_order(cleaned, (_WORD_MONTH, _NUMERIC_MONTH)):
        found = _checked(_from_match(match), seen_on)
        if found:
            return found
    return _without_year(_NO_YEAR_INSIDE.search(cleaned), seen_on)


def from_epoch(value: float | str | None, zone: tzinfo = CHINA) -> PartialDate | None:
    """A date from epoch seconds or milliseconds; None for zero, negatives and what is no number.

    Midnight of ``zone`` is how these systems write a date without a time, so it has the precision of a day.
    """
    try:
        number = float(value) if value is not None else 0.0
        seconds = number / 1000 if number >= _MILLISECONDS_FROM else number
        moment = datetime.fromtimestamp(seconds, zone)
    except (ValueError, OverflowError, OSError):
        return None
    if number <= 0 or not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return None
    midnight = moment.time().replace(microsecond=0) == time()
    wall = None if midnight else moment.time().replace(microsecond=0)
    return PartialDate(moment.year, moment.month, moment.day, wall, "day" if midnight else "second")


def parse_roc(text: str, *, seen_on: datetime | None = None) -> PartialDate | None:
    """A date of the Republic of China calendar: ``民國113年3月15日``, ``113/03/15`` or ``1130315`` is 2024-03-15."""
    cleaned = _normal(text).strip(_WRAPPING)
    match = _ROC.fullmatch(cleaned) or _ROC_COMPACT.fullmatch(cleaned)
    if not match:
        return None
    year = int(match["y"]) + _ROC_OFFSET
    return _checked(PartialDate(year, int(match["m"]), int(match["d"]), None, "day"), seen_on)


def latest_day(seen_on: datetime | None) -> date | None:
    """The last day that is believed for a page seen at ``seen_on``."""
    return None if seen_on is None else _china_day(seen_on) + FUTURE_TOLERANCE


def _normal(text: str) -> str:
    """Half-width characters, single blanks, and Chinese numerals of dates as digits."""
    plain = " ".join(text.translate(_FULL_WIDTH).split())
    return _CN_DATE.sub(_digits, plain)


def _digits(match: re.Match[str]) -> str:
    year = "".join(_CN_DIGITS[char] for char in match[1])
    month = f"{_cn_number(match[2])}月" if match[2] else ""
    day = f"{_cn_number(match[3])}日" if match[3] else ""
    return f"{year}年{month}{day}"


def _cn_number(text: str) -> int:
    text = text.replace("廿", "二十").replace("卅", "三十")
    tens, ten, ones = text.partition("十")
    if not ten:
        return int(_CN_DIGITS[text])
    return int(_CN_DIGITS.get(tens, "1")) * 10 + int(_CN_DIGITS.get(ones, "0"))


def _in_order(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[re.Match[str]]:
    found = [match for pattern in patterns for match in pattern.finditer(text)]
    return iter(sorted(found, key=lambda match: match.start()))


def _from_match(match: re.Match[str]) -> PartialDate | None:
    groups = match.groupdict()
    year = int(groups["y"])
    if groups.get("m") is None:
        return PartialDate(year)
    month = int(groups["m"])
    if groups.get("d") is None:
        return PartialDate(year, month, None, None, "month")
    wall, precision = _clock(groups)
    return PartialDate(
        year,
        month,
        int(groups["d"]),
        wall,
        precision,
        offset=_offset(groups) if wall else None,
    )


def _clock(groups: dict[str, str | None]) -> tuple[time | None, DatePrecision]:
    """An hour alone ("下午3点") is no minute, and an impossible time is no time: the day still stands."""
    hour, minute, second = groups.get("h"), groups.get("mi"), groups.get("s")
    if hour is None or minute is None:
        return None, "day"
    shifted = _hour(int(hour), ((groups.get("half") or groups.get("half2") or "").upper()))
    try:
        wall = time(shifted, int(minute), int(second or 0))
    except ValueError:
        return None, "day"
    return wall, "second" if second else "minute"


def _hour(hour: int, half: str) -> int:
    if half in ("PM", "下午", "晚上", "晚间", "傍晚") and hour < 12:
        return hour + 12
    if half == "中午" and hour < 3:
        return hour + 12
    if half in ("AM", "凌晨") and hour == 12:
        return 0
    return hour


def _offset(groups: dict[str, str | None]) -> timedelta | None:
    zone = groups.get("zone")
    if not zone:
        return None
    if zone in ("Z", "z"):
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 14 or minutes > 59:
        return None
    return (-1 if zone[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes)


def _checked(found: PartialDate | None, seen_on: datetime | None) -> PartialDate | None:
    """None for impossible dates, the first day of the epoch (an empty field of the CMS) and dates of the future."""
    if found is None or not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        return None
    try:
        first = date(found.year, found.month or 1, found.day or 1)
    except ValueError:
        return None
    if found.day and first == date(1970, 1, 1):
        return None
    last = latest_day(seen_on)
    return None if last is not None and first > last else found


def _without_year(match: re.Match[str] | None, seen_on: datetime | None) -> PartialDate | None:
    if match is None or seen_on is None:
        return None
    groups = match.groupdict()
    month, day = int(groups["m"] or 0), int(groups["d"] or groups["d2"] or 0)
    today = _china_day(seen_on)
    for year in range(today.year, today.year - 9, -1):
        try:
            candidate = date(year, month, day)
        except ValueError:
            continue
        if candidate <= today:
            wall, precision = _clock(groups)
            return PartialDate(year, month, day, wall, precision, year_inferred=True)
    return None


def _china_day(moment: datetime) -> date:
    return (moment.astimezone(CHINA) if moment.tzinfo else moment).date()
