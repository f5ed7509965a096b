"""Slow, endless, oversized, cut and malformed answers (fault-model H1, H2, H6, H7, H8, H9, H17), and what a connection is
worth afterwards."""

from __future__ import annotations

import gzip
import resource
import signal
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.http import HttpFetcher, Limits
from sources.adapters.base import Request
from tests.crawl.fetching.conftest import failure
from tests.faultserver import Answer, FaultServer, Turn, chunked, endless, head, raw, redirect, reply, trickle

MakeFetcher = Callable[..., HttpFetcher]
MIB = 1024 * 1024


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(trickle(head(headers={"Content-Length": "100000"}), b"x", 0.03), id="body"),
        pytest.param(trickle(head(headers={"Transfer-Encoding": "chunked"}), b"1\r\nx\r\n", 0.03), id="chunks"),
        pytest.param(trickle(head(), b"x", 0.03), id="no length"),
        pytest.param(trickle(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", 0.03), id="header"),
        pytest.param(trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.03), id="interim answers"),
    ],
)
def test_a_trickle_that_never_trips_the_read_timeout_ends_at_the_deadline(
    server: FaultServer, make_fetcher: MakeFetcher, answer: Answer
) -> None:
    server.add("/slow", answer)
    error = failure(make_fetcher(page_deadline=0.4, read_timeout=5), server.url("/slow"))
    assert error.error_class is ErrorClass.DEADLINE
    assert error.retryable


def test_the_deadline_spans_all_hops_of_a_chain(server: FaultServer, make_fetcher: MakeFetcher) -> None:
    def slow_hop(turn: Turn) -> bool:
        turn.pause(0.15)
        return redirect("/loop")(turn)

    server.add("/loop", slow_hop)
    assert failure(make_fetcher(page_deadline=0.4), server.url("/loop")).error_class is ErrorClass.DEADLINE
    assert len(server.log) <= 4


def test_polite_pauses_of_the_hook_do_not_count_against_the_deadline(server: FaultServer, make_fetcher: MakeFetcher) -> None:
    server.add("/wait", trickle(head(headers={"Content-Length": "9" * 5}), b"x", 0.03))
    server.add("/page", reply(b"hello"))
    fetcher = make_fetcher(page_deadline=0.3)

    def pause(url: str) -> None:
        failure(fetcher, server.url("/wait"))  # as long as the whole deadline of the page itself

    assert fetcher.fetch(Request(server.url("/page")), before_hop=pause).response.body == b"hello"


def late(turn: Turn) -> bool:
    """Long silence, and then the end: whoever saw it waited too long."""
    turn.pause(4)
    return False


def test_a_silent_server_times_out_and_silence_longer_than_the_deadline_is_the_deadline(
    server: FaultServer, make_fetcher: MakeFetcher
) -> None:
    server.add("/silent", late)
    assert failure(make_fetcher(read_timeout=0.2), server.url("/silent")).error_class is ErrorClass.TIMEOUT
    assert failure(make_fetcher(page_deadline=0.2), server.url("/silent")).error_class is ErrorClass.DEADLINE


@pytest.mark.parametrize("status", [302, 403])
def test_an_endless_body_of_a_redirect_or_refusal_does_not_use_up_the_deadline(
    server: FaultServer, make_fetcher: MakeFetcher, status: int
) -> None:
    server.add("/slow", trickle(head(status, {"Location": "/page", "Content-Length": "99999"}), b"x", 0.03))
    server.add("/page", reply(b"hello"))
    fetcher = make_fetcher(page_deadline=2)
    if status == 302:
        assert fetcher.fetch(Request(server.url("/slow"))).response.body == b"hello"
    else:
        error = failure(fetcher, server.url("/slow"))
        assert (error.status, error.response is not None and error.response.body.strip(b"x")) == (403, b"")


def test_a_body_declared_too_large_is_not_even_begun(server: FaultServer, make_fetcher: MakeFetcher) -> None:
    server.add("/huge", raw(head(headers={"Content-Length": str(10 * 1024**3)})))
    error = failure(make_fetcher(), server.url("/huge"))
    assert error.error_class is ErrorClass.TOO_LARGE
    assert str(10 * 1024**3) in error.message


