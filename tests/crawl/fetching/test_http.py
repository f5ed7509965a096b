"""Plain fetching: what is asked, what comes back, redirects, validators, refusals (fault-model H3, H4, H5, H10, H11, H17)."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import AddressGuard, AllowList
from crawl.fetching.answers import retry_after
from crawl.fetching.http import FetchSettings, HttpFetcher, Limits
from sources.adapters.base import Request
from tests.crawl.fetching.conftest import LOOPBACK, failure
from tests.faultserver import FaultServer, head, raw, redirect, reply

MakeFetcher = Callable[..., HttpFetcher]


def loopback_names(host: str, port: int, **_: Any) -> list[Any]:
    """A resolver for which every name is this machine."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def named(make_fetcher: MakeFetcher) -> HttpFetcher:
    return make_fetcher(AddressGuard(LOOPBACK.allow, loopback_names))


def test_a_page_comes_back_with_its_bytes_headers_and_final_url(server: FaultServer, fetcher: HttpFetcher) -> None:
    before = datetime.now(UTC)
    packed = gzip.compress("通知".encode("gb18030"))
    server.add(
        "/page",
        reply(
            packed,
            headers={
                "Content-Type": "text/html; charset=gb2312",
                "Content-Encoding": "gzip",
                "Set-Cookie": "sid=canary; Path=/",
            },
        ),
    )
    request = Request(server.url("/page?b=2&a=1#top"))
    fetched = fetcher.fetch(request)
    response = fetched.response
    assert (response.status, response.body, response.request) == (200, "通知".encode("gb18030"), request)
    assert response.url == server.url("/page?b=2&a=1")
    assert response.headers["content-type"] == "text/html; charset=gb2312"
    assert "set-cookie" not in response.headers
    assert before <= response.fetched_at <= datetime.now(UTC)
    assert (fetched.chain, fetched.wire_bytes, fetched.not_modified, fetched.length_unknown) == ((), len(packed), False, False)
    assert fetched.duration_ms >= 0


def test_the_request_says_who_asks_and_hides_nothing_else_in_it(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/api", reply(b"{}"))
    fetcher.fetch(
        Request(
            server.url("/api"),
            "POST",
            {"Content-Type": "application/json", "User-Agent": "Mozilla", "Host": "evil"},
            b'{"a":1}',
        )
    )
    (hit,) = server.log
    assert (hit.method, hit.target, hit.body) == ("POST", "/api", b'{"a":1}')
    assert hit.headers == {
        "host": server.netloc,
        "user-agent": LOOPBACK.user_agent,
        "accept-encoding": "gzip, deflate, br, zstd",
        "accept": "*/*",
        "accept-language": "zh-CN,zh;q=0.9,en;q=0.5",
        "content-type": "application/json",
        "content-length": "7",
    }


def test_requests_to_one_host_share_a_connection(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/page", reply(b"hello"))
    for _ in range(3):
        fetcher.fetch(Request(server.url("/page")))
    assert server.connections == 1
    fetcher.fetch(Request(server.url("/page")), verify_tls=False)
    assert server.connections == 2


def test_threads_share_a_fetcher_without_sharing_clocks_or_answers(server: FaultServer, fetcher: HttpFetcher) -> None:
    for number in range(24):
        server.add(f"/{number}", redirect(f"/to/{number}"))
        server.add(f"/to/{number}", reply(str(number).encode()))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: fetcher.fetch(Request(server.url(f"/{number}"))).response.body, range(24)))
    assert answers == [str(number).encode() for number in range(24)]


