"""Each pager form of source-systems 0.2 gives the page count and the names of the pages."""

from __future__ import annotations

import pytest

from sources.parsing.pagers import find_pager

COLUMN = "http://www.lanhe.example/zwgk/wj/"


@pytest.mark.parametrize(
    ("script", "file", "form", "pages", "second", "third"),
    [
        ('createPageHTML(3, 0, "index", "html");', "", "createPageHTML", 3, "index_1.html", "index_2.html"),
        ('createPageHTML(3, 0, "index", "html");', "index.html", "createPageHTML", 3, "index_1.html", "index_2.html"),
        ("createPageHTML(38,1,'index','shtml')", "index_1.shtml", "createPageHTML", 38, "index_1.shtml", "index_2.shtml"),
        ('createPageHTML(9, 1, "index", "html");', "index.html", "createPageHTML", 9, "index_2.html", "index_3.html"),
        ('createPage(5, 0, "index", "html")', "", "createPage", 5, "index_1.html", "index_2.html"),
        (
            "{createPageHTML('page_div',3, 1,'list_zw','shtml',45);}",
            "list_zw.shtml",
            "createPageHTML6",
            3,
            "list_zw_2.shtml",
            "list_zw_3.shtml",
        ),
        (
            "{createPageHTML('page_div',3, 2,'list_zw','shtml',45);}",
            "list_zw_2.shtml",
            "createPageHTML6",
            3,
            "list_zw_2.shtml",
            "list_zw_3.shtml",
        ),
        ('createPageHTML(469, 32, 0, "index", "html");', "", "createPageHTML3n", 32, "index_1.html", "index_2.html"),
        (
            "var countPage = 12; /* index_8597_1.shtml */",
            "index.shtml",
            "countPage",
            12,
            "index_8597_1.shtml",
            "index_8597_2.shtml",
        ),
        ("var countPage = 4;", "index_8597_2.shtml", "countPage", 4, "index_8597_1.shtml", "index_8597_2.shtml"),
        (
            "$('.p').pagination({ totalData: 34, showData: 15 });",
            "index_pc_1.html",
            "totalData",
            3,
            "index_pc_2.html",
            "index_pc_3.html",
        ),
        ("$('.p').pagination({ totalPage: 7, callback: f });", "index.html", "totalPage", 7, "index_2.html", "index_3.html"),
    ],
)
def test_a_pager_tells_its_pages(script: str, file: str, form: str, pages: int, second: str, third: str) -> None:
    pager = find_pager(f"<script>{script}</script>", COLUMN + file, 1 if "_" not in file else 2)
    assert pager is not None
    assert (pager.form, pager.pages) == (form, pages)
    assert pager.page_url(2) == COLUMN + second
    assert pager.page_url(3) == COLUMN + third


@pytest.mark.parametrize("file", ["", "index.html"])
def test_page_one_is_the_page_the_list_was_entered_by(file: str) -> None:
    pager = find_pager('createPageHTML(3, 0, "index", "html")', COLUMN + file, 1)
    assert pager is not None
    assert pager.page_url(1) == COLUMN + file


def test_a_page_knows_its_own_number() -> None:
    zero = find_pager('createPageHTML(3, 1, "index", "html")', COLUMN + "index_1.html", 2)
    one = find_pager("createPageHTML('d', 3, 2, 'list', 'html', 45)", COLUMN + "list_2.html", 2)
    assert zero is not None
    assert one is not None
    assert [zero.page_of(COLUMN + file) for file in ("", "index.html", "index_1.html", "index_2.html")] == [1, 1, 2, 3]
    assert one.page_of(COLUMN + "list_2.html") == 2
    assert one.total == 45


def test_rows_that_a_script_slices_are_all_on_one_page() -> None:
    pager = find_pager("<script>var pageSize = 15;</script>", COLUMN, 1)
    assert pager is not None
    assert pager.pages == 1


@pytest.mark.parametrize("markup", ["共 7 页", "共<b>7</b>页", "共&nbsp;<em>7</em> 页".replace("&nbsp;", " ")])
def test_a_count_in_words_is_a_count_without_names(markup: str) -> None:
    pager = find_pager(markup, COLUMN, 1)
    assert pager is not None
    assert (pager.form, pager.pages, pager.pattern) == ("text", 7, "")


@pytest.mark.parametrize(
    "markup",
    [
        "<p>没有分页</p>",
        "<script>function createPageHTML(count, index, name, ext) {}</script>",
        '<script>//createPageHTML(3, 0, "index", "html");</script>',
        '<!-- <script>createPageHTML(3, 0, "index", "html");</script> -->',
        '<script>createPageHTML(3, 0, "../../x?y", "html");</script>',
        '<script>createPageHTML(99999999, 0, "index", "html");</script>',
    ],
)
def test_what_is_no_pager_is_none(markup: str) -> None:
    assert find_pager(markup, COLUMN, 1) is None


def test_a_script_wrapped_in_a_comment_for_old_browsers_counts() -> None:
    assert find_pager('<script><!--\ncreatePageHTML(3, 0, "index", "html");\n//--></script>', COLUMN, 1) is not None


def test_pages_before_the_first_are_refused() -> None:
    pager = find_pager('createPageHTML(3, 0, "index", "html")', COLUMN, 1)
    assert pager is not None
    with pytest.raises(ValueError, match="count from 1"):
        pager.page_url(0)
