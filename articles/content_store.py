"""Bytes on disk: raw responses, texts and files under keys made of hashes, never of names a site chose (design, section 8).

A key is written once: temporary file, fsync, link. An existing key is the same content, so writing again is done at once, and
bytes are on disk before the row that points to them commits.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from govcrawler.crashpoints import crashpoint

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
EXTENSION = re.compile(r"[a-z0-9]{1,8}\Z")


class StorageFull(OSError):
    """The content store has no room. The temporary file is gone, no key was made."""


def raw_key(site_code: str, fetched_at: datetime, url_hash: str, body_hash: str) -> str:
    """``raw/<site>/<yyyy>/<mm>/<sha256 of URL>/<sha256 of body>.gz``; the month is that of ``fetched_at`` (UTC)."""
    return f"raw/{site_code}/{fetched_at:%Y/%m}/{url_hash}/{body_hash}.gz"


def text_key(digest: str) -> str:
    return f"text/{digest[:2]}/{digest}.txt"


def attachment_key(digest: str, extension: str) -> str:
    """``attachments/<first two>/<sha256>.<ext>``; an extension that is no plain word is left out."""
    ext = extension.lower().lstrip(".")
    return f"attachments/{digest[:2]}/{digest}" + (f".{ext}" if EXTENSION.match(ext) else "")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class ContentStore:
    """A folder of keys."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def path(self, key: str) -> Path:
        """The file of ``key``. Raises ValueError for a key that would leave the folder, or names no file in it."""
        path = (self.root / key).resolve()
        if self.root not in path.parents:
            raise ValueError(f"content key {key!r} leaves the content folder")
        return path

    def exists(self, key: str) -> bool:
        return self.path(key).is_file()

    def size(self, key: str) -> int:
        return self.path(key).stat().st_size

    def open(self, key: str) -> BinaryIO:
        """The bytes of ``key``. Raises FileNotFoundError."""
        return self.path(key).open("rb")

    def put(self, key: str, data: bytes) -> None:
        """Stores ``data``. Raises StorageFull, OSError."""
        if self.exists(key):
            return
        temporary: Path | None = None
        try:
            temporary = self.temporary()
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self._link(temporary, key)
        except OSError as error:
            raise _named(error) from error
        finally:
            if temporary:
                temporary.unlink(missing_ok=True)

    def put_file(self, key: str, source: Path) -> None:
        """Takes the synced file ``source`` (in the folder of ``temporary``) over as ``key``. Raises StorageFull, OSError."""
        try:
            if not self.exists(key):
                self._link(source, key)
        except OSError as error:
            raise _named(error) from error
        finally:
            source.unlink(missing_ok=True)

    def put_gzip(self, key: str, data: bytes) -> None:
        """Stores ``data`` compressed; the same bytes give the same file."""
        if not self.exists(key):
            self.put(key, gzip.compress(data, compresslevel=6, mtime=0))

    def read_gzip(self, key: str) -> bytes:
        with self.open(key) as file:
            return gzip.decompress(file.read())

    def temporary(self) -> Path:
        """A new name in the folder of temporary files, on the same file system as the keys."""
        folder = self.root / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / secrets.token_hex(16)

    def delete(self, key: str) -> None:
        self.path(key).unlink(missing_ok=True)

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key below the folder ``prefix``."""
        root = self.root.resolve()
        for path in self.path(prefix).rglob("*"):
            if path.is_file():
                yield path.relative_to(root).as_posix()

    def clear(self, prefix: str) -> None:
        """Removes every key below the folder ``prefix``, and the folder."""
        folder = self.path(prefix)
        if folder.is_dir():
            shutil.rmtree(folder)

    def _link(self, temporary: Path, key: str) -> None:
        final = self.path(key)
        final.parent.mkdir(parents=True, exist_ok=True)
        crashpoint("file.before_link")
        try:
            os.link(temporary, final)
        except FileExistsError:
            return
        folder = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _named(error: OSError) -> OSError:
    return StorageFull(error.errno, f"content store: {error.strerror}") if error.errno in FULL else error


@lru_cache(maxsize=1)
def _store(root: str) -> ContentStore:
    return ContentStore(Path(root))


def open_store() -> ContentStore:
    """The store of the settings (CONTENT_DIR)."""
    return _store(str(settings.CONTENT_DIR))
