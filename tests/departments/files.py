"""Department lists as an OA writes them: XLSX with openpyxl, CSV as bytes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import openpyxl

HEADER = ("部门ID", "部门名称", "上级部门ID", "级别", "编码", "简称", "全称", "状态", "排序", "更新时间", "区域")


def xlsx(rows: Iterable[Sequence[Any]], *, text: Iterable[str] = (), merged: Iterable[str] = ()) -> bytes:
    """``text``: cells written as text although they begin with ``=``; ``merged``: ranges."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(list(row))
    for cell in text:
        sheet[cell].data_type = "s"
    for area in merged:
        sheet.merge_cells(area)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def csv(*lines: str, encoding: str = "utf-8", end: str = "\r\n") -> bytes:
    return (end.join(lines) + end).encode(encoding)
