"""Site files: the format of ``SITES_DIR/*.yaml``, and everything that can be wrong with one, said at once.

One file describes one site. The file is the whole truth about what it names: a key left out means its default, written below.
Only a department without ``binding`` and ``oa_id`` keeps the binding it has, because stewards map departments in the admin.

Site: ``site_code`` (required), ``site_name``, ``base_url``, ``site_role``, exactly one of ``adapter`` (with ``params``) and
``rules`` (for the ``selectors`` adapter), ``fetch_strategy``, ``strategy_reason``, ``respect_robots`` (true), ``managed_by``
(yaml), ``enabled`` (true), ``remark``, ``window`` (``start``, ``end``: Beijing time), ``daily_max_requests``,
``weekend_enabled`` (true), ``backoff`` (``min_sec``, ``max_sec``), ``cron`` (Beijing time), ``departments``, ``targets``.
Department: ``path`` (required), ``name``, ``binding``, ``oa_id``, ``enabled`` (true).
Target: ``target_code`` (required), ``name``, ``entry_url``, ``sample_article_url``, ``department`` (a path), ``oa_id``,
``params`` (laid over the site's), ``channel_name``, ``channel_path``, ``category``, ``subcategory``, ``cron``,
``cadence_days`` (30), ``interval_sec``, ``jitter_sec``, ``track_checkpoint`` (false), ``enabled`` (true).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.db.models import Model, TextChoices
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from sources.schedules import validate_cron

SELECTORS = "selectors"
"""The adapter that reads a site by the ``rules`` of its file."""

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _fits(model: type[Model], column: str) -> AfterValidator:
    """Text that the column can hold, blanks at both ends removed."""
    limit = int(getattr(model._meta.get_field(column), "max_length", None) or 0)

    def check(text: str) -> str:
        text = text.strip()
        if not text:
            raise ValueError("empty text; leave the key out instead")
        if len(text) > limit:
            raise ValueError(f"{len(text)} characters, at most {limit} fit; shorten it")
        if control := _CONTROL.search(text):
            raise ValueError(f"control character U+{ord(control[0]):04X}; remove it")
        return text

    return AfterValidator(check)


def _one_of(choices: type[TextChoices]) -> AfterValidator:
    def check(text: str) -> str:
        if text not in choices.values:
            raise ValueError(f"not known; choose one of {', '.join(choices.values)}")
        return text

    return AfterValidator(check)


def _text(check: Callable[[str], None]) -> AfterValidator:
    def run(text: str) -> str:
        check(text)
        return text

    return AfterValidator(run)


def _code(text: str) -> None:
    if not _CODE.fullmatch(text):
        raise ValueError("codes are latin letters, digits, '_', '-' and '.', and begin with a letter or digit; rename it")


def http_url(text: str) -> None:
    """Raises ValueError for what is not the absolute http(s) URL of a page."""
    remedy = "write a whole address such as https://www.example.gov.cn/zwgk/"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"no URL ({error}); {remedy}") from error
    if parts.scheme not in {"http", "https"} or not host or port == 0 or re.search(r"\s", text):
        raise ValueError(f"no http(s) URL; {remedy}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with user name or password; secrets do not belong here, remove them")


def _time_of_day(value: Any) -> Any:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("no time of day; write HH:MM in Beijing time, for example 22:30")
    return time(int(match[1]), int(match[2]), int(match[3] or 0))


_MAX_INT = 2**31 - 1
_MAX_BIGINT = 2**63 - 1
_Cron = Annotated[StrictStr, _fits(CrawlSite, "schedule_cron"), _text(validate_cron)]
_TimeOfDay = Annotated[time, BeforeValidator(_time_of_day)]
_FromZero = Annotated[StrictInt, Field(ge=0, le=_MAX_INT)]
_FromOne = Annotated[StrictInt, Field(ge=1, le=_MAX_INT)]
_OaId = Annotated[StrictInt, Field(ge=-_MAX_BIGINT, le=_MAX_BIGINT)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Window(_Part):
    """Times of Beijing between which a site may be asked; ``end`` before ``start`` means over midnight."""

    start: _TimeOfDay
    end: _TimeOfDay

    @model_validator(mode="after")
    def _differ(self) -> Window:
        if self.start == self.end:
            raise ValueError("start and end are the same; leave the window out to crawl all day")
        return self


class Backoff(_Part):
    """Seconds to stay away after failures: the shortest and the longest."""

    min_sec: _FromOne | None = None
    max_sec: _FromOne | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Backoff:
        if self.min_sec is not None and self.max_sec is not None and self.min_sec > self.max_sec:
            raise ValueError("min_sec is above max_sec; swap them")
        return self


class Department(_Part):
    path: Annotated[StrictStr, _fits(SiteDepartment, "dept_path")]
    name: Annotated[StrictStr, _fits(SiteDepartment, "dept_display_name")] | None = None
    binding: Annotated[StrictStr, _one_of(SiteDepartment.Binding)] | None = None
    oa_id: _OaId | None = None
    enabled: StrictBool = True

    @model_validator(mode="after")
    def _bound_when_mapped(self) -> Department:
        mapped = SiteDepartment.Binding.MAPPED
        if self.binding == mapped and self.oa_id is None:
            raise ValueError("binding mapped needs the oa_id of the department; add it or choose another binding")
        if self.binding not in {None, mapped} and self.oa_id is not None:
            raise ValueError(f"binding {self.binding} has no oa_id; remove it or write binding: mapped")
        return self


class Target(_Part):
    target_code: Annotated[StrictStr, _fits(CrawlTarget, "target_code"), _text(_code)]
    name: Annotated[StrictStr, _fits(CrawlTarget, "target_name")] | None = None
    entry_url: Annotated[StrictStr, _fits(CrawlTarget, "entry_url"), _text(http_url)] | None = None
    sample_article_url: Annotated[StrictStr, _fits(CrawlTarget, "sample_article_url"), _text(http_url)] | None = None
    department: Annotated[StrictStr, _fits(SiteDepartment, "dept_path")] | None = None
    oa_id: _OaId | None = None
    params: dict[str, Any] | None = None
    channel_name: Annotated[StrictStr, _fits(CrawlTarget, "channel_name")] | None = None
    channel_path: Annotated[StrictStr, _fits(CrawlTarget, "channel_path")] | None = None
    category: Annotated[StrictStr, _fits(CrawlTarget, "content_category")] | None = None
    subcategory: Annotated[StrictStr, _fits(CrawlTarget, "content_subcategory")] | None = None
    cron: _Cron | None = None
    cadence_days: _FromOne = 30
    interval_sec: _FromZero | None = None
    jitter_sec: _FromZero | None = None
    track_checkpoint: StrictBool = False
    enabled: StrictBool = True

    @model_validator(mode="after")
    def _can_be_crawled(self) -> Target:
        if self.enabled and self.entry_url is None:
            raise ValueError("an enabled target needs entry_url; add it or write enabled: false")
        return self


class Site(_Part):
    site_code: Annotated[StrictStr, _fits(CrawlSite, "site_code"), _text(_code)]
    site_name: Annotated[StrictStr, _fits(CrawlSite, "site_name")] | None = None
    base_url: Annotated[StrictStr, _fits(CrawlSite, "base_url"), _text(http_url)] | None = None
    site_role: Annotated[StrictStr, _one_of(CrawlSite.Role)] | None = None
    adapter: Annotated[StrictStr, _fits(CrawlSite, "cms_adapter")] | None = None
    params: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None
    fetch_strategy: Annotated[StrictStr, _one_of(CrawlSite.Strategy)] | None = None
    strategy_reason: Annotated[StrictStr, _fits(CrawlSite, "strategy_override_reason")] | None = None
    respect_robots: StrictBool = True
    managed_by: Annotated[StrictStr, _one_of(CrawlSite.ManagedBy)] = CrawlSite.ManagedBy.YAML.value
    enabled: StrictBool = True
    remark: Annotated[StrictStr, _fits(CrawlSite, "remark")] | None = None
    window: Window | None = None
    daily_max_requests: _FromOne | None = None
    weekend_enabled: StrictBool = True
    backoff: Backoff | None = None
    cron: _Cron | None = None
    departments: list[Department] = Field(default_factory=list)
    targets: list[Target] = Field(default_factory=list)


PARTS: dict[str, type[_Part]] = {"departments": Department, "targets": Target, "window": Window, "backoff": Backoff}
