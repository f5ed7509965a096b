"""Case folders of adapters: reading them, driving an adapter over their saved responses, comparing what came out.

``tests/adapters/<adapter id>/<case>/case.json`` names the saved responses and the calls to make; ``expected.json`` holds the
whole output; ``facts`` in case.json were typed by hand from the saved page and are checked apart from it.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import pytest

from sources import adapters
from sources.adapters.base import Adapter, ArticleRef, ColumnAdapter, ListPage, ParseError, Request, Response, TargetInfo

P = ParamSpec("P")
T = TypeVar("T")

ROOT = Path(__file__).parent
MAX_DETAIL_REQUESTS = 20
CASE_KEYS = {"kind", "about", "params", "target", "fetched_at", "responses", "list", "detail", "columns", "raises", "facts"}
RESPONSE_KEYS = {"url", "file", "method", "status", "headers", "final_url", "body"}
IMPURE = {
    **{
        ("time", name): "reads the clock"
        for name in ("time", "time_ns", "monotonic", "perf_counter", "localtime", "gmtime", "strftime")
    },
    **{("time", "sleep"): "sleeps"},
    **{("_io", "open"): "opens a file", ("io", "open"): "opens a file", ("posix", "open"): "opens a file"},
    **{("posix", "getenv"): "reads the environment", ("posix", "system"): "starts a process"},
    **{("_socket", "getaddrinfo"): "resolves a name"},
}
CLOCKS = {"now", "utcnow", "today"}


class Impure(AssertionError):
    """An adapter did something that only the pipeline may do."""


class Case:
    """One case folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.adapter_id = folder.relative_to(ROOT).parts[0]
        self.name = f"{self.adapter_id}/{folder.name}"
        self.data: dict[str, Any] = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        unknown = set(self.data) - CASE_KEYS
        assert not unknown, f"{self.name}/case.json: unknown keys {sorted(unknown)}; known: {sorted(CASE_KEYS)}"

    @property
    def kinds(self) -> tuple[str, ...]:
        kind = self.data["kind"]
        return (kind,) if isinstance(kind, str) else tuple(kind)

    def build(self) -> Adapter:
        target = {"target_code": self.folder.name, **self.data["target"]}
        return adapters.build(self.adapter_id, self.data.get("params", {}), TargetInfo(**target))

    def responses(self) -> list[Saved]:
        return [Saved(self, entry) for entry in self.data["responses"]]


class Saved:
    """One saved response and whether it was asked for."""

    def __init__(self, case: Case, entry: Mapping[str, Any]) -> None:
        unknown = set(entry) - RESPONSE_KEYS
        assert not unknown, f"{case.name}/case.json: responses: unknown keys {sorted(unknown)}"
        self.entry = entry
        self.body = (case.folder / entry["file"]).read_bytes()
        self.fetched_at = datetime.fromisoformat(case.data["fetched_at"])
        assert self.fetched_at.tzinfo is not None, f"{case.name}/case.json: fetched_at needs an offset"
        self.used = False

    def answers(self, request: Request) -> bool:
        same = self.entry["url"] == request.url and self.entry.get("method", "GET") == request.method
        return same and ("body" not in self.entry or self.entry["body"].encode() == (request.body or b""))

    def to(self, request: Request) -> Response:
        self.used = True
        headers = {name.lower(): value for name, value in self.entry.get("headers", {}).items()}
        final_url = self.entry.get("final_url", request.url)
        return Response(request, final_url, self.entry.get("status", 200), headers, self.body, self.fetched_at)


def all_cases() -> list[Case]:
    return [Case(path.parent) for path in sorted(ROOT.glob("*/**/case.json"))]