def test_a_proxy_from_the_environment_is_not_used(
    server: FaultServer, make_fetcher: MakeFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.add("/page", reply(b"hello"))
    assert make_fetcher().fetch(Request(server.url("/page"))).response.body == b"hello"


def test_text_outside_ascii_in_a_url_is_sent_percent_encoded(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/%E9%80%9A%E7%9F%A5", reply(b"hello"))
    fetched = fetcher.fetch(Request(server.url("/通知?q=a b&x=%20|{}")))
    assert fetched.response.url == server.url("/%E9%80%9A%E7%9F%A5?q=a%20b&x=%20|{}")


def test_redirects_are_followed_and_recorded_and_the_hook_sees_every_hop(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/a", redirect("/b"))
    server.add("/b", redirect("c?x=1#part", 301))
    server.add("/c", reply(b"arrived"))
    asked: list[str] = []
    fetched = fetcher.fetch(Request(server.url("/a")), before_hop=asked.append)
    assert fetched.response.url == server.url("/c?x=1")
    assert fetched.chain == (server.url("/a"), server.url("/b"))
    assert asked == [server.url("/a"), server.url("/b"), server.url("/c?x=1")]
    assert server.connections == 1


def test_the_hook_can_end_the_chain_before_a_request_is_sent(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/a", redirect("/b"))
    server.add("/b", reply(b"arrived"))

    def only_a(url: str) -> None:
        if url.endswith("/b"):
            raise FetchError(ErrorClass.ROBOTS, "robots.txt forbids it")

    error = failure(fetcher, server.url("/a"), before_hop=only_a)
    assert (error.error_class, error.url, error.chain) == (ErrorClass.ROBOTS, server.url("/b"), (server.url("/a"),))
    assert [hit.path for hit in server.log] == ["/a"]


def test_the_hook_may_fetch_too(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/robots.txt", reply(b""))
    server.add("/page", reply(b"hello"))
    fetcher.fetch(Request(server.url("/page")), before_hop=lambda url: fetcher.fetch(Request(server.url("/robots.txt"))))
    assert [hit.path for hit in server.log] == ["/robots.txt", "/page"]


def test_ten_redirects_are_followed_and_the_eleventh_is_an_error_with_its_chain(
    server: FaultServer, fetcher: HttpFetcher
) -> None:
    for hop in range(12):
        server.add(f"/{hop}", redirect(f"/{hop + 1}"))
    server.add("/11", reply(b"arrived"))
    assert fetcher.fetch(Request(server.url("/1"))).response.body == b"arrived"
    error = failure(fetcher, server.url("/0"))
    assert error.error_class is ErrorClass.TOO_MANY_REDIRECTS
    assert error.chain == tuple(server.url(f"/{hop}") for hop in range(10))
    assert error.url == server.url("/10")


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("http://169.254.169.254/latest/meta-data/", ErrorClass.BLOCKED_ADDRESS),
        ("http://10.0.0.1/", ErrorClass.BLOCKED_ADDRESS),
        ("//0x7f.1/", ErrorClass.BLOCKED_ADDRESS),
        ("http://[::ffff:127.0.0.1]/", ErrorClass.BLOCKED_ADDRESS),
        ("http:\\\\2130706433\\x", ErrorClass.BLOCKED_ADDRESS),
        ("http://user:secret@gov.example/", ErrorClass.BLOCKED_ADDRESS),
        ("file:///etc/passwd", ErrorClass.BLOCKED_ADDRESS),
        ("gopher://127.0.0.1:6379/_x", ErrorClass.BLOCKED_ADDRESS),
        ("ftp://gov.example/", ErrorClass.BLOCKED_ADDRESS),
        ("data:text/plain,x", ErrorClass.BLOCKED_ADDRESS),
        ("http://[half/", ErrorClass.PROTOCOL),
    ],
)
def test_a_redirect_to_a_forbidden_place_is_never_followed(
    server: FaultServer, fetcher: HttpFetcher, location: str, kind: ErrorClass
) -> None:
    server.add("/out", redirect(location))
    asked: list[str] = []
    error = failure(fetcher, server.url("/out"), before_hop=asked.append)
    assert (error.error_class, error.chain[:1]) == (kind, (server.url("/out"),) if kind is ErrorClass.BLOCKED_ADDRESS else ())
    assert asked == [server.url("/out")]


def test_loopback_is_refused_without_the_allow_list_and_no_byte_is_sent(server: FaultServer) -> None:
    with HttpFetcher(FetchSettings(user_agent="x")) as fetcher:
        error = failure(fetcher, server.url("/page"))
    assert error.error_class is ErrorClass.BLOCKED_ADDRESS
    assert not error.retryable
    assert server.connections == 0


def test_a_name_is_resolved_once_per_connect_and_a_later_private_answer_is_never_used(
    server: FaultServer, make_fetcher: MakeFetcher
) -> None:
    server.add("/page", reply(b"first"))
    answers = ["127.0.0.1", "10.0.0.1", "127.0.0.1"]  # 127.0.0.1 stands for the public address: it is on the allow-list
    asked: list[str] = []

    def rebinding(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    fetcher = make_fetcher(AddressGuard(LOOPBACK.allow, rebinding))
    url = server.url("/page", "rebind.example")
    assert fetcher.fetch(Request(url)).response.body == b"first"
    assert fetcher.fetch(Request(url)).response.body == b"first"  # the same connection: nothing is resolved
    assert asked == ["rebind.example"]
    assert server.log[0].headers["host"] == f"rebind.example:{server.port}"
    error = failure(fetcher, url, verify_tls=False)  # a connection of its own, hence a second resolution
    assert error.error_class is ErrorClass.BLOCKED_ADDRESS
    assert (len(asked), server.connections) == (2, 1)


def test_the_next_checked_address_is_tried_when_the_first_refuses(server: FaultServer, make_fetcher: MakeFetcher) -> None:
    server.add("/page", reply(b"hello"))

    def two(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    fetcher = make_fetcher(AddressGuard(AllowList.parse("127.0.0.0/8"), two))
    assert fetcher.fetch(Request(server.url("/page", "two.example"))).response.body == b"hello"


def test_a_refused_connection_is_named(fetcher: HttpFetcher) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = failure(fetcher, f"http://127.0.0.1:{port}/")
    assert error.error_class is ErrorClass.CONNECT
    assert error.retryable


def test_cookies_live_for_one_chain_and_one_host(server: FaultServer, named: HttpFetcher) -> None:
    home = server.url("/set", "one.example")
    away = server.url("/away", "two.example")
    server.add("/set", redirect("/self", headers={"Set-Cookie": "CT6T=abc; Path=/; Domain=example"}))
    server.add("/self", redirect(away, headers={"Set-Cookie": "deep=1; Path=/deeper"}))
    server.add("/away", redirect(server.url("/back", "one.example")))
    server.add("/back", reply(b"done", headers={"Set-Cookie": "late=1"}))
    named.fetch(Request(home, headers={"Cookie": "own=1; CT6T=old"}))
    named.fetch(Request(server.url("/back", "one.example")))
    cookies = [(hit.path, hit.headers.get("cookie")) for hit in server.log]
    assert cookies == [
        ("/set", "own=1; CT6T=old"),
        ("/self", "own=1; CT6T=abc"),
        ("/away", None),
        ("/back", "CT6T=abc"),
        ("/back", None),
    ]


def test_a_cookie_can_be_taken_back_within_the_chain(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/a", redirect("/b", headers={"Set-Cookie": "x=1; Path=/"}))
    server.add("/b", redirect("/c", headers={"Set-Cookie": "x=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}))
    server.add("/c", reply(b""))
    fetcher.fetch(Request(server.url("/a")))
    assert [hit.headers.get("cookie") for hit in server.log] == [None, "x=1", None]


def test_credentials_stay_with_their_origin_and_do_not_come_back(server: FaultServer, named: HttpFetcher) -> None:
    secrets = {"Authorization": "Bearer canary", "X-Api-Key": "canary", "Cookie": "sid=canary", "Referer": "http://a.example/"}
    server.add("/start", redirect("/same"))
    server.add("/same", redirect(server.url("/other", "two.example")))
    server.add("/other", redirect(server.url("/again", "one.example")))
    server.add("/again", reply(b""))
    named.fetch(Request(server.url("/start", "one.example"), headers=secrets | {"Accept": "application/json"}))
    kept = {"authorization": "Bearer canary", "x-api-key": "canary", "cookie": "sid=canary", "referer": "http://a.example/"}
    assert all(kept.items() <= server.hits(path)[0].headers.items() for path in ("/start", "/same"))
    assert all("canary" not in str(server.hits(path)[0].headers) for path in ("/other", "/again"))
    assert server.hits("/other")[0].headers["accept"] == "application/json"


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [(301, "GET", b""), (302, "GET", b""), (303, "GET", b""), (307, "POST", b"q=1"), (308, "POST", b"q=1")],
)
def test_a_redirected_post_keeps_or_loses_its_body_by_the_status(
    server: FaultServer, fetcher: HttpFetcher, status: int, method: str, body: bytes
) -> None:
    server.add("/form", redirect("/result", status))
    server.add("/result", reply(b"done"))
    fetcher.fetch(Request(server.url("/form"), "POST", {"Content-Type": "application/x-www-form-urlencoded"}, b"q=1"))
    hit = server.log[-1]
    assert (hit.method, hit.body, "content-type" in hit.headers) == (method, body, bool(body))


def test_a_body_is_not_carried_to_another_origin(server: FaultServer, named: HttpFetcher) -> None:
    server.add("/form", redirect(server.url("/result", "two.example"), 307))
    with pytest.raises(FetchError) as caught:
        named.fetch(Request(server.url("/form", "one.example"), "POST", {}, b"password=canary"))
    assert caught.value.error_class is ErrorClass.PROTOCOL
    assert not server.hits("/result")


def test_raw_bytes_of_a_location_are_encoded_as_they_are(server: FaultServer, fetcher: HttpFetcher) -> None:
    gbk, utf8 = "/通知.htm?列=1".encode("gbk"), "/通知".encode()
    server.add("/gbk", redirect(gbk))
    server.add("/utf8", redirect(utf8 + b" x\\y"))
    server.add("/%CD%A8%D6%AA.htm", reply(b"gbk"))
    server.add("/%E9%80%9A%E7%9F%A5%20x/y", reply(b"utf-8"))
    assert fetcher.fetch(Request(server.url("/gbk"))).response.body == b"gbk"
    assert server.log[-1].target == "/%CD%A8%D6%AA.htm?%C1%D0=1"
    assert fetcher.fetch(Request(server.url("/utf8"))).response.body == b"utf-8"


def test_a_redirect_without_location_is_a_protocol_error(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/nowhere", reply(b"", 302))
    assert failure(fetcher, server.url("/nowhere")).error_class is ErrorClass.PROTOCOL


def test_a_304_to_validators_means_unchanged(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/page", reply(status=304, headers={"ETag": '"v1"'}))
    fetched = fetcher.fetch(
        Request(server.url("/page")), validators={"If-None-Match": '"v1"', "If-Modified-Since": "Mon, 01 Dec 2025 00:00:00 GMT"}
    )
    assert (fetched.not_modified, fetched.response.status, fetched.response.body) == (True, 304, b"")
    assert (server.log[0].headers["if-none-match"], len(server.log)) == ('"v1"', 1)


def test_a_304_that_nobody_asked_for_is_tried_once_more_with_a_turn_of_its_own(
    server: FaultServer, fetcher: HttpFetcher
) -> None:
    server.add("/page", reply(status=304), reply(b"whole"))
    server.add("/stubborn", reply(status=304))
    asked: list[str] = []
    assert fetcher.fetch(Request(server.url("/page")), before_hop=asked.append).response.body == b"whole"
    assert len(asked) == 2
    assert failure(fetcher, server.url("/stubborn")).error_class is ErrorClass.PROTOCOL
    assert len(server.hits("/stubborn")) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_rate_limit_carries_the_wait_the_server_asks_for(server: FaultServer, fetcher: HttpFetcher, status: int) -> None:
    server.add("/busy", reply(b"slow down", status, {"Retry-After": "120"}))
    error = failure(fetcher, server.url("/busy"))
    assert (error.error_class, error.status, error.retry_after, error.retryable) == (
        ErrorClass.RATE_LIMITED,
        status,
        120.0,
        True,
    )


NOW = datetime(2025, 12, 1, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Mon, 01 Dec 2025 08:01:00 GMT", 60.0),
        ("Mon, 01 Dec 2025 07:00:00 GMT", 0.0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("9" * 400, 10 * 366 * 86400.0),
        ("Mon, 01 Dec 2199 08:00:00 GMT", 10 * 366 * 86400.0),
        ("Mon, 99 Dec 2025 08:00:00 GMT", None),
        ("１２０", None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, None, NOW) == seconds


def test_a_retry_date_counts_from_the_servers_own_clock() -> None:
    wrong_clock = "Mon, 01 Dec 2014 08:00:00 GMT"
    assert retry_after("Mon, 01 Dec 2014 08:00:30 GMT", wrong_clock, NOW + timedelta(days=9)) == 30.0


@pytest.mark.parametrize(
    ("status", "retryable"), [(403, False), (404, False), (410, False), (412, False), (521, True), (500, True)]
)
def test_a_refusal_still_shows_its_page(server: FaultServer, fetcher: HttpFetcher, status: int, retryable: bool) -> None:
    page = "<script>$_ts=window['$_ts']</script>访问被拦截".encode()
    headers = {"Content-Type": "text/html", "Content-Encoding": "gzip", "Set-Cookie": "acw_tc=canary"}
    server.add("/wall", reply(gzip.compress(page), status, headers))
    error = failure(fetcher, server.url("/wall"))
    assert (error.error_class, error.status, error.retryable) == (ErrorClass.HTTP_STATUS, status, retryable)
    assert error.response is not None
    assert (error.response.status, error.response.body, error.response.url) == (status, page, server.url("/wall"))
    assert "set-cookie" not in error.response.headers


def test_a_refusal_with_a_broken_body_is_still_that_refusal(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/cut", raw(head(403, {"Content-Length": "1000"}) + b"<html>blocked"))
    server.add("/huge", reply(b"x" * 200_000, 404))
    error = failure(fetcher, server.url("/cut"))
    assert (error.status, error.response.body if error.response else None) == (403, b"<html>blocked")
    assert failure(fetcher, server.url("/huge")).status == 404


def test_a_partial_answer_that_nobody_asked_for_is_no_page(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/part", reply(b"half", 206, {"Content-Range": "bytes 0-3/8"}))
    assert failure(fetcher, server.url("/part")).error_class is ErrorClass.PROTOCOL
    part = fetcher.fetch(Request(server.url("/part"), headers={"Range": "bytes=0-3"}))
    assert (part.response.status, part.response.body) == (206, b"half")


@pytest.mark.parametrize("headers", [{"X-Bad": "a\r\nInjected: 1"}, {"X-Bad": "中文"}, {"Bad name": "x"}])
def test_a_header_that_cannot_be_sent_is_the_callers_fault_and_is_not_quoted(
    server: FaultServer, fetcher: HttpFetcher, headers: dict[str, str]
) -> None:
    with pytest.raises(FetchError) as caught:
        fetcher.fetch(Request(server.url("/page"), headers=headers))
    assert caught.value.error_class is ErrorClass.CONFIG
    assert not any(value in str(caught.value) for value in headers.values())
    assert not server.log


def test_one_fetcher_serves_several_limits(server: FaultServer, fetcher: HttpFetcher) -> None:
    server.add("/page", reply(b"x" * 100))
    assert failure(fetcher, server.url("/page"), limits=Limits(5, 99, 1000)).error_class is ErrorClass.TOO_LARGE
    assert fetcher.fetch(Request(server.url("/page")), limits=Limits(5, 100, 1000)).wire_bytes == 100


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_agent", " "),
        ("user_agent", "x\r\ny"),
        ("read_timeout", 0),
        ("page_deadline", -1),
        ("decoded_limit", 0),
        ("max_redirects", -1),
    ],
)
def test_a_bad_setting_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        replace(LOOPBACK, **{field: value})
