"""Detail pages of the TRS WCM part, four templates, and the plain HTML page of the column for selector rules.

table   meta tags, metadata table of four cells a row with padded labels, TRS_Editor body, files inside the body
dl      no meta tags but the site's, metadata in dl/dt/dd, #zoom body, files in a block after the body
meta    meta tags only, .trs_editor_view body
li      no meta tags at all, metadata in <li>label：value</li>, #zoom body, date without a time
plain   a hand-made page with a class for each field
"""

from __future__ import annotations

import posixpath
from html import escape

from deploy.demo.model import SITE_NAME, Article, Block, File, FileLinks, Hosts, Para, Picture, Table

PAD = "\u3000"


def detail_page(article: Article, hosts: Hosts) -> str:
    """The page of an article, links relative where the file lies on the same host."""
    return _TEMPLATES[article.template](article, hosts)


def relative(path: str, page: str) -> str:
    """``path`` as TRS writes it from ``page``: ``./`` or ``../`` first."""
    href = posixpath.relpath(path, posixpath.dirname(page))
    return href if href.startswith("..") else f"./{href}"


def moved_page(article: Article, hosts: Hosts) -> str:
    """The old page of an article that has moved to another host: it only forwards."""
    url = hosts.url(article.host, article.path)
    return (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
        f'<meta http-equiv="refresh" content="0;url={url}"><title></title></head>'
        f'<body><script>window.location.href="{url}";</script></body></html>'
    )


def soft_404_page() -> str:
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>提示信息</title></head>'
        '<body><div class="err">抱歉，您访问的页面不存在或已被删除！</div></body></html>'
    )


def body_html(blocks: tuple[Block, ...], page: str, host: str, hosts: Hosts) -> str:
    """The body fragment of a TRS page; paragraphs differ in markup by their position."""
    return "\n".join(_block(block, number, page, host, hosts) for number, block in enumerate(blocks))


def _block(block: Block, number: int, page: str, host: str, hosts: Hosts) -> str:
    match block:
        case Para(lines=lines, right=True):
            return f'<p align="right">{escape(lines[0])}{PAD * 2}</p>'
        case Para(lines=(line,)):
            return _paragraph(line, number)
        case Para(lines=lines):
            return f"<p>{PAD * 2}" + f"<br>{PAD * 2}".join(map(escape, lines)) + "</p>"
        case Table(rows=rows):
            return _table(rows)
        case FileLinks(lead=lead, files=files):
            links = " ".join(file_link(file, page, host, hosts) for file in files)
            return f"<p>{escape(lead)}{links}</p>"
        case Picture(path=path):
            name = posixpath.basename(path)
            return f'<p align="center"><img src="{relative(path, page)}" OLDSRC="{name}" alt=""></p>'


def _paragraph(line: str, number: int) -> str:
    half = len(line) // 2
    first, second = escape(line[:half]), escape(line[half:])
    looks = (
        f"<p>{PAD * 2}{escape(line)}</p>",
        f'<p style="text-indent: 2em;"><span style="font-family: 仿宋;">{first}</span><span>{second}</span></p>',
        f"<p>&nbsp;&nbsp;&nbsp;&nbsp;{escape(line)}&nbsp;</p>",
        f"<div>{PAD * 2}{escape(line)}</div>",
    )
    return looks[number % len(looks)]


