"""Requests a minute and a day of each key, counted in the database: a limit that holds over all web processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from govcrawler.access import keys
from govcrawler.access.authentication import Client

if TYPE_CHECKING:  # importing it here would be a circle: DRF reads this module while it loads its views
    from rest_framework.views import APIView


class ApiKeyThrottle(BaseThrottle):
    """Refuses with 429 and ``Retry-After`` once the key's minute or day is used up."""

    wait_sec: int | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.user, Client):
            return True
        try:
            keys.count_request(request.user.key, timezone.now())
        except keys.LimitReached as reached:
            self.wait_sec = reached.wait_sec
            return False
        return True

    def wait(self) -> int | None:
        return self.wait_sec
