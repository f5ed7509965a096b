"""Chinese first: no page of the admin shows a Latin word outside the allow-list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from tests.admin import data, pages

pytestmark = pytest.mark.django_db
NO_WORDS = re.compile(
    r"https?://\S+|/\S+/\S*|[0-9a-f]{12,}|\S*\*{3}\S*", re.IGNORECASE
)  # addresses, paths, hashes, masked hashes
WORD = re.compile(r"[A-Za-z]{2,}")
ALLOWED = {
    line.strip()
    for line in (Path(__file__).parent / "latin_words.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
}


def latin(page: bytes) -> set[str]:
    texts = (NO_WORDS.sub("", text) for text in pages.visible_texts(page))
    return {word for text in texts for word in WORD.findall(text)} - ALLOWED


def test_every_page_is_in_chinese(steward: Client) -> None:
    data.everything()
    steward.post(reverse("admin:sources_crawlsite_add"), {"site_code": "1-3", "cms_adapter": "gkmlpt", "enabled": "on"})
    seen, found = 0, {}
    for address in pages.addresses():
        response = steward.get(address, follow=True)
        if response.status_code == 403:
            continue
        assert response.status_code == 200, address
        seen += 1
        if words := latin(response.content):
            found[address] = sorted(words)
    assert seen > 80
    assert found == {}


def test_the_login_page_is_in_chinese(client: Client) -> None:
    assert latin(client.get(reverse("admin:login")).content) == set()
    assert latin(client.post(reverse("admin:login"), {"username": "1", "password": "2"}).content) == set()


def test_english_by_cookie(steward: Client) -> None:
    steward.post(reverse("set_language"), {"language": "en", "next": "/admin/"})
    page = steward.get(reverse("admin:articles_article_changelist")).content.decode()
    assert "Number, address or id" in page
    assert "文章" not in page
