"""Stored bytes for a person in the admin: always a download, never a page of this server."""

from __future__ import annotations

import gzip
from typing import BinaryIO, cast

from django.http import FileResponse

from articles import content_store
from articles.api.file_views import INERT
from articles.models import Article, Attachment


class NotStored(Exception):
    """The row names no stored bytes, or they are missing on disk."""


def attachment(file: Attachment) -> FileResponse:
    """Under the name the site gave it (RFC 6266), without its type: a browser must not open it. Raises NotStored."""
    return _answer(_open(file.file_path), file.file_name or f"attachment-{file.pk}")


def raw_page(article: Article) -> FileResponse:
    """The main page as it was fetched, unpacked. Raises NotStored."""
    packed = _open(article.raw_html_path)
    return _answer(cast(BinaryIO, gzip.GzipFile(fileobj=packed)), f"article-{article.pk}.html")


def _answer(stream: BinaryIO, name: str) -> FileResponse:
    return FileResponse(stream, as_attachment=True, filename=name, content_type="application/octet-stream", headers=INERT)


def _open(key: str | None) -> BinaryIO:
    try:
        if key:
            return content_store.open_store().open(key)
    except FileNotFoundError as error:
        raise NotStored(key) from error
    raise NotStored("")
