"""Rows of an article's files: one a URL, never lost by a failed fetch, tried again at growing distance and given up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from articles.models import Attachment
from articles.record import StoredFile
from govcrawler.fields import storable
from sources.parsing.names import safe_display_name
from sources.parsing.urls import url_hash

ATTEMPTS = 5
FIRST_RETRY = timedelta(minutes=30)
OURS = frozenset({"STORAGE", "STORAGE_FULL"})
"""Errors of our own disk: they say nothing about the file, which is never given up for them (fault-model S1)."""

Have = Mapping[str, Attachment]
"""Stored rows of an article by URL hash."""


def stored(article_ids: Iterable[int]) -> dict[int, dict[str, Attachment]]:
    """The rows of these articles: article id -> URL hash -> row."""
    rows: dict[int, dict[str, Attachment]] = defaultdict(dict)
    for row in Attachment.objects.filter(article_id__in=set(article_ids)):
        rows[row.article_id][row.url_hash or ""] = row
    return rows


def settled(files: Sequence[StoredFile], have: Have) -> list[StoredFile]:
    """What a visit brought, together with what is stored: a file that we have stays when it could not be had again (fault-model
    N8), and one that failed as often as it is tried has failed for good.
    """
    return [_settled(file, have.get(url_hash(file.url))) for file in files]


def _settled(file: StoredFile, row: Attachment | None) -> StoredFile:
    if row is None or file.status == "done":
        return file
    if row.status == Attachment.Status.DONE:
        return replace(as_file(row), name=file.name or row.file_name or "", position=file.position)
    given_up = file.status == "pending" and row.attempts + 1 >= ATTEMPTS and file.error not in OURS
    return replace(file, status="failed") if given_up else file


def as_file(row: Attachment) -> StoredFile:
    """The stored row as a visit would have brought it."""
    return StoredFile(
        url=row.source_url or "",
        name=row.file_name or "",
        position=row.position,
        status=row.status,  # type: ignore[arg-type]
        key=row.file_path,
        sha256=row.file_hash,
        size=row.size_bytes,
        extension=row.file_ext or "",
        mime=row.mime or "",
        error=row.error_class,
        fetched_at=row.downloaded_at,
    )


def create(found: Iterable[tuple[int, Sequence[StoredFile]]]) -> None:
    """Rows of the files of new articles: (article id, its files)."""
    Attachment.objects.bulk_create([row for article_id, files in found for row in _fresh(article_id, files, {})])


def change(article_id: int, files: Sequence[StoredFile], have: Have) -> None:
    """Brings the rows of a stored article to ``files``. A file that vanished from the page stays in the older revision only."""
    told = {url_hash(file.url): file for file in files}
    for digest in have.keys() & told.keys():
        _update(have[digest], told[digest])
    Attachment.objects.bulk_create(_fresh(article_id, files, have))
    gone = have.keys() - told.keys()
    if gone:
        Attachment.objects.filter(article_id=article_id, url_hash__in=gone).delete()


def _fresh(article_id: int, files: Sequence[StoredFile], have: Have) -> list[Attachment]:
    """Rows to make: the first of each URL, for two spellings of one URL are one file."""
    rows: dict[str, Attachment] = {}
    for file in files:
        digest = url_hash(file.url)
        if digest not in have and digest not in rows:
            rows[digest] = Attachment(article_id=article_id, url_hash=digest, **_place(file), **_state(file, 1))
    return list(rows.values())


def _update(row: Attachment, file: StoredFile) -> None:
    values = _place(file)
    if file.status == "pending" or (file.status, file.sha256) != (row.status, row.file_hash):
        values |= _state(file, row.attempts + 1)
        if file.sha256 != row.file_hash:
            values |= {"text_path": None, "word_count": None, "parser_version": None}
    changed = [name for name, value in values.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, values[name])
    if changed:
        row.save(update_fields=changed)


def _place(file: StoredFile) -> dict[str, Any]:
    return {"file_name": safe_display_name(file.name) or None, "source_url": file.url, "position": file.position}


def _state(file: StoredFile, attempts: int) -> dict[str, Any]:
    waiting = file.status == "pending"
    return {
        "file_ext": (file.extension or None) and file.extension[:20],
        "size_bytes": file.size,
        "file_path": file.key,
        "file_hash": file.sha256,
        "downloaded_at": file.fetched_at if file.status == "done" else None,
        "mime": storable(file.mime)[:127] or None,
        "status": file.status,
        "error_class": file.error and file.error[:32],
        "attempts": attempts,
        "next_retry_at": timezone.now() + FIRST_RETRY * 2 ** (min(attempts, ATTEMPTS) - 1) if waiting else None,
    }
