"""API keys: shown once, stored as a hash, with scopes."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from govcrawler.fields import HashField, IdentityField, JSONField


class ApiKey(models.Model):
    """A key of one API client. ``prefix`` finds the row, ``key_hash`` (SHA-256 of the whole key) proves it.

    ``consumer`` is the export consumer the key speaks for; the seed's main RAG is ``rag``.
    """

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(_("name"), max_length=64, unique=True)
    prefix = IdentityField(_("prefix"), max_length=16, unique=True)
    key_hash = HashField(_("key hash"))
    scopes = JSONField(_("scopes"), default=list)
    consumer = IdentityField(_("consumer"), max_length=64, default="rag", db_default="rag")
    rate_per_minute = models.IntegerField(_("requests per minute"), null=True, blank=True)
    daily_quota = models.IntegerField(_("requests per day"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())

    class Meta:
        db_table = "api_key"
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")

    def __str__(self) -> str:
        return self.name


class ApiKeyUsage(models.Model):
    """Requests of a key in one window (a minute or a day, UTC): every web process counts in the same row."""

    id = models.BigAutoField(primary_key=True)
    key = models.ForeignKey(ApiKey, models.CASCADE, related_name="usage", db_index=False)
    window = models.CharField(max_length=20)
    requests = models.IntegerField(default=0, db_default=0)

    class Meta:
        db_table = "api_key_usage"
        constraints = [models.UniqueConstraint(fields=["key", "window"], name="uq_api_key_usage_window")]
        verbose_name = _("key usage")
        verbose_name_plural = _("key usage")

    def __str__(self) -> str:
        return f"{self.key} {self.window}"
