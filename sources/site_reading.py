"""Reading a folder of site files: every fault of every file with its file, line, field and remedy, not only the first."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic

from sources import adapters
from sources.adapters.base import TargetInfo
from sources.site_files import PARTS, SELECTORS, Site, http_url
from sources.yaml_reading import Document, UnreadableYaml, read
from sources.yaml_reading import Path as Place


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in one file: ``demo.yaml:12: targets[0].cron: what is wrong and what to write``."""

    file: str
    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field + ': ' if self.field else ''}{self.reason}"


class SiteFileFaults(ValueError):
    """The faults of all files, in the order of file and line."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults), key=lambda fault: (fault.file, fault.line, fault.field, fault.reason)))
        super().__init__("\n".join(map(str, self.faults)))


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file as it was read. ``site`` is None when the file has faults; ``name`` is relative to the folder."""

    name: str
    document: Document
    site: Site | None = None

    def fault(self, place: Place, reason: str) -> Fault:
        return Fault(self.name, self.document.line(place), dotted(place), reason)

    @property
    def raw(self) -> dict[str, Any]:
        return self.document.value if isinstance(self.document.value, dict) else {}

    def entries(self, part: str) -> Iterator[tuple[Place, dict[str, Any]]]:
        """The mappings of a list such as ``targets``, with their places, whether or not they are valid."""
        listed = self.raw.get(part)
        for index, entry in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(entry, dict):
                yield (part, index), entry


def dotted(place: Place) -> str:
    return re.sub(r"^\.", "", "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place))


def read_folder(folder: Path) -> tuple[list[SiteFile], list[Fault]]:
    """All ``*.yaml`` files of ``folder``, sorted by name, and what is wrong with them without asking the database."""
    if not folder.is_dir():
        return [], [Fault(str(folder), 1, "", "no such folder; create it or set SITES_DIR to the folder of the site files")]
    files: list[SiteFile] = []
    faults: list[Fault] = []
    for path in sorted(entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith(".")):
        if path.suffix == ".yml":
            faults.append(Fault(path.name, 1, "", "only *.yaml is read; rename the file"))
        elif path.suffix == ".yaml":
            try:
                files.append(SiteFile(path.name, read(path.read_bytes())))
            except UnreadableYaml as error:
                faults.append(Fault(path.name, error.line, dotted(error.where), error.reason))
            except OSError as error:
                faults.append(Fault(path.name, 1, "", f"cannot be read ({error.strerror}); check its permissions"))
    if not files and not faults:
        faults.append(
            Fault(str(folder), 1, "", "no *.yaml file here; add one or set SITES_DIR to the folder of the site files")
        )
    checked = [_check_file(file) for file in files]
    faults += [fault for _, found in checked for fault in found]
    faults += _duplicates_across(files)
    return [file for file, _ in checked], faults


def _check_file(file: SiteFile) -> tuple[SiteFile, list[Fault]]:
    if not isinstance(file.document.value, dict):
        return file, [file.fault((), "a site file is a mapping that begins with site_code: NAME")]
    faults: list[Fault] = []
    site: Site | None = None
    try:
        site = Site.model_validate(file.document.value)
    except pydantic.ValidationError as error:
        faults = [_schema_fault(file, detail) for detail in error.errors()]
    faults += _adapter_faults(file) + _department_faults(file)
    return SiteFile(file.name, file.document, None if faults else site), faults


def _schema_fault(file: SiteFile, detail: Mapping[str, Any]) -> Fault:
    place: Place = tuple(detail["loc"])
    model = PARTS.get(str(place[0]), Site) if len(place) > 1 else Site
    return file.fault(place, _reason(detail, place, list(model.model_fields)))


_REASONS = {
    "bool_type": "write true or false, without quotes",
    "int_type": "write a whole number, without quotes",
    "string_type": "write text; put numbers and such in quotes",
    "dict_type": "write a mapping of keys and values",
    "model_type": "write a mapping of keys and values",
    "list_type": "write a list, one entry after each '- '",
    "missing": "required; add it",
}


def _reason(detail: Mapping[str, Any], place: Place, known: Sequence[str]) -> str:
    """What a pydantic error says, with the value and what to write instead."""
    kind, value = detail["type"], shown(detail["input"])
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(place[-1]), known, 1, 0.7)
        return f"unknown key; did you mean {near[0]}?" if near else f"unknown key; known keys: {', '.join(known)}"
    if kind == "missing":
        return _REASONS[kind]
    if kind in _REASONS:
        return f"got {value}; {_REASONS[kind]}"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return message if isinstance(detail["input"], dict) else f"got {value}; {message}"


