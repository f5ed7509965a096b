"""Stored bytes over HTTP: streamed as downloads, under the site's names, and missing ones told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from articles import content_store
from articles.models import Article, Attachment
from tests.articles import feed

pytestmark = pytest.mark.django_db
PDF = b"%PDF-1.4 invented " + bytes(range(256)) * 1024


@pytest.fixture
def reader(settings: Any, tmp_path: Path) -> Client:
    settings.CONTENT_DIR = tmp_path
    return feed.client("read")


def attachment(data: bytes | None = PDF, **fields: Any) -> Attachment:
    key = content_store.attachment_key("ab" * 32, "pdf")
    if data is not None:
        content_store.open_store().put(key, data)
    values = {"url_hash": "a" * 64, "file_path": key, "file_hash": "ab" * 32, "status": "done", "mime": "application/pdf"}
    return Attachment.objects.create(article=feed.ready(), **{**values, **fields})


def get(client: Client, file: Attachment, **headers: str) -> Any:
    return client.get(f"/api/v1/attachments/{file.pk}/content/", headers=headers)


def test_a_file_comes_whole_as_a_download_with_its_chinese_name(reader: Client) -> None:
    response = get(reader, attachment(file_name="附件1：名单.pdf"), accept="application/pdf")
    assert response.status_code == 200 and response.streaming
    assert b"".join(response.streaming_content) == PDF
    assert response.headers["Content-Length"] == str(len(PDF))
    disposition = response.headers["Content-Disposition"]
    assert disposition.startswith("attachment; filename*=utf-8''%E9%99%84") and disposition.endswith(".pdf")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    assert response.headers["Content-Type"] == "application/pdf"
    assert response.headers["ETag"] == f'"{"ab" * 32}"'


@pytest.mark.parametrize("name", ['a"; filename=evil.exe', "a\r\nSet-Cookie: x=1", "../../etc/passwd", None, ""])
def test_a_hostile_name_stays_inside_its_header(reader: Client, name: str | None) -> None:
    response = get(reader, attachment(file_name=name))
    assert response.status_code == 200
    disposition = response.headers["Content-Disposition"]
    assert disposition.startswith("attachment;") and "\n" not in disposition and "/" not in disposition.replace("\\/", "")
    assert "Set-Cookie" not in response.headers and "filename=evil" not in disposition.replace('\\"; filename=evil', "")


@pytest.mark.parametrize(
    ("mime", "sent"),
    [("text/html; charset=gbk", "text/html"), ("x\r\nY: z", "application/octet-stream"), (None, "application/octet-stream")],
)
def test_a_type_that_is_none_is_not_passed_on(reader: Client, mime: str | None, sent: str) -> None:
    response = get(reader, attachment(mime=mime))
    assert response.headers["Content-Type"] == sent
    assert response.headers["Content-Disposition"].startswith("attachment")


def test_a_file_whose_bytes_are_missing_is_gone_and_one_never_stored_not_found(reader: Client) -> None:
    missing = get(reader, attachment(None))
    assert (missing.status_code, missing.json()["code"]) == (410, "file_missing")
    assert "attachments/" not in missing.content.decode()
    pending = get(reader, attachment(None, status="failed", error_class="TIMEOUT"))
    assert (pending.status_code, pending.json()["code"]) == (404, "file_not_stored")
    assert "TIMEOUT" in pending.json()["detail"]
    unknown = reader.get("/api/v1/attachments/99999/content/")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_the_raw_page_comes_as_it_was_fetched(reader: Client) -> None:
    article = feed.ready()
    path = f"/api/v1/articles/{article.pk}/raw/"
    assert reader.get(path).json()["code"] == "file_not_stored"
    page = "<html>正文</html>".encode("gbk") * 20_000
    content_store.open_store().put_gzip("raw/s/2026/03/a/b.gz", page)
    Article.objects.filter(pk=article.pk).update(raw_html_path="raw/s/2026/03/a/b.gz")
    response = reader.get(path)
    assert b"".join(response.streaming_content) == page
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"].startswith("attachment")
    Article.objects.filter(pk=article.pk).update(raw_html_path="raw/s/2026/03/a/gone.gz")
    assert (reader.get(path).status_code, reader.get(path).json()["code"]) == (410, "file_missing")
