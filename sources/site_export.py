"""Rows into site files: the way back of ``sync``. What was written reads back without a change."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from sources.site_columns import DEPARTMENT_COLUMNS, SITE_COLUMNS, TARGET_COLUMNS, stored

_ALWAYS = {"enabled", "respect_robots"}
_DEFAULTS: dict[str, Any] = {
    "managed_by": CrawlSite.ManagedBy.YAML.value,
    "weekend_enabled": True,
    "cadence_days": 30,
    "track_checkpoint": False,
}


class UnknownSites(LookupError):
    """Site codes that are not registered."""

    def __init__(self, codes: list[str]) -> None:
        super().__init__(f"no such site: {', '.join(codes)}; `export_sites` without codes writes all")


class _Dumper(yaml.SafeDumper):
    """No anchors and aliases: ``yaml_reading`` refuses them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def export(codes: list[str]) -> dict[str, str]:
    """File name and text of each site, or of the sites of these codes. Raises UnknownSites."""
    rows = CrawlSite.objects.order_by("site_code")
    known = {row.site_code: row for row in rows}
    if unknown := [code for code in codes if code not in known]:
        raise UnknownSites(unknown)
    chosen = [known[code] for code in codes] if codes else list(known.values())
    return {_file_name(row): _text(row) for row in chosen}


def _file_name(site: CrawlSite) -> str:
    """A site of rules keeps its file's name, because ``yaml_path`` holds it; any other is named after its code."""
    return Path(site.yaml_path).name if site.yaml_path else f"{quote(site.site_code, safe='')}.yaml"


def _text(site: CrawlSite) -> str:
    content = {"site_code": site.site_code} | _keys(site, SITE_COLUMNS)
    content.pop("rules file", None)
    if site.yaml_path:
        content["rules"] = content.pop("params", {})
    departments = SiteDepartment.objects.filter(site=site).order_by("dept_path")
    targets = CrawlTarget.objects.filter(site=site).select_related("site_department").order_by("target_code")
    content["departments"] = [{"path": row.dept_path} | _keys(row, DEPARTMENT_COLUMNS) for row in departments]
    content["targets"] = [_target(row) for row in targets]
    return yaml.dump(content, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120, default_flow_style=False)


def _target(row: CrawlTarget) -> dict[str, Any]:
    keys: dict[str, Any] = {"target_code": row.target_code}
    if row.site_department is not None:
        keys["department"] = row.site_department.dept_path
    return keys | _keys(row, TARGET_COLUMNS)


def _keys(row: Any, columns: dict[str, str]) -> dict[str, Any]:
    """The row's values under their keys, without what is a default anyway; ``window.start`` becomes a nested key."""
    result: dict[str, Any] = {}
    for key in columns:
        value = stored(row, key)
        if value is None or (key not in _ALWAYS and value == _DEFAULTS.get(key)):
            continue
        if isinstance(value, time):
            value = value.strftime("%H:%M:%S" if value.second else "%H:%M")
        outer, _, inner = key.partition(".")
        if inner:
            result.setdefault(outer, {})[inner] = value
        else:
            result[key] = value
    return result
