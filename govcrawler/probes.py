"""Probes for supervisors: alive, and ready to work."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

from crawl import health


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers and a worker's heartbeat is younger than three minutes; 503 with the reason otherwise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        age = health.worker_heartbeat_age()
    except DatabaseError as error:
        return JsonResponse({"status": "unavailable", "database": type(error).__name__}, status=503)
    late = age is None or age > health.HEARTBEAT_LATE_SEC
    body = {"status": "unavailable" if late else "ok", "database": "ok", "worker_heartbeat_age_sec": age}
    return JsonResponse(body, status=503 if late else 200)
