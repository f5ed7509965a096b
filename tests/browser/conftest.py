"""A real Chromium and a steward who is logged in with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Browser, sync_playwright

from tests.browser.steward import NAME, PASSWORD, Steward


@pytest.fixture
def browser(chromium_path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    # Playwright's own event loop runs in this thread; the rows that the test writes and reads meanwhile are no danger to it.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium refuses its sandbox to root
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_path, args=sandbox)
        yield started
        started.close()


@pytest.fixture
def steward(browser: Browser, live_server: Any, tmp_path: Path) -> Steward:
    get_user_model().objects.create_superuser(NAME, "", PASSWORD)
    page = browser.new_page(viewport={"width": 1440, "height": 900}, timezone_id="Asia/Shanghai")
    return Steward(page, live_server.url, Path(os.environ.get("BROWSER_PICTURES", tmp_path)))
