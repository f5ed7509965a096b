"""File names from pages and headers (fault-model C5, C8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.parsing.names import MAX_NAME_BYTES, filename_from_content_disposition, safe_display_name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("附件1：任务清单.docx", "附件1：任务清单.docx"),
        ("../../etc/passwd", "passwd"),
        ("..\\x.doc", "x.doc"),
        ("/tmp/a.pdf", "a.pdf"),
        ("a\0b.doc", "ab.doc"),
        ("a\nb.doc", "a b.doc"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("表格\u200b.xls", "表格.xls"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("a.doc. .", "a.doc"),
        ("", ""),
        ("..", ""),
    ],
)
def test_a_name_is_shown_without_what_could_mislead(name: str, shown: str) -> None:
    assert safe_display_name(name) == shown


def test_a_long_name_is_cut_at_a_character_and_keeps_its_extension() -> None:
    shown = safe_display_name("测" * 300 + ".pdf")
    assert len(shown.encode("utf-8")) <= MAX_NAME_BYTES
    assert shown == "测" * 83 + ".pdf"


@given(st.text(max_size=400))
def test_any_name_becomes_short_and_harmless(name: str) -> None:
    shown = safe_display_name(name)
    assert len(shown.encode("utf-8")) <= MAX_NAME_BYTES
    assert not {"/", "\\", "\0", "\n", "\u202e"} & set(shown)
    assert safe_display_name(shown) == shown


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="a.pdf"', "a.pdf"),
        ("attachment; filename=a.pdf", "a.pdf"),
        ("attachment; filename=\"x.pdf\"; filename*=UTF-8''%E9%99%84%E4%BB%B6.pdf", "附件.pdf"),
        ("attachment; filename*=GBK''%B8%BD%BC%FE.pdf", "附件.pdf"),
        ("attachment; filename*=utf-8'zh'a%20b.pdf", "a b.pdf"),
        ("attachment; filename*=UTF-8''%FF%FE; filename=b.doc", "b.doc"),
        ("attachment; filename*=nonsense; filename=b.doc", "b.doc"),
        ("attachment; filename=附件.pdf".encode("gbk"), "附件.pdf"),
        ("attachment; filename=附件.pdf".encode(), "附件.pdf"),
        ("attachment; filename=附件.pdf".encode("gbk").decode("latin-1"), "附件.pdf"),
        ("attachment; filename=附件.pdf", "附件.pdf"),
        ("attachment; filename=%E9%99%84%E4%BB%B6.pdf", "附件.pdf"),
        ("attachment; filename=100%25.pdf", "100%25.pdf"),
        ('attachment; filename="a\\"b;c.doc"', 'a"b;c.doc'),
        ('attachment; filename="cut.doc', "cut.doc"),
        ("inline", None),
        ("attachment; filename=", None),
        (b"attachment; filename=\xff\xff", None),
        ("", None),
    ],
)
def test_the_name_in_a_header_is_read_by_rfc_6266(header: str | bytes, name: str | None) -> None:
    assert filename_from_content_disposition(header) == name


@given(st.binary(max_size=200))
def test_any_header_gives_a_name_or_nothing(header: bytes) -> None:
    name = filename_from_content_disposition(b"attachment; filename=" + header)
    assert name is None or name
