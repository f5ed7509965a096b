"""Every adapter found, over its own saved samples. An adapter without samples fails here; see ``cases.py`` for the format."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from sources import adapters
from sources.adapters.base import Capability
from tests.adapters.cases import ROOT, Case, Drive, all_cases, broken_facts

CASES = all_cases()
REQUIRED = ("list_first", "list_middle", "list_last", "pinned", "empty", "blocked", "changed", "gbk")
KINDS = {*REQUIRED, "detail", "columns", "variant", "replay"}
MIN_FACTS = 6
MIN_FACTS_OF_NOTHING = 2

each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
each_adapter = pytest.mark.parametrize("adapter_id", adapters.adapter_ids())


@each_adapter
def test_an_adapter_has_a_case_of_every_required_kind_or_says_why_not(adapter_id: str) -> None:
    capabilities = adapters.get(adapter_id).capabilities
    needed = {*REQUIRED}
    needed |= {"detail"} if Capability.DETAIL in capabilities else set()
    needed |= {"columns"} if Capability.COLUMNS in capabilities else set()
    shown = {kind for case in CASES if case.adapter_id == adapter_id for kind in case.kinds}
    excused = _not_applicable(adapter_id)
    assert all(reason.strip() for reason in excused.values()), "every excuse in kinds.json needs a reason"
    assert not shown & excused.keys(), f"kinds.json excuses what a case shows: {sorted(shown & excused.keys())}"
    missing = needed - shown - excused.keys()
    assert not missing, f"tests/adapters/{adapter_id}/ has no case of kind {sorted(missing)}"


@each_adapter
def test_an_adapter_declares_a_version_and_closed_parameters(adapter_id: str) -> None:
    cls = adapters.get(adapter_id)
    assert isinstance(cls.version, int) and cls.version >= 1
    assert cls.Params.model_config.get("extra") == "forbid", "a mistyped parameter must be refused, not ignored"
    assert ({"columns_request", "parse_columns"} <= set(dir(cls))) == (Capability.COLUMNS in cls.capabilities)


@each_case
def test_a_case_belongs_to_an_adapter_and_is_complete(case: Case) -> None:
    assert case.adapter_id in adapters.adapter_ids()
    assert set(case.kinds) <= KINDS, f"unknown kinds {sorted(set(case.kinds) - KINDS)}; known: {sorted(KINDS)}"
    assert case.data["about"].strip()
    nothing = "raises" in case.data or case.kinds == ("empty",)
    least = MIN_FACTS_OF_NOTHING if nothing else MIN_FACTS
    assert len(case.data["facts"]) >= least, f"{case.name}: at least {least} facts, typed by hand from the page"


@each_case
def test_the_output_of_a_case_is_the_reviewed_one_and_its_facts_hold(case: Case) -> None:
    output = Drive(case).run()
    assert not (faults := broken_facts(output, case.data["facts"])), "\n".join(faults)
    if "raises" in case.data:
        assert output["error"], f"{case.name}: ParseError expected, none came"
        assert output["error"]["problem"] == case.data["raises"]["problem"]
    expected = case.folder / "expected.json"
    if not expected.exists():
        expected.write_text(json.dumps(output, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        pytest.fail(f"{expected} was missing and is written now: read it line by line against the saved pages, then run again")
    assert output == json.loads(expected.read_text(encoding="utf-8"))


@each_case
def test_the_same_bytes_give_the_same_records(case: Case) -> None:
    assert Drive(case).run() == Drive(case).run()


@each_case
def test_a_case_shows_what_its_kind_says(case: Case) -> None:
    output = Drive(case).run()
    last = output["pages"][-1] if output["pages"] else None
    for kind in case.kinds:
        if kind in ("list_first", "list_middle", "list_last"):
            assert last is not None and last["has_more"] is (kind != "list_last")
        elif kind == "pinned":
            assert any(ref["pinned"] for page in output["pages"] for ref in page["refs"])
        elif kind == "empty":
            assert last is not None and not last["refs"] and not last["has_more"] and not output["error"]
        elif kind in ("blocked", "changed"):
            assert output["error"] and output["error"]["problem"] == kind
        elif kind == "gbk":
            assert any(not _is_utf8(saved.body) for saved in case.responses())
        elif kind == "detail":
            assert output["article"]
        elif kind == "columns":
            assert output["columns"]


@each_case
def test_what_comes_out_is_absolute_in_utc_and_fit_for_storage(case: Case) -> None:
    output = Drive(case).run()
    refs = [ref for page in output["pages"] for ref in page["refs"]]
    for url in [*(ref["url"] for ref in refs if not ref["skip"]), *(request["url"] for request in output["requests"])]:
        _assert_absolute(url)
    json.dumps([ref["raw"] for ref in refs], allow_nan=False)
    if article := output["article"]:
        _assert_article(article)


def _assert_article(article: dict[str, Any]) -> None:
    json.dumps(article["metadata"], allow_nan=False)
    assert article["title"] == article["title"].strip() != ""
    for url in [article["url"], *(attachment["url"] for attachment in article["attachments"])]:
        _assert_absolute(url)
    stated = article["publish_time"] is not None
    assert stated == (article["publish_precision"] not in ("none", "year", "month"))
    if stated:
        assert datetime.fromisoformat(article["publish_time"]).utcoffset() == timedelta(0)


def _assert_absolute(url: str) -> None:
    parts = urlsplit(url)
    assert parts.scheme in ("http", "https") and parts.hostname, f"not an absolute http(s) URL: {url!r}"


def _not_applicable(adapter_id: str) -> dict[str, str]:
    path = ROOT / adapter_id / "kinds.json"
    if not path.exists():
        return {}
    excused: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["not_applicable"]
    return excused


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