def test_an_endless_body_stops_at_the_wire_limit_with_bounded_memory(server: FaultServer, make_fetcher: MakeFetcher) -> None:
    server.add("/endless", endless(head(), b"x" * 65536))
    fetcher = make_fetcher(page_wire_limit=8 * MIB)
    tracemalloc.start()
    error = failure(fetcher, server.url("/endless"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.error_class is ErrorClass.TOO_LARGE
    assert peak < 64 * MIB


def test_a_compressed_bomb_stops_at_the_decoded_limit_with_bounded_memory(
    server: FaultServer, make_fetcher: MakeFetcher
) -> None:
    bomb = gzip.compress(bytes(200 * MIB), compresslevel=1)
    server.add("/bomb", reply(bomb, headers={"Content-Encoding": "gzip"}))
    fetcher = make_fetcher(decoded_limit=4 * MIB)
    tracemalloc.start()
    error = failure(fetcher, server.url("/bomb"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.error_class is ErrorClass.DECODE_LIMIT
    assert peak < 32 * MIB


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(head(headers={"Content-Length": "100"}) + b"short", id="shorter than its length"),
        pytest.param(head(headers={"Transfer-Encoding": "chunked"}) + chunked(b"one", end=b""), id="chunks without end"),
        pytest.param(head(headers={"Transfer-Encoding": "chunked"}) + b"ff\r\nhalf", id="half a chunk"),
        pytest.param(
            head(headers={"Content-Encoding": "gzip", "Content-Length": str(len(gzip.compress(b"x")) - 8)})
            + gzip.compress(b"x")[:-8],
            id="gzip without trailer",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="half a header"),
        pytest.param(b"", id="nothing at all"),
    ],
)
def test_an_answer_that_was_cut_is_truncated(server: FaultServer, fetcher: HttpFetcher, data: bytes) -> None:
    server.add("/cut", raw(data))
    error = failure(fetcher, server.url("/cut"))
    assert error.error_class is ErrorClass.TRUNCATED
    assert error.retryable


def test_a_body_that_ends_with_the_connection_is_taken_and_flagged(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/open", raw(head() + b"perhaps whole"))
    fetched = fetcher.fetch(Request(server.url("/open")))
    assert (fetched.response.body, fetched.length_unknown) == (b"perhaps whole", True)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 3, 5\r\n\r\nabcde", id="two lengths in one line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", id="negative length"),
        pytest.param(b"ICY 200 OK\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 two hundred\r\n\r\n", id="bad status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Nul: a\x00b\r\nContent-Length: 0\r\n\r\n", id="NUL in a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=canary\x00\r\n\r\n", id="NUL in a cookie"),
        pytest.param(head(headers={"Transfer-Encoding": "chunked"}) + b"zz\r\nabc\r\n0\r\n\r\n", id="bad chunk"),
        pytest.param(b"<html>no header at all</html>\r\n\r\n", id="no header"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", id="switch of protocol"),
        pytest.param(head(999), id="unknown status class"),
        pytest.param(head(headers={"X-Long": "x" * 70_000, "Content-Length": "0"}), id="header above the limit"),
    ],
)
def test_an_answer_that_is_not_http_is_a_protocol_error_that_quotes_no_header(
    server: FaultServer, fetcher: HttpFetcher, data: bytes
) -> None:
    server.add("/bad", raw(data, keep=True))
    error = failure(fetcher, server.url("/bad"))
    assert error.error_class is ErrorClass.PROTOCOL
    assert "canary" not in str(error)


def test_a_header_without_end_is_a_protocol_error_with_bounded_memory(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/header", endless(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 8000 + b"\r\n"))
    assert failure(fetcher, server.url("/header")).error_class is ErrorClass.PROTOCOL


@pytest.mark.parametrize(
    ("data", "body"),
    [
        pytest.param(
            head(headers={"Content-Length": "5"}) + b"helloHTTP/1.1 200 OK\r\n", b"hello", id="longer than its length"
        ),
        pytest.param(
            head(headers={"Content-Length": "3", "Transfer-Encoding": "chunked"}) + chunked(b"hello"), b"hello", id="both"
        ),
        pytest.param(
            head(headers={"Transfer-Encoding": "chunked"}) + chunked(b"hello") + b"junk", b"hello", id="after the chunks"
        ),
        pytest.param(head(204) + b"junk", b"", id="body of a 204"),
    ],
)
def test_after_doubtful_framing_the_result_stands_but_the_connection_is_not_used_again(
    server: FaultServer, fetcher: HttpFetcher, data: bytes, body: bytes
) -> None:
    server.add("/odd", raw(data, keep=True))
    server.add("/page", reply(b"mine"))
    assert fetcher.fetch(Request(server.url("/odd"))).response.body == body
    assert fetcher.fetch(Request(server.url("/page"))).response.body == b"mine"
    assert [hit.connection for hit in server.log] == [1, 2]


@pytest.mark.parametrize(
    "final",
    [
        head(headers={"Transfer-Encoding": "chunked"}) + chunked(b"one", b"two"),
        head(headers={"Content-Length": "6"}) + b"onetwo",
    ],
)
def test_a_well_framed_answer_keeps_its_connection(server: FaultServer, fetcher: HttpFetcher, final: bytes) -> None:
    def in_pieces(turn: Turn) -> bool:
        for byte in b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + final:
            turn.send(bytes([byte]))
        return True

    server.add("/page", in_pieces)
    for _ in range(2):
        assert fetcher.fetch(Request(server.url("/page"))).response.body == b"onetwo"
    assert server.connections == 1


def test_an_idle_connection_that_the_server_drops_on_use_costs_one_more_turn(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/first", reply(b"one"))
    server.add("/second", raw(b""), reply(b"two"))
    asked: list[str] = []
    fetcher.fetch(Request(server.url("/first")))
    assert fetcher.fetch(Request(server.url("/second")), before_hop=asked.append).response.body == b"two"
    assert len(asked) == len(server.hits("/second")) == 2


def test_a_post_is_not_repeated_on_a_dropped_connection(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/first", reply(b"one"))
    server.add("/form", raw(b""), reply(b"twice"))
    fetcher.fetch(Request(server.url("/first")))
    with pytest.raises(FetchError) as caught:
        fetcher.fetch(Request(server.url("/form"), "POST", {}, b"q=1"))
    assert caught.value.error_class is ErrorClass.TRUNCATED
    assert len(server.hits("/form")) == 1


def test_an_error_closes_its_connection_and_leaves_the_fetcher_usable(server: FaultServer, make_fetcher: MakeFetcher) -> None:
    server.add("/large", reply(b"x" * 5000))
    server.add("/page", reply(b"hello"))
    fetcher = make_fetcher(page_wire_limit=1000)
    assert failure(fetcher, server.url("/large")).error_class is ErrorClass.TOO_LARGE
    assert fetcher.fetch(Request(server.url("/page"))).response.body == b"hello"
    assert server.connections == 2


@pytest.mark.parametrize("coding", ["compress", "gzip, gzip, gzip"])
def test_an_unknown_coding_is_refused(server: FaultServer, fetcher: HttpFetcher, coding: str) -> None:
    server.add("/coded", reply(b"x", headers={"Content-Encoding": coding}))
    assert failure(fetcher, server.url("/coded")).error_class is ErrorClass.UNSUPPORTED_CODING


def test_an_error_message_tells_no_query_secret(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/bad", raw(b"nonsense\r\n\r\n"))
    error = failure(fetcher, server.url("/bad?token=canary"))
    assert "canary" not in str(error)


class TestDownload:
    def test_a_file_is_streamed_to_disk_with_its_hash(self, server: FaultServer, fetcher: HttpFetcher, tmp_path: Path) -> None:
        content = bytes(range(256)) * 4096
        disposition = "attachment; filename=通知.pdf".encode("gbk")
        server.add("/link", redirect("/file"))
        server.add("/file", reply(content, headers={"Content-Disposition": disposition}))
        asked: list[str] = []
        stored = fetcher.download(Request(server.url("/link")), tmp_path, before_hop=asked.append)
        assert stored.path.parent == tmp_path
        assert stored.path.read_bytes() == content
        assert stored.sha256 == "fbbab289f7f94b25736c58be46a994c441fd02552cc6022352e3d86d2fab7c83"
        assert (stored.size, stored.wire_bytes, stored.head) == (MIB, MIB, content[:4096])
        assert (stored.url, stored.chain) == (server.url("/file"), (server.url("/link"),))
        assert stored.headers["content-disposition"].encode("latin-1") == disposition
        assert asked == [server.url("/link"), server.url("/file")]

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (raw(head(headers={"Content-Length": "5000"}) + b"x" * 4000), ErrorClass.TRUNCATED),
            (reply(b"x" * 20_001), ErrorClass.TOO_LARGE),
            (endless(head(), b"x" * 1000), ErrorClass.TOO_LARGE),
            (reply(gzip.compress(bytes(100_000)), headers={"Content-Encoding": "gzip"}), ErrorClass.DECODE_LIMIT),
            (trickle(head(headers={"Content-Length": "500"}), b"x", 0.03), ErrorClass.DEADLINE),
            (reply(b"gone", 404), ErrorClass.HTTP_STATUS),
        ],
    )
    def test_no_file_is_left_when_it_fails(
        self, server: FaultServer, fetcher: HttpFetcher, tmp_path: Path, answer: Answer, kind: ErrorClass
    ) -> None:
        server.add("/file", answer)
        with pytest.raises(FetchError) as caught:
            fetcher.download(Request(server.url("/file")), tmp_path, limits=Limits(0.5, 20_000, 20_000))
        assert caught.value.error_class is kind
        assert list(tmp_path.iterdir()) == []

    def test_no_file_is_left_when_the_hook_stops_it(self, server: FaultServer, fetcher: HttpFetcher, tmp_path: Path) -> None:
        def stop(url: str) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fetcher.download(Request(server.url("/file")), tmp_path, before_hop=stop)
        assert list(tmp_path.iterdir()) == []

    def test_a_full_disk_is_named(self, server: FaultServer, fetcher: HttpFetcher, tmp_path: Path) -> None:
        server.add("/file", reply(b"x" * 300_000))
        old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old_limit[1]))
        try:
            with pytest.raises(FetchError) as caught:
                fetcher.download(Request(server.url("/file")), tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
            signal.signal(signal.SIGXFSZ, old_handler)
        assert caught.value.error_class is ErrorClass.STORAGE_FULL
        assert list(tmp_path.iterdir()) == []

    def test_a_missing_directory_is_a_storage_error(self, server: FaultServer, fetcher: HttpFetcher, tmp_path: Path) -> None:
        with pytest.raises(FetchError) as caught:
            fetcher.download(Request(server.url("/file")), tmp_path / "absent")
        assert caught.value.error_class is ErrorClass.STORAGE
        assert not server.log
