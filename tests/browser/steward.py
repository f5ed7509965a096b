"""A steward in front of a page of a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

NAME, PASSWORD = "steward", "correct horse"


class Steward:
    """One page of the browser, logged in, that notes what must not happen."""

    def __init__(self, page: Page, server: str, pictures: Path) -> None:
        self.page, self.server, self.pictures = page, server, pictures
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        self.away: list[str] = []
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._request)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.server, "data:", "about:")):
            self.away.append(request.url)

    def open(self, path: str) -> None:
        self.page.goto(self.server + path)

    def picture(self, name: str) -> None:
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)

    def log_in(self) -> None:
        self.open("/admin/")
        self.page.fill("input[name=username]", NAME)
        self.page.fill("input[name=password]", PASSWORD)
        self.page.click("#login-form button[type=submit]")
        expect(self.page.locator("#status-box")).to_be_visible()
