from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.address_guard import AddressGuard, AllowList, Pinned, split_url
from crawl.fetching.http import FetchSettings


def answering(*addresses: str) -> Any:
    """A resolver that gives these addresses for every name."""

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    return resolve


def unexpected(host: str, port: int, **_: Any) -> list[Any]:
    raise AssertionError(f"{host} must not be resolved")


def refusal(guard: AddressGuard, url: str) -> FetchError:
    with pytest.raises(FetchError) as caught:
        guard.check(url)
    return caught.value


REFUSED_WITHOUT_RESOLUTION = [
    "http://127.0.0.1/",
    "http://127.0.0.1:8000/",
    "http://127.1.2.3/",
    "http://127.0.0.1./",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://192.0.0.8/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0x7f.0.0.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://127.0.0.0x1/",
    "http://127.0.0.01/",
    "http://256.256.256.256/",
    "http://１２７.0.0.1/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://２１３０７０６４３３/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[2001:db8::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[::1",
    "http://gov.example@127.0.0.1/",
    "http://127.0.0.1@gov.example/",
    "http://user:secret@gov.example/",
    "http://gov.example\\@127.0.0.1/",
    "http://gov.example\\.evil.example/",
    "http://127.0.0.1%2f.gov.example/",
    "http://%31%32%37.0.0.1/",
    "http://gov.example%00.evil.example/",
    "http://gov .example/",
    "http://gov\t.example/",
    "http://gov\n.example/",
    " http://gov.example/",
    "http://gov.example:99999/",
    "http://gov.example:0/",
    "http://gov.example:80:80/",
    "http://gov.example:８０/",
    "http:///etc/passwd",
    "http:gov.example",
    "http://",
    "http://-gov.example/",
    "http://gov..example/",
    f"http://{'a' * 64}.example/",
    "//gov.example/",
    "gov.example/page",
    "file:///etc/passwd",
    "gopher://gov.example/",
    "ftp://gov.example/",
    "data:text/html,hello",
    "javascript:alert(1)",
    "",
]


@pytest.mark.parametrize("url", REFUSED_WITHOUT_RESOLUTION)
def test_a_hostile_form_is_refused_before_any_resolution(url: str) -> None:
    error = refusal(AddressGuard(AllowList(), unexpected), url)
    assert error.error_class is ErrorClass.BLOCKED_ADDRESS
    assert error.message


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://gov.example@127.0.0.1/", "user-info"),
        ("http://0x7f.1/", "a number"),
        ("http://169.254.169.254/", "link-local"),
        ("http://10.0.0.1:8080/", "10.0.0.1, port 8080: private"),
        ("ftp://gov.example/", "'ftp'"),
        ("http://", "no host"),
    ],
)
def test_a_refusal_says_why(url: str, why: str) -> None:
    assert why in refusal(AddressGuard(AllowList(), unexpected), url).message


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.1.1",
        "192.0.0.8",
        "224.0.0.1",
        "::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fe80::1%eth0",
        "fec0::1",
        "fd00::1",
    ],
)
def test_a_name_is_refused_if_only_one_of_its_addresses_is_inside(address: str) -> None:
    error = refusal(AddressGuard(AllowList(), answering("93.184.216.34", address)), "http://gov.example/")
    assert error.error_class is ErrorClass.BLOCKED_ADDRESS
    assert "gov.example resolves to" in error.message


def test_a_public_name_is_pinned_to_the_answers_of_one_resolution() -> None:
    guard = AddressGuard(AllowList(), answering("93.184.216.34", "2606:2800:220:1::1", "93.184.216.34"))
    pinned = guard.check("https://www.gov.example/path?x=1")
    assert pinned == Pinned("www.gov.example", 443, ("93.184.216.34", "2606:2800:220:1::1"))
    assert pinned.address == "93.184.216.34"


def test_a_public_literal_needs_no_resolver() -> None:
    guard = AddressGuard(AllowList(), unexpected)
    assert guard.check("http://93.184.216.34:8080/").address == "93.184.216.34"
    assert guard.check("http://[2606:2800:220:1::1]/").address == "2606:2800:220:1::1"


def test_a_chinese_host_is_resolved_under_its_ascii_name() -> None:
    origin, target = split_url("HTTP://政务.example。/通知?页=1#top")
    assert (origin.host, origin.netloc, target) == ("xn--zfr164b.example", "xn--zfr164b.example", "/通知?页=1")


def test_an_unknown_name_is_a_connection_error() -> None:
    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    error = refusal(AddressGuard(AllowList(), resolve), "http://nowhere.example/")
    assert error.error_class is ErrorClass.CONNECT
    assert "nowhere.example" in error.message


def test_a_name_without_addresses_is_a_connection_error() -> None:
    assert refusal(AddressGuard(AllowList(), answering()), "http://gov.example/").error_class is ErrorClass.CONNECT


def test_a_resolver_that_never_answers_is_left_behind() -> None:
    release = threading.Event()

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        release.wait(30)
        return []

    error = refusal(AddressGuard(AllowList(), resolve, timeout=0.05), "http://slow.example/")
    release.set()
    assert error.error_class is ErrorClass.TIMEOUT


@pytest.mark.parametrize(
    ("text", "url", "allowed"),
    [
        ("127.0.0.1:18500", "http://127.0.0.1:18500/", True),
        ("127.0.0.1:18500", "http://127.0.0.1:18501/", False),
        ("127.0.0.1:18500", "http://127.0.0.2:18500/", False),
        ("127.0.0.1:18500", "http://[::ffff:127.0.0.1]:18500/", False),
        ("127.0.0.1:18500", "http://0x7f.1:18500/", False),
        ("127.0.0.1", "http://127.0.0.1:9/", True),
        ("10.20.0.0/16", "https://10.20.3.4/", True),
        ("10.20.0.0/16", "https://10.21.3.4/", False),
        ("10.20.0.0/16:443", "https://10.20.3.4/", True),
        ("10.20.0.0/16:443", "http://10.20.3.4/", False),
        ("8.8.8.8, 127.0.0.1:1\n10.0.0.0/8", "http://10.9.9.9/", True),
        ("::1", "http://[::1]:8000/", True),
        ("[::1]:8000", "http://[::1]:8000/", True),
        ("[::1]:8000", "http://[::1]:8001/", False),
        ("[fd00::/8]", "http://[fd12::1]/", True),
        ("fd00::/8", "http://[fd12::1]/", True),
    ],
)
def test_the_allow_list_opens_exactly_what_it_names(text: str, url: str, allowed: bool) -> None:
    guard = AddressGuard(AllowList.parse(text), unexpected)
    if allowed:
        assert guard.check(url)
    else:
        assert refusal(guard, url).error_class is ErrorClass.BLOCKED_ADDRESS


def test_an_allowed_address_is_reached_by_name_too() -> None:
    guard = AddressGuard(AllowList.parse("10.20.0.0/16"), answering("10.20.0.7"))
    assert guard.check("http://intranet.example/").address == "10.20.0.7"


@pytest.mark.parametrize(
    "entry",
    ["localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "10.20.0.1/16", "127.0.0.1:http", "[::1", "300.1.1.1"],
)
def test_a_bad_allow_list_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="allow-list entry") as caught:
        AllowList.parse(f"10.0.0.0/8, {entry}")
    assert repr(entry) in str(caught.value)


def test_the_allow_list_is_empty_unless_the_operator_fills_it() -> None:
    assert AllowList.parse(" ") == AllowList() == FetchSettings(user_agent="x").allow
