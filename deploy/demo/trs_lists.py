"""List pages of the TRS part: six shapes of rows, eight forms of pagers (one page file each, as a static site has them)."""

from __future__ import annotations

from html import escape

from deploy.demo.model import SITE_NAME, Column, Row, chunks
from deploy.demo.trs_pages import relative

TRUNCATE_AT = 24
"""Anchor texts are cut after this many characters where the ``title`` attribute has the whole."""


def list_pages(column: Column) -> dict[str, str]:
    """Path on the column's host -> page, for all pages of the column and the other names that page 1 answers to."""
    pages = chunks(column.rows, column.page_size)
    found = {}
    for number, rows in enumerate(pages, 1):
        path = column.directory + page_name(column, number)
        shown = [*column.repeated, *rows]
        found[path] = _page(column, _rows(column, shown, path), _pager(column, number, len(pages)))
    first = found[column.directory + page_name(column, 1)]
    return {**{column.directory + name: first for name in _aliases(column)}, **found}


def page_name(column: Column, number: int) -> str:
    """File name of list page ``number`` (from 1) by the pager's rule."""
    ext = column.extension
    match column.pager:
        case "six_one_based":
            return f"list_zw_wj.{ext}" if number == 1 else f"list_zw_wj_{number}.{ext}"
        case "count_page":
            return f"index.{ext}" if number == 1 else f"index_8597_{number - 1}.{ext}"
        case "total_data":
            return f"index_pc_{number}.{ext}"
        case "next_link":
            return f"list_{number}.{ext}"
        case _:
            return f"index.{ext}" if number == 1 else f"index_{number - 1}.{ext}"


def _aliases(column: Column) -> list[str]:
    """``index_1`` of a one-based site is a copy of page 1; a directory answers with its index."""
    return ["", f"list_zw_wj_1.{column.extension}"] if column.pager == "six_one_based" else [""]


def _pager(column: Column, number: int, pages: int) -> str:
    current, ext, records = number - 1, column.extension, len(column.rows)
    following = page_name(column, number + 1)
    match column.pager:
        case "zero_based":
            return f'<script>createPageHTML({pages}, {current}, "index", "{ext}");</script>'
        case "create_page":
            return f'<script>createPage({pages}, {current}, "index", "{ext}");</script>'
        case "six_one_based":
            call = f"createPageHTML('page_div',{pages}, {number},'list_zw_wj','{ext}',{records});"
            return f'<div id="page_div"></div><script>{{{call}}}</script>'
        case "three_numbers":
            return f'<script>createPageHTML({records}, {pages}, {current}, "index", "{ext}");</script>'
        case "count_page":
            link = f'<a href="{following}">下一页</a>' if number < pages else ""
            return f"{link}<script>var countPage = {pages}; var currentPage = {current};</script>"
        case "total_data":
            options = f'totalData: {records}, showData: {column.page_size}, coping: true, pageName: "index_pc"'
            return f'<script>$(".pages").pagination({{ {options} }});</script>'
        case "client_side":
            return '<script>var $list = $(".default_news li"); var pageSize = 5;</script>'
        case "next_link":
            link = f'<a class="next" href="{following}">下一页</a>' if number < pages else ""
            return f"<span>第 {number} 页，共 {pages} 页</span> {link}"
    raise ValueError(f"pager: {column.pager!r} is none of the forms that this generator knows")


def _rows(column: Column, rows: list[Row], page: str) -> str:
    render = _STYLES[column.style]
    inside = "\n".join(render(row, _href(row, page), number) for number, row in enumerate(rows, 1))
    match column.style:
        case "table":
            return f'<table class="doc-list">\n{inside}\n</table>'
        case "flags":
            return f'<ul class="default_news">\n{inside}\n</ul>'
    return f'<ul class="list">\n{inside}\n</ul>'


def _href(row: Row, page: str) -> str:
    if row.href.startswith("http"):
        return escape(row.href)
    path, mark, fragment = row.href.partition("#")
    return relative(path, page) + mark + fragment


def _short(title: str) -> str:
    return title if len(title) <= TRUNCATE_AT else title[:TRUNCATE_AT] + "..."


def _titled(row: Row, href: str, number: int) -> str:
    top = "<em class=top>[置顶]</em>" if row.pinned else ""
    title = escape(row.title)
    link = f'<a href="{href}" target="_blank" title="{title}">{escape(_short(row.title))}</a>'
    return f"<li>{top}{link}<span>{row.published:%Y/%m/%d}</span></li>"


def _whole(row: Row, href: str, number: int) -> str:
    return f'<li><a href="{href}" target="_blank">{escape(row.title)}</a><span>{row.published:%Y-%m-%d}</span></li>'


def _date_first(row: Row, href: str, number: int) -> str:
    return f'<li><span class="date">{row.published:%Y-%m-%d}</span><a href="{href}">{escape(row.title)}</a></li>'


def _flags(row: Row, href: str, number: int) -> str:
    flag = "" if row.hidden else "是"
    title = escape(row.title)
    return (
        f'<li><i class="flag">{flag}</i><a href="{href}" title="{title}">{escape(_short(row.title))}</a>'
        f'<span>{row.doc_no}</span><b class="u_time">{row.published:%Y-%m-%d}</b></li>'
    )


def _writeln(row: Row, href: str, number: int) -> str:
    title = row.title.replace('"', '\\"')
    return (
        f'<script>\nvar url = "{href}"\nvar title = "";\nif(title == ""){{\n  title = "{title}";\n}}\n'
        f'var FILENUM = "{row.doc_no or "无"}"\n'
        'document.writeln("<li><a href="+url+" target=_blank>"+title+"</a><span>");\n'
        f'document.writeln("{row.published:%Y-%m-%d %H:%M}");\ndocument.writeln("</span></li>");\n</script>'
    )


def _table_row(row: Row, href: str, number: int) -> str:
    link = f'<a href="{href}">{escape(row.title)}</a>'
    return f'<tr class="doc-row"><td class="no">{number}</td><td>{link}</td><td class="date">{row.published:%Y-%m-%d}</td></tr>'


_STYLES = {
    "titled": _titled,
    "whole": _whole,
    "date_first": _date_first,
    "flags": _flags,
    "writeln": _writeln,
    "table": _table_row,
}


def _page(column: Column, rows: str, pager: str) -> str:
    charset = "gb2312" if column.encoding == "gb18030" else "utf-8"
    crumbs = (
        f'<div class="crumbs">当前位置：<a href="/" class="CurrChnlCls">首页</a>&gt;'
        f'<a href="{column.department.path}" class="CurrChnlCls">{column.department.name}</a>&gt;'
        f'<a href="./" class="CurrChnlCls">{column.name}</a></div>'
    )
    return (
        f'<!DOCTYPE html>\n<html><head><meta http-equiv="Content-Type" content="text/html; charset={charset}">\n'
        f'<meta name="SiteName" content="{SITE_NAME}"><meta name="SiteIDCode" content="9900000002">\n'
        f'<meta name="ColumnName" content="{column.name}"><meta name="ColumnType" content="政务公开">\n'
        f"<title>{column.name}_{SITE_NAME}</title></head><body>\n{crumbs}\n{rows}\n"
        f'<div class="page">{pager}</div>\n<div class="footer">主办单位：{SITE_NAME}办公室</div>\n</body></html>\n'
    )
