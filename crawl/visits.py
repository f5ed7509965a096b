"""One article: its pages fetched and archived, parsed, its files fetched and stored. No database is written here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

from articles.content_store import StorageFull, attachment_key, digest, text_key
from articles.record import Found, StoredFile
from crawl.classify import Kind, classify
from crawl.crawling import Crawl
from crawl.errors import ErrorClass, FetchError
from govcrawler.crashpoints import crashpoint
from sources.adapters.base import ArticleRef, AttachmentRef, ParsedArticle, ParseError, Request, Response
from sources.parsing.names import filename_from_content_disposition, safe_display_name
from sources.parsing.urls import file_extension, url_hash

log = logging.getLogger(__name__)
PAGES_OF_ARTICLE = 30
PROGRAM_STARTS = (b"MZ", b"\x7fELF", b"#!", b"\xca\xfe\xba\xbe")


def visit(crawl: Crawl, ref: ArticleRef) -> Found:
    """Fetches and parses the article of a list row. Raises FetchError, TurnOver, Stopped, jobs.LeaseLost, OSError.

    Bytes that cannot be parsed give a ``Found`` without record: they are kept for replay.
    """
    got: list[Response] = []
    manifest: list[dict[str, Any]] = []
    while (request := crawl.adapter.detail_request(ref, got)) is not None:
        if len(got) == PAGES_OF_ARTICLE:
            raise FetchError(ErrorClass.PARSE_LIMIT, f"the article has more than {PAGES_OF_ARTICLE} pages", url=ref.url)
        response, entry = detail(crawl, request)
        got.append(response)
        manifest.append(entry)
    return parsed(crawl, ref, got, manifest, {})


def parsed(
    crawl: Crawl,
    ref: ArticleRef,
    got: Sequence[Response],
    manifest: Sequence[Mapping[str, Any]],
    have: Mapping[str, StoredFile],
) -> Found:
    """The record of stored responses; files that are stored already (``have``, by URL hash) are not fetched again."""
    found = Found(
        target=crawl.target,
        ref=ref,
        parsed=None,
        fetched_at=got[-1].fetched_at if got else crawl.list_fetched_at,
        strategy="httpx",
        parser_version=f"{crawl.adapter.id}/{crawl.adapter.version}",
        manifest=manifest,
    )
    try:
        article = crawl.adapter.parse_detail(ref, got)
    except ParseError as error:
        crawl.receipt.error(ref.url, str(error))
        return replace(found, error=str(error))
    files = [have.get(url_hash(item.url)) or fetch_file(crawl, item, place) for place, item in enumerate(article.attachments)]
    return replace(found, parsed=article, files=files, text_key=keep_text(crawl, article))


def keep_text(crawl: Crawl, article: ParsedArticle) -> str | None:
    if not article.body_text:
        return None
    data = article.body_text.encode("utf-8", "replace")
    key = text_key(digest(data))
    crawl.store.put(key, data)
    return key


def detail(crawl: Crawl, request: Request) -> tuple[Response, dict[str, Any]]:
    """A page of an article with its manifest entry: from this job's archive, else from the source."""
    stored = crawl.archive.find(request)
    if stored:
        return stored
    response = crawl.fetch(request, expected="detail")
    return response, crawl.archive.keep(response)


def fetch_file(crawl: Crawl, item: AttachmentRef, position: int) -> StoredFile:
    """Fetches and stores a file; what cannot be had is said in the file's own state and does not spoil the article."""
    kept = crawl.archive.find_file(item.url)
    if kept:
        return replace(kept, position=position, name=item.name or kept.name)
    blank = StoredFile(item.url, item.name, position, "pending", extension=file_extension(item.url), mime=item.mime)
    try:
        file = _download(crawl, item, blank)
    except FetchError as error:
        crawl.note_fetch_error(error)
        file = replace(blank, status="pending" if error.retryable else "failed", error=error.error_class.value)
    except StorageFull:
        log.exception("no room for a file", extra={"data": {"url": item.url}})
        file = replace(blank, error=ErrorClass.STORAGE_FULL.value)
    if file.status != "pending":
        crawl.archive.keep_file(file)
    return file


def _download(crawl: Crawl, item: AttachmentRef, blank: StoredFile) -> StoredFile:
    got = crawl.download(Request(item.url))
    head = Response(Request(item.url), got.url, got.status, got.headers, got.head, got.fetched_at)
    verdict = classify(head, expected="file")
    name = _name(item, got.headers, got.url)
    extension = file_extension("http://name.invalid/" + name) or file_extension(got.url)
    if got.head.startswith(PROGRAM_STARTS) or verdict.kind in (Kind.WRONG_TYPE, Kind.SOFT_404, Kind.BLOCK_PAGE, Kind.LOGIN):
        got.path.unlink()
        program = got.head.startswith(PROGRAM_STARTS)
        log.warning("file refused", extra={"data": {"url": item.url, "why": "a program" if program else verdict.reason}})
        return replace(blank, name=name, status="skipped" if program else "failed", error=ErrorClass.TYPE.value)
    key = attachment_key(got.sha256, extension)
    crawl.store.put_file(key, got.path)
    crashpoint("file.after_put")
    return replace(
        blank,
        name=name,
        status="done",
        key=key,
        sha256=got.sha256,
        size=got.size,
        extension=extension,
        mime=got.headers.get("content-type", "").partition(";")[0].strip() or item.mime,
        fetched_at=got.fetched_at,
    )


def _name(item: AttachmentRef, headers: Mapping[str, str], url: str) -> str:
    """Link text when it looks like a file's name, else Content-Disposition (RFC 6266), else link text, else the URL's end."""
    told = filename_from_content_disposition(headers.get("content-disposition", "")) or ""
    last = unquote(urlsplit(url).path.rpartition("/")[2])
    named = [item.name] if file_extension("http://name.invalid/" + item.name) else []
    return next((name for name in map(safe_display_name, [*named, told, item.name, last]) if name), "")