def shown(value: Any) -> str:
    """A value in one short piece."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _department_faults(file: SiteFile) -> list[Fault]:
    faults = _duplicates_within(file, "departments", "path") + _duplicates_within(file, "targets", "target_code")
    declared = {_stripped(entry.get("path")) for _, entry in file.entries("departments")}
    for place, entry in file.entries("targets"):
        path = _stripped(entry.get("department"))
        if path is not None and path not in declared:
            faults.append(
                file.fault((*place, "department"), f"{path!r} is not declared; add it under departments: - path: {path}")
            )
    return faults


def _stripped(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) else None


def _duplicates_within(file: SiteFile, part: str, key: str) -> list[Fault]:
    first: dict[str, Place] = {}
    faults = []
    for place, entry in file.entries(part):
        value = _stripped(entry.get(key))
        if value is None:
            continue
        if value in first:
            line = file.document.line((*first[value], key))
            faults.append(file.fault((*place, key), f"{value!r} is already in line {line}; keep one"))
        first.setdefault(value, place)
    return faults


def _duplicates_across(files: Sequence[SiteFile]) -> list[Fault]:
    """Codes are unique over all files: each file that repeats one is named, with the file that has it first."""
    seen: dict[tuple[str, str], list[tuple[SiteFile, Place]]] = defaultdict(list)
    for file in files:
        places: list[tuple[Place, str, Any]] = [(("site_code",), "site_code", file.raw.get("site_code"))]
        places += [
            ((*place, "target_code"), "target_code", entry.get("target_code")) for place, entry in file.entries("targets")
        ]
        for place, key, value in places:
            if isinstance(value, str):
                seen[key, value.strip()].append((file, place))
    faults = []
    for (_key, value), uses in seen.items():
        first, place = uses[0]
        reason = f"{value!r} is already in {first.name}:{first.document.line(place)}; choose another"
        faults += [file.fault(where, reason) for file, where in uses[1:] if file.name != first.name]
    return faults


def _adapter_faults(file: SiteFile) -> list[Fault]:
    """Exactly one of adapter and rules, a known adapter, and parameters it accepts for every target."""
    raw = file.raw
    adapter, rules = raw.get("adapter"), raw.get("rules")
    if adapter is None and rules is None:
        return [file.fault((), "neither adapter nor rules; give exactly one of them")]
    if adapter is not None and rules is not None:
        return [file.fault(("rules",), "both adapter and rules; give exactly one of them")]
    if rules is not None and raw.get("params") is not None:
        return [file.fault(("params",), "params belong to an adapter; with rules, write them under rules")]
    if adapter is not None and not isinstance(adapter, str):
        return []  # the schema says so
    adapter_id, key = (SELECTORS, "rules") if adapter is None else (adapter.strip(), "params")
    try:
        cls = adapters.get(adapter_id)
    except adapters.UnknownAdapter as error:
        return [file.fault((key if adapter is None else "adapter",), f"{error}; correct the name")]
    params = raw.get(key) or {}
    if not isinstance(params, dict):
        return []
    targets = list(file.entries("targets"))
    if not targets:
        return _params_faults(file, cls, (key,), params, None, {}) if params else []
    return [fault for place, entry in targets for fault in _params_faults(file, cls, (key,), params, place, entry)]


def _params_faults(
    file: SiteFile, cls: Any, key: Place, params: dict[str, Any], place: Place | None, target: dict[str, Any]
) -> list[Fault]:
    """What the adapter says to the site's parameters with the target's laid over them."""
    override = target.get("params") or {}
    if not isinstance(override, dict):
        return []
    try:
        valid = cls.Params.model_validate(params | override)
    except pydantic.ValidationError as error:
        # Without targets, what is missing may come with the targets to come.
        details = [fault for fault in error.errors() if place or fault["type"] != "missing" or len(fault["loc"]) > 1]
        return [_param_fault(file, cls, detail, key, place, override) for detail in details]
    entry_url = _text(target, "entry_url")
    if place is None or not _is_url(entry_url):
        return []
    base_url, channel = _text(file.raw, "base_url"), _text(target, "channel_name")
    try:
        cls(valid, TargetInfo(_text(target, "target_code"), entry_url, base_url, channel))
    except ValueError as error:
        return [file.fault(place, f"adapter {cls.id}: {error}")]
    return []


def _param_fault(
    file: SiteFile, cls: Any, detail: Mapping[str, Any], key: Place, place: Place | None, override: Mapping[str, Any]
) -> Fault:
    """The fault where it was written: in the target's ``params`` when those hold it or could, else in the site's."""
    loc: Place = tuple(detail["loc"])
    of_target = bool(loc) and (loc[0] in override or (detail["type"] == "missing" and len(loc) == 1))
    root = (*place, "params") if place is not None and of_target else key
    known = list(cls.Params.model_fields) if len(loc) == 1 else []
    return file.fault((*root, *loc), f"adapter {cls.id}: {_reason(detail, loc, known)}")


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value.strip() if isinstance(value, str) else ""


def _is_url(text: str) -> bool:
    """Whether the adapter can be asked about an entry URL; what is wrong with another one is said by the schema."""
    try:
        http_url(text)
    except ValueError:
        return False
    return True
