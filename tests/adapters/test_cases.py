"""The harness catches what it is there for: impure adapters, missing responses, facts that do not hold."""

from __future__ import annotations

import datetime
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sources.adapters.base import ArticleRef, ListPage, Request, Response
from tests.adapters.cases import ROOT, Case, Drive, Impure, broken_facts, plain, pure


def by_attribute() -> object:
    now = datetime.datetime.now
    return now(datetime.UTC)


@pytest.mark.parametrize(
    "act",
    [
        lambda: datetime.datetime.now(datetime.UTC),
        lambda: datetime.datetime.today(),
        lambda: datetime.date.today(),
        by_attribute,
        time.time,
        lambda: time.time(),
        lambda: time.sleep(0),
        lambda: open(__file__).close(),
        lambda: Path(__file__).read_text(),
        lambda: os.open(__file__, os.O_RDONLY),
        lambda: socket.socket(),
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: os.system("true"),
    ],
)
def test_a_clock_a_file_or_a_socket_inside_an_adapter_is_impure(act: Callable[[], object]) -> None:
    with pytest.raises(Impure):
        pure(lambda: act())


def test_pure_work_passes_and_the_guard_is_gone_afterwards() -> None:
    when = datetime.datetime(2024, 6, 1, tzinfo=datetime.UTC)
    assert pure(lambda day: (day + datetime.timedelta(1)).isoformat(), when) == "2024-06-02T00:00:00+00:00"
    assert time.time() > 0
    assert Path(__file__).exists()


def test_a_request_without_a_saved_response_names_its_url() -> None:
    drive = Drive(Case(ROOT / "gkmlpt" / "empty_column"))
    drive.saved.clear()
    with pytest.raises(AssertionError, match=r"no response for GET http://www.hechuan.example/gkmlpt/api/all/15"):
        drive.run()


def test_a_response_that_nobody_asks_for_fails() -> None:
    case = Case(ROOT / "gkmlpt" / "empty_column")
    case.data["responses"].append({**case.data["responses"][0], "url": "http://www.hechuan.example/never"})
    with pytest.raises(AssertionError, match=r"no request asked for .*never"):
        Drive(case).run()


def test_a_post_is_answered_by_its_body(tmp_path: Path) -> None:
    case = Case(ROOT / "gkmlpt" / "empty_column")
    case.data["responses"][0] |= {"method": "POST", "body": "page=2"}
    saved = case.responses()[0]
    url = case.data["responses"][0]["url"]
    assert saved.answers(Request(url, method="POST", body=b"page=2"))
    assert not saved.answers(Request(url, method="POST", body=b"page=1"))
    assert not saved.answers(Request(url))


def test_facts_are_equalities_lengths_and_parts_of_texts() -> None:
    output = {"pages": [{"refs": [{"title": "甲乙丙"}]}], "article": None}
    holding = {"pages.#": 1, "pages.0.refs.0.title": {"starts": "甲"}, "article": None}
    assert broken_facts(output, holding) == []
    wrong = {"pages.0.refs.#": 2, "pages.0.refs.0.title": {"ends": "乙"}, "pages.1.refs": [], "pages.0.refs.0.title.#": 3}
    assert len(broken_facts(output, wrong)) == 3
    assert broken_facts(output, {"pages.0.refs.0.title": {"lacks": "丁"}}) == []
    assert broken_facts(output, {"pages.0.refs.0.title": {"contains": "丁"}}) != []


def test_results_become_json() -> None:
    page = ListPage((ArticleRef("http://a.example/", published_on=datetime.date(2024, 6, 1)),), has_more=False)
    assert json.loads(json.dumps(plain(page)))["refs"][0]["published_on"] == "2024-06-01"
    with pytest.raises(TypeError, match="set is no JSON value"):
        plain({"raw": {1, 2}})


def test_headers_of_saved_responses_are_lower_case_and_the_final_url_is_kept() -> None:
    case = Case(ROOT / "gkmlpt" / "empty_column")
    case.data["responses"][0] |= {"headers": {"Content-Type": "text/html"}, "final_url": "http://www.hechuan.example/moved"}
    response: Response = case.responses()[0].to(Request("http://www.hechuan.example/"))
    assert response.headers == {"content-type": "text/html"}
    assert response.url == "http://www.hechuan.example/moved"
