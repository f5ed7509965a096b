"""The OA's authoritative departments (seed 000, 2.4)."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class LocalDepartment(models.Model):
    """A department of the city or a county, a town, or a virtual reference node. The key is the OA's own id."""

    dept_id = models.BigIntegerField(_("OA id"), primary_key=True)
    dept_name = models.CharField(_("name"), max_length=250, null=True, blank=True)
    parent_dept_id = models.BigIntegerField(_("parent OA id"), null=True, blank=True)
    dept_level = models.IntegerField(_("level"), null=True, blank=True, help_text=_("1 city, 2 county, 3 town"))
    dept_code = models.CharField(_("OA code"), max_length=250, null=True, blank=True)
    short_name = models.CharField(_("short name"), max_length=50, null=True, blank=True)
    full_name = models.CharField(_("full name"), max_length=500, null=True, blank=True)
    state = models.IntegerField(_("OA state"), null=True, blank=True)
    order_id = models.IntegerField(_("order"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated in the OA"), null=True, blank=True)
    region = models.CharField(_("region"), max_length=50, null=True, blank=True)

    class Meta:
        db_table = "local_department"
        indexes = [models.Index(fields=["region"], name="ix_local_department_region")]
        verbose_name = _("department")
        verbose_name_plural = _("departments")

    def __str__(self) -> str:
        return self.short_name or self.dept_name or str(self.dept_id)
