"""Content codings, undone in bounded steps (fault-model H7 and H8).

The decoders of the HTTP libraries hand out whatever one input chunk expands to, and do not notice a missing end. Here no step
gives more than ``STEP`` bytes (zstd: one small input slice), every layer counts against the limit, and the end flag is checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import brotli  # type: ignore[import-untyped]
import zstandard

from crawl.errors import ErrorClass, FetchError

STEP = 64 * 1024
MAX_CODINGS = 2
ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_ZSTD_WINDOW = 8 * 1024 * 1024  # RFC 9659: what a client must take, and no more
# Four bytes of zstd can stand for a block of 128 KiB, so its input is fed in slices that give at most 2 MiB.
_ZSTD_SLICE = 64


class Decoder(Protocol):
    """One coding. ``finished``: the stream's own end was seen."""

    @property
    def finished(self) -> bool: ...

    def feed(self, data: bytes) -> Iterator[bytes]: ...


class _Zlib:
    """gzip (RFC 1952, members one after the other) and deflate (with or without zlib header)."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._decoder: zlib._Decompress | None = zlib.decompressobj(31) if gzip else None
        self._start = b""

    @property
    def finished(self) -> bool:
        return self._decoder is not None and self._decoder.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            self._start += data
            if len(self._start) < 2:
                return
            data = self._start
            wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
            self._decoder = zlib.decompressobj(15 if wrapped else -15)
        while data:
            if self._decoder.eof:
                if not (self._gzip and data[0] == 0x1F):
                    return  # padding after the end
                self._decoder = zlib.decompressobj(31)
            yield self._decoder.decompress(data, STEP)
            data = self._decoder.unused_data if self._decoder.eof else self._decoder.unconsumed_tail
        while not self._decoder.eof and (rest := self._decoder.decompress(b"", STEP)):
            yield rest


class _Brotli:
    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()

    @property
    def finished(self) -> bool:
        return bool(self._decoder.is_finished())

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.finished:
            return
        yield self._decoder.process(data, output_buffer_limit=STEP)
        # It may say that it can take more while it still holds output back.
        while rest := self._decoder.process(b"", output_buffer_limit=STEP):
            yield rest


class _Zstd:
    """Frames one after the other (RFC 8878)."""

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._decoder = self._context.decompressobj()

    @property
    def finished(self) -> bool:
        return self._decoder.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZSTD_SLICE):
            rest = data[start : start + _ZSTD_SLICE]
            while rest:
                if self._decoder.eof:
                    self._decoder = self._context.decompressobj()
                yield self._decoder.decompress(rest)
                rest = self._decoder.unused_data if self._decoder.eof else b""


def codings_of(values: Iterable[str]) -> tuple[str, ...]:
    """The codings that Content-Encoding names, in the order they were applied. Raises FetchError(UNSUPPORTED_CODING)."""
    named = [coding.strip().lower() for value in values for coding in value.split(",")]
    codings = tuple(coding.removeprefix("x-") for coding in named if coding not in ("", "identity"))
    for coding in codings:
        if coding not in ("gzip", "deflate", "br", "zstd"):
            raise FetchError(ErrorClass.UNSUPPORTED_CODING, f"the body is encoded as {coding[:40]!r}")
    if len(codings) > MAX_CODINGS:
        raise FetchError(ErrorClass.UNSUPPORTED_CODING, f"the body is encoded {len(codings)} times, {MAX_CODINGS} are read")
    return codings


def decode(chunks: Iterable[bytes], codings: Sequence[str], limit: int) -> Iterator[bytes]:
    """The decoded bytes of a body, piece by piece. ``limit`` bounds the output of every layer, in bytes.

    Raises FetchError: DECODE_LIMIT; TRUNCATED when a layer's end is missing; PROTOCOL when the bytes are not what the
    header says.
    """
    stream = iter(chunks)
    for coding in reversed(codings):
        stream = _undo(stream, coding, limit)
    return stream if codings else _limited(stream, limit)


def _decoder(coding: str) -> Decoder:
    if coding == "br":
        return _Brotli()
    return _Zstd() if coding == "zstd" else _Zlib(gzip=coding == "gzip")


def _undo(chunks: Iterator[bytes], coding: str, limit: int) -> Iterator[bytes]:
    decoder = _decoder(coding)
    fed = 0

    def pieces() -> Iterator[bytes]:
        nonlocal fed
        for chunk in chunks:
            fed += len(chunk)
            yield from decoder.feed(chunk)

    try:
        yield from _limited(pieces(), limit)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise FetchError(ErrorClass.PROTOCOL, f"the body is not {coding}, though its header says so ({error})") from error
    # An empty body under a Content-Encoding header is common and harmless.
    if fed and not decoder.finished:
        raise FetchError(ErrorClass.TRUNCATED, f"the {coding} body ends before its end mark")


def _limited(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > limit:
            raise FetchError(ErrorClass.DECODE_LIMIT, f"the decoded body is larger than {limit} bytes")
        if piece:
            yield piece
