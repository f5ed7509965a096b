"""One audit row for each request that may change something, in the admin and in the API.

The row is written before the view runs and completed afterwards: a request that cannot be audited is refused before it changed
anything, and one whose process died in the middle leaves a row without status.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.urls import Resolver404, ResolverMatch, resolve

from govcrawler.access import problems
from govcrawler.access.authentication import presented_key
from govcrawler.access.keys import fingerprint
from govcrawler.audit import record as audit
from govcrawler.audit.models import AdminAuditLog

log = logging.getLogger(__name__)

UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
AREAS = ("/admin/", "/api/")
VERBS = {"POST": "add", "PUT": "change", "PATCH": "change", "DELETE": "delete"}
ADMIN_VERBS = ("add", "change", "delete", "changelist", "history", "autocomplete")
IDENTIFIERS = ("object_id", "id", "pk", "job_id", "article_id")


class AuditMiddleware:
    """Stands innermost, so that it also sees requests that the CSRF check or a view refuses."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in UNSAFE or not request.path.startswith(AREAS):
            return self.get_response(request)
        started = time.monotonic()
        try:
            before = audit.actor_of(request) if request.path.startswith("/admin/") else ""
            row = AdminAuditLog.objects.create(**_known_before(request, before))
        except DatabaseError as error:
            return problems.database_unavailable(error)
        response = self.get_response(request)
        values = _known_after(request, response, before)
        values["duration_ms"] = int((time.monotonic() - started) * 1000)
        try:
            AdminAuditLog.objects.filter(pk=row.pk).update(**values)
        except DatabaseError as error:
            # The row stands, without its outcome; the log has what is missing.
            log.error("audit row %s could not be completed: %s", row.pk, error, extra={"data": values})
        return response


def _known_before(request: HttpRequest, actor: str) -> dict[str, Any]:
    return audit.columns(
        actor=actor,
        actor_ip=audit.client_address(request),
        method=request.method or "",
        path=request.path,
        payload_digest=audit.payload_digest(_body(request)),
    )


def _body(request: HttpRequest) -> bytes | None:
    """The body, when it is small enough to be held; files of uploads go past memory and have no digest."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return None
    try:
        return request.body
    except (UnreadablePostError, RequestDataTooBig):
        return None


def _known_after(request: HttpRequest, response: HttpResponse, before: str) -> dict[str, Any]:
    said: dict[str, str] = getattr(request, audit.SAID, {})
    named = _derived(request)
    if named["action"] == "login":
        named["resource_type"] = "user"
        if not audit.actor_of(request):
            named["action"] = "login.failed"
            before = _existing_user(request.POST.get("username", ""))
    values = {**named, **said}
    values["actor"] = said.get("actor") or audit.actor_of(request) or before or _unknown_key(request)
    return audit.columns(status_code=response.status_code, **values)


def _existing_user(name: str) -> str:
    """The name typed at the login page if a user has it: what is no user's name may be a password in the wrong field."""
    users = get_user_model()
    try:
        known = bool(name) and users._default_manager.filter(**{users.USERNAME_FIELD: name}).exists()
    except DatabaseError:
        return ""
    return name if known else ""


def _unknown_key(request: HttpRequest) -> str:
    text = presented_key(request.META.get("HTTP_AUTHORIZATION", ""))
    return f"unknown key {fingerprint(text)}" if text else ""


def _derived(request: HttpRequest) -> dict[str, str]:
    """Action and resource as the URL tells them: ``article.delete``, ``export.claim``, ``login``."""
    match = request.resolver_match or _resolved(request.path_info)
    if match is None:
        return {"action": "unknown", "resource_type": "", "resource_id": ""}
    identifier = next((str(match.kwargs[name]) for name in IDENTIFIERS if match.kwargs.get(name)), "")
    if "admin" in match.app_names:
        return _admin(request, match, identifier)
    view = getattr(match.func, "cls", getattr(match.func, "view_class", None))
    stated = getattr(view, "audit_action", "")
    action = stated.get(request.method, "") if isinstance(stated, dict) else stated
    resource = getattr(view, "audit_resource", "") or (action.partition(".")[0] if action else match.url_name or "")
    return {
        "action": action or f"{resource}.{VERBS[request.method or 'POST']}",
        "resource_type": resource,
        "resource_id": identifier,
    }


def _resolved(path: str) -> ResolverMatch | None:
    try:
        return resolve(path)
    except Resolver404:
        return None


def _admin(request: HttpRequest, match: ResolverMatch, identifier: str) -> dict[str, str]:
    name = match.url_name or ""
    head, _, verb = name.rpartition("_")
    if verb not in ADMIN_VERBS or not head:
        return {"action": name or "admin", "resource_type": "", "resource_id": identifier}
    model = head.partition("_")[2]
    if verb == "changelist":
        chosen = request.POST.get("action") or "edit"
        verb = "delete" if chosen == "delete_selected" else chosen
        identifier = ",".join(request.POST.getlist("_selected_action"))
    return {"action": f"{model}.{verb}", "resource_type": model, "resource_id": identifier}
