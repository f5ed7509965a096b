"""The database's clock, for leases, heartbeats and pacing: two machines' clocks are never compared (design, section 7)."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.functions import Now


def now_plus(seconds: float) -> ExpressionWrapper:
    """The database's time ``seconds`` from now, as an SQL expression."""
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())