class Drive:
    """One run of a case: the calls it asks for, in order, with everything that came out."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.saved = case.responses()
        self.adapter = case.build()
        self.requests: list[Request] = []
        self.pages: list[ListPage] = []
        self.output: dict[str, Any] = {"article": None, "columns": None, "error": None}

    def run(self) -> dict[str, Any]:
        try:
            self._steps()
        except ParseError as error:
            if "raises" not in self.case.data:
                raise
            where = {"problem": error.problem, "looked_for": error.looked_for, "where": error.where}
            self.output["error"] = where
        unused = [saved.entry["url"] for saved in self.saved if not saved.used]
        assert not unused, f"{self.case.name}: no request asked for {unused}; requests were {[r.url for r in self.requests]}"
        return cast(dict[str, Any], plain({"requests": self.requests, "pages": self.pages, **self.output}))

    def _steps(self) -> None:
        data = self.case.data
        assert data.keys() & {"list", "detail", "columns"}, f"{self.case.name}: one of list, detail, columns is needed"
        if data.get("columns"):
            self._columns(cast(ColumnAdapter, self.adapter))
        if "list" in data:
            self._list(data["list"])
        if "detail" in data:
            self._detail(data["detail"])

    def _columns(self, adapter: ColumnAdapter) -> None:
        response = self._answer(pure(adapter.columns_request))
        self.output["columns"] = pure(adapter.parse_columns, response)

    def _list(self, wanted: Mapping[str, Any]) -> None:
        page, cursor = wanted.get("page", 1), wanted.get("cursor")
        for _ in range(wanted.get("walk", 1)):
            response = self._answer(pure(self.adapter.list_request, page, cursor))
            found = pure(self.adapter.parse_list, response, page, cursor)
            self.pages.append(found)
            if not found.has_more:
                break
            page, cursor = page + 1, found.next_cursor

    def _detail(self, wanted: Mapping[str, Any]) -> None:
        ref = self.pages[-1].refs[wanted["from_list"]] if "from_list" in wanted else read_ref(wanted["ref"])
        got: list[Response] = []
        while (request := pure(self.adapter.detail_request, ref, tuple(got))) is not None:
            assert len(got) < MAX_DETAIL_REQUESTS, f"{self.case.name}: detail_request does not end"
            got.append(self._answer(request))
        self.output["article"] = pure(self.adapter.parse_detail, ref, tuple(got))

    def _answer(self, request: Request) -> Response:
        self.requests.append(request)
        for saved in self.saved:
            if saved.answers(request):
                return saved.to(request)
        raise AssertionError(f"{self.case.name}: case.json has no response for {request.method} {request.url}")


def read_ref(fields: Mapping[str, Any]) -> ArticleRef:
    published_on = fields.get("published_on")
    return ArticleRef(**{**fields, "published_on": date.fromisoformat(published_on) if published_on else None})


def plain(value: Any) -> Any:
    """JSON values of a result. Raises TypeError for what JSON cannot hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON value: {value!r}")


def broken_facts(output: Any, facts: Mapping[str, Any]) -> list[str]:
    """One line per fact that does not hold."""
    faults = []
    for path, wanted in facts.items():
        try:
            found = at(output, path)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            faults.append(f"{path}: not there ({type(error).__name__}: {error})")
            continue
        if not _holds(found, wanted):
            faults.append(f"{path}: wanted {wanted!r}, got {found!r}")
    return faults


def at(output: Any, path: str) -> Any:
    """The value at a dotted path; numbers index lists, ``#`` is the length."""
    for part in path.split("."):
        key = int(part) if isinstance(output, list) and part != "#" else part
        output = len(output) if part == "#" else output[key]
    return output


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and len(wanted) == 1 and isinstance(found, str):
        how, text = next(iter(wanted.items()))
        tests: dict[str, Callable[[str], bool]] = {
            "starts": found.startswith,
            "ends": found.endswith,
            "contains": lambda part: part in found,
            "lacks": lambda part: part not in found,
        }
        if how in tests:
            return tests[how](text)
    return bool(found == wanted)


def pure(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call an adapter's method; a socket, a file, a process or a clock in it raises Impure."""
    with _guarded():
        return call(*args, **kwargs)


@contextmanager
def _guarded() -> Iterator[None]:
    previous, collecting = sys.getprofile(), gc.isenabled()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", _refuse("opens a socket"))
        patch.setattr(subprocess, "Popen", _refuse("starts a process"))
        gc.disable()  # its callbacks (hypothesis times collections) are not the adapter's doing
        sys.setprofile(_watch)
        try:
            yield
        finally:
            sys.setprofile(previous)
            if collecting:
                gc.enable()


def _refuse(what: str) -> Callable[..., None]:
    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise Impure(f"the adapter {what}")

    return refuse


def _watch(_frame: Any, event: str, function: Any) -> None:
    if event != "c_call":
        return
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    what = IMPURE.get((str(module), name))
    if what is None and name in CLOCKS and isinstance(owner, type) and issubclass(owner, date):
        what = "reads the clock"
    if what is not None:
        raise Impure(f"the adapter {what}: {name}()")
