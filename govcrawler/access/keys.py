"""API keys: made once, shown once, proved by their hash; requests counted where every web process sees them.

A key reads ``gc_<prefix>_<secret>``. The prefix finds the row, SHA-256 of the whole key proves it. The secret has 256 bits of
randomness, so a plain digest is enough and costs nothing per request.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from govcrawler.access.models import ApiKey, ApiKeyUsage

log = logging.getLogger(__name__)

SCOPES = ("read", "export", "operate")
SCHEME = "gc"
USED_EVERY = timedelta(minutes=1)
"""``last_used_at`` is written at most this often: it tells a forgotten key, not each request."""
NO_HASH = "0" * 64


class KeyRefused(Exception):
    """The key does not open anything. ``code`` is for programs, the message for people; neither repeats the key."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LimitReached(Exception):
    """The key has used up its requests of a window. ``wait_sec``: seconds until the next one."""

    def __init__(self, message: str, wait_sec: int) -> None:
        super().__init__(message)
        self.wait_sec = wait_sec


def create(
    name: str,
    scopes: Collection[str],
    *,
    consumer: str = "rag",
    rate_per_minute: int | None = None,
    daily_quota: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key: (row, the key itself). Only its hash is stored, so it cannot be shown again.

    Raises ValueError naming the argument that is wrong.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ValueError(f"scopes: {', '.join(unknown) or 'none given'}; choose from {', '.join(SCOPES)}")
    if not name.strip() or len(name.strip()) > 64:
        raise ValueError(f"name {name!r}: give 1 to 64 characters")
    if not consumer.strip() or len(consumer.strip()) > 64:
        raise ValueError(f"consumer {consumer!r}: give 1 to 64 characters")
    for field, limit in (("rate_per_minute", rate_per_minute), ("daily_quota", daily_quota)):
        if limit is not None and limit < 1:
            raise ValueError(f"{field} {limit}: give a whole number above 0, or nothing for no limit")
    if ApiKey.objects.filter(name=name.strip()).exists():
        raise ValueError(f"name {name!r}: another key has it; revoked keys keep their name for the audit log")
    prefix = secrets.token_hex(6)
    text = f"{SCHEME}_{prefix}_{secrets.token_urlsafe(32)}"
    key = ApiKey.objects.create(
        name=name.strip(),
        prefix=prefix,
        key_hash=digest(text),
        scopes=[scope for scope in SCOPES if scope in scopes],
        consumer=consumer.strip(),
        rate_per_minute=rate_per_minute,
        daily_quota=daily_quota,
        expires_at=expires_at,
    )
    return key, text


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(text: str) -> str:
    """What logs and audit rows say of a key that opened nothing: enough to compare, useless to open."""
    return digest(text)[:12]


def verify(text: str) -> ApiKey:
    """The key that ``text`` proves. Raises KeyRefused; whether a key exists shows neither in the answer nor in its time."""
    scheme, _, rest = text.partition("_")
    prefix, _, secret = rest.partition("_")
    key = ApiKey.objects.filter(prefix=prefix).first() if scheme == SCHEME and secret and len(prefix) <= 16 else None
    proved = hmac.compare_digest(key.key_hash if key else NO_HASH, digest(text))
    if key is None or not proved:
        raise KeyRefused("key_unknown", "The API key is not known.")
    now = timezone.now()
    if key.revoked_at is not None and key.revoked_at <= now:
        raise KeyRefused("key_revoked", "The API key was revoked.")
    if key.expires_at is not None and key.expires_at <= now:
        raise KeyRefused("key_expired", f"The API key expired at {key.expires_at.isoformat()}.")
    _note_use(key, now)
    return key


def _note_use(key: ApiKey, now: datetime) -> None:
    if key.last_used_at is None or key.last_used_at <= now - USED_EVERY:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USED_EVERY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)


def count_request(key: ApiKey, now: datetime) -> None:
    """Counts one request against the key's minute and day (UTC). Raises LimitReached; the refused request is not counted."""
    minute, day = f"m:{now:%Y-%m-%dT%H:%M}", f"d:{now:%Y-%m-%d}"
    if key.rate_per_minute is not None and not _take(key, minute, key.rate_per_minute):
        raise LimitReached(f"The key may make {key.rate_per_minute} requests a minute.", 60 - now.second)
    if key.daily_quota is not None and not _take(key, day, key.daily_quota):
        left = 86_400 - (now.hour * 3600 + now.minute * 60 + now.second)
        raise LimitReached(f"The key may make {key.daily_quota} requests a day (UTC).", left)


def _take(key: ApiKey, window: str, limit: int) -> bool:
    """One request of the window's ``limit``, in one conditional UPDATE, so that processes never count past it."""
    usage = ApiKeyUsage.objects.filter(key=key, window=window)
    if usage.filter(requests__lt=limit).update(requests=F("requests") + 1):
        return True
    if usage.exists():
        return False
    try:
        with transaction.atomic():
            ApiKeyUsage.objects.create(key=key, window=window, requests=1)
    except IntegrityError:  # another process opened the window
        return bool(usage.filter(requests__lt=limit).update(requests=F("requests") + 1))
    if window.startswith("m:"):
        ApiKeyUsage.objects.filter(key=key, window__startswith="m:", window__lt=window).delete()
    return True
