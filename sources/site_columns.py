"""Which key of a site file stands in which column: the one table that ``sync`` reads and ``site_export`` reads backwards."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from sources.site_files import Department, Site, Target

SITE_COLUMNS = {
    "site_name": "site_name",
    "base_url": "base_url",
    "site_role": "site_role",
    "adapter": "cms_adapter",
    "rules file": "yaml_path",
    "params": "adapter_params_json",
    "fetch_strategy": "default_fetch_strategy",
    "strategy_reason": "strategy_override_reason",
    "respect_robots": "respect_robots",
    "managed_by": "managed_by",
    "enabled": "enabled",
    "remark": "remark",
    "window.start": "crawl_window_start",
    "window.end": "crawl_window_end",
    "daily_max_requests": "daily_max_requests",
    "weekend_enabled": "weekend_enabled",
    "backoff.min_sec": "backoff_min_sec",
    "backoff.max_sec": "backoff_max_sec",
    "cron": "schedule_cron",
}
DEPARTMENT_COLUMNS = {"name": "dept_display_name", "binding": "dept_binding", "oa_id": "local_dept_id", "enabled": "enabled"}
TARGET_COLUMNS = {
    "name": "target_name",
    "entry_url": "entry_url",
    "sample_article_url": "sample_article_url",
    "oa_id": "dept_id",
    "params": "parser_override_json",
    "channel_name": "channel_name",
    "channel_path": "channel_path",
    "category": "content_category",
    "subcategory": "content_subcategory",
    "cron": "schedule_cron",
    "cadence_days": "expected_cadence_days",
    "interval_sec": "interval_sec",
    "jitter_sec": "interval_jitter_sec",
    "track_checkpoint": "track_checkpoint",
    "enabled": "enabled",
}
"""``department`` is not here: it is a row, not a value."""


def site_values(site: Site, file_name: str) -> dict[str, Any]:
    """The site's values by file key. With rules, the rules are the parameters and the file is the ``yaml_path``."""
    values = {key: getattr(site, key, None) for key in SITE_COLUMNS}
    values["rules file"] = None if site.rules is None else file_name
    values["params"] = site.params if site.rules is None else site.rules
    for part, keys in (("window", ("start", "end")), ("backoff", ("min_sec", "max_sec"))):
        holder = getattr(site, part)
        values |= {f"{part}.{key}": getattr(holder, key) if holder else None for key in keys}
    return values


def department_values(department: Department) -> dict[str, Any]:
    """The department's values by file key; no binding and no OA id when the file states neither."""
    values = {key: getattr(department, key) for key in DEPARTMENT_COLUMNS}
    if department.oa_id is not None:
        values["binding"] = SiteDepartment.Binding.MAPPED.value
    elif department.binding is None:
        del values["binding"], values["oa_id"]
    return values


def target_values(target: Target) -> dict[str, Any]:
    return {key: getattr(target, key) for key in TARGET_COLUMNS}


COLUMNS: dict[type[Model], dict[str, str]] = {
    CrawlSite: SITE_COLUMNS,
    SiteDepartment: DEPARTMENT_COLUMNS,
    CrawlTarget: TARGET_COLUMNS,
}


def stored(row: Model, key: str) -> Any:
    """The row's value of a file key; an empty text or mapping counts as none, as a file cannot say the difference."""
    value = getattr(row, COLUMNS[type(row)][key])
    return None if value == "" or value == {} else value
