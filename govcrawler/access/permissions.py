"""What a key may do. Each API view states the scope it asks for; a view that states none answers nobody."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from govcrawler.access.authentication import Client
from govcrawler.access.keys import SCOPES

if TYPE_CHECKING:  # importing it here would be a circle: DRF reads this module while it loads its views
    from rest_framework.views import APIView

log = logging.getLogger(__name__)


READING = {"HEAD": "GET", "OPTIONS": "GET"}


class HasRequiredScope(BasePermission):
    """The client's key holds ``view.required_scope``: a scope, or a mapping of HTTP method to scope."""

    message = "The API key lacks the scope that this call asks for."
    code = "scope_missing"

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.user, Client):
            return False
        if request.method not in view.allowed_methods:
            return True  # 405 says more than 403
        scope = required_scope(view, request.method or "")
        if scope not in SCOPES:
            log.error("view without required_scope is refused", extra={"data": {"view": type(view).__qualname__}})
            self.message, self.code = "This call states no scope, so no key opens it.", "scope_not_stated"
            return False
        self.message = f"The API key lacks the scope {scope!r} that this call asks for."
        return scope in request.user.key.scopes


def required_scope(view: APIView, method: str) -> str | None:
    """The scope that ``view`` states for ``method``; None when it states none."""
    stated = getattr(view, "required_scope", None)
    scope = stated.get(READING.get(method, method)) if isinstance(stated, Mapping) else stated
    return scope if isinstance(scope, str) else None
