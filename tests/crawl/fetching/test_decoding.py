from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.decoding import STEP, codings_of, decode

TEXT = "关于公布行政许可事项清单的通知。".encode() * 5000
LIMIT = 1024 * 1024
BOMB_SIZE = 64 * 1024 * 1024


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODED = {
    "gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "raw deflate": raw_deflate(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstandard.compress(TEXT),
}
BOMBS = {
    "gzip": gzip.compress(bytes(BOMB_SIZE)),
    "deflate": zlib.compress(bytes(BOMB_SIZE)),
    "br": brotli.compress(bytes(BOMB_SIZE), quality=5),
    "zstd": zstandard.compress(bytes(BOMB_SIZE)),
}


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def error_of(chunks: Iterator[bytes] | list[bytes], codings: list[str], limit: int = LIMIT) -> FetchError:
    with pytest.raises(FetchError) as caught:
        for _ in decode(chunks, codings, limit):
            pass
    return caught.value


@pytest.mark.parametrize("size", [1, 7, 1000, 10**9])
@pytest.mark.parametrize("name", ENCODED)
def test_a_body_comes_out_whole_however_it_was_cut(name: str, size: int) -> None:
    assert b"".join(decode(pieces(ENCODED[name], size), [name.split()[-1]], LIMIT)) == TEXT


@pytest.mark.parametrize("name", ENCODED)
def test_a_missing_end_is_noticed(name: str) -> None:
    assert error_of([ENCODED[name][:-5]], [name.split()[-1]]).error_class is ErrorClass.TRUNCATED


def test_a_gzip_body_without_its_trailer_is_truncated() -> None:
    assert error_of([ENCODED["gzip"][:-8]], ["gzip"]).error_class is ErrorClass.TRUNCATED


@pytest.mark.parametrize("coding", BOMBS)
def test_a_bomb_is_stopped_at_the_limit(coding: str) -> None:
    assert error_of([BOMBS[coding]], [coding]).error_class is ErrorClass.DECODE_LIMIT


@pytest.mark.parametrize("coding", BOMBS)
def test_a_swelling_body_never_comes_out_in_one_piece(coding: str) -> None:
    sizes = [len(piece) for piece in decode([BOMBS[coding]], [coding], BOMB_SIZE)]
    assert sum(sizes) == BOMB_SIZE
    assert max(sizes) <= (2 * 1024 * 1024 if coding == "zstd" else 4 * STEP)


def test_a_bomb_inside_a_bomb_is_stopped_at_its_inner_layer() -> None:
    assert error_of([gzip.compress(BOMBS["gzip"])], ["gzip", "gzip"]).error_class is ErrorClass.DECODE_LIMIT


def test_an_outer_layer_that_swells_is_stopped_although_the_inner_one_stays_small() -> None:
    empty_members = gzip.compress(b"") * (LIMIT // 10)
    assert error_of([gzip.compress(empty_members)], ["gzip", "gzip"]).error_class is ErrorClass.DECODE_LIMIT


def test_two_layers_are_undone_in_reverse_order() -> None:
    assert b"".join(decode([brotli.compress(gzip.compress(TEXT))], ["gzip", "br"], LIMIT)) == TEXT


def test_gzip_members_and_zstd_frames_follow_each_other() -> None:
    assert b"".join(decode([gzip.compress(b"one") + gzip.compress(b"two")], ["gzip"], LIMIT)) == b"onetwo"
    frames = zstandard.compress(b"one") + zstandard.compress(b"two")
    assert b"".join(decode(pieces(frames, 3), ["zstd"], LIMIT)) == b"onetwo"


def test_padding_after_the_end_of_gzip_is_ignored() -> None:
    assert b"".join(decode([gzip.compress(b"one") + bytes(512)], ["gzip"], LIMIT)) == b"one"


def test_a_zstd_frame_with_a_giant_window_is_refused() -> None:
    giant = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    ).compressobj()
    assert error_of([giant.compress(TEXT) + giant.flush()], ["zstd"]).error_class is ErrorClass.PROTOCOL


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bytes_that_are_not_what_the_header_says_are_a_protocol_error(coding: str) -> None:
    assert error_of([b"<html>plain text, not encoded</html>"], [coding]).error_class is ErrorClass.PROTOCOL


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_an_empty_body_under_a_coding_header_is_empty(coding: str) -> None:
    assert b"".join(decode([], [coding], LIMIT)) == b""


def test_a_plain_body_is_bounded_too() -> None:
    assert b"".join(decode([TEXT], [], LIMIT)) == TEXT
    assert error_of([TEXT], [], 1000).error_class is ErrorClass.DECODE_LIMIT


def test_codings_are_read_from_one_or_several_headers() -> None:
    assert codings_of(["X-GZip, identity", " br "]) == ("gzip", "br")
    assert codings_of(["", "identity"]) == ()


@pytest.mark.parametrize("values", [["compress"], ["utf-8"], ["gzip, sdch"], ["gzip"] * 3])
def test_an_unknown_coding_or_too_many_of_them_are_refused(values: list[str]) -> None:
    with pytest.raises(FetchError) as caught:
        codings_of(values)
    assert caught.value.error_class is ErrorClass.UNSUPPORTED_CODING
