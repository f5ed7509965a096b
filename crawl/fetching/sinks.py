"""Where the decoded body of an answer goes: memory, or a temporary file with its hash (fault-model S1, S2)."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from crawl.errors import ErrorClass, FetchError

HEAD_BYTES = 4096
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Sink(Protocol):
    def write(self, piece: bytes) -> None: ...


class MemorySink:
    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, piece: bytes) -> None:
        self._data += piece

    @property
    def body(self) -> bytes:
        return bytes(self._data)


class FileSink:
    """A temporary file in ``directory``, removed on leaving the ``with`` block unless ``finish`` was reached.

    Raises FetchError: STORAGE_FULL, STORAGE.
    """

    def __init__(self, directory: Path) -> None:
        with _storage_errors(directory):
            handle, name = tempfile.mkstemp(prefix="download-", suffix=".part", dir=directory)
        self.path = Path(name)
        self.size = 0
        self.head = b""
        self._file = os.fdopen(handle, "wb")
        self._hash = hashlib.sha256()
        self._kept = False

    def write(self, piece: bytes) -> None:
        with _storage_errors(self.path.parent):
            self._file.write(piece)
        self._hash.update(piece)
        self.size += len(piece)
        if len(self.head) < HEAD_BYTES:
            self.head = (self.head + piece)[:HEAD_BYTES]

    def finish(self) -> str:
        """Bring the bytes to the disk and keep the file. Returns the SHA-256 in hex."""
        with _storage_errors(self.path.parent):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        self._kept = True
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._kept:
            return
        try:
            self._file.close()  # flushes: on a full disk this fails once more, and says nothing new
        except OSError:
            if error is None:
                raise
        finally:
            self.path.unlink(missing_ok=True)


@contextmanager
def _storage_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = ErrorClass.STORAGE_FULL if error.errno in _FULL else ErrorClass.STORAGE
        raise FetchError(kind, f"cannot write to {directory}: {error.strerror or error}") from error
