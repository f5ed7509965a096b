"""The task queue's own tables in this theme. They are the doorbell only, so they are looked at and tidied, not edited."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import display
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_q.models import Failure, OrmQ, Schedule, Success

from govcrawler.admin_base import ReadOnlyAdmin, ReadOnlyKeysetAdmin, short

for model in (Failure, OrmQ, Schedule, Success):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


class TaskAdmin(ReadOnlyKeysetAdmin):
    keyset = ("started", "id")
    list_display = ("name", "func", "cluster", "started", "stopped", "said")
    search_fields = ("=id",)
    search_help_text = _("Whole number of the task")
    fields = (
        "no",
        "name",
        "func",
        "args",
        "kwargs",
        "group",
        "cluster",
        "started",
        "stopped",
        "success",
        "attempt_count",
        "said",
    )

    @display(description=_("result"))
    def said(self, row: Any) -> str | SafeString:
        return short(row.result, 200)


class ScheduleAdmin(ReadOnlyAdmin):
    """Schedules are made by the worker command: an edit here would be undone at its next start."""

    list_display = ("no", "name", "func", "schedule_type", "minutes", "next_run", "cluster")
    list_display_links = ("no", "name")
    ordering = ("id",)
    fields = ("name", "func", "args", "kwargs", "schedule_type", "minutes", "cron", "repeats", "next_run", "cluster")


class QueueAdmin(ReadOnlyAdmin):
    list_display = ("no", "key", "lock")
    ordering = ("id",)
    fields = ("key", "lock")


admin.site.register(Success, TaskAdmin)
admin.site.register(Failure, TaskAdmin)
admin.site.register(Schedule, ScheduleAdmin)
admin.site.register(OrmQ, QueueAdmin)
