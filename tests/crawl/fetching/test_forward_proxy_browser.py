"""A real Chromium behind the forward proxy: nothing it does reaches an address that was not checked."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import sync_playwright

from crawl.errors import FetchError
from crawl.fetching.address_guard import AddressGuard, AllowList
from crawl.fetching.forward_proxy import ForwardProxy
from tests.faultserver import FaultServer, redirect, reply

pytestmark = pytest.mark.browser

PAGE = b"""<html><body><p id=own>waiting</p><script>
const seen = [];
const ask = url => fetch(url, {mode: 'no-cors'}).then(r => r.text()).then(t => seen.push('got')).catch(e => seen.push('no'));
const socket = new Promise(done => { const s = new WebSocket('ws://127.0.0.1:%d/socket'); s.onopen = s.onerror = done; });
const frame = document.createElement('iframe'); frame.src = 'http://127.0.0.1:%d/frame'; document.body.append(frame);
Promise.all([ask('/away'), ask('http://127.0.0.1:%d/inner'), ask('http://10.0.0.8/'), socket,
  new Promise(done => frame.onload = done)]).then(() => fetch('/data')).then(r => r.text())
  .then(text => document.getElementById('own').textContent = text);
</script></body></html>"""


def test_sub_requests_redirects_sockets_and_frames_to_inner_addresses_are_refused(
    server: FaultServer, chromium_path: str
) -> None:
    refused: list[str] = []

    def note(url: str, error: FetchError) -> None:
        refused.append(f"{url} {error.error_class.value}")

    with FaultServer() as inner:
        server.add("/page", reply(PAGE % ((inner.port,) * 3), headers={"Content-Type": "text/html"}))
        server.add("/away", redirect("http://169.254.169.254/latest"))
        server.add("/data", reply(b"filled"))
        guard = AddressGuard(AllowList.parse(server.netloc))
        with ForwardProxy(guard, lambda url: None, note) as proxy, sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=chromium_path,
                args=["--no-sandbox"] if os.getuid() == 0 else [],
                proxy={
                    "server": f"http://127.0.0.1:{proxy.port}",
                    "bypass": "<-loopback>",
                    "username": proxy.user,
                    "password": proxy.password,
                },
            )
            page = chromium.new_page()
            page.goto(server.url("/page"))
            page.get_by_text("filled").wait_for(timeout=15_000)
            chromium.close()
        assert inner.log == [] and inner.connections == 0
    for place in ("169.254.169.254", "10.0.0.8", "/inner", "/frame", f"https://127.0.0.1:{inner.port}"):
        assert any(place in told and "BLOCKED_ADDRESS" in told for told in refused), (place, refused)
