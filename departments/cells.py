"""What a cell of a department list says: whole numbers, levels, text and times, or what is wrong with it."""

from __future__ import annotations

import unicodedata
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from departments.spreadsheets import Cell, ErrorCell
from govcrawler.fields import storable

OA_ZONE = ZoneInfo("Asia/Shanghai")
#: Excel keeps 15 digits of a number; the rest of a longer one is lost before we see it.
EXACT_IN_EXCEL = 10**15
LEVEL_WORDS = {
    1: ("市级", "市", "市直"),
    2: ("县区", "县级", "区级", "县", "区", "区县", "县市区"),
    3: ("镇街", "镇", "乡", "乡镇", "街道", "镇级", "乡级"),
}
MOMENT_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")


def quoted(cell: Cell | ErrorCell) -> str:
    """The cell in a message, cut when it is long."""
    text = cell.text if isinstance(cell, ErrorCell) else str(cell)
    return repr(text if len(text) <= 60 else text[:60] + "...")


def whole_number(cell: Cell, limit: int) -> int:
    """1001, 1001.0 and "１００１" as 1001. Raises ValueError."""
    if isinstance(cell, float | int) and not isinstance(cell, bool):
        if abs(cell) >= EXACT_IN_EXCEL:
            raise ValueError(
                f"{cell:.0f} has more than 15 digits, which Excel rounds: format the column as text and enter it again"
            )
        number = int(cell) if float(cell).is_integer() else None
    else:
        text = unicodedata.normalize("NFKC", str(cell))
        whole, _, zeros = text.partition(".")
        digits = whole.removeprefix("-").removeprefix("+")
        number = int(whole) if digits.isdecimal() and len(digits) < 30 and not zeros.strip("0") else None
    if number is None:
        raise ValueError(f"{quoted(cell)} is not a whole number")
    if abs(number) > limit:
        raise ValueError(f"{number} is beyond {limit}")
    return number


def level(cell: Cell, limit: int) -> int:
    """A number, or a word of LEVEL_WORDS."""
    for number, words in LEVEL_WORDS.items():
        if isinstance(cell, str) and cell in words:
            return number
    try:
        return whole_number(cell, limit)
    except ValueError as error:
        known = "; ".join(f"{number}: {', '.join(words)}" for number, words in LEVEL_WORDS.items())
        raise ValueError(f"{error}. Give a number or one of the words {known}") from error


def text_of(cell: Cell, limit: int) -> str:
    """Text as it stands, ``=1+1`` included; a number without a fraction loses its ``.0``. Raises ValueError over ``limit``."""
    if isinstance(cell, date | time | timedelta):
        raise ValueError(f"{cell} is a date or time for Excel: format the column as text and enter it again")
    if isinstance(cell, float) and cell.is_integer():
        cell = whole_number(cell, EXACT_IN_EXCEL)
    text = storable(str(cell))
    if len(text) > limit:
        raise ValueError(f"{quoted(text)} has {len(text)} characters, at most {limit} fit")
    return text


def moment(cell: Cell) -> datetime:
    """A date or time of the OA, which are in Beijing time unless they name an offset; in UTC. Raises ValueError."""
    if isinstance(cell, datetime):
        found = cell
    elif isinstance(cell, date):
        found = datetime(cell.year, cell.month, cell.day)
    else:
        found = _moment_in_text(cell)
    if not 1900 <= found.year <= 9998:
        raise ValueError(f"{quoted(cell)} is not a plausible time")
    aware = found if found.tzinfo else found.replace(tzinfo=OA_ZONE)
    return (aware + timedelta(microseconds=500_000)).replace(microsecond=0).astimezone(UTC)


def _moment_in_text(cell: Cell) -> datetime:
    text = unicodedata.normalize("NFKC", str(cell)) if isinstance(cell, str) else ""
    plain = text.replace("年", "-").replace("月", "-").replace("日", "").replace("/", "-")
    for form in MOMENT_FORMATS:
        try:
            return datetime.strptime(plain, form)
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{quoted(cell)} is not a date: write it as 2024-03-20 or 2024-03-20 15:30:00") from error
