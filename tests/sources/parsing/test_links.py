"""Forwarding pages, links to the next page, and the files of an article."""

from __future__ import annotations

import pytest

from sources.parsing.html import find_body, parse_document
from sources.parsing.links import attachments, forward_target, next_page_link

URL = "http://www.lanhe.example/zwgk/202403/t20240318_1.html"
TARGET = "http://www.other.example/a/t20240314_2.html"


@pytest.mark.parametrize(
    ("markup", "target"),
    [
        (f'<meta http-equiv="refresh" content="0;url={TARGET}">', TARGET),
        (f"<meta http-equiv=Refresh content=\"0; URL='{TARGET}'\">", TARGET),
        (f'<script>window.location.href="{TARGET}";</script>', TARGET),
        (f"<script>location.replace('{TARGET}')</script>", TARGET),
        ('<script>document.location = "./t20240318_9.html";</script>', "http://www.lanhe.example/zwgk/202403/t20240318_9.html"),
        ('<meta http-equiv="refresh" content="5;url=/">页面不存在', None),
        ('<meta http-equiv="refresh" content="0;url=/">', None),
        (f'<meta http-equiv="refresh" content="0;url={URL}">', None),
        ("<script>location.href=location.pathname+location.search</script>", None),
        ("<script>window.location.reload();</script>", None),
        (f'<script>location.href="{TARGET}"</script><p>{"正文" * 40}</p>', None),
        ("<p>正文</p>", None),
    ],
)
def test_only_a_page_that_shows_nothing_and_names_another_page_forwards(markup: str, target: str | None) -> None:
    assert forward_target(parse_document(f"<html><body>{markup}</body></html>"), URL) == target


def test_files_are_taken_from_body_and_attachment_blocks_once_each() -> None:
    doc = parse_document(
        '<div class="TRS_Editor"><p>文</p>'
        '<span OLDSRC="W01.doc"><a href="./W01.doc" OLDSRC="W01.doc">附件1：清单.doc</a></span>'
        '<a href="W01.doc">再次</a><img src="W02.png"><a href="t20240301_3.html">相关</a>'
        '<embed src="P03.pdf"></div>'
        '<div class="attachment"><a href="/module/download/downfile.jsp?filename=01ab.xls&amp;classid=0">下载</a></div>'
        '<p>附件：<a href="P04.ofd" title="版式文件.ofd">附件下载</a></p>'
        '<div class="footer"><a href="/help.pdf">使用帮助</a></div>'
    )
    base = "http://www.lanhe.example/zwgk/202403/"
    assert attachments(doc, find_body(doc), URL) == [
        (f"{base}W01.doc", "附件1：清单.doc"),
        (f"{base}P03.pdf", "P03.pdf"),
        ("http://www.lanhe.example/module/download/downfile.jsp?filename=01ab.xls&classid=0", "01ab.xls"),
        (f"{base}P04.ofd", "版式文件.ofd"),
    ]


def test_the_link_named_next_page_is_followed_and_dead_ones_are_not() -> None:
    assert (
        next_page_link(parse_document('<a href="index_2.html">下一页</a>'), URL)
        == "http://www.lanhe.example/zwgk/202403/index_2.html"
    )
    assert next_page_link(parse_document('<a href="javascript:go(2)">下一页</a>'), URL) is None
    assert next_page_link(parse_document('<a href="a.html">下一篇</a>'), URL) is None
