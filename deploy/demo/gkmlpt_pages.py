"""The gkmlpt part: catalogue page with ``window._CONFIG``, list API, and three variants of detail pages.

gk_full         metadata table, .article-content, _CONFIG.DETAIL as escaped JSON with the same body
gk_detail_only  an empty #app; metadata and body stand in _CONFIG.DETAIL only
gk_pdf_only     .article-content of one line and a link; DETAIL with id, title and content only
"""

from __future__ import annotations

import json
from datetime import datetime, time
from html import escape
from typing import Any

from deploy.demo.files import CONTENT_TYPES
from deploy.demo.model import Article, Block, File, FileLinks, Hosts, Para, Picture, Table
from deploy.demo.plan_gkmlpt import (
    CITY_FILES,
    JUMPED_CHILD,
    JUMPED_PARENT,
    OVERVIEW,
    SID,
    External,
    PostColumn,
    epoch,
    file_id,
    listing_order,
)

PAGE_SIZE = 20
"""Rows of an API page; the real service has 100."""

_NAME = "兰河市人民政府"
_PAD = "\u3000"


def index_page(columns: list[PostColumn], hosts: Hosts) -> str:
    """The entry page: a JavaScript literal (not JSON) whose TREE is JSON."""
    host = hosts.b.partition(":")[2]
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{_NAME}信息公开目录</title>\n'
        f'<meta name="SiteName" content="{_NAME}"><meta name="SiteIDCode" content="4499000002">\n'
        '</head><body><div id="app"></div>\n<script>\n    window._CONFIG = {\n'
        f"        SITE_URL: '{host}/gkmlpt',\n        SID: '{SID}',\n        SITE_NAME: '{_NAME}',\n"
        f"        TREE: {json.dumps(tree(columns, hosts), ensure_ascii=False)},\n"
        "        SERVICE_AREA_ID: '799',\n        SEARCH_URL: 'https://search.example/',\n    };\n</script>\n"
        "</body></html>\n"
    )


def tree(columns: list[PostColumn], hosts: Hosts) -> list[dict[str, Any]]:
    """A leaf, a leaf that jumps away, and a node that jumps away although a child of it still has posts."""
    count = {column.column_id: column.post_count for column in columns}
    jump = f"{hosts.b}/ztzl/"
    return [
        _node(
            5,
            "政策文件",
            0,
            count[CITY_FILES],
            "",
            [
                _node(CITY_FILES, "市政府文件", 5, count[CITY_FILES], ""),
                _node(7, "行政规范性文件", 5, 0, f"{hosts.b}/zwgk/gfxwj/index.html"),
            ],
        ),
        _node(OVERVIEW, "机构概况", 0, count[OVERVIEW], ""),
        _node(JUMPED_PARENT, "专题专栏", 0, 0, jump, [_node(JUMPED_CHILD, "招商专题", JUMPED_PARENT, count[JUMPED_CHILD], "")]),
    ]


def api_page(column: PostColumn, page: int, hosts: Hosts) -> str:
    """The list API's answer. Pages count from 1, page 0 is page 1; past the end ``articles`` is empty."""
    every = listing_order(column)
    offset = (max(page, 1) - 1) * PAGE_SIZE
    shown = every[offset : offset + PAGE_SIZE]
    items = [_external(entry, column) if isinstance(entry, External) else _item(entry, hosts) for entry in shown]
    answer = {
        "classify": {"id": column.column_id, "name": column.name, "post_count": column.post_count, "jump_url": ""},
        "articles": items,
        "total": len(every),
        "offset": offset,
        "limit": PAGE_SIZE,
        "page": page,
    }
    return json.dumps(answer, ensure_ascii=False)


def unknown_column(column_id: int) -> str:
    """The answer for a column or SID that the catalogue does not have: no rows, status 200."""
    classify = {"id": column_id, "name": "", "post_count": 0, "jump_url": ""}
    return json.dumps({"classify": classify, "articles": [], "total": 0, "offset": 0, "limit": PAGE_SIZE, "page": 1})


def detail_page(article: Article, hosts: Hosts) -> str:
    """The page of a post in the variant of its template."""
    return {"gk_full": _full, "gk_detail_only": _detail_only, "gk_pdf_only": _pdf_only}[article.template](article, hosts)


def cms_page(article: Article) -> str:
    """What ``post_url`` shows: a frame without the body."""
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{escape(article.title)}</title></head>'
        f'<body><h1>{escape(article.title)}</h1><div class="content"></div></body></html>\n'
    )


