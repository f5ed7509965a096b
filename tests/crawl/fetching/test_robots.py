from __future__ import annotations

from collections.abc import Callable

import pytest

from crawl.errors import ErrorClass, FetchError
from crawl.fetching.http import HttpFetcher
from crawl.fetching.robots import MAX_REDIRECTS, RobotsPolicy, RobotsState, robots_url
from sources.adapters.base import Request
from tests.crawl.fetching.conftest import LOOPBACK
from tests.faultserver import FaultServer, redirect, reply

AGENT = "GovCrawler"
PAGE = "https://www.gov.example/zwgk/list.html"
RULES = (
    b"User-agent: *\nDisallow: /private/\nAllow: /private/open$\n\nUser-agent: GovCrawler\nDisallow: /admin/\nCrawl-delay: 7\n"
)


def test_the_group_of_the_own_product_token_counts() -> None:
    policy = RobotsPolicy.from_fetch(200, RULES)
    assert policy.state is RobotsState.RULES
    assert not policy.allows("https://www.gov.example/admin/x", AGENT)
    assert policy.allows("https://www.gov.example/private/x", AGENT)
    assert not policy.allows("https://www.gov.example/private/x", "OtherBot")
    assert policy.allows("https://www.gov.example/private/open", "OtherBot")


def test_a_full_user_agent_is_read_as_its_product_token() -> None:
    policy = RobotsPolicy.from_fetch(200, b"User-agent: steward\nDisallow: /\n")
    assert policy.allows(PAGE, "GovCrawler/1.0 (+mailto:steward@example.test)")
    assert not RobotsPolicy.from_fetch(200, RULES).allows("https://www.gov.example/admin/", "GovCrawler/1.0 (+x)")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_missing_file_allows_everything(status: int) -> None:
    policy = RobotsPolicy.from_fetch(status, b"User-agent: *\nDisallow: /\n")
    assert policy.state is RobotsState.ALLOW_ALL
    assert policy.allows(PAGE, AGENT)


@pytest.mark.parametrize("status", [None, 304, 429, 500, 503, 599])
def test_an_unreachable_file_forbids_everything(status: int | None) -> None:
    policy = RobotsPolicy.from_fetch(status, b"")
    assert policy.state is RobotsState.DISALLOW_ALL
    assert not policy.allows(PAGE, AGENT)
    assert policy.crawl_delay(AGENT) == 0.0


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (FetchError(ErrorClass.HTTP_STATUS, "", status=404), RobotsState.ALLOW_ALL),
        (FetchError(ErrorClass.HTTP_STATUS, "", status=500), RobotsState.DISALLOW_ALL),
        (FetchError(ErrorClass.RATE_LIMITED, "", status=429), RobotsState.DISALLOW_ALL),
        (FetchError(ErrorClass.TIMEOUT, ""), RobotsState.DISALLOW_ALL),
        (FetchError(ErrorClass.TLS_ERROR, ""), RobotsState.DISALLOW_ALL),
        (FetchError(ErrorClass.TOO_MANY_REDIRECTS, "", status=302), RobotsState.DISALLOW_ALL),
    ],
)
def test_a_failed_fetch_is_a_policy_too(error: FetchError, state: RobotsState) -> None:
    assert RobotsPolicy.from_error(error).state is state


def test_an_html_page_counts_as_no_rules_and_is_flagged() -> None:
    body = b"\xef\xbb\xbf\n<!DOCTYPE html><html><body>\nDisallow: /\n" + b"x" * 100_000
    policy = RobotsPolicy.from_fetch(200, body)
    assert policy.html
    assert policy.state is RobotsState.ALLOW_ALL
    assert policy.allows(PAGE, AGENT)
    assert len(policy.text) < 2000


@pytest.mark.parametrize("body", [b"", b"# nothing here\n", b"not found"])
def test_a_file_without_rules_allows_everything(body: bytes) -> None:
    policy = RobotsPolicy.from_fetch(200, body)
    assert (policy.state, policy.html) == (RobotsState.ALLOW_ALL, False)


def test_a_byte_order_mark_does_not_hide_the_first_group() -> None:
    policy = RobotsPolicy.from_fetch(200, b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n")
    assert not policy.allows(PAGE, AGENT)


def test_rules_within_the_first_500_kib_count_and_a_cut_rule_does_not() -> None:
    comment = b"# " + b"x" * 97 + b"\n"
    early = comment * 5140 + b"User-agent: *\nDisallow: /zwgk/\n"
    assert len(early) > 500 * 1024
    policy = RobotsPolicy.from_fetch(200, early + b"Allow: /zwgk/list.html\n" + comment * 20_000)
    assert not policy.allows("https://www.gov.example/zwgk/x", AGENT)
    assert len(policy.text) <= 512 * 1024
    cut = b"User-agent: *\n" + b"#" * (512 * 1024 - 14 - 14) + b"\nDisallow: /zwgk/secret/\n"
    assert RobotsPolicy.from_fetch(200, cut).allows(PAGE, AGENT)


@pytest.mark.parametrize(
    ("rule", "seconds"),
    [
        ("Crawl-delay: 7", 7.0),
        ("Crawl-delay: 0.5", 0.5),
        ("Crawl-delay: 86400", 300.0),
        ("Crawl-delay: -3", 0.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: soon", 0.0),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 2/1m", 30.0),
        ("Request-rate: 1/10\nCrawl-delay: 3", 10.0),
        ("Request-rate: 1/1\nCrawl-delay: 3", 3.0),
        ("Request-rate: 1/9h", 300.0),
        ("Request-rate: 0/10", 0.0),
        ("Disallow:", 0.0),
    ],
)
def test_the_slower_of_crawl_delay_and_request_rate_is_the_floor(rule: str, seconds: float) -> None:
    policy = RobotsPolicy.from_fetch(200, f"User-agent: *\nDisallow: /x\n{rule}\n".encode())
    assert policy.crawl_delay(AGENT) == seconds


@pytest.mark.parametrize(("status", "body"), [(200, RULES), (404, b""), (None, b""), (200, b"<html>soft 404</html>")])
def test_a_policy_survives_being_kept_as_status_and_text(status: int | None, body: bytes) -> None:
    policy = RobotsPolicy.from_fetch(status, body)
    again = RobotsPolicy(policy.status, policy.text)
    assert (again, again.state, again.html) == (policy, policy.state, policy.html)
    assert again.allows("https://www.gov.example/admin/x", AGENT) == policy.allows("https://www.gov.example/admin/x", AGENT)


def test_robots_txt_itself_is_always_allowed_by_rules() -> None:
    assert RobotsPolicy.from_fetch(200, b"User-agent: *\nDisallow: /\n").allows("https://www.gov.example/robots.txt", AGENT)
    assert robots_url("https://www.gov.example:8443/a/b?c#d") == "https://www.gov.example:8443/robots.txt"


def test_more_than_five_redirects_make_the_file_unreachable(
    server: FaultServer, make_fetcher: Callable[..., HttpFetcher]
) -> None:
    fetcher = make_fetcher()
    for hop in range(MAX_REDIRECTS + 1):
        server.add(f"/hop{hop}", redirect(f"/hop{hop + 1}"))
    server.add(f"/hop{MAX_REDIRECTS + 1}", reply(RULES))
    limits = LOOPBACK.robots_limits
    assert fetcher.fetch(Request(server.url("/hop1")), limits=limits).response.body == RULES
    with pytest.raises(FetchError) as caught:
        fetcher.fetch(Request(server.url("/hop0")), limits=limits)
    assert RobotsPolicy.from_error(caught.value).state is RobotsState.DISALLOW_ALL
