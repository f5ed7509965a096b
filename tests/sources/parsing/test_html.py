"""Pages become text without loss: paragraphs, table rows, hostile structure (fault-model C1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.parsing.html import (
    base_url,
    body_html,
    body_text,
    drop_noise,
    find_body,
    is_file_url,
    is_partial,
    parse_document,
    select,
    text_of,
)

URL = "http://www.lanhe.example/zwgk/202403/t20240318_1.html"


def text(markup: str) -> str:
    return body_text(parse_document(markup))


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("<p>　　第一段。</p><p>第二段。</p>", ["第一段。", "第二段。"]),
        ("<p>一、甲。<br>　　二、乙。<br/>三、丙。</p>", ["一、甲。", "二、乙。", "三、丙。"]),
        ("<p>a&nbsp;&nbsp;b\u3000c\n\t d</p>", ["a b c d"]),
        ("<p>\u200b\ufeff </p><p>&nbsp;</p><p>x</p>", ["x"]),
        ("<p>a<b>b</b><span>c</span>d</p>", ["abcd"]),
        ("前<div>中</div>后", ["前", "中", "后"]),
        ("<style>p{}</style><script>var a=1</script><!-- c --><p>x</p>尾", ["x", "尾"]),
        ("<ul><li>甲</li><li>乙</li></ul>", ["甲", "乙"]),
        (
            "<table><tr><th>地区</th><th>面积</th></tr><tr><td>东部</td><td>120.5</td></tr></table>",
            ["地区 | 面积", "东部 | 120.5"],
        ),
        ("<table><tr><td><p>甲</p><p>乙</p></td><td>丙<br>丁</td></tr></table>", ["甲 乙 | 丙 丁"]),
        ("<table><tr><td>甲</td><td></td><td>丙</td></tr><tr><td></td><td></td></tr></table>", ["甲 | | 丙"]),
        ("<table><tr><td><p>排版甲</p><p>排版乙</p></td></tr></table>", ["排版甲", "排版乙"]),
        ("<table><tr><td>左</td><td><table><tr><td>一</td><td>二</td></tr></table></td></tr></table>", ["左", "一 | 二"]),
        ("", []),
        ("   ", []),
    ],
)
def test_a_body_is_one_line_per_paragraph_or_table_row(markup: str, lines: list[str]) -> None:
    assert text(markup).split("\n") == (lines or [""])


def test_bytes_are_read_in_the_encoding_that_was_decided() -> None:
    page = '<html><head><meta charset="gb2312"></head><body><p>𠮷庆村</p></body></html>'
    assert body_text(parse_document(page.encode("gb18030"), "gb18030")) == "𠮷庆村"
    assert body_text(parse_document('<?xml version="1.0" encoding="gbk"?><html><body>村</body></html>')) == "村"


def test_nesting_deeper_than_the_parser_allows_at_first_loses_nothing() -> None:
    doc = parse_document("<html><body>" + "<div>a" * 1500 + "文" + "</div>" * 1500 + "尾")
    assert body_text(doc).split("\n")[-2:] == ["a文", "尾"]
    assert not is_partial(doc)


def test_nesting_without_end_keeps_the_words_and_is_marked() -> None:
    doc = parse_document("<html><body>头" + "<div>" * 50_000 + "文" + "</div>" * 50_000 + "尾</body></html>")
    assert "".join(body_text(doc).split()) == "头文尾"
    assert is_partial(doc)


def test_a_text_node_beyond_ten_megabytes_is_whole() -> None:
    doc = parse_document("<html><body><p>" + "字" * 3_600_000 + "</p><p>尾</p></body></html>")
    assert len(body_text(doc)) == 3_600_002
    assert not is_partial(doc)


def test_nul_and_entities_do_no_harm() -> None:
    page = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>a\0b &x; &amp;</p>'
    assert "root:" not in text(page)
    assert "ab" in text(page)


def test_the_base_element_moves_links() -> None:
    doc = parse_document('<base href="http://static.lanhe.example/zwgk/2024/"><a href="a.html">x</a>')
    assert base_url(doc, URL) == "http://static.lanhe.example/zwgk/2024/"
    assert base_url(parse_document('<base target="_blank"><p>'), URL) == URL


def test_body_html_has_absolute_links_and_nothing_that_runs() -> None:
    page = (
        '<div id="zoom">文&lt;<script>x()</script><style>p{}</style><!-- c --><p onclick="x()">'
        '<a href="./a.pdf" onmouseover="x()">附</a><a href="javascript:x()">点</a><img src="//i.example/a.png"></p>尾</div>'
    )
    fragment = body_html(find_body(parse_document(page)), URL)
    assert fragment == (
        '文&lt;<p><a href="http://www.lanhe.example/zwgk/202403/a.pdf">附</a><a>点</a><img src="http://i.example/a.png"></p>尾'
    )


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ('<div id="Zoom"><div class=TRS_Editor>文</div></div>', "TRS_Editor"),
        ('<table><tr><td id="UCAP-CONTENT">文</td></tr></table>', "UCAP-CONTENT"),
        ('<div class="TRS_Editor"> &nbsp;</div><div id="zoom">文</div>', "zoom"),
        ('<div class="TRS_Editor"><style>p{}</style></div><div class="pages_content">文</div>', "pages_content"),
        ('<div class="article_con"><img src="a.png"></div>', "article_con"),
        ('<div class="TRS_Editor"></div><div id="zoom"><a href="a.pdf"></a></div>', "zoom"),
        ('<div class="artile_zw">文</div>', "artile_zw"),
        ("<div id=BodyLabel>文</div>", "BodyLabel"),
        ('<div class="content">文</div>', None),
        ('<div class="TRS_Editor"></div>', None),
    ],
)
def test_the_body_is_the_most_specific_container_with_content(markup: str, found: str | None) -> None:
    body = find_body(parse_document(markup))
    assert (None if body is None else body.get("class") or body.get("id")) == found


def test_a_given_selector_comes_before_the_known_ones() -> None:
    body = find_body(parse_document('<div class="TRS_Editor">旧</div><div class="nr">新</div>'), ["div.nr"])
    assert text_of(body) == "新"


def test_a_selector_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match=r"div\[\["):
        select(parse_document("<p>x</p>"), "div[[")


def test_share_and_print_blocks_go_and_the_body_stays() -> None:
    doc = parse_document(
        '<div id="print"><div class="TRS_Editor"><p>'
        + "正文。" * 100
        + "</p><p>打印本页</p><p>扫一扫在手机打开当前页</p></div></div>"
        '<div class="share">分享到：微信</div><div class="xglj">相关链接：<a href="a.html">一图读懂</a></div>'
        "<p>分享是一种美德，本市图书馆倡议市民参加读书分享活动，活动地点设在各区图书馆一楼大厅，时间另行通知，欢迎大家踊跃报名参加。</p>"
    )
    drop_noise(doc)
    assert "正文。" in body_text(doc)
    assert "分享是一种美德" in body_text(doc)
    for gone in ("打印本页", "扫一扫", "分享到", "一图读懂"):
        assert gone not in body_text(doc)


def test_words_of_share_bars_inside_sentences_and_tables_stay() -> None:
    doc = parse_document("<p>大厅提供<span>打印</span>服务。</p><table><tr><td>打印</td><td>0.5元</td></tr></table>")
    drop_noise(doc)
    assert body_text(doc) == "大厅提供打印服务。\n打印 | 0.5元"


@pytest.mark.parametrize(
    ("url", "is_file"),
    [
        ("./P020240312.pdf", True),
        ("a.WPS", True),
        ("/module/download/downfile.jsp?classid=0&filename=a.pdf", True),
        ("/cms/pub/interact/downloadfile.jsp?filepath=x&fText=y", True),
        ("t20240318_1.html", False),
        ("/zwgk/", False),
        ("a.png", False),
    ],
)
def test_files_are_told_from_pages(url: str, is_file: bool) -> None:
    assert is_file_url(url) is is_file


markup = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<br>",
            "<table>",
            "<tr>",
            "<td>",
            "</td>",
            "</tr>",
            "</table>",
            "<div>",
            "</div>",
            "<!-- ",
            "-->",
            "<script>",
            "</script>",
            "<style>",
            "<li>",
            "&nbsp;",
            "&#0;",
            "&#xD800;",
            "<?pi ?>",
            "<![CDATA[",
            "]]>",
            "<a href='",
            "'>",
            "<svg>",
            "<select>",
        ]
    )
    | st.text(max_size=6),
    max_size=25,
).map("".join)


@given(markup)
def test_any_markup_gives_tidy_lines(source: str) -> None:
    doc = parse_document(source)
    lines = body_text(doc).split("\n")
    assert all(line == " ".join(line.split()) for line in lines)
    assert "" not in lines or lines == [""]
    drop_noise(doc)
    body_html(doc, URL)
    find_body(doc)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_tree(source: bytes) -> None:
    assert isinstance(text_of(parse_document(source, "gb18030")), str)
