"""What a steward may type about sites, targets and bindings, refused with the field, the value and the remedy.

The rules are those of site files (``sources/site_files.py``); the words are of the admin, so that they can be Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pydantic
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from sources import adapters
from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from sources.reading import adapter_for
from sources.schedules import validate_cron
from sources.site_files import SELECTORS, http_url

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
REASONS = {
    "missing": _("is missing: add it"),
    "extra_forbidden": _("is not known to this adapter: remove it or correct its name"),
    "bool_type": _("must be true or false, without quotes"),
    "int_type": _("must be a whole number, without quotes"),
    "string_type": _("must be text in quotes"),
    "dict_type": _("must be an object in braces"),
    "list_type": _("must be a list in brackets"),
    "literal_error": _("is not one of the values this adapter knows"),
}
OTHER_REASON = _("is not accepted by this adapter")


def code(value: str | None) -> str | None:
    """Codes become parts of file names in the content store, so they are plain."""
    if value and not CODE.fullmatch(value):
        message = _("“%(value)s” is no code. Use Latin letters, digits, _ - and . only, beginning with a letter or digit")
        raise ValidationError(message, params={"value": value})
    return value


def from_zero(value: int | None) -> int | None:
    return _at_least(0, value)


def from_one(value: int | None) -> int | None:
    return _at_least(1, value)


def _at_least(least: int, value: int | None) -> int | None:
    if value is not None and value < least:
        raise ValidationError(
            _("%(value)s is too small: give %(least)s or more, or leave it empty"), params={"value": value, "least": least}
        )
    return value


def cron(value: str | None) -> str | None:
    if value:
        message = _("“%(value)s” is no schedule. Write five parts: minute hour day month weekday, for example 30 3 * * *")
        _checked(validate_cron, value, message)
    return value or None


def web_address(value: str | None) -> str | None:
    if value:
        message = _("“%(value)s” is no web address. Write the whole address, beginning with http:// or https://")
        _checked(http_url, value, message)
    return value or None


def _checked(check: Callable[[str], None], value: str, message: Any) -> None:
    try:
        check(value)
    except ValueError as error:
        raise ValidationError(message, params={"value": value[:80]}) from error


def parameters(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise ValidationError(_("Write the parameters as one object in braces, for example {}"))
    return value or None


def parameter_faults(adapter_id: str, params: Mapping[str, Any]) -> list[ValidationError]:
    """What the adapter refuses, one message a fault. Raises adapters.UnknownAdapter."""
    try:
        adapters.get(adapter_id).Params.model_validate(dict(params))
    except pydantic.ValidationError as error:
        return [
            ValidationError(
                _("Parameter “%(name)s” %(reason)s (value: %(value)s)."),
                params={
                    "name": ".".join(map(str, fault["loc"])) or "{}",
                    "reason": REASONS.get(fault["type"], OTHER_REASON),
                    "value": "-" if fault["type"] == "missing" else repr(fault["input"])[:80],
                },
            )
            for fault in error.errors()
        ]
    return []


class CheckedForm(forms.ModelForm):
    """``checks``: for each field a function that returns the value to store or raises ValidationError."""

    checks: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for name, check in self.checks.items():
            if name in data:
                try:
                    data[name] = check(data[name])
                except ValidationError as error:
                    self.add_error(name, error)
        return data


class SiteForm(CheckedForm):
    class Meta:
        model = CrawlSite
        fields = (
            *("site_code", "site_name", "base_url", "site_role", "enabled", "remark"),
            *("cms_adapter", "yaml_path", "adapter_params_json"),
            *("schedule_cron", "crawl_window_start", "crawl_window_end", "weekend_enabled", "respect_robots"),
            *("daily_max_requests", "backoff_min_sec", "backoff_max_sec"),
            *("default_fetch_strategy", "strategy_override_reason"),
        )

    checks: ClassVar = {
        "site_code": code,
        "schedule_cron": cron,
        "base_url": web_address,
        "adapter_params_json": parameters,
        "daily_max_requests": from_one,
        "backoff_min_sec": from_one,
        "backoff_max_sec": from_one,
    }

    def clean_cms_adapter(self) -> str | None:
        value = self.cleaned_data.get("cms_adapter") or None
        if value is not None and value not in adapters.adapter_ids():
            known = ", ".join(adapters.adapter_ids())
            raise ValidationError(
                _("There is no adapter “%(value)s”. Choose one of: %(known)s"), params={"value": value, "known": known}
            )
        return value

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        shortest, longest = data.get("backoff_min_sec"), data.get("backoff_max_sec")
        if shortest and longest and shortest > longest:
            self.add_error("backoff_min_sec", _("The shortest back-off is longer than the longest: swap them."))
        if bool(data.get("crawl_window_start")) != bool(data.get("crawl_window_end")):
            self.add_error("crawl_window_end", _("A window needs both its start and its end: give both or neither."))
        elif data.get("crawl_window_start") and data["crawl_window_start"] == data["crawl_window_end"]:
            self.add_error("crawl_window_end", _("Start and end are the same: leave both empty to crawl all day."))
        if self.errors.keys() & {"cms_adapter", "adapter_params_json"}:
            return data
        adapter, rules = data.get("cms_adapter"), data.get("yaml_path")
        if bool(adapter) == bool(rules):
            self.add_error("cms_adapter", _("Give exactly one of adapter and YAML file: fill in one and empty the other."))
        else:
            for fault in parameter_faults(adapter or SELECTORS, data.get("adapter_params_json") or {}):
                self.add_error("adapter_params_json", fault)
        return data


class TargetForm(CheckedForm):
    class Meta:
        model = CrawlTarget
        fields = (
            *("site", "target_code", "target_name", "entry_url", "sample_article_url", "enabled"),
            *("site_department", "dept", "channel_name", "channel_path", "content_category", "content_subcategory"),
            *("schedule_cron", "expected_cadence_days", "interval_sec", "interval_jitter_sec"),
            *("track_checkpoint", "parser_override_json"),
        )

    checks: ClassVar = {
        "target_code": code,
        "schedule_cron": cron,
        "entry_url": web_address,
        "sample_article_url": web_address,
        "parser_override_json": parameters,
        "expected_cadence_days": from_one,
        "interval_sec": from_zero,
        "interval_jitter_sec": from_zero,
    }

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        site: CrawlSite | None = data.get("site")
        if site is None:
            return data
        if site.managed_by == CrawlSite.ManagedBy.YAML:
            self.add_error("site", _("This site is kept in a file: add the target there and run the command for site files."))
        if data.get("enabled") and not data.get("entry_url") and "entry_url" not in self.errors:
            self.add_error("entry_url", _("An enabled target needs its entry address: fill it in or disable the target."))
        path: SiteDepartment | None = data.get("site_department")
        if path is not None and path.site_id != site.pk:
            self.add_error("site_department", _("This path belongs to another site: choose one of the same site."))
        if not self.errors:
            self._adapter_reads(site, data)
        return data

    def _adapter_reads(self, site: CrawlSite, data: dict[str, Any]) -> None:
        params = {**(site.adapter_params_json or {}), **(data.get("parser_override_json") or {})}
        try:
            faults = parameter_faults(site.cms_adapter or SELECTORS, params)
        except adapters.UnknownAdapter:
            self.add_error("site", _("The site names an adapter that does not exist: correct the site first."))
            return
        for fault in faults:
            self.add_error("parser_override_json", fault)
        if faults:
            return
        names = ("target_code", "entry_url", "channel_name", "parser_override_json")
        target = CrawlTarget(site=site, **{name: data.get(name) for name in names})
        try:
            adapter_for(target)
        except adapters.InvalidParams as error:
            message = _("The adapter cannot work with this address and these parameters: %(reason)s")
            self.add_error("entry_url", ValidationError(message, params={"reason": "; ".join(error.errors)}))


class PathForm(forms.ModelForm):
    """Binding and department are one decision and saved together (the CHECK allows nothing between)."""

    class Meta:
        model = SiteDepartment
        fields = ("site", "dept_path", "dept_binding", "local_dept", "dept_display_name", "detect_status", "enabled")

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        mapped = data.get("dept_binding") == SiteDepartment.Binding.MAPPED
        if mapped and not data.get("local_dept") and "local_dept" not in self.errors:
            self.add_error("local_dept", _("A mapped path needs its OA department: choose one or another binding."))
        if not mapped and data.get("local_dept"):
            self.add_error("local_dept", _("Only a mapped path has an OA department: empty this field or choose “mapped”."))
        return data
