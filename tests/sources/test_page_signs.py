"""First signs of a page: visible text, links, shells."""

from __future__ import annotations

import pytest

from sources.parsing.page_signs import looks_blocked, read_signs


def test_only_what_a_reader_sees_is_text() -> None:
    signs = read_signs(
        "<html><head><title> 标 题 </title><style>p{}</style></head><body><p>看得见</p><script>看不见()</script>之后"
        "<noscript><p>请启用脚本</p></noscript><select><option>选项</option></select><!-- 注释 --></body></html>"
    )
    assert (signs.title, signs.text) == ("标 题", "看得见 之后")


def test_links_to_pages_are_counted_and_links_to_files_are_not() -> None:
    signs = read_signs(
        "<a href='/a/'>甲乙</a><a href='x.PDF?d=1'>附件</a><a href='#'>顶</a>"
        "<a href='javascript:;'>x</a><a href='mailto:a@b.example'>y</a>"
    )
    assert (signs.links, signs.link_chars) == (1, 2)


@pytest.mark.parametrize(
    ("source", "shell"),
    [
        ("<script>location.reload()</script>", True),
        ("<iframe src='/inner.html'></iframe>", True),
        ("<div></div>", False),
        ("<script>x()</script><p>这一页的正文有二十个字以上，所以不是一个空壳子。</p>", False),
        ("<script>var rows = ['关于公布二〇二四年度计划的通知'];</script>", False),
        ("<script>alert('请稍候')</script>", True),
        ("<meta http-equiv=refresh content='0; url=/b.html'><script>x()</script>", False),
    ],
)
def test_a_shell_has_scripts_or_frames_and_nothing_to_read(source: str, shell: bool) -> None:
    assert read_signs(f"<html><body>{source}</body></html>").is_shell is shell


def test_an_empty_answer_looks_blocked() -> None:
    assert looks_blocked(" \n")
    assert not looks_blocked('{"code": 1}')


@pytest.mark.parametrize(
    ("content", "target"),
    [("0;url=/b.html", "/b.html"), ("5; URL='http://a.example/b'", "http://a.example/b"), ("30", ""), (";url=x", "x")],
)
def test_a_meta_refresh_names_its_target(content: str, target: str) -> None:
    assert read_signs(f'<meta http-equiv="Refresh" content="{content}">').refresh_to == target


@pytest.mark.parametrize("text", ["2024-03-15", "2024年3月5日", "发布：2024.3.15"])
def test_a_full_date_or_article_tags_are_evidence_of_an_article(text: str) -> None:
    assert read_signs(f"<p>{text}</p>").article_evidence
    assert read_signs('<meta name="articletitle" content="x"><p>无</p>').article_evidence
    assert not read_signs('<meta name="ArticleTitle" content=""><p>404</p>').article_evidence


def test_a_page_nested_three_thousand_deep_keeps_its_text() -> None:
    signs = read_signs("<script>x()</script>" + "<div>" * 3000 + "很深的正文也是正文，不能当作空白的壳子。" + "</div>" * 3000)
    assert signs.text == "很深的正文也是正文，不能当作空白的壳子。"
