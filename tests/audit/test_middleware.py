"""Exactly one audit row for each request that may change something, whatever becomes of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path

from govcrawler.access import keys
from govcrawler.audit.models import AdminAuditLog
from govcrawler.urls import urlpatterns as product
from tests.articles import feed

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]
JSON = "application/json"


def breaking(request: HttpRequest) -> HttpResponse:
    raise ImproperlyConfigured("token=canary-in-the-error")


urlpatterns = [path("admin/breaking/", breaking, name="breaking"), path("", include(product))]  # type: ignore[arg-type]


@pytest.fixture
def admin() -> Client:
    user = get_user_model().objects.create_superuser("steward", "s@example.org", "correct horse")
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def row() -> AdminAuditLog:
    return AdminAuditLog.objects.get()


def test_a_call_leaves_actor_action_status_duration_and_digest() -> None:
    body = json.dumps({"limit": 3})
    response = feed.client("export").post("/api/v1/exports/claim/", body, content_type=JSON, REMOTE_ADDR="192.0.2.7")
    assert response.status_code == 200
    assert (row().actor, row().actor_ip, row().action) == ("key:client 0", "192.0.2.7", "export.claim")
    assert (row().method, row().path, row().status_code) == ("POST", "/api/v1/exports/claim/", 200)
    assert (row().resource_type, row().resource_id) == ("consumer", "rag:nothing")
    assert row().payload_digest == sha256(body.encode()).hexdigest()[:32]
    assert row().duration_ms is not None and row().duration_ms >= 0


def test_reading_leaves_nothing(admin: Client) -> None:
    feed.client("read").get("/api/v1/articles/")
    admin.get("/admin/")
    admin.post("/i18n/setlang/", {"language": "en"})
    assert not AdminAuditLog.objects.exists()


REFUSALS = [((), "{}", 401), (("read",), "{}", 403), (("export",), '{"limit": 0}', 422), (("export",), "{", 400)]


@pytest.mark.parametrize(("scopes", "body", "status"), REFUSALS)
def test_a_refused_call_leaves_its_row_too(scopes: tuple[str, ...], body: str, status: int) -> None:
    feed.client(*scopes).post("/api/v1/exports/claim/", body, content_type=JSON)
    assert (row().action, row().status_code) == ("export.claim", status)
    assert bool(row().actor) == bool(scopes)


def test_a_key_that_opens_nothing_is_told_by_its_fingerprint() -> None:
    Client(headers={"authorization": "Api-Key gc_canary_key"}).post("/api/v1/exports/claim/", "{}", content_type=JSON)
    assert row().actor == "unknown key " + sha256(b"gc_canary_key").hexdigest()[:12]


def test_a_view_that_raises_leaves_a_row_with_status_500(admin: Client) -> None:
    assert admin.post("/admin/breaking/").status_code == 500
    assert (row().actor, row().action, row().status_code) == ("steward", "breaking.add", 500)


def test_an_unknown_address_leaves_a_row() -> None:
    assert feed.client("export").delete("/api/v1/nothing/").status_code == 404
    assert (row().method, row().status_code) == ("DELETE", 404)


def test_a_request_without_csrf_token_is_refused_and_audited() -> None:
    user = get_user_model().objects.create_superuser("steward", "s@example.org", "correct horse")
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post("/admin/auth/user/add/", {"username": "x"}).status_code == 403
    assert (row().actor, row().action, row().status_code) == ("steward", "user.add", 403)


def test_a_login_and_a_logout_name_the_user(client: Client) -> None:
    get_user_model().objects.create_superuser("steward", "s@example.org", "correct horse")
    assert client.post("/admin/login/", {"username": "steward", "password": "correct horse"}).status_code == 302
    assert (row().actor, row().action, row().resource_type) == ("steward", "login", "user")
    client.post("/admin/logout/")
    last = AdminAuditLog.objects.latest("id")
    assert (last.actor, last.action) == ("steward", "logout")


@pytest.mark.parametrize(("typed", "actor"), [("steward", "steward"), ("my secret password", None)])
def test_a_failed_login_names_the_user_but_never_what_may_be_a_password(client: Client, typed: str, actor: str | None) -> None:
    get_user_model().objects.create_superuser("steward", "s@example.org", "correct horse")
    client.post("/admin/login/", {"username": typed, "password": "battery staple"})
    assert (row().actor, row().action, row().status_code) == (actor, "login.failed", 200)


def test_admin_pages_are_named_by_model_verb_and_object(admin: Client) -> None:
    user = get_user_model().objects.create_user("leaving")
    admin.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"})
    assert (row().action, row().resource_type, row().resource_id) == ("user.delete", "user", str(user.pk))
    assert not get_user_model().objects.filter(pk=user.pk).exists()


def test_an_admin_action_names_the_chosen_rows(admin: Client) -> None:
    users = [get_user_model().objects.create_user(name) for name in ("a", "b")]
    chosen = [str(user.pk) for user in users]
    admin.post("/admin/auth/user/", {"action": "delete_selected", "_selected_action": chosen})
    assert (row().action, row().resource_id) == ("user.delete", ",".join(chosen))


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines(settings: Any) -> Iterator[Lines]:
    """What the product's own handler would print."""
    from govcrawler.logs import JsonFormatter

    handler = Lines()
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


def test_no_body_query_or_secret_is_in_rows_answers_or_logs(lines: Lines) -> None:
    _, held = keys.create("rag", ["export", "operate"])
    client = Client(headers={"authorization": f"Api-Key {held}"})
    answers = [
        client.post("/api/v1/exports/claim/?token=canary-query", {"password": "canary-body"}, content_type=JSON),
        client.post("/api/v1/jobs/", {"target": "t", "force": "canary-body"}, content_type=JSON),
        Client(headers={"authorization": "Bearer gc_canary-header"}).post("/api/v1/exports/ack/", "{}", content_type=JSON),
        Client(raise_request_exception=False).post("/admin/breaking/?key=canary-query", {"a": "canary-body"}),
    ]
    seen = [str(entry.__dict__) for entry in AdminAuditLog.objects.all()] + lines.lines
    seen += [answer.content.decode() for answer in answers]
    assert AdminAuditLog.objects.count() == 4 and lines.lines
    for secret in ("canary-body", "canary-query", "canary-header", "canary-in-the-error", held):
        assert not [text for text in seen if secret in text]


def test_an_upload_too_big_for_memory_is_audited_without_a_digest(admin: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    admin.post("/admin/breaking/", "x" * 11, content_type="application/octet-stream")
    assert (row().status_code, row().payload_digest) == (500, None)


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_audited_does_not_happen(admin: Client) -> None:
    user = get_user_model().objects.create_user("staying")

    def full(execute: Any, sql: str, *arguments: Any) -> Any:
        if "admin_audit_log" in sql:
            raise OperationalError("disk full")
        return execute(sql, *arguments)

    with connection.execute_wrapper(full):
        response = admin.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"})
    assert response.status_code == 503
    assert get_user_model().objects.filter(pk=user.pk).exists()
