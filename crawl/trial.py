"""A trial of a target: its sample article fetched politely, parsed, shown, and nothing written of it."""

from __future__ import annotations

import secrets
import threading

from crawl import hosts, jobs
from crawl.errors import FetchError
from crawl.fetching.http import HttpFetcher
from crawl.models import CrawlJob
from crawl.turns import Turn, TurnOver
from crawl.work import fetch_settings
from sources.adapters.base import Adapter, ArticleRef, ParseError, Response
from sources.models import CrawlTarget
from sources.parsing.urls import host_key
from sources.reading import adapter_for

BODY_SHOWN = 600


class TrialFailed(Exception):
    """The sample could not be fetched or parsed; the message says why."""


class TrialTurn(Turn):
    """A turn without a job: it holds the host's lease and takes no orders to stop."""

    def check_stop(self) -> None:
        return

    def _log(self, url: str, status: int | None, error: FetchError | None) -> None:
        return


def sample(target: CrawlTarget) -> list[tuple[str, str]]:
    """Name and value of each field of the target's sample article. Raises TrialFailed, adapters.UnknownAdapter, InvalidParams,
    ValueError without a ``sample_article_url``.
    """
    if not target.sample_article_url:
        raise ValueError(f"target {target.target_code} has no sample_article_url: a dry run fetches that page")
    adapter = adapter_for(target)
    ref = ArticleRef(url=target.sample_article_url)
    host = host_key(ref.url)
    lease = jobs.Lease(CrawlJob(job_id="trial", host=host), secrets.token_hex(16))
    if not hosts.lease(host, lease.token, "trial"):
        raise TrialFailed(f"host {host} is busy or backed off from: try again later")
    try:
        with HttpFetcher(settings := fetch_settings()) as fetcher:
            turn = TrialTurn(lease, target, fetcher, settings.robots_limits, threading.Event())
            try:
                return _rows(adapter, ref, _pages(adapter, ref, turn))
            finally:
                turn.close()
    except (FetchError, ParseError, TurnOver) as error:
        raise TrialFailed(str(error)) from error
    except jobs.LeaseLost as error:
        raise TrialFailed(f"the lease of {host} ran out before the sample was read: try again") from error
    finally:
        hosts.release(host, lease.token)


def _pages(adapter: Adapter, ref: ArticleRef, turn: Turn) -> list[Response]:
    got: list[Response] = []
    while (request := adapter.detail_request(ref, got)) is not None:
        got.append(turn.fetcher.fetch(request, before_hop=turn.before_hop, after_hop=turn.after_hop).response)
    return got


def _rows(adapter: Adapter, ref: ArticleRef, got: list[Response]) -> list[tuple[str, str]]:
    article = adapter.parse_detail(ref, got)
    names = (
        "url title native_id publish_time publish_precision publish_date source_raw index_no doc_no publisher effective_date "
        "is_effective expiry_date topic_words open_category content_category content_subcategory channel_name channel_path"
    ).split()
    rows = [(name, str(value)) for name in names if (value := getattr(article, name)) not in ("", None)]
    rows.append(("body_text", article.body_text[:BODY_SHOWN] + ("…" if len(article.body_text) > BODY_SHOWN else "")))
    rows += [(f"file {place}", f"{item.name}\n{item.url}") for place, item in enumerate(article.attachments, 1)]
    rows += [("warning", text) for text in article.warnings]
    return rows
