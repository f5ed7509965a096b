"""``Authorization: Api-Key <key>`` or ``Authorization: Bearer <key>``."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from govcrawler.access import keys
from govcrawler.access.models import ApiKey
from govcrawler.audit.record import client_address

log = logging.getLogger(__name__)

SCHEMES = ("api-key", "bearer")
REMEDY = "Send the header `Authorization: Api-Key <key>`; an operator makes a key with `manage.py create_api_key`."


@dataclass(frozen=True)
class Client:
    """Who asks, as ``request.user``: a program with a key."""

    key: ApiKey
    is_authenticated: bool = True
    is_active: bool = True

    def get_username(self) -> str:
        """The name in the audit log."""
        return f"key:{self.key.name}"


def client_of(request: Request) -> Client:
    """The program that asks. Raises NotAuthenticated."""
    user: object = request.user
    if not isinstance(user, Client):
        raise NotAuthenticated
    return user


class ApiKeyAuthentication(BaseAuthentication):
    """Proves the key; nothing is said about a request without one, the permission refuses it."""

    def authenticate(self, request: Request) -> tuple[Client, ApiKey] | None:
        text = presented_key(request.META.get("HTTP_AUTHORIZATION", ""))
        if text is None:
            return None
        try:
            key = keys.verify(text)
        except keys.KeyRefused as refused:
            seen = {"code": refused.code, "fingerprint": keys.fingerprint(text), "address": client_address(request)}
            log.warning("API key refused", extra={"data": seen})
            raise AuthenticationFailed(str(refused), code=refused.code) from refused
        return Client(key), key

    def authenticate_header(self, request: Request) -> str:
        return 'Api-Key realm="govcrawler"'


def presented_key(header: str) -> str | None:
    """The key in an Authorization header, '' for one of another scheme or shape, None without the header."""
    if not header:
        return None
    scheme, _, text = header.strip().partition(" ")
    return text.strip() if scheme.lower() in SCHEMES else ""
