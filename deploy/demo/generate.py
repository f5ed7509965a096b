"""Builds the demo site in memory: every page, file and robots.txt of its three hosts, and the manifest.

The same base URLs and crawl delay give the same bytes on every machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from deploy.demo import files, gkmlpt_pages, manifest, plan_gkmlpt, plan_trs, trs_lists, trs_pages
from deploy.demo.model import SITE_NAME, Article, Column, Hosts, Picture, Resource, chunks, distinct_articles

_API = re.compile(r"/gkmlpt/api/all/(\d+)")
_JSON = "application/json; charset=utf-8"
_NOT_FOUND = Resource(b"<html><head><title>404</title></head><body>404 Not Found</body></html>", status=404)


@dataclass(frozen=True)
class Site:
    """What the three hosts (``a``, ``b``, ``c``) serve, and the truth about it."""

    hosts: Hosts
    manifest: dict[str, Any]
    resources: dict[tuple[str, str], Resource]
    posts: dict[int, plan_gkmlpt.PostColumn]

    def answer(self, host: str, target: str) -> Resource:
        """The answer to a request target (path with query) at a host; 404 when there is none."""
        path, _, query = target.partition("?")
        api = _API.fullmatch(path)
        if host == "b" and api:
            return self._api(int(api.group(1)), parse_qs(query))
        return self.resources.get((host, path), _NOT_FOUND)

    def _api(self, column_id: int, query: dict[str, list[str]]) -> Resource:
        page, sid = query.get("page", ["1"])[0], query.get("sid", [""])[0]
        if not page.isdecimal():
            return Resource(b'{"error": "page"}', _JSON, 400)
        column = self.posts.get(column_id)
        if column is None or sid != plan_gkmlpt.SID:
            return Resource(gkmlpt_pages.unknown_column(column_id).encode(), _JSON)
        return Resource(gkmlpt_pages.api_page(column, int(page), self.hosts).encode(), _JSON)


def generate(base_urls: tuple[str, str, str], crawl_delay: float = 0.2) -> Site:
    """The site for base URLs of hosts a, b, c (no trailing slash). ``crawl_delay`` in seconds; 0 leaves the line out."""
    hosts = Hosts(*base_urls)
    trs, posts = plan_trs.columns(hosts), plan_gkmlpt.post_columns()
    columns = [*trs, *plan_gkmlpt.columns()]
    resources: dict[tuple[str, str], Resource] = {}
    for column in trs:
        _add_trs_column(resources, column, hosts)
    for post_column in posts:
        for article in post_column.articles:
            _add_post(resources, article, hosts)
    _add(resources, "b", "/gkmlpt/index", gkmlpt_pages.index_page(posts, hosts))
    _add_files(resources, [*distinct_articles(columns), *(article for column in posts for article in column.articles)])
    _add_odd_pages(resources)
    _add_robots(resources, crawl_delay)
    rows = {column.code: _row_count(column) for column in trs}
    for post_column in posts:
        rows[f"gk-{post_column.column_id}"] = len(plan_gkmlpt.listing_order(post_column))
    truth = manifest.build(columns, hosts, crawl_delay, rows)
    return Site(hosts, truth, resources, {column.column_id: column for column in posts})


def _add(resources: dict[tuple[str, str], Resource], host: str, path: str, page: str, encoding: str = "utf-8") -> None:
    # Old servers send no charset: the column in GBK bytes is told by its meta element alone, and that says gb2312.
    content_type = "text/html; charset=utf-8" if encoding == "utf-8" else "text/html"
    resources[host, path] = Resource(page.encode(encoding), content_type)


def _add_trs_column(resources: dict[tuple[str, str], Resource], column: Column, hosts: Hosts) -> None:
    for path, page in trs_lists.list_pages(column).items():
        _add(resources, column.host, path, page, column.encoding)
    for article in column.articles:
        if article.template != "file":
            _add(resources, article.host, article.path, trs_pages.detail_page(article, hosts), column.encoding)
        if article.moved_from:
            _add(resources, column.host, article.moved_from, trs_pages.moved_page(article, hosts))
    for path in column.failed:
        _add(resources, column.host, path, trs_pages.soft_404_page())
    unread = [url for url, reason in column.skipped if reason == "hidden"]
    for path in (*unread, *column.refused):
        _add(resources, column.host, path, trs_pages.soft_404_page().replace("页面不存在或已被删除", "内容仅供内部使用"))


def _add_post(resources: dict[tuple[str, str], Resource], article: Article, hosts: Hosts) -> None:
    _add(resources, "b", article.path, gkmlpt_pages.detail_page(article, hosts))
    _add(resources, "b", f"/zwgk/zcwj/content/post_{article.native_id}.html", gkmlpt_pages.cms_page(article))


def _add_files(resources: dict[tuple[str, str], Resource], articles: list[Article]) -> None:
    for article in articles:
        for file in article.files:
            resources[file.host, file.path] = Resource(file.data, files.CONTENT_TYPES[file.ext])
        for block in article.body:
            if isinstance(block, Picture):
                resources["b" if article.host == "b" else "a", block.path] = Resource(files.GIF, files.CONTENT_TYPES["gif"])


def _add_odd_pages(resources: dict[tuple[str, str], Resource]) -> None:
    links = "".join(f'<li><a href="{d.path}">{d.name}</a></li>' for d in plan_trs.DEPARTMENTS if d.path)
    head = f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{SITE_NAME}</title></head>'
    home = f"{head}<body><ul>{links}</ul></body></html>"
    _add(resources, "a", "/", home)
    for department in plan_trs.DEPARTMENTS:
        if department.path:
            _add(resources, "a", department.path, home.replace(SITE_NAME, department.name))


def _add_robots(resources: dict[tuple[str, str], Resource], crawl_delay: float) -> None:
    delay = f"Crawl-delay: {crawl_delay:g}\n" if crawl_delay else ""
    for host, path in (("a", plan_trs.DISALLOWED), ("b", "/gkmlpt/private/"), ("c", "/tmp/")):
        text = f"User-agent: *\n{delay}Disallow: {path}\n"
        resources[host, "/robots.txt"] = Resource(text.encode(), "text/plain; charset=utf-8")


def _row_count(column: Column) -> int:
    return len(column.rows) + len(column.repeated) * len(chunks(column.rows, column.page_size))
