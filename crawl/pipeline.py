"""One page of one target: rows listed, known ones told apart, the others visited and saved, the page closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from articles import store as articles_store
from crawl import failures, jobs
from crawl.crawling import Crawl
from crawl.errors import FetchError
from crawl.visits import visit
from govcrawler.crashpoints import crashpoint
from sources.adapters.base import ArticleRef, ListPage


@dataclass(frozen=True)
class PageResult:
    """A finished page. ``all_known``: it had rows, and every row that is not pinned was stored before the page was read."""

    listing: ListPage
    all_known: bool


def crawl_page(crawl: Crawl, page: int, cursor: str | None, seen: set[str]) -> PageResult:
    """Crawls list page ``page``; ``seen`` holds the row URLs this job has met. Raises FetchError, ParseError for the list
    itself, TurnOver, Stopped, jobs.LeaseLost; one article's failure is recorded and does not end the page.
    """
    jobs.progress(crawl.lease, current_page=page)
    response = crawl.fetch(crawl.adapter.list_request(page, cursor), expected="list")
    crawl.list_fetched_at = response.fetched_at
    listing = crawl.adapter.parse_list(response, page, cursor)
    for text in listing.warnings:
        crawl.receipt.warn(text)
    fresh = _fresh(crawl, listing.refs, seen)
    known = {} if crawl.force else articles_store.known(crawl.target.site_id, fresh)
    articles_store.note_listings(known.values(), crawl.target)
    resting = set() if crawl.force else failures.waiting(crawl.target, [ref.url for ref in fresh])
    for ref in fresh:
        if ref.url in known:
            crawl.receipt.row("known")
        elif ref.url in resting:
            crawl.receipt.row("skipped", "failed_before")
        else:
            collect(crawl, ref)
    crawl.flush()
    close_page(crawl, listing, page)
    return PageResult(listing, _all_known(fresh, known))


def _fresh(crawl: Crawl, refs: Sequence[ArticleRef], seen: set[str]) -> list[ArticleRef]:
    """Rows to look at: those the adapter skips are counted with its reason, repeats of this job (pinned rows) as duplicate."""
    fresh = []
    for ref in refs:
        if ref.skip:
            crawl.receipt.row("skipped", ref.skip)
        elif ref.url in seen:
            crawl.receipt.row("duplicate", "listed_again")
        else:
            seen.add(ref.url)
            fresh.append(ref)
    return fresh


def _all_known(fresh: Sequence[ArticleRef], known: dict[str, int]) -> bool:
    moving = [ref for ref in fresh if not ref.pinned]
    return bool(moving) and all(ref.url in known for ref in moving)


def collect(crawl: Crawl, ref: ArticleRef) -> None:
    """Visits one article and hands it to the batch; a failure is recorded for later runs."""
    try:
        found = visit(crawl, ref)
    except FetchError as error:
        crawl.failed(ref, error)
        return
    crawl.receipt.run.fetched += 1
    crawl.add(found)


def close_page(crawl: Crawl, listing: ListPage, page: int) -> None:
    """Every row of the page is stored or recorded: only now the checkpoint moves."""
    run = crawl.receipt.run
    run.pages += 1
    run.declared_total = listing.total if listing.total is not None else run.declared_total
    run.declared_pages = listing.pages if listing.pages is not None else run.declared_pages
    crawl.receipt.save()
    by_number = jobs.BY_NUMBER if listing.has_more else None
    jobs.page_done(crawl.lease, page, listing.next_cursor or by_number)
    crashpoint("page.after_checkpoint")
