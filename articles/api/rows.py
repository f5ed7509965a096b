"""Articles as the API shows them: plain rows, read with as few columns and queries as they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from articles.changes import site_codes
from articles.models import Article, ArticleStandardMeta, Attachment

SAME = (
    "id",
    "native_post_id",
    "url",
    "canonical_url",
    "title",
    "publish_time",
    "publish_precision",
    "publish_date",
    "source_raw",
    "index_no",
    "doc_no",
    "publisher",
    "effective_date",
    "is_effective",
    "expiry_date",
    "topic_words",
    "open_category",
    "content_category",
    "content_subcategory",
    "channel_name",
    "channel_path",
    "has_attachment",
    "status",
    "duplicate_reason",
    "word_count",
    "content_hash",
    "parser_version",
    "fetched_at",
    "updated_at",
    "exported_to_rag_at",
    "rag_export_status",
)
RENAMED = {
    "revision": "current_revision_id",
    "change_number": "change_seq",
    "duplicate_of": "duplicate_of_id",
    "target": "target__target_code",
}
DEPARTMENT = ("dept_id", "dept__dept_name", "dept__region")
ATTACHMENT = (
    "id",
    "position",
    "file_name",
    "file_ext",
    "mime",
    "size_bytes",
    "file_hash",
    "status",
    "error_class",
    "source_url",
)
STANDARD = (
    "standard_no",
    "chinese_title",
    "english_title",
    "standard_status",
    "ccs_codes",
    "ics_codes",
    "publish_date",
    "implementation_date",
    "competent_department",
    "technical_committee",
    "issuing_body",
    "standard_type",
)


def article_rows(articles: Any, *, text: bool = False, metadata: bool = False) -> list[dict[str, Any]]:
    """The articles of a query set (ordered and cut), one row each. Two queries.

    Sites are read apart: joined, the optimiser begins with the few sites and sorts all their articles for one page.
    """
    extra = [*(["content__content_text"] if text else []), *(["metadata_json"] if metadata else [])]
    found = list(articles.values("site_id", *SAME, *RENAMED.values(), *DEPARTMENT, *extra))
    codes = site_codes({row["site_id"] for row in found})
    return [_article(row, text, metadata) | {"site": codes[row["site_id"]]} for row in found]


def _article(row: dict[str, Any], text: bool, metadata: bool) -> dict[str, Any]:
    shown = {name: row[name] for name in SAME} | {name: row[column] for name, column in RENAMED.items()}
    department = {"id": row["dept_id"], "name": row["dept__dept_name"], "region": row["dept__region"]}
    shown["department"] = department if row["dept_id"] is not None else None
    if text:
        shown["content_text"] = row["content__content_text"]
    if metadata:
        shown["metadata"] = row["metadata_json"]
    return shown


def article_details(article_ids: Sequence[int], *, text: bool) -> dict[int, dict[str, Any]]:
    """Articles by id with metadata, files and standard metadata. Four queries."""
    details = {row["id"]: row for row in article_rows(Article.objects.filter(pk__in=article_ids), text=text, metadata=True)}
    for row in details.values():
        row["standard"], row["attachments"] = None, []
    for meta in ArticleStandardMeta.objects.filter(article__in=details).values("article_id", *STANDARD):
        details[meta.pop("article_id")]["standard"] = meta
    for file in Attachment.objects.filter(article__in=details).order_by("position", "id").values("article_id", *ATTACHMENT):
        details[file.pop("article_id")]["attachments"].append(file)
    return details
