"""Stored bytes over HTTP: streamed, as downloads only, never as pages of this server."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from django.http import FileResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from articles import content_store
from articles.api.inputs import Strict, query
from articles.api.views import absent
from articles.models import Article, Attachment
from govcrawler.access.openapi import problems
from govcrawler.access.problems import Problem

CHUNK = 65_536
MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}\Z")
INERT = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


class AnyAccept(BaseContentNegotiation):
    """A file is what it is, whatever the Accept header prefers."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


def _open(key: str | None, what: str) -> BinaryIO:
    try:
        if key:
            return content_store.open_store().open(key)
    except FileNotFoundError:
        pass
    remedy = "Tell the operator: the row is there, its stored bytes are not."
    raise Problem(410, "file_missing", f"The stored bytes of {what} are missing.", remedy)


class AttachmentContentView(APIView):
    required_scope = "read"
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="attachments_content",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **problems(404, 410)},
    )
    def get(self, request: Request, attachment_id: int) -> HttpResponseBase:
        """The bytes of a file, under the name the site gave it."""
        query(request, Strict)
        file = Attachment.objects.filter(pk=attachment_id).first()
        if file is None:
            raise Problem(404, "not_found", f"There is no attachment {attachment_id}.", "Take ids from an article.")
        if file.status != Attachment.Status.DONE:
            detail = f"Attachment {attachment_id} is not stored: {file.status} {file.error_class or ''}".strip() + "."
            raise Problem(404, "file_not_stored", detail, "Its article is a new revision once the file arrives.")
        mime = (file.mime or "").partition(";")[0].strip().lower()
        response = FileResponse(
            _open(file.file_path, f"attachment {attachment_id}"),
            as_attachment=True,
            filename=file.file_name or f"attachment-{attachment_id}",
            content_type=mime if MIME.match(mime) else "application/octet-stream",
            headers=INERT,
        )
        if file.file_hash:
            response.headers["ETag"] = f'"{file.file_hash}"'
        return response


class ArticleRawView(APIView):
    required_scope = "read"
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="articles_raw", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **problems(404, 410)}
    )
    def get(self, request: Request, article_id: int) -> HttpResponseBase:
        """The bytes of the article's main page as they were fetched."""
        query(request, Strict)
        row = Article.objects.filter(pk=article_id).values_list("raw_html_path", flat=True)[:1]
        if not row:
            raise absent(article_id)
        if not row[0]:
            raise Problem(404, "file_not_stored", f"Article {article_id} has no stored page.", "Its list row held everything.")
        file = _open(row[0], f"article {article_id}")
        name = content_disposition_header(True, f"article-{article_id}.bin")
        return StreamingHttpResponse(
            _unpacked(file),
            content_type="application/octet-stream",
            headers={**INERT, "Content-Disposition": name or "attachment"},
        )


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    with file, gzip.open(file) as unpacked:
        while chunk := unpacked.read(CHUNK):
            yield chunk
