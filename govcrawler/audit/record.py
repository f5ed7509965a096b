"""Writing audit rows: who changed what, when, from where; a digest of what was sent, never the thing itself."""

from __future__ import annotations

import getpass
import hashlib
import ipaddress
import os
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from govcrawler.audit.models import AdminAuditLog
from govcrawler.fields import storable
from govcrawler.logs import masked, one_line

DIGEST_LENGTH = 32
SAID = "audit_said"
"""The attribute of a request in which its view says what it did."""


def record(
    *,
    action: str,
    resource_type: str = "",
    resource_id: str = "",
    actor: str = "",
    method: str = "CLI",
    path: str = "",
    status_code: int | None = None,
    payload: bytes | None = None,
    request: HttpRequest | None = None,
) -> None:
    """One audit row for what a command or task changed. ``actor`` defaults to the user of the operating system.

    With ``request`` the actor, address, method and path are the request's. Values are cut to their columns.
    """
    AdminAuditLog.objects.create(
        **columns(
            action=action,
            resource_type=resource_type,
            resource_id=resource_id,
            actor=actor or (actor_of(request) if request else operator()),
            actor_ip=client_address(request) if request else "",
            method=request.method if request else method,
            path=request.path if request else path,
            status_code=status_code,
            payload_digest=payload_digest(payload),
        )
    )


def describe(
    request: HttpRequest, *, action: str = "", resource_type: str = "", resource_id: object = "", actor: str = ""
) -> None:
    """What a view says about the request it serves; the middleware puts it into the request's audit row.

    ``request``: the HttpRequest itself (``request._request`` inside DRF is handled too).
    """
    inner = getattr(request, "_request", request)
    said = {"action": action, "resource_type": resource_type, "resource_id": str(resource_id), "actor": actor}
    setattr(inner, SAID, getattr(inner, SAID, {}) | {name: value for name, value in said.items() if value})


def columns(**values: Any) -> dict[str, Any]:
    """Values as the columns of ``admin_audit_log`` take them: printable, masked, cut; empty text is NULL."""
    fitted = {}
    for name, value in values.items():
        if isinstance(value, str):
            limit: int | None = getattr(AdminAuditLog._meta.get_field(name), "max_length", None)
            value = one_line(masked(storable(value)))[:limit]
            if not value and name not in {"method", "path"}:
                value = None
        fitted[name] = value
    return fitted


def payload_digest(payload: bytes | None) -> str | None:
    """The first 32 hex digits of SHA-256; None without a payload."""
    return hashlib.sha256(payload).hexdigest()[:DIGEST_LENGTH] if payload else None


def actor_of(request: HttpRequest) -> str:
    """The name of the user or key behind a request, '' for nobody."""
    user = getattr(request, "user", None)
    return str(user.get_username()) if user is not None and user.is_authenticated else ""


def operator() -> str:
    """The user of the operating system; ``uid:<number>`` where it has no name (a container)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid:{os.getuid()}"


def client_address(request: HttpRequest) -> str:
    """The address of the client. Of X-Forwarded-For only what the last TRUSTED_PROXIES hops wrote counts."""
    own = str(request.META.get("REMOTE_ADDR", ""))
    hops = [hop.strip() for hop in str(request.META.get("HTTP_X_FORWARDED_FOR", "")).split(",") if hop.strip()]
    trusted = int(settings.TRUSTED_PROXIES)
    if not trusted or not hops:
        return own
    told = hops[-min(trusted, len(hops))]
    try:
        return str(ipaddress.ip_address(told))
    except ValueError:
        return own
