"""Responses on disk, before anything is parsed or saved, and the way back to them.

Each response of a job gets its raw bytes into the content store and a pointer under ``spool/<job>/``. A job that died in the
middle of a page finds them there, so a crash may cost rows, never a request (review of the design, 2.2). The pointer's JSON is
also the entry of ``article_revision.raw_manifest`` from which history is parsed again without a refetch.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from articles.content_store import ContentStore, digest, raw_key
from articles.record import StoredFile
from govcrawler.crashpoints import crashpoint
from sources.adapters.base import Request, Response
from sources.parsing.urls import url_hash


class Archive:
    """The stored responses and files of one job."""

    def __init__(self, store: ContentStore, site_code: str, job_id: str) -> None:
        self.store = store
        self.site_code = site_code
        self.folder = f"spool/{job_id}"

    def find(self, request: Request) -> tuple[Response, dict[str, Any]] | None:
        """The response that this job already has for ``request``, with its manifest entry."""
        pointer = self._pointer(request)
        entry = self._read(pointer)
        if entry and not self.store.exists(entry["key"]):
            self.store.delete(pointer)  # the bytes are gone: the source is asked again
            return None
        return (restore(entry, self.store), entry) if entry else None

    def keep(self, response: Response) -> dict[str, Any]:
        """Stores the bytes, then the pointer; gives the manifest entry. Raises content_store.StorageFull, OSError."""
        crashpoint("raw.before_put")
        key = raw_key(self.site_code, response.fetched_at, url_hash(response.url), digest(response.body))
        self.store.put_gzip(key, response.body)
        request = response.request
        entry = {
            "url": request.url,
            "method": request.method,
            "body": base64.b64encode(request.body).decode() if request.body else None,
            "final_url": response.url,
            "status": response.status,
            "headers": dict(response.headers),
            "fetched_at": response.fetched_at.isoformat(),
            "key": key,
        }
        self._write(self._pointer(request), entry)
        crashpoint("raw.after_put")
        return entry

    def find_file(self, url: str) -> StoredFile | None:
        """What this job made of the file: stored, refused, or not to be had for now."""
        entry = self._read(self._file_pointer(url))
        if entry is None:
            return None
        entry["fetched_at"] = datetime.fromisoformat(entry["fetched_at"]) if entry["fetched_at"] else None
        return StoredFile(**entry)

    def keep_file(self, file: StoredFile) -> None:
        entry = asdict(file)
        entry["fetched_at"] = file.fetched_at.isoformat() if file.fetched_at else None
        self._write(self._file_pointer(file.url), entry)

    def clear(self) -> None:
        """Forgets the pointers: the job has ended. Raw bytes stay."""
        self.store.clear(self.folder)

    def _pointer(self, request: Request) -> str:
        parts = [request.method.encode(), request.url.encode("utf-8", "surrogatepass"), request.body or b""]
        name = digest(b"\n".join(parts))
        return f"{self.folder}/{name}.json"

    def _file_pointer(self, url: str) -> str:
        return f"{self.folder}/file-{url_hash(url)}.json"

    def _read(self, key: str) -> dict[str, Any] | None:
        if not self.store.exists(key):
            return None
        with self.store.open(key) as file:
            entry: dict[str, Any] = json.load(file)
        return entry

    def _write(self, key: str, entry: Mapping[str, Any]) -> None:
        self.store.put(key, json.dumps(entry).encode())


def restore(entry: Mapping[str, Any], store: ContentStore) -> Response:
    """The response of a manifest entry. Raises FileNotFoundError when its bytes are gone."""
    body = base64.b64decode(entry["body"]) if entry.get("body") else None
    return Response(
        request=Request(entry["url"], entry["method"], body=body),
        url=entry["final_url"],
        status=entry["status"],
        headers=entry["headers"],
        body=store.read_gzip(entry["key"]),
        fetched_at=datetime.fromisoformat(entry["fetched_at"]),
    )
