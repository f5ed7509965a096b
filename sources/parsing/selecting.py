"""Values picked out of a page or a JSON answer by rules that people write: CSS, XPath, JSONPath, regular expressions.

A rule is a string (CSS on a page, JSONPath in JSON) or a mapping::

    {css: "span.date", attr: title, regex: "(\\d{4}-\\d\\d-\\d\\d)", transforms: [date, {regex_sub: ["/", "-"]}]}

Rules are checked when they are read: exactly one of css, xpath, jsonpath and const, everything compiles, nothing is longer
than 500 characters (fault-model X6); a regular expression sees at most 20,000 characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

import pydantic
from jsonpath_ng.exceptions import JSONPathError
from jsonpath_ng.parser import parse as parse_jsonpath
from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from sources.parsing.dates import PartialDate, find_date, from_epoch, parse_date
from sources.parsing.html import collapse, select, text_of

MAX_PATTERN = 500
MAX_REGEX_INPUT = 20_000

_SELECTORS = ("css", "xpath", "jsonpath", "const")
_EPOCH = re.compile(r"\d{10}(?:\d{3})?")

Pattern = Annotated[str, pydantic.StringConstraints(min_length=1, max_length=MAX_PATTERN)]


class Closed(pydantic.BaseModel):
    """Rules refuse keys they do not know: a mistyped key must not be ignored."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Transform(Closed):
    """One step on a picked text: ``strip`` takes blanks and brackets off its ends, ``date`` makes the day it states ISO,
    ``{regex_sub: [pattern, replacement]}`` replaces every match, ``{template: "http://host/{value}"}`` puts it into a text."""

    name: Literal["strip", "date"] | None = None
    regex_sub: tuple[Pattern, Annotated[str, pydantic.StringConstraints(max_length=MAX_PATTERN)]] | None = None
    template: Pattern | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @pydantic.model_validator(mode="after")
    def _is_usable(self) -> Transform:
        if [self.name, self.regex_sub, self.template].count(None) != 2:
            raise ValueError("exactly one of strip, date, regex_sub and template is needed")
        if self.template is not None and "{value}" not in self.template:
            raise ValueError("a template needs {value}")
        if self.regex_sub is not None:
            pattern, replacement = self.regex_sub
            try:
                compiled(pattern).sub(replacement, "")
            except (re.error, IndexError) as error:
                raise ValueError(f"replacement {replacement!r} does not fit {pattern!r}: {error}") from error
        return self

    def apply(self, text: str) -> str:
        """The changed text; an empty text stays empty in a template."""
        if self.regex_sub is not None:
            return compiled(self.regex_sub[0]).sub(self.regex_sub[1], text[:MAX_REGEX_INPUT])
        if self.template is not None:
            return self.template.replace("{value}", text) if text else ""
        if self.name == "strip":
            return text.strip(" \u3000\u00a0[]【】()（）:：;；,，")
        found = date_of(text, None)
        return found.date.isoformat() if found and found.date else ""


class Rule(Closed):
    """One rule. ``attr`` reads an attribute instead of the text; ``regex`` keeps its first group, or the match."""

    css: Pattern | None = None
    xpath: Pattern | None = None
    jsonpath: Pattern | None = None
    const: str | None = None
    attr: str | None = None
    regex: Pattern | None = None
    transforms: tuple[Transform, ...] = ()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return {"jsonpath": value} if value.startswith("$") else {"css": value}

    @pydantic.model_validator(mode="after")
    def _is_usable(self) -> Rule:
        given = [name for name in _SELECTORS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"exactly one of {', '.join(_SELECTORS)} is needed, got {', '.join(given) or 'none'}")
        if self.css is not None:
            select(_PROBE, self.css)
        if self.xpath is not None:
            _xpath(self.xpath)
        if self.jsonpath is not None:
            _jsonpath(self.jsonpath)
        if self.regex is not None:
            compiled(self.regex)
        if self.attr and (self.jsonpath or self.const):
            raise ValueError("attr goes with css or xpath only")
        return self

    @property
    def kind(self) -> str:
        return next(name for name in _SELECTORS if getattr(self, name) is not None)


def matches(rule: Rule, node: Any) -> list[Any]:
    """What the selector alone finds below ``node``: elements, strings or JSON values."""
    if rule.const is not None:
        return [rule.const]
    if rule.jsonpath is not None:
        return [found.value for found in _jsonpath(rule.jsonpath).find(node)]
    if rule.css is not None:
        return list(select(node, rule.css))
    found = _xpath(rule.xpath or "")(node)
    return list(found) if isinstance(found, list) else [found]


def elements(rule: Rule, node: Any) -> list[HtmlElement]:
    """Elements the rule finds; values that are no elements are left out."""
    return [found for found in matches(rule, node) if isinstance(found, etree.ElementBase)]


def values(rule: Rule, node: Any) -> list[str]:
    """Texts after attribute, regex and transforms, empty ones left out, in document order."""
    texts = (_text(found, rule.attr) for found in matches(rule, node))
    return [text for raw in texts if (text := _shaped(rule, raw))]


def value(rule: Rule | None, node: Any) -> str:
    """The first text the rule gives, '' when it gives none or there is no rule."""
    return next(iter(values(rule, node)), "") if rule is not None else ""


def exists(rule: Rule | None, node: Any) -> bool:
    """Whether the rule finds anything: an element even without text, a JSON value other than false, 0, "0" and ''."""
    if rule is None:
        return False
    if rule.regex or rule.attr or rule.jsonpath:
        return any(text not in ("0", "false", "False") for text in values(rule, node))
    return any(
        found not in (False, "", 0) if not isinstance(found, etree.ElementBase) else True for found in matches(rule, node)
    )


def date_of(text: str, seen_on: Any) -> PartialDate | None:
    """The date a picked text states: epoch seconds or milliseconds, a date, or the first date in it."""
    if _EPOCH.fullmatch(text):
        return from_epoch(text)
    return (parse_date(text, seen_on=seen_on) or find_date(text, seen_on=seen_on)) if text else None


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression. Raises ValueError that names it."""
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise ValueError(f"regular expression {pattern!r} cannot be read: {error}") from error


def _text(found: Any, attr: str | None) -> str:
    if isinstance(found, etree.ElementBase):
        return collapse(found.get(attr) or "") if attr else text_of(found)
    if found is None or isinstance(found, bool | dict | list):
        return "true" if found is True else ""
    if isinstance(found, float) and found.is_integer():
        return str(int(found))
    return collapse(str(found))


def _shaped(rule: Rule, text: str) -> str:
    if rule.regex is not None:
        match = compiled(rule.regex).search(text[:MAX_REGEX_INPUT])
        text = "" if match is None else (match[1] or "" if match.re.groups else match[0])
    for transform in rule.transforms:
        text = transform.apply(text)
    return text


_PROBE: HtmlElement = etree.fromstring("<html/>", HTMLParser())


@lru_cache(maxsize=512)
def _xpath(expression: str) -> etree.XPath:
    try:
        compiled_path = etree.XPath(expression, regexp=False)
        compiled_path(_PROBE)
    except etree.XPathError as error:
        raise ValueError(f"xpath {expression!r} cannot be read: {error}") from error
    return compiled_path


@lru_cache(maxsize=512)
def _jsonpath(expression: str) -> Any:
    try:
        return parse_jsonpath(expression)
    except (JSONPathError, AttributeError) as error:
        raise ValueError(f"jsonpath {expression!r} cannot be read: {error}") from error
