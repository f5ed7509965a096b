"""Errors of the API: told apart by status and code, as problem details, without a stack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from govcrawler.access import keys
from govcrawler.access.problems import CONTENT_TYPE, Problem
from tests.articles import feed

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class Stating(APIView):
    required_scope = "read"

    def get(self, request: Request) -> Response:
        return Response({"who": request.user.get_username()})

    def post(self, request: Request) -> Response:
        return Response(request.data)


class ByMethod(APIView):
    required_scope = {"GET": "read", "POST": "operate"}

    def get(self, request: Request) -> Response:
        return Response("read")

    def post(self, request: Request) -> Response:
        return Response("operated")


class Silent(APIView):
    def get(self, request: Request) -> Response:
        raise AssertionError("never reached")


class Broken(APIView):
    required_scope = "read"

    def get(self, request: Request) -> Response:
        raise RuntimeError("secret detail of the failure")


class Conflicting(APIView):
    required_scope = "read"

    def get(self, request: Request) -> Response:
        raise Problem(409, "cursor_ahead", "what", "do that")


urlpatterns = [
    path("api/v1/stating/", Stating.as_view()),
    path("api/v1/methods/", ByMethod.as_view()),
    path("api/v1/silent/", Silent.as_view()),
    path("api/v1/broken/", Broken.as_view()),
    path("api/v1/conflicting/", Conflicting.as_view()),
]


def problem(response: Any) -> dict[str, Any]:
    assert response.headers["Content-Type"] == CONTENT_TYPE
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    body: dict[str, Any] = response.json()
    assert set(body) - {"errors"} == {"type", "title", "status", "code", "detail", "remedy"}
    assert body["status"] == response.status_code and all(body[name] for name in ("title", "detail", "remedy"))
    return body


def test_without_a_key_401_says_how_to_send_one() -> None:
    response = feed.client().get("/api/v1/stating/")
    assert (response.status_code, problem(response)["code"]) == (401, "key_missing")
    assert response.headers["WWW-Authenticate"].startswith("Api-Key")


@pytest.mark.parametrize("scheme", ["Api-Key", "Bearer", "bearer"])
def test_both_schemes_open(scheme: str) -> None:
    _, text = keys.create("rag", ["read"])
    response = Client(headers={"authorization": f"{scheme} {text}"}).get("/api/v1/stating/")
    assert response.json() == {"who": "key:rag"}


@pytest.mark.parametrize("header", ["Api-Key gc_0_0", "Basic YTpi", "Bearer", "Api-Key 键"])
def test_a_key_that_opens_nothing_is_401_and_is_not_repeated(header: str) -> None:
    response = Client(headers={"authorization": header}).get("/api/v1/stating/")
    body = problem(response)
    assert (response.status_code, body["code"]) == (401, "key_unknown")
    assert "gc_0_0" not in response.content.decode()


def test_a_revoked_key_is_401_with_a_code_of_its_own() -> None:
    key, text = keys.create("rag", ["read"])
    keys.ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    assert problem(Client(headers={"authorization": f"Bearer {text}"}).get("/api/v1/stating/"))["code"] == "key_revoked"


def test_another_scope_is_403_and_names_the_one_that_is_missing() -> None:
    response = feed.client("export", "operate").get("/api/v1/stating/")
    assert (response.status_code, problem(response)["code"]) == (403, "scope_missing")
    assert "'read'" in response.json()["detail"]


def test_a_view_that_states_no_scope_answers_nobody() -> None:
    response = feed.client("read", "export", "operate").get("/api/v1/silent/")
    assert (response.status_code, problem(response)["code"]) == (403, "scope_not_stated")


def test_a_view_may_ask_for_another_scope_by_method() -> None:
    reader, operator = feed.client("read"), feed.client("operate")
    seen = {
        method: getattr(reader, method)("/api/v1/methods/").status_code for method in ("get", "head", "options", "post", "put")
    }
    assert seen == {"get": 200, "head": 200, "options": 200, "post": 403, "put": 405}
    assert (operator.post("/api/v1/methods/").status_code, operator.get("/api/v1/methods/").status_code) == (200, 403)


def test_a_body_that_is_no_json_is_400_and_another_type_415() -> None:
    client = feed.client("read")
    assert problem(client.post("/api/v1/stating/", "{", content_type="application/json"))["status"] == 400
    assert problem(client.post("/api/v1/stating/", "a=1", content_type="text/plain"))["status"] == 415


def test_another_method_is_405_with_the_allowed_ones() -> None:
    response = feed.client("read").delete("/api/v1/stating/")
    assert problem(response)["status"] == 405
    assert "GET" in response.headers["Allow"]


def test_a_problem_of_a_view_keeps_code_and_remedy() -> None:
    body = problem(feed.client("read").get("/api/v1/conflicting/"))
    assert (body["status"], body["code"], body["detail"], body["remedy"]) == (409, "cursor_ahead", "what", "do that")


def test_a_used_up_rate_is_429_with_the_seconds_to_wait() -> None:
    client = feed.client("read", rate_per_minute=1, daily_quota=1)
    assert client.get("/api/v1/stating/").status_code == 200
    response = client.get("/api/v1/stating/")
    assert (response.status_code, problem(response)["code"]) == (429, "throttled")
    assert 0 < int(response.headers["Retry-After"]) <= 86_400


@contextmanager
def failing(error: DatabaseError) -> Iterator[None]:
    """Every query fails, as when the server is away."""

    def fail(*_: Any) -> None:
        raise error

    with connection.execute_wrapper(fail):
        yield


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("error", [OperationalError(2006, "gone: host db7"), OperationalError("database is locked")])
def test_a_database_that_is_away_is_503_with_retry_after_and_nothing_of_its_words(method: str, error: OperationalError) -> None:
    client = feed.client("read")
    with failing(error):
        response: HttpResponse = getattr(client, method)("/api/v1/stating/", content_type="application/json")
    assert (response.status_code, problem(response)["code"]) == (503, "database_unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert "db7" not in response.content.decode() and "locked." in response.content.decode()


def test_a_failing_view_is_500_without_its_words_or_stack() -> None:
    response = feed.client("read").get("/api/v1/broken/")
    assert problem(response)["status"] == 500
    assert "secret" not in response.content.decode() and "Traceback" not in response.content.decode()
