"""Adapters by file name: ``sources/adapters/<id>.py`` is adapter ``<id>``; there is no other list.

``base.py`` holds the contract and is no adapter; files and folders whose name starts with ``_`` are parts of adapters.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import pydantic

from sources.adapters.base import Adapter, TargetInfo

NOT_ADAPTERS = frozenset({"base"})


class UnknownAdapter(LookupError):
    """No file of that name; the message lists the ids that exist."""

    def __init__(self, adapter_id: str) -> None:
        super().__init__(f"unknown adapter {adapter_id!r}; known adapters: {', '.join(adapter_ids()) or 'none'}")
        self.adapter_id = adapter_id


class InvalidParams(ValueError):
    """Parameters that the adapter's ``Params`` refuses. ``errors`` holds one ``field: reason, got value`` line per fault."""

    def __init__(self, adapter_id: str, errors: tuple[str, ...]) -> None:
        super().__init__(f"parameters of adapter {adapter_id!r}: {'; '.join(errors)}")
        self.adapter_id = adapter_id
        self.errors = errors


def adapter_ids() -> tuple[str, ...]:
    """The ids of all adapters, sorted."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in names if name not in NOT_ADAPTERS and not name.startswith("_")))


def get(adapter_id: str) -> type[Adapter]:
    """The adapter class of that id. Raises UnknownAdapter, and TypeError when the file breaks the contract."""
    if adapter_id not in adapter_ids():
        raise UnknownAdapter(adapter_id)
    module = importlib.import_module(f"{__name__}.{adapter_id}")
    found: type[Adapter] | None = getattr(module, "Adapter", None)
    if found is None or getattr(found, "id", None) != adapter_id:
        raise TypeError(f"{module.__name__} must define a class Adapter with id = {adapter_id!r}")
    return found


def build(adapter_id: str, params: Mapping[str, Any], target: TargetInfo) -> Adapter:
    """An adapter that works for ``target``. Raises UnknownAdapter or InvalidParams."""
    cls = get(adapter_id)
    try:
        valid = cls.Params.model_validate(dict(params))
    except pydantic.ValidationError as error:
        raise InvalidParams(adapter_id, tuple(_line(fault) for fault in error.errors())) from error
    try:
        return cls(valid, target)
    except ValueError as error:
        raise InvalidParams(adapter_id, (str(error),)) from error


def _line(fault: Mapping[str, Any]) -> str:
    """One fault for people: dotted field, reason and the value in short."""
    field = ".".join(str(part) for part in fault["loc"]) or "(all)"
    if fault["type"] == "missing":
        return f"{field}: missing"
    if fault["type"] == "extra_forbidden":
        return f"{field}: unknown key"
    reason = str(fault["msg"]).removeprefix("Value error, ")
    value = repr(fault["input"])
    return f"{field}: {reason}, got {value if len(value) <= 80 else value[:77] + '...'}"
