"""Targets for the sites of ``tests.crawl.witness``, and their jobs run in this process."""

from __future__ import annotations

import threading
from typing import Any

from crawl import jobs
from crawl.fetching.http import HttpFetcher
from crawl.models import CrawlJob
from crawl.work import Bounds, End, fetch_settings, run_job
from sources.models import CrawlTarget
from tests import rows
from tests.faultserver import FaultServer

RULES = {
    "list": {"row": "ul.news > li", "title": "a", "date": "span", "pinned": "i.top", "container": "ul.news"},
    "pager": {"form": "next_link", "next": "a.next"},
    "detail": {"title": "h1", "body": "div.text", "attachments": "div.files a"},
}


def watched(server: FaultServer, *, site: dict[str, Any] | None = None, **fields: Any) -> CrawlTarget:
    """A target of its own site for the list that ``serve`` made; no pause between requests unless ``fields`` say one."""
    owner = rows.site(**{"cms_adapter": None, "yaml_path": "x.yaml", "adapter_params_json": RULES, **(site or {})})
    defaults = {"entry_url": server.url("/list1.html"), "interval_sec": 0, "interval_jitter_sec": 0}
    return rows.target(site=owner, **{**defaults, **fields})


def crawl_once(target: CrawlTarget, *, stop: threading.Event | None = None, max_pages: int | None = None, **how: Any) -> End:
    """Queues the target's job and works on it until its end or the end of its turn."""
    job, _ = jobs.enqueue(target, **how)
    return work_on(job, stop=stop, bounds=Bounds(max_pages=max_pages))


def work_on(job: CrawlJob, *, stop: threading.Event | None = None, bounds: Bounds | None = None) -> End:
    lease = jobs.claim(job_id=job.job_id)
    assert lease is not None, f"job {job.job_id} cannot be claimed"
    return run(lease, stop=stop, bounds=bounds)


def run(lease: jobs.Lease, *, stop: threading.Event | None = None, bounds: Bounds | None = None) -> End:
    with HttpFetcher(fetch_settings()) as fetcher:
        return run_job(lease, fetcher, stop or threading.Event(), bounds or Bounds())


def job_of(target: CrawlTarget) -> CrawlJob:
    """The target's latest job as it is stored now."""
    job = CrawlJob.objects.filter(target_code=target.target_code).order_by("-enqueued_at").first()
    assert job is not None
    return job
