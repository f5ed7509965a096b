"""Rows of an XLSX or CSV file as Python values, with the row numbers a person sees. Nothing is evaluated."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice

from lxml import etree
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

Cell = str | int | float | bool | datetime | date | time | timedelta | None

DELIMITERS = (",", ";", "\t")
HEAD_ROWS = 20
MAX_BYTES = 500_000_000
CELL_NAME = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


class UnreadableFile(ValueError):
    """The file as a whole cannot be read; the message says why and what to do."""


@dataclass(frozen=True)
class ErrorCell:
    """A cell whose formula failed in the office program: ``#N/A``, ``#REF!``."""

    text: str


@dataclass(frozen=True)
class Row:
    """``number``: as the office program or an editor shows it, from 1. Text cells are stripped; an empty cell is None."""

    number: int
    cells: tuple[Cell | ErrorCell, ...]

    def is_blank(self) -> bool:
        return all(cell is None for cell in self.cells)


def read_rows(name: str, data: bytes, is_header: Callable[[str], bool]) -> list[Row]:
    """All rows of the first visible sheet, or of the CSV. ``is_header`` tells a known column name: it finds the delimiter.

    Raises UnreadableFile. ``name`` decides the kind by its ending.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableFile(f"{name} has {len(data):,} bytes, more than {MAX_BYTES:,}: split it")
    if name.lower().endswith(".csv"):
        return list(_csv_rows(name, data, is_header))
    if name.lower().endswith(".xlsx"):
        return _xlsx_rows(name, data)
    raise UnreadableFile(f"{name} ends neither with .xlsx nor with .csv: save it as one of these")


def column_letters(index: int) -> str:
    """A for 0, Z for 25, AA for 26."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def decode(name: str, data: bytes) -> str:
    """CSV text: by its byte order mark, else UTF-8, else GB18030 (which contains GBK and GB2312). Raises UnreadableFile."""
    encodings = ["utf-16"] if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ["utf-8-sig", "gb18030"]
    problem = ""
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problem = f"byte {error.start} in line {line} is not {encoding}"
    raise UnreadableFile(f"{name} is neither UTF-8 nor GBK/GB18030 text ({problem}): save it as CSV UTF-8")


def _csv_rows(name: str, data: bytes, is_header: Callable[[str], bool]) -> Iterator[Row]:
    text = decode(name, data)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, is_header), strict=True)
    number = 1
    try:
        for cells in reader:
            yield Row(number, tuple(_clean(cell) for cell in cells))
            number = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(f"{name}, row {number}: {error}: check the quotation marks from this row on") from error


def _delimiter(text: str, is_header: Callable[[str], bool]) -> str:
    """The delimiter under which the head of the file has most known column names."""

    def known(delimiter: str) -> int:
        head = csv.reader(io.StringIO("\n".join(islice(text.splitlines(), HEAD_ROWS))), delimiter=delimiter)
        return max((sum(map(is_header, cells)) for cells in head), default=0)

    return max(DELIMITERS, key=known)


def _clean(cell: Cell) -> Cell:
    return cell.strip() or None if isinstance(cell, str) else cell


def _xlsx_rows(name: str, data: bytes) -> list[Row]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise UnreadableFile(f"{name} unpacks to more than {MAX_BYTES:,} bytes: split it")
            workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
            title = _first_sheet(name, workbook)
            sheet = workbook.get_sheet_by_name(title)
            special = _formulas_and_errors(archive, title)
    except (CalamineError, zipfile.BadZipFile, KeyError, etree.XMLSyntaxError) as error:
        remedy = "open it in an office program and save it as .xlsx without a password"
        raise UnreadableFile(f"{name} is no readable XLSX workbook ({error}): {remedy}") from error
    grid: list[list[Cell | ErrorCell]] = [[_clean(cell) for cell in cells] for cells in sheet.to_python(skip_empty_area=False)]
    _fill_merged(grid, sheet)
    for (row, column), cell in special.items():
        if row < len(grid) and column < len(grid[row]) and (isinstance(cell, ErrorCell) or grid[row][column] is None):
            grid[row][column] = cell
    return [Row(number, tuple(cells)) for number, cells in enumerate(grid, 1)]


def _first_sheet(name: str, workbook: CalamineWorkbook) -> str:
    for sheet in workbook.sheets_metadata:
        if sheet.visible == SheetVisibleEnum.Visible and sheet.typ == SheetTypeEnum.WorkSheet:
            return sheet.name
    raise UnreadableFile(f"{name} has no visible sheet")


def _fill_merged(grid: list[list[Cell | ErrorCell]], sheet: CalamineSheet) -> None:
    """A merged cell's value holds for each row it spans; across columns it stays a title over them."""
    for (top, left), (bottom, _) in sheet.merged_cell_ranges or []:
        for row in grid[top + 1 : bottom + 1]:
            row[left] = grid[top][left]


def _formulas_and_errors(archive: zipfile.ZipFile, title: str) -> dict[tuple[int, int], Cell | ErrorCell]:
    """Cells that the reader shows as empty: a formula without a stored result is its own text, a failed one an error."""
    part = _sheet_part(archive, title)
    found: dict[tuple[int, int], Cell | ErrorCell] = {}
    with archive.open(part) as file:
        for _, cell in etree.iterparse(file, tag="{*}c", resolve_entities=False, no_network=True):
            formula, place = cell.find("{*}f"), CELL_NAME.fullmatch(cell.get("r", ""))
            value = cell.findtext("{*}v") or ""
            if place and cell.get("t") == "e":
                found[_position(place)] = ErrorCell(value)
            elif place and formula is not None and not value and formula.text:
                found[_position(place)] = f"={formula.text}"
            cell.clear()
            row = cell.getparent()
            while row is not None and row.getprevious() is not None:
                del row.getparent()[0]
    return found


def _position(place: re.Match[str]) -> tuple[int, int]:
    """(row, column) from 0 of ``B7``."""
    column = 0
    for letter in place[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(place[2]) - 1, column - 1


def _sheet_part(archive: zipfile.ZipFile, title: str) -> str:
    """The archive member that holds the sheet. Raises KeyError when the workbook's parts do not fit together."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    workbook = etree.fromstring(archive.read("xl/workbook.xml"), parser)
    relations = etree.fromstring(archive.read("xl/_rels/workbook.xml.rels"), parser)
    targets = {relation.get("Id"): relation.get("Target", "") for relation in relations}
    for sheet in workbook.iterfind("{*}sheets/{*}sheet"):
        if sheet.get("name") == title:
            ids = [value for key, value in sheet.attrib.items() if etree.QName(key).localname == "id"]
            target = targets[ids[0]]
            return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    raise KeyError(f"sheet {title!r}")
