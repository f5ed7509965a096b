"""What calls take: query parameters and bodies that refuse what they do not know, and cursors."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from govcrawler.access.problems import Problem, invalid

MAX_LIMIT = 200


class Strict(serializers.Serializer):
    """A misspelt filter must not pass for "no filter": unknown names are errors of their own."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = sorted(self.fields)
            unknown = {
                str(name): [f"Unknown; known are: {', '.join(known) or 'none'}."] for name in data if name not in self.fields
            }
            if unknown:
                raise ValidationError(unknown, code="unknown")
        return super().to_internal_value(data)


class PageQuery(Strict):
    """Keyset paging: ``cursor`` is the ``next_cursor`` of the page before."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=50)
    cursor = serializers.CharField(required=False, help_text="`next_cursor` of the page before, with the same filters.")


def query(request: Request, kind: type[Strict]) -> dict[str, Any]:
    """The checked query parameters. Raises ValidationError naming each wrong one."""
    repeated = [name for name, values in request.query_params.lists() if len(values) > 1]
    if repeated:
        raise ValidationError({name: ["Given more than once."] for name in repeated}, code="repeated")
    serializer = kind(data=dict(request.query_params.items()))
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def body(request: Request, kind: type[Strict]) -> dict[str, Any]:
    """The checked JSON body. Raises ValidationError naming each wrong field, Problem 413 before a huge body is read."""
    largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if int(request.META.get("CONTENT_LENGTH") or 0) > largest:
        raise Problem(413, "too_large", f"The body is larger than {largest} bytes.", "Send fewer items a call.")
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def encode_cursor(order: str, *keys: Any) -> str:
    """An opaque place in a list: its order and the keys of the last row."""
    return base64.urlsafe_b64encode(json.dumps([order, *keys], default=str).encode()).decode().rstrip("=")


def decode_cursor(text: str, order: str, *kinds: type) -> list[Any]:
    """The keys in a cursor of this ``order``. Raises Problem 422."""
    try:
        values = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, UnicodeDecodeError) as error:
        raise invalid("cursor", "Not a cursor of this list: send `next_cursor` unchanged or leave it out.") from error
    right = isinstance(values, list) and len(values) == len(kinds) + 1 and values[0] == order
    if not right or not all(type(value) is kind for value, kind in zip(values[1:], kinds, strict=True)):
        raise invalid("cursor", f"Not a cursor of the order {order!r}: begin again without it.")
    return list(values[1:])
