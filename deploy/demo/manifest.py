"""The truth about the demo site, for a judge who knows nothing of the product: what each target must yield."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from deploy.demo.model import Article, Column, File, Hosts, distinct_articles
from deploy.demo.plan_trs import DEPARTMENTS, DISALLOWED

RULES = {
    "url": "The URL whose page holds the article, without fragment; for a moved article the one on the new"
    " host (moved_from is the listed one). A list row that is itself a file is an article of that URL without body text;"
    " the file is its attachment.",
    "body_text": "Paragraphs joined by one newline. Block elements and <br> end a paragraph. In each paragraph every run"
    " of white space (also U+3000, no-break space) is one blank, none at the ends; empty paragraphs are dropped. A table row"
    " is one paragraph, its cells joined by ' | '. Text of links to files inside the body container belongs to it; style,"
    " images, title, metadata, file blocks after the container, share and footer blocks do not. No newline at the end.",
    "body_sha256": "sha256, lower-case hex, of body_text in UTF-8.",
    "publish_date": "The published date (发布日期) in China time, not the signed one (成文日期), not the CMS ingestion time.",
    "publish_time": "UTC; null when publish_precision is day: then the source states no time of day.",
    "publisher": "发文机关, else 发布机构, else 来源; '' when the source states none of them.",
    "is_effective": "有效性 of a TRS page: 有效 true, 废止 or 失效 false, else null. gkmlpt: is_abolished or"
    " is_expired false, both 0 null (0 is the default of the CMS and states nothing).",
    "open_category": "The source's own classification (主题分类, 分类) as its page writes it; null: not judged.",
    "category": "content_category of the target; the source's classification is open_category.",
    "channel": "Name of the target's column. An article of two columns keeps channel and category of the target that stored it"
    " first, so either entry is right.",
    "department": "Code of the target's department; an article of two columns has both in the same department.",
    "attachments": "In page order, those of the body first. Images are none. sha256 and size are of the served bytes.",
    "counts": "articles: distinct URLs to be stored. skipped: distinct rows not to be fetched, with a reason. refused: rows"
    " that robots.txt forbids. failed: rows whose page is a soft 404. repeated_rows: rows that repeat an article on any page.",
}


def build(columns: list[Column], hosts: Hosts, crawl_delay: float, row_counts: dict[str, int]) -> dict[str, Any]:
    """The manifest as JSON values. ``row_counts``: list rows over all pages, by column code."""
    articles = distinct_articles(columns)
    listed_by: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        for article in column.articles:
            listed_by.setdefault((article.host, article.path), []).append(column.code)
    targets = [_target(column, hosts, row_counts[column.code], listed_by) for column in columns]
    files = {(file.host, file.path): file for article in articles for file in article.files}
    totals = {key: sum(target["counts"][key] for target in targets) for key in ("skipped", "refused", "failed")}
    return {
        "format": 1,
        "rules": RULES,
        "hosts": {"a": hosts.a, "b": hosts.b, "c": hosts.c},
        "crawl_delay": crawl_delay,
        "disallowed": [hosts.url("a", DISALLOWED)],
        "departments": [{"code": d.code, "oa_id": d.oa_id, "name": d.name, "path": d.path} for d in DEPARTMENTS],
        "targets": targets,
        "totals": {
            "articles": len(articles),
            "attachments": sum(len(article.files) for article in articles),
            "attachment_urls": len(files),
            "distinct_files": len({file.sha256 for file in files.values()}),
            "attachments_by_ext": dict(sorted(Counter(file.ext for file in files.values()).items())),
            **totals,
        },
    }


def _target(column: Column, hosts: Hosts, rows: int, listed_by: dict[tuple[str, str], list[str]]) -> dict[str, Any]:
    skipped = [{"url": _absolute(column, hosts, url), "reason": reason} for url, reason in column.skipped]
    refused = [_absolute(column, hosts, path) for path in column.refused]
    failed = [_absolute(column, hosts, path) for path in column.failed]
    found = len(column.articles) + len(skipped) + len(refused) + len(failed)
    return {
        "code": column.code,
        "adapter": column.adapter,
        "entry_url": hosts.url(column.host, column.entry),
        "params": column.params,
        "name": column.name,
        "department": column.department.code,
        "content_category": column.default_category,
        "pager": column.pager,
        "counts": {
            "articles": len(column.articles),
            "skipped": len(skipped),
            "skipped_by_reason": dict(Counter(row["reason"] for row in skipped)),
            "refused": len(refused),
            "failed": len(failed),
            "rows": rows,
            "repeated_rows": rows - found,
        },
        "skipped": skipped,
        "refused": refused,
        "failed": failed,
        "articles": [_article(article, column, hosts, listed_by) for article in column.articles],
    }


def _article(article: Article, column: Column, hosts: Hosts, listed_by: dict[tuple[str, str], list[str]]) -> dict[str, Any]:
    lines = article.body_lines
    text = "\n".join(lines)
    moment = article.publish_time
    return {
        "url": hosts.url(article.host, article.path),
        "moved_from": hosts.url(column.host, article.moved_from) if article.moved_from else None,
        "listed_by": listed_by[(article.host, article.path)],
        "template": article.template,
        "title": article.title,
        "publish_date": article.published.date().isoformat(),
        "publish_time": moment.isoformat() if moment else None,
        "publish_precision": article.precision,
        "signed_date": article.signed.isoformat() if article.signed else None,
        "index_no": article.index_no,
        "doc_no": article.doc_no,
        "publisher": article.publisher,
        "is_effective": article.is_effective,
        "channel": column.name,
        "department": article.department.code,
        "category": column.default_category,
        "open_category": article.open_category or None,
        "native_id": article.native_id,
        "body_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "body_text": text,
        "body_first": lines[0] if lines else "",
        "body_last": lines[-1] if lines else "",
        "attachments": [_attachment(file, hosts) for file in article.files],
    }


def _attachment(file: File, hosts: Hosts) -> dict[str, Any]:
    url = hosts.url(file.host, file.path)
    return {"url": url, "name": file.name, "sha256": file.sha256, "size": len(file.data), "ext": file.ext}


def _absolute(column: Column, hosts: Hosts, url: str) -> str:
    return url if url.startswith("http") else hosts.url(column.host, url)
