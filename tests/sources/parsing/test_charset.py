"""Bytes become text by the order of fault-model H15 and A3b, and doubt is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.parsing.charset import decode, known_encoding

SENTENCE = "为做好2024年春季农业生产工作，经市人民政府同意，现将有关事项通知如下，请各单位认真组织实施。"


def page(text: str, meta: str = "") -> str:
    tag = f'<meta http-equiv="Content-Type" content="text/html; charset={meta}">' if meta else ""
    return f"<html><head>{tag}<title>通知</title></head><body><p>{text}</p></body></html>"


@pytest.mark.parametrize(
    ("written_in", "header", "meta", "read_as"),
    [
        ("utf-8", "text/html; charset=utf-8", "", "utf-8"),
        ("utf-8", "text/html", "", "utf-8"),
        ("utf-8", "text/html; charset=GBK", "utf-8", "utf-8"),
        ("utf-8", "text/html; charset=ISO-8859-1", "gb2312", "utf-8"),
        ("utf-8-sig", "text/html; charset=gb2312", "gb2312", "utf-8"),
        ("utf-16", "text/html; charset=gb2312", "", "utf-16-le"),
        ("gb18030", "text/html", "gb2312", "gb18030"),
        ("gb18030", "text/html; charset=GBK", "", "gb18030"),
        ("gb18030", "text/html; charset=latin1", "gbk", "gb18030"),
        ("gb18030", 'text/html; charset="gb2312"', "", "gb18030"),
        ("gb18030", "text/html; charset=no-such-label", "gb2312", "gb18030"),
        ("gb18030", "text/html", "", "gb18030"),
        ("cp932", "text/csv; charset=Shift_JIS", "", "cp932"),
    ],
)
def test_the_encoding_is_found_in_the_order_of_the_rules(written_in: str, header: str, meta: str, read_as: str) -> None:
    text = page("規則を改正する。" if written_in == "cp932" else SENTENCE, meta)
    decoded = decode(text.encode(written_in), header, "http://www.x.example/a.html")
    assert (decoded.text, decoded.encoding, decoded.suspect) == (text, read_as, False)


def test_traditional_text_in_big5_is_read_by_its_label() -> None:
    text = page("行政院會議通過預算案，請各機關依規定辦理，並將執行情形報送主管機關備查。", "big5")
    assert decode(text.encode("big5"), "text/html").text == text


def test_characters_beyond_gbk_are_read_under_a_gb2312_label() -> None:
    text = page("㐂昌县𠮷庆村公示，镕城新区喆阳路", "gb2312")
    assert decode(text.encode("gb18030"), "text/html").text == text


def test_the_lone_byte_80_of_gbk_is_the_euro_sign() -> None:
    body = page("费用为X一百元", "gbk").encode("gb18030").replace(b"X", b"\x80")
    assert "费用为€一百元" in decode(body, "text/html").text


def test_an_xml_declaration_is_a_label() -> None:
    body = f'<?xml version="1.0" encoding="GB2312"?><rss><title>{SENTENCE}</title></rss>'.encode("gb18030")
    decoded = decode(body, "text/xml")
    assert decoded.encoding == "gb18030"
    assert SENTENCE in decoded.text


def test_a_label_inside_a_comment_does_not_count() -> None:
    text = "<!-- <meta charset=big5> -->" + page(SENTENCE, "gbk")
    assert decode(text.encode("gb18030"), "text/html").text == text


def test_short_gbk_titles_of_cn_hosts_are_not_taken_for_another_language() -> None:
    assert decode("公示公告".encode("gb18030"), "text/html", "http://www.lanhe.gov.cn/").text == "公示公告"


def test_two_byte_sequences_that_are_also_utf_8_follow_their_gbk_label() -> None:
    assert decode("联通".encode("gbk"), "text/html; charset=gbk").text == "联通"


def test_much_that_cannot_be_decoded_is_suspect_and_little_is_not() -> None:
    broken = page(SENTENCE).encode("utf-8").replace("通".encode(), b"\xff")
    assert decode(broken, "text/html; charset=utf-8").suspect
    long = page(SENTENCE * 100).encode("utf-8") + b"\xff"
    assert not decode(long, "text/html; charset=utf-8").suspect


def test_a_text_that_reads_better_under_another_encoding_is_suspect() -> None:
    decoded = decode(page(SENTENCE).encode("gb18030"), "text/html; charset=big5")
    assert decoded.encoding == "big5hkscs"
    assert decoded.suspect


def test_plain_ascii_is_never_suspect() -> None:
    assert decode(b"<html>ok</html>", "text/html; charset=gb2312").text == "<html>ok</html>"
    assert not decode(b"", "").suspect


@pytest.mark.parametrize("label", ["utf-7", "rot13", "unicode_escape", "idna", "hex", "x\0y", "", "中文"])
def test_labels_that_no_page_may_use_are_unknown(label: str) -> None:
    assert known_encoding(label) is None


@given(st.binary(max_size=400), st.sampled_from(["", "text/html; charset=gbk", "x; charset=utf-16", "charset=\x00"]))
def test_any_bytes_give_text_without_nul(body: bytes, header: str) -> None:
    assert "\0" not in decode(body, header, "http://www.x.gov.cn/").text
