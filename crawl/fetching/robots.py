"""What robots.txt says (RFC 9309; fault-model H16), as a pure value: fetching and caching are the caller's.

A policy is made by ``RobotsPolicy.from_fetch(status, body)`` or ``.from_error(fetch_error)``. Its ``status`` and ``text`` are
what to keep (at most ``CACHE_SECONDS``), and ``RobotsPolicy(status, text)`` is the same policy again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from urllib.parse import urljoin

from protego import Protego

from crawl.errors import ErrorClass, FetchError

CACHE_SECONDS = 24 * 3600
MAX_REDIRECTS = 5
MAX_DELAY = 300.0
_MAX_BYTES = 512 * 1024  # RFC 9309, 2.5: at least 500 KiB

_RULE = re.compile(r"^\s*(user-?agent|disallow|allow|sitemap)\s*:", re.IGNORECASE | re.MULTILINE)
_HTML = re.compile(r"\s*<(!doctype|html|head|body|script|meta|\?xml|!--)", re.IGNORECASE)
_HTML_KEPT = 1024
_PRODUCT = re.compile(r"[A-Za-z_-]+")


class RobotsState(StrEnum):
    ALLOW_ALL = "allowed"  # there is no robots.txt, or it holds no rules
    RULES = "rules"
    DISALLOW_ALL = "disallow_all"  # unreachable: try again later, ask for nothing meanwhile


def robots_url(url: str) -> str:
    """The robots.txt that governs ``url``."""
    return urljoin(url, "/robots.txt")


@dataclass(frozen=True)
class RobotsPolicy:
    """``status`` is None when no answer came; ``text`` is the file, or the beginning of the HTML that came instead."""

    status: int | None
    text: str

    @classmethod
    def from_fetch(cls, status: int | None, body: bytes) -> RobotsPolicy:
        """The policy of an answer; ``status`` None means that the file could not be reached."""
        policy = cls(status, _decoded(body))
        return cls(status, policy.text[:_HTML_KEPT]) if policy.html else policy

    @classmethod
    def from_error(cls, error: FetchError) -> RobotsPolicy:
        """The policy of a fetch that failed. Status 4xx is "no robots.txt"; whatever else went wrong is "unreachable"."""
        return cls(error.status if error.error_class in (ErrorClass.HTTP_STATUS, ErrorClass.RATE_LIMITED) else None, "")

    @property
    def html(self) -> bool:
        """A page came instead of rules; it counts as no rules (A3b, H16)."""
        return _HTML.match(self.text) is not None

    @property
    def state(self) -> RobotsState:
        # 429 is a 4xx by number only: it says "later", not "there are no rules". A 3xx that led nowhere reached no file.
        if self.status is None or not (200 <= self.status < 300 or 400 <= self.status < 500) or self.status == 429:
            return RobotsState.DISALLOW_ALL
        if self.status >= 400 or self.html or _RULE.search(self.text) is None:
            return RobotsState.ALLOW_ALL
        return RobotsState.RULES

    def allows(self, url: str, agent: str) -> bool:
        """Whether ``agent`` (a product token, or a User-Agent that begins with it) may fetch ``url``."""
        if self.state is RobotsState.RULES:
            return self._rules.can_fetch(url, _product(agent))
        return self.state is RobotsState.ALLOW_ALL

    def crawl_delay(self, agent: str) -> float:
        """Seconds between requests that Crawl-delay and Request-rate ask of ``agent``, 0 to 300; 0 if they ask nothing."""
        if self.state is not RobotsState.RULES:
            return 0.0
        delay = self._rules.crawl_delay(_product(agent)) or 0.0
        rate = self._rules.request_rate(_product(agent))
        if rate is not None:
            delay = max(delay, rate.seconds / rate.requests)
        return min(delay, MAX_DELAY)

    @cached_property
    def _rules(self) -> Protego:
        return Protego.parse(self.text)


def _decoded(body: bytes) -> str:
    if len(body) > _MAX_BYTES:
        body = body[:_MAX_BYTES].rpartition(b"\n")[0]  # half a rule could mean the opposite of the whole one
    return body.decode("utf-8-sig", "replace").replace("\x00", "")


def _product(agent: str) -> str:
    token = _PRODUCT.match(agent)
    return token[0] if token is not None else agent
