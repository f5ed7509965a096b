"""The browser's only way out: guarded addresses, a secret, one request at a time a host."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from crawl.errors import FetchError
from crawl.fetching.address_guard import AddressGuard, AllowList
from crawl.fetching.forward_proxy import ForwardProxy
from tests.crawl.witness import Witness
from tests.faultserver import FaultServer, head, raw, redirect, reply


class Gate:
    """A running proxy that may reach one server, and what it let through and refused."""

    def __init__(self, server: FaultServer) -> None:
        self.admitted: list[str] = []
        self.refused: list[str] = []
        guard = AddressGuard(AllowList.parse(server.netloc), resolver=self.resolve)
        self.answers: list[str] = ["127.0.0.1", "10.0.0.1"]
        self.proxy = ForwardProxy(guard, self.admitted.append, self.note, timeout=5)

    def note(self, url: str, error: FetchError) -> None:
        self.refused.append(str(error))

    def resolve(self, host: str, port: int, **how: Any) -> list[Any]:
        return [(0, 0, 0, "", (self.answers.pop(0), port))]

    def get(self, url: str, **how: Any) -> httpx.Response:
        login = (self.proxy.user, self.proxy.password)
        proxy = httpx.Proxy(f"http://127.0.0.1:{self.proxy.port}", auth=login)
        with httpx.Client(proxy=proxy, trust_env=False, timeout=10) as client:
            return client.get(url, **how)


@pytest.fixture
def gate(server: FaultServer) -> Iterator[Gate]:
    made = Gate(server)
    with made.proxy:
        yield made


def test_a_request_goes_to_the_checked_address_without_the_secret(server: FaultServer, gate: Gate) -> None:
    server.add("/page", reply(b"hello"))
    assert gate.get(server.url("/page")).content == b"hello"
    assert gate.admitted == [server.url("/page")]
    assert "proxy-authorization" not in server.log[0].headers


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://10.0.0.8/", "https://192.168.0.1/", "http://[::1]/"],
)
def test_an_inner_address_is_refused_with_its_reason(gate: Gate, url: str) -> None:
    if url.startswith("https"):
        with pytest.raises(httpx.ProxyError, match="403"):
            gate.get(url)
    else:
        assert gate.get(url).status_code == 403
    assert gate.admitted == [] and "BLOCKED_ADDRESS" in gate.refused[0]


def test_a_redirect_and_a_name_that_changes_its_address_are_refused(server: FaultServer, gate: Gate) -> None:
    server.add("/away", redirect("http://169.254.169.254/"))
    assert gate.get(server.url("/away"), follow_redirects=True).status_code == 403
    server.add("/page", reply(b"hello"))
    rebound = server.url("/page", "www.example.test")
    assert [gate.get(rebound).status_code for _ in range(2)] == [200, 403]
    assert "10.0.0.1" in gate.refused[1]


def test_who_does_not_know_the_secret_is_not_served(server: FaultServer, gate: Gate) -> None:
    gate.proxy.password = "another"
    login = httpx.Proxy(f"http://127.0.0.1:{gate.proxy.port}", auth=("browser", "guessed"))
    with httpx.Client(proxy=login, trust_env=False) as client:
        assert client.get(server.url("/page")).status_code == 407
    assert server.log == []


def test_a_host_has_one_request_at_a_time(server: FaultServer, gate: Gate) -> None:
    witness = Witness()
    server.add("/page", witness.answer(b"hello", hold=0.05))
    with ThreadPoolExecutor(4) as pool:
        assert [got.status_code for got in pool.map(gate.get, [server.url("/page")] * 4)] == [200] * 4
    assert min(witness.gaps(server.netloc)) >= 0


def test_bytes_after_the_first_request_of_a_connection_never_reach_a_server_unchecked(server: FaultServer, gate: Gate) -> None:
    server.add("/page", raw(head(200, {"Content-Length": "5", "Connection": "keep-alive"}) + b"hello"))
    login = base64.b64encode(f"{gate.proxy.user}:{gate.proxy.password}".encode()).decode()
    one = f"GET {server.url('/page')} HTTP/1.1\r\nProxy-Authorization: Basic {login}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", gate.proxy.port), timeout=10) as browser:
        browser.sendall(one + one)
        with browser.makefile("rb") as answer:
            assert b"Connection: close" in answer.read(200)
    assert len(server.log) == 1
