"""The adapter that reads a target: the site's adapter and parameters with the target's overrides on top."""

from __future__ import annotations

from sources import adapters
from sources.adapters.base import Adapter, TargetInfo
from sources.models import CrawlTarget
from sources.site_files import SELECTORS


def adapter_for(target: CrawlTarget) -> Adapter:
    """Raises adapters.UnknownAdapter or adapters.InvalidParams, each naming the value and the remedy."""
    site = target.site
    info = TargetInfo(
        target_code=target.target_code,
        entry_url=target.entry_url or "",
        base_url=site.base_url or "",
        channel_name=target.channel_name or "",
    )
    params = {**(site.adapter_params_json or {}), **(target.parser_override_json or {})}
    return adapters.build(site.cms_adapter or SELECTORS, params, info)
