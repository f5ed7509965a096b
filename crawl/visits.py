"""One article: its pages fetched and archived, parsed, its files fetched and stored. No article is saved here."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

from articles.content_store import StorageFull, attachment_key, digest, text_key
from articles.record import Found, StoredFile
from crawl.crawling import OUR_OWN, Crawl, refuse_other
from crawl.errors import ErrorClass, FetchError
from crawl.turns import TurnOver
from govcrawler.crashpoints import crashpoint
from govcrawler.fields import storable
from sources.adapters.base import ArticleRef, AttachmentRef, ParsedArticle, ParseError, Request, Response
from sources.parsing.names import filename_from_content_disposition, safe_display_name
from sources.parsing.urls import file_extension, url_hash

log = logging.getLogger(__name__)
PAGES_OF_ARTICLE = 30
PROGRAM_STARTS = (b"MZ", b"\x7fELF", b"#!", b"\xca\xfe\xba\xbe")


def visit(crawl: Crawl, ref: ArticleRef) -> Found:
    """Fetches and parses the article of a list row. Raises FetchError, TurnOver, SliceOver, Stopped, jobs.LeaseLost, OSError.

    Bytes that cannot be parsed give a ``Found`` without record: they are kept for replay.
    """
    got: list[Response] = []
    manifest: list[dict[str, Any]] = []
    while (request := _next_request(crawl, ref, got)) is not None:
        if len(got) == PAGES_OF_ARTICLE:
            raise FetchError(ErrorClass.PARSE_LIMIT, f"the article has more than {PAGES_OF_ARTICLE} pages", url=ref.url)
        response, entry = detail(crawl, ref, request)
        got.append(response)
        manifest.append(entry)
    return parsed(crawl, ref, got, manifest, {})


def _next_request(crawl: Crawl, ref: ArticleRef, got: Sequence[Response]) -> Request | None:
    try:
        return crawl.adapter.detail_request(ref, got)
    except ParseError:
        return None  # what came cannot be read; parse_detail says so, with its reason


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
        return replace(found, error=str(error))
    files = [_file(crawl, item, place, have) for place, item in enumerate(_distinct(article.attachments))]
    return replace(found, parsed=article, files=files, text_key=keep_text(crawl, article))


def _distinct(items: Sequence[AttachmentRef]) -> Iterable[AttachmentRef]:
    """The first of each URL, in all its spellings."""
    seen: dict[str, AttachmentRef] = {}
    for item in items:
        seen.setdefault(url_hash(item.url), item)
    return seen.values()


def _file(crawl: Crawl, item: AttachmentRef, position: int, have: Mapping[str, StoredFile]) -> StoredFile:
    stored = have.get(url_hash(item.url))
    return replace(stored, position=position) if stored else fetch_file(crawl, item, position)


def keep_text(crawl: Crawl, article: ParsedArticle) -> str | None:
    data = storable(article.body_text).encode()
    if not data:
        return None
    key = text_key(digest(data))
    crawl.store.put(key, data)
    return key


def detail(crawl: Crawl, ref: ArticleRef, request: Request) -> tuple[Response, dict[str, Any]]:
    """A page of an article with its manifest entry: from this job's archive, else from the source."""
    stored = crawl.archive.find(request)
    if stored:
        return stored
    try:
        response = crawl.fetch(request, expected="detail")
    except TurnOver as over:
        if isinstance(over.__cause__, FetchError):
            # The host rests because of this page. Noted, it does not meet the job first again when the turn goes on: a page
            # that always answers 503 would hold up the whole list.
            crawl.failed(ref, over.__cause__)
        raise
    return response, crawl.archive.keep(response)


def fetch_file(crawl: Crawl, item: AttachmentRef, position: int) -> StoredFile:
    """Fetches and stores a file; what cannot be had is said in the file's own state and does not spoil the article.

    A job asks once for each file: its answer is kept, also before a failure lets the host rest and ends the turn.
    """
    kept = crawl.archive.find_file(item.url)
    if kept:
        named = file_extension("http://name.invalid/" + item.name)
        return replace(kept, position=position, name=item.name if named else kept.name or item.name)
    name = _name(item, {}, item.url)
    blank = StoredFile(item.url, name, position, "pending", extension=file_extension(item.url), mime=item.mime)
    try:
        file = _download(crawl, item, blank)
    except FetchError as error:
        file = replace(blank, status="pending" if error.retryable else "failed", error=error.error_class.value)
        if error.error_class not in OUR_OWN:
            crawl.archive.keep_file(file)
        crawl.note_fetch_error(error)
        return file
    except OSError as error:
        log.exception("a file cannot be stored", extra={"data": {"url": item.url}})
        why = ErrorClass.STORAGE_FULL if isinstance(error, StorageFull) else ErrorClass.STORAGE
        return replace(blank, error=why.value)
    crawl.archive.keep_file(file)
    return file


def _download(crawl: Crawl, item: AttachmentRef, blank: StoredFile) -> StoredFile:
    got = crawl.download(Request(item.url))
    name = _name(item, got.headers, got.url)
    extension = file_extension("http://name.invalid/" + name) or file_extension(got.url)
    try:
        refuse_other(Response(Request(item.url), got.url, got.status, got.headers, got.head, got.fetched_at), "file")
    except FetchError:
        got.path.unlink()
        raise
    if got.head.startswith(PROGRAM_STARTS):
        got.path.unlink()
        log.warning("file refused: a program", extra={"data": {"url": item.url}})
        return replace(blank, name=name, status="skipped", error=ErrorClass.TYPE.value)
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