def _node(
    node_id: int, name: str, parent: int, count: int, jump: str, children: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    ids = {"id": node_id, "name": name, "parent_id": parent}
    return {**ids, "post_count": count, "jump_url": jump, "children": children or []}


def _item(article: Article, hosts: Hosts) -> dict[str, Any]:
    """An API item. ``created_at`` is the time of ingestion: days away from both dates of the document."""
    facts, published = article.gkmlpt, epoch(article.published)
    signed = epoch(datetime.combine(article.signed, time())) if article.signed else 0
    # A page that links its only file itself lists none here.
    listed = () if article.template == "gk_pdf_only" else article.files
    return {
        "id": facts["id"],
        "title": article.title,
        "type": "normal",
        "classify_main": facts["column"],
        "classify_main_name": article.channel,
        "classify_genre": 12,
        "classify_genre_name": facts["genre"],
        "classify_theme": 305,
        "classify_theme_name": facts["theme"],
        "document_number": article.doc_no,
        "identifier": article.index_no,
        "publisher": article.publisher,
        "keywords": "",
        "abstract": "",
        "date": signed,
        "create_time": published,
        "display_publish_time": published,
        "created_at": "2024-05-06 18:20:00",
        "updated_at": "2024-05-06 18:20:00",
        "url": hosts.url("b", article.path),
        "post_url": hosts.url("b", f"/zwgk/zcwj/content/post_{facts['id']}.html"),
        "attachment": [_attachment(file, hosts) for file in listed],
        "relation": "[]",
        "is_expired": facts["is_expired"],
        "is_abolished": facts["is_abolished"],
        "effective_at": None,
        "expired_at": None,
        "sid": int(SID),
        "is_top": facts["is_top"],
    }


def _external(entry: External, column: PostColumn) -> dict[str, Any]:
    published = epoch(entry.published)
    return {
        "id": entry.post_id,
        "title": entry.title,
        "type": "url",
        "classify_main": column.column_id,
        "classify_main_name": column.name,
        "document_number": "",
        "identifier": "",
        "publisher": "",
        "date": 0,
        "create_time": published,
        "display_publish_time": published,
        "created_at": "2024-02-20 17:41:00",
        "url": entry.url,
        "post_url": entry.url,
        "attachment": [],
        "relation": "[]",
        "is_expired": 0,
        "is_abolished": 0,
        "sid": int(SID),
        "is_top": 0,
    }


def _attachment(file: File, hosts: Hosts) -> dict[str, Any]:
    kind = {"id": file_id(file), "name": file.name, "type": "doc" if file.ext == "docx" else file.ext}
    return {**kind, "mime": CONTENT_TYPES[file.ext], "size": str(len(file.data)), "url": hosts.url(file.host, file.path)}


def _body(blocks: tuple[Block, ...], hosts: Hosts) -> str:
    return "".join(_block(block, hosts) for block in blocks)


def _block(block: Block, hosts: Hosts) -> str:
    match block:
        case Para(lines=lines, right=right):
            align = "right" if right else "justify"
            return f'<p style="text-align: {align};">' + "<br/>".join(escape(line) for line in lines) + "</p>"
        case Table(rows=rows):
            cells = ("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            return "<table><tbody>" + "".join(cells) + "</tbody></table>"
        case FileLinks(lead=lead, files=files):
            link = '<a class="nfw-cms-attachment" href="{}" alt="">{}</a>'
            return f"<p>{lead}" + " ".join(link.format(hosts.url(f.host, f.path), escape(f.name)) for f in files) + "</p>"
        case Picture(path=path):
            return f'<p><img class="nfw-cms-img" src="{hosts.url("b", path).removeprefix("http:")}" alt=""></p>'


def _config(detail: dict[str, Any]) -> str:
    """The script with DETAIL in the JSON dialect of the platform: ASCII, with <, >, &, quotes and slashes escaped."""
    text = json.dumps(detail).replace("/", "\\/").replace('\\"', "\\u0022")
    for char in "<>&'":
        text = text.replace(char, f"\\u{ord(char):04X}")
    return (
        f"<script>\n    window._CONFIG = {{\n        SID: '{SID}',\n        DETAIL: {text},\n"
        f"        TREE: [],\n        SERVICE_AREA_ID: '799',\n    }};\n</script>\n"
    )


def _head(article: Article, metas: str = "") -> str:
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8">\n<title>{escape(article.title)}</title>\n{metas}</head><body>\n'
    )


def _full(article: Article, hosts: Hosts) -> str:
    content = _body(article.body, hosts)
    pairs = (
        ("索 引 号", article.index_no),
        (f"分{_PAD}{_PAD}类", article.open_category),
        ("发布机构", article.publisher),
        ("成文日期", f"{article.signed:%Y-%m-%d}" if article.signed else ""),
        (f"名{_PAD}{_PAD}称", article.title),
        (f"文{_PAD}{_PAD}号", article.doc_no),
        ("发布日期", f"{article.published:%Y-%m-%d}"),
        ("主 题 词", ""),
    )
    cells = '<tr><td class="label">{}：</td><td class="value">{}</td></tr>\n'
    metadata = "".join(cells.format(label, escape(value)) for label, value in pairs)
    metas = (
        f'<meta name="SiteName" content="{_NAME}"><meta name="ArticleTitle" content="{escape(article.title)}">\n'
        f'<meta name="PubDate" content="{article.published:%Y-%m-%d %H:%M:%S}">'
        f'<meta name="ContentSource" content="{article.publisher}">\n'
    )
    return (
        f'{_head(article, metas)}<div class="article"><h1 class="title">{escape(article.title)}</h1>\n'
        f'<table class="article-info">\n{metadata}</table>\n<div class="article-content">{content}</div>\n</div>\n'
        f'<div class="footer">主办单位：{_NAME}办公室</div>\n'
        f"{_config({**_item(article, hosts), 'content': content})}</body></html>\n"
    )


def _detail_only(article: Article, hosts: Hosts) -> str:
    detail = {**_item(article, hosts), "content": _body(article.body, hosts)}
    return f'{_head(article)}<div id="app"></div>\n{_config(detail)}</body></html>\n'


def _pdf_only(article: Article, hosts: Hosts) -> str:
    content = _body(article.body, hosts)
    detail = {"id": article.gkmlpt["id"], "title": article.title, "content": content}
    return f'{_head(article)}<div class="article-content">{content}</div>\n{_config(detail)}</body></html>\n'
