"""Who changed what (seed 000, 2.11): digests of payloads, never payloads."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class AdminAuditLog(models.Model):
    """One state-changing request, command or task. Append-only. ``method`` is ``CLI`` or ``TASK`` outside HTTP."""

    id = models.BigAutoField(primary_key=True)
    created_at = models.DateTimeField(_("at"), auto_now_add=True, db_default=Now())
    actor = models.CharField(_("actor"), max_length=64, null=True, blank=True)
    actor_ip = models.CharField(_("address"), max_length=64, null=True, blank=True)
    method = models.CharField(_("method"), max_length=8)
    path = models.CharField(_("path"), max_length=500)
    status_code = models.IntegerField(_("status"), null=True, blank=True)
    duration_ms = models.IntegerField(_("duration, ms"), null=True, blank=True)
    payload_digest = models.CharField(_("payload digest"), max_length=32, null=True, blank=True)
    action = models.CharField(_("action"), max_length=64, null=True, blank=True)
    resource_type = models.CharField(_("resource type"), max_length=32, null=True, blank=True)
    resource_id = models.CharField(_("resource"), max_length=128, null=True, blank=True)

    class Meta:
        db_table = "admin_audit_log"
        indexes = [
            models.Index(fields=["created_at"], name="ix_audit_created_at"),
            models.Index(fields=["actor"], name="ix_audit_actor"),
            models.Index(fields=["action"], name="ix_audit_action"),
            models.Index(fields=["actor", "created_at"], name="ix_audit_actor_created"),
        ]
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit log")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"