def _table(rows: tuple[tuple[str, ...], ...]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f'<table border="1"><tr>{head}</tr>{body}</table>'


def file_link(file: File, page: str, host: str, hosts: Hosts) -> str:
    """A link to a file; files beside the page repeat their name in OLDSRC, files of another host have the whole URL."""
    if file.host != host:
        return f'<a href="{hosts.url(file.host, file.path)}" target="_blank">{escape(file.name)}</a>'
    name = posixpath.basename(file.path)
    return f'<a href="{relative(file.path, page)}" OLDSRC="{name}">{escape(file.name)}</a>'


def _site_metas(article: Article) -> str:
    return (
        f'<meta name="SiteName" content="{SITE_NAME}"><meta name="SiteIDCode" content="9900000002">\n'
        f'<meta name="ColumnName" content="{article.channel}"><meta name="ColumnType" content="政务公开">'
    )


def _article_metas(article: Article) -> str:
    title, source = escape(article.title), escape(article.source)
    return (
        f'<meta name="ArticleTitle" content="{title}">\n'
        f'<meta name="PubDate" content="{article.published:%Y-%m-%d %H:%M:%S}"><meta name="ContentSource" content="{source}">\n'
        f'<meta name="contentid" content="{article.native_id}"><meta name="publishdate" content="{article.published:%Y-%m-%d}">'
    )


def _head(article: Article, metas: str, charset: str = '<meta charset="utf-8">') -> str:
    title = f"<title>{escape(article.title)}_{SITE_NAME}</title>"
    return f"<!DOCTYPE html>\n<html><head>{charset}\n{title}\n{metas}\n</head><body>\n{_banner()}"


def _banner() -> str:
    return (
        f'<div class="top"><a href="/">{SITE_NAME}</a> <a href="/edu/">教育</a> <a href="/wsj/">卫生健康</a> '
        '<a href="/fgw/">发展改革</a></div>\n'
    )


def _foot(article: Article) -> str:
    return (
        '<div class="share">扫一扫在手机打开当前页　打印本页　关闭窗口</div>\n'
        '<div class="xglj">相关链接：<a href="/edu/zwgk/zcwj/index.html">政策文件</a></div>\n'
        f'<div class="footer">主办单位：{SITE_NAME}办公室　承办单位：兰河市政务服务中心　网站标识码：9900000002</div>\n'
        "</body></html>\n"
    )


def _table_page(article: Article, hosts: Hosts) -> str:
    signed = f"{article.signed:%Y年%m月%d日}" if article.signed else ""
    pairs = (
        ("索&nbsp;引&nbsp;号", article.index_no, "主题分类", article.open_category),
        ("发文机关", article.publisher, "成文日期", signed),
    )
    more = (
        ("发文字号", article.doc_no or "无", "发布日期", f"{article.published:%Y年%m月%d日}"),
        ("主 题 词", "工作　通知", "有 效 性", article.validity),
    )
    title = escape(article.title)
    table = (
        f'<table class="bd1 xxgk_table"><tbody>\n{_cells(pairs)}'
        f'<tr><td><b>标{PAD}{PAD}题：</b></td><td colspan="3">{title}</td></tr>\n{_cells(more)}</tbody></table>\n'
    )
    info = f"发布时间：{article.published:%Y-%m-%d %H:%M}{PAD}来源：{escape(article.source)}{PAD}【字体：大 中 小】"
    body = body_html(article.body, article.path, article.host, hosts)
    style = '<style type="text/css">.TRS_Editor P{margin-top:1em;}</style>'
    return (
        f"{_head(article, _site_metas(article) + _article_metas(article))}{table}"
        f'<h1 class="title">{title}</h1>\n<div class="info">{info}</div>\n<div class="article_con" id="Zoom">\n'
        f'<div class=TRS_Editor>{style}<div class="Custom_UnionStyle">\n{body}\n</div></div>\n</div>\n'
        f"{_outside(article, hosts)}{_foot(article)}"
    )


def _cells(pairs: tuple[tuple[str, str, str, str], ...]) -> str:
    return "".join(
        f"<tr><td><b>{one}：</b></td><td>{escape(first)}</td><td><b>{two}：</b></td><td>{escape(second)}</td></tr>\n"
        for one, first, two, second in pairs
    )


def _outside(article: Article, hosts: Hosts) -> str:
    links = "".join(f"<li>{file_link(file, article.path, article.host, hosts)}</li>" for file in article.outside_files)
    return f'<div class="attachment"><b>附件下载</b><ul>{links}</ul></div>\n' if links else '<div class="attachment"></div>\n'


def _dl_page(article: Article, hosts: Hosts) -> str:
    pairs = [
        (f"索{PAD}引{PAD}号", article.index_no),
        (f"分{PAD}{PAD}类", article.open_category),
        ("发布机构", article.publisher),
        ("成文日期", f"{article.signed:%Y-%m-%d}" if article.signed else ""),
        (f"文{PAD}{PAD}号", article.doc_no),
        ("发布日期", f"{article.published:%Y-%m-%d}"),
        (f"有{PAD}效{PAD}性", article.validity),
    ]
    metadata = "".join(f"<dt>{label}：</dt><dd>{escape(value)}</dd>\n" for label, value in pairs)
    info = f"发布时间：{article.published:%Y-%m-%d %H:%M}&nbsp;&nbsp;来源：{escape(article.source)}"
    body = body_html(article.body, article.path, article.host, hosts)
    return (
        f'{_head(article, _site_metas(article))}<dl class="xxgk_dl">\n{metadata}</dl>\n'
        f'<h1>{escape(article.title)}</h1>\n<p class="info">{info}</p>\n'
        f'<div id="zoom">\n{body}\n</div>\n{_outside(article, hosts)}{_foot(article)}'
    )


def _meta_page(article: Article, hosts: Hosts) -> str:
    body = body_html(article.body, article.path, article.host, hosts)
    return (
        f"{_head(article, _site_metas(article) + _article_metas(article))}"
        f'<div class="detail"><h2 class="tit">{escape(article.title)}</h2>\n'
        f'<div class="view TRS_UEDITOR trs_paper_default trs_editor_view">\n{body}\n</div></div>\n'
        f"{_outside(article, hosts)}{_foot(article)}"
    )


def _li_page(article: Article, hosts: Hosts) -> str:
    day = article.published
    signed = f"{article.signed.year}年{article.signed.month}月{article.signed.day}日" if article.signed else ""
    pairs = [
        ("信息索引", article.index_no),
        ("文件编号", article.doc_no),
        ("发布机构", article.publisher),
        ("生成日期", signed),
        ("发布日期", f"{day.year}年{day.month}月{day.day}日"),
    ]
    metadata = "".join(f"<li>{label}：{escape(value)}</li>\n" for label, value in pairs)
    body = body_html(article.body, article.path, article.host, hosts)
    charset = '<meta http-equiv="Content-Type" content="text/html; charset=gb2312">'
    return (
        f'{_head(article, "", charset)}<ul class="xxgk_list">\n{metadata}</ul>\n'
        f'<h1>{escape(article.title)}</h1>\n<div id="zoom">\n{body}\n</div>\n{_outside(article, hosts)}{_foot(article)}'
    )


def _plain_page(article: Article, hosts: Hosts) -> str:
    links = "".join(f"<li>{file_link(file, article.path, article.host, hosts)}</li>" for file in article.outside_files)
    body = body_html(article.body, article.path, article.host, hosts)
    return (
        f"{_head(article, '')}"
        f'<div class="doc"><h2 class="doc-title">{escape(article.title)}</h2>\n'
        f'<p class="doc-meta"><span class="doc-date">{article.published:%Y-%m-%d}</span> '
        f'<span class="doc-org">{escape(article.publisher)}</span> <span class="doc-number">{escape(article.doc_no)}</span> '
        f'<span class="doc-index">{escape(article.index_no)}</span></p>\n'
        f'<div class="doc-body">\n{body}\n</div>\n<ul class="doc-files">{links}</ul></div>\n{_foot(article)}'
    )


_TEMPLATES = {"table": _table_page, "dl": _dl_page, "meta": _meta_page, "li": _li_page, "plain": _plain_page}
