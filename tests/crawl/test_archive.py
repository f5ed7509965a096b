"""A response is on disk before anything is made of it, and found again by the job that fetched it (review 2.2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from articles.content_store import ContentStore
from articles.record import StoredFile
from crawl.archive import Archive, restore
from sources.adapters.base import Request, Response

FETCHED = datetime(2024, 3, 20, 2, 0, 0, 123456, tzinfo=UTC)
URL = "http://www.yun.example/a/1.html"


@pytest.fixture
def store(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path)


@pytest.fixture
def archive(store: ContentStore) -> Archive:
    return Archive(store, "yun", "job1")


def response(request: Request | None = None, body: bytes = b"<html>\xb9\xe3\x00") -> Response:
    return Response(request or Request(URL), URL + "?final", 200, {"content-type": "text/html", "x": "\xff"}, body, FETCHED)


def test_a_kept_response_comes_back_as_it_was(archive: Archive) -> None:
    one = response()
    entry = archive.keep(one)
    assert archive.find(one.request) == (one, entry)
    assert entry["key"].startswith("raw/yun/2024/03/") and entry["key"].endswith(".gz")


def test_requests_are_told_apart_by_method_body_and_url(archive: Archive) -> None:
    requests = [Request(URL), Request(URL + "?2"), Request(URL, "POST", body=b"page=1"), Request(URL, "POST", body=b"page=2")]
    for number, request in enumerate(requests):
        archive.keep(response(request, str(number).encode()))
    found = [archive.find(request) for request in requests]
    assert [entry[0].body for entry in found if entry] == [b"0", b"1", b"2", b"3"]
    assert found[2] and found[2][0].request.body == b"page=1"
    assert archive.find(Request(URL, "POST")) is None


def test_another_job_finds_nothing_and_clearing_leaves_the_bytes(archive: Archive, store: ContentStore) -> None:
    entry = archive.keep(response())
    assert Archive(store, "yun", "job10").find(Request(URL)) is None
    archive.clear()
    assert archive.find(Request(URL)) is None
    assert list(store.keys("spool")) == []
    assert restore(entry, store).body == response().body


def test_when_the_bytes_are_gone_the_source_is_asked_again_and_they_are_kept_anew(
    archive: Archive, store: ContentStore
) -> None:
    store.delete(archive.keep(response())["key"])
    assert archive.find(Request(URL)) is None
    archive.keep(response(body=b"other"))
    found = archive.find(Request(URL))
    assert found and found[0].body == b"other"


def test_what_became_of_a_file_is_found_again(archive: Archive) -> None:
    stored = StoredFile(URL, "附件\ud800.pdf", 2, "done", "attachments/aa/aa.pdf", "a" * 64, 9, "pdf", "x/y", None, FETCHED)
    refused = replace(stored, url=URL + "?2", status="failed", key=None, fetched_at=None, error="TYPE")
    for file in (stored, refused):
        archive.keep_file(file)
        assert archive.find_file(file.url) == file
    assert archive.find_file(URL + "?3") is None
