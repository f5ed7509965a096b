"""Errors of the API as problem details (RFC 9457): what is wrong, a code for programs, and what to do about it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, DataError, IntegrityError
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from govcrawler.access.authentication import REMEDY as KEY_REMEDY

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
DATABASE_RETRY_SEC = 5
TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Unsupported media type",
    422: "Invalid input",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}
REMEDIES = {
    400: "Send a JSON object in UTF-8.",
    401: KEY_REMEDY,
    403: "Use a key with that scope; an operator makes one with `manage.py create_api_key`.",
    404: "Check the address; paths end with a slash, /api/docs/ lists them.",
    405: "Use a method named in the Allow header.",
    406: "Accept application/json.",
    415: "Send the body as application/json.",
    422: "Correct the fields named in `errors`; /api/docs/ describes them.",
    429: "Wait as long as the Retry-After header says.",
    500: "Tell the operator the time of this answer; the log has the cause.",
    503: "Try again after the time in the Retry-After header.",
}


class Problem(exceptions.APIException):
    """A refusal of our own: status, code, what is wrong and what to do."""

    def __init__(
        self, status: int, code: str, detail: str, remedy: str = "", errors: list[dict[str, str]] | None = None
    ) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.code = code
        self.remedy = remedy
        self.errors = errors


def invalid(field: str, message: str, code: str = "invalid") -> Problem:
    """422 for one field or query parameter."""
    return Problem(422, "invalid", f"{field}: {message}", errors=[{"field": field, "message": message, "code": code}])


def respond(
    status: int,
    code: str,
    detail: str,
    *,
    remedy: str = "",
    errors: list[dict[str, str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """The answer itself: type, title, status, code, detail, remedy and, for invalid input, ``errors`` by field."""
    body: dict[str, Any] = {
        "type": f"urn:govcrawler:problem:{code}",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "code": code,
        "detail": detail,
        "remedy": remedy or REMEDIES.get(status, ""),
    }
    if errors is not None:
        body["errors"] = errors
    return HttpResponse(
        json.dumps(body, ensure_ascii=False),
        status=status,
        content_type=CONTENT_TYPE,
        headers={"X-Content-Type-Options": "nosniff", **(headers or {})},
    )


def database_unavailable(error: DatabaseError) -> HttpResponse:
    """503: the database is away or locked. What it said goes to the log only."""
    log.error("database unavailable: %s", error, extra={"data": {"error": type(error).__name__}})
    detail = "The database does not answer or is locked."
    return respond(503, "database_unavailable", detail, headers={"Retry-After": str(DATABASE_RETRY_SEC)})


def problem_response(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler: every error of a view becomes a problem, none shows a stack."""
    if isinstance(error, Problem):
        return respond(error.status_code, error.code, str(error.detail), remedy=error.remedy, errors=error.errors)
    if isinstance(error, exceptions.ValidationError):
        errors = field_errors(error.get_full_details())
        first = errors[0] if errors else {"field": "", "message": "invalid"}
        return respond(422, "invalid", f"{first['field']}: {first['message']}".lstrip(": "), errors=errors)
    if isinstance(error, Http404):
        return respond(404, "not_found", "There is no such thing.")
    if isinstance(error, PermissionDenied):
        return respond(403, "permission_denied", "This is not allowed.")
    if isinstance(error, exceptions.APIException):
        return _api_exception(error)
    if isinstance(error, DatabaseError) and not isinstance(error, (IntegrityError, DataError)):
        return database_unavailable(error)
    log.error("API view failed", exc_info=error, extra={"data": {"view": type(context.get("view")).__qualname__}})
    return respond(500, "internal_error", "The server failed to answer.")


def _api_exception(error: exceptions.APIException) -> HttpResponse:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = str(error.auth_header)  # type: ignore[attr-defined]
    wait = getattr(error, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(int(wait))
    codes = error.get_codes()
    code = codes if isinstance(codes, str) else "error"
    if isinstance(error, exceptions.NotAuthenticated):
        return respond(401, "key_missing", "The request has no API key.", headers=headers)
    return respond(error.status_code, code, str(error.detail), headers=headers)


def field_errors(details: Any, field: str = "") -> list[dict[str, str]]:
    """DRF's nested error details as a flat list; fields are dotted paths (``items.3.revision``)."""
    if _leaf(details):
        return [{"field": field, "message": str(details["message"]), "code": details["code"]}]
    if isinstance(details, Mapping):
        pairs = [("" if name == "non_field_errors" else str(name), value) for name, value in details.items()]
    else:
        pairs = [("" if _leaf(value) else str(index), value) for index, value in enumerate(details)]
    return [found for name, value in pairs for found in field_errors(value, ".".join(filter(None, (field, name))))]


def _leaf(details: Any) -> bool:
    return isinstance(details, Mapping) and set(details) == {"message", "code"} and isinstance(details["code"], str)
