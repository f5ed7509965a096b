"""Rows with the least a table asks for; what a test cares about it names."""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from typing import Any

from articles.models import Article
from crawl.models import CrawlJob
from departments.models import LocalDepartment
from sources.models import CrawlSite, CrawlTarget, MasterColumn, SiteDepartment

_numbers = count(1)


def site(**fields: Any) -> CrawlSite:
    return CrawlSite.objects.create(**{"site_code": f"site{next(_numbers)}", "cms_adapter": "trs_wcm", **fields})


def department(**fields: Any) -> LocalDepartment:
    number = next(_numbers)
    return LocalDepartment.objects.create(**{"dept_id": number, "dept_name": f"Office {number}", **fields})


def path(**fields: Any) -> SiteDepartment:
    defaults: dict[str, Any] = {"site": fields.get("site") or site(), "dept_path": f"/d{next(_numbers)}/"}
    return SiteDepartment.objects.create(**{**defaults, **fields})


def target(**fields: Any) -> CrawlTarget:
    defaults: dict[str, Any] = {"site": fields.get("site") or site(), "target_code": f"target{next(_numbers)}"}
    return CrawlTarget.objects.create(**{**defaults, **fields})


def column(**fields: Any) -> MasterColumn:
    defaults: dict[str, Any] = {"site": fields.get("site") or site(), "adapter_id": "trs_wcm", "column_id": str(next(_numbers))}
    return MasterColumn.objects.create(**{**defaults, **fields})


def new_article(**fields: Any) -> Article:
    """Not saved."""
    url = f"http://www.example/{next(_numbers)}.html"
    return Article(**{"url": url, "url_hash": sha256(url.encode()).hexdigest(), "status": "ready", **fields})


def article(**fields: Any) -> Article:
    made = new_article(**{"site": fields.get("site") or site(), **fields})
    made.save()
    return made


def job(**fields: Any) -> CrawlJob:
    defaults = {"job_id": f"job{next(_numbers)}", "host": "www.example", "site_code": "s", "target_code": "t"}
    return CrawlJob.objects.create(**{**defaults, "source": "manual", "status": "queued", **fields})
