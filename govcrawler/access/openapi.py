"""How the API describes its keys and errors in OpenAPI."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from govcrawler.access.problems import CONTENT_TYPE, TITLES


class ApiKeyScheme(OpenApiAuthenticationExtension):
    """Found by drf-spectacular because the class exists."""

    target_class = "govcrawler.access.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Api-Key <key>` or `Bearer <key>`. Scopes: `read`, `export`, `operate`.",
        }


class FieldErrorOut(serializers.Serializer):
    field = serializers.CharField()
    message = serializers.CharField()
    code = serializers.CharField()


class ProblemOut(serializers.Serializer):
    """Problem details (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    remedy = serializers.CharField()
    errors = FieldErrorOut(many=True, required=False)  # type: ignore[assignment]


def problems(*statuses: int) -> dict[Any, Any]:
    """Responses of a call beside its good one: those that every call has, and ``statuses``."""
    return {
        (status, CONTENT_TYPE): OpenApiResponse(ProblemOut, description=TITLES[status])
        for status in sorted({401, 403, 422, 429, 503, *statuses})
    }
