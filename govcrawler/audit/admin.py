"""Who changed what: requests and commands, and the field-level changes of the registry. Nobody edits either."""

from __future__ import annotations

from typing import Any

from auditlog import get_logentry_model
from django.contrib import admin
from django.contrib.admin import display
from django.contrib.auth import get_user_model
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from govcrawler.admin_base import ReadOnlyKeysetAdmin, all_fields, register, short
from govcrawler.admin_wording import ACTIONS, action_in_words, resource_in_words, value_in_words
from govcrawler.audit.models import AdminAuditLog

LogEntry = get_logentry_model()
admin.site.unregister(LogEntry)


class ActionFilter(admin.SimpleListFilter):
    """The usual actions: a list of all that occur would read the whole table."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, str(words)) for name, words in ACTIONS.items()]

    def queryset(self, request: Any, queryset: Any) -> Any:
        return queryset.filter(action=self.value()) if self.value() else queryset


class ActorFilter(admin.SimpleListFilter):
    """The users of the admin; keys and commands are found by the search box."""

    title = _("actor")
    parameter_name = "actor"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        names = get_user_model()._default_manager.order_by("username").values_list("username", flat=True)[:50]
        return [(name, name) for name in names]

    def queryset(self, request: Any, queryset: Any) -> Any:
        return queryset.filter(actor=self.value()) if self.value() else queryset


@register(AdminAuditLog)
class AuditAdmin(ReadOnlyKeysetAdmin):
    keyset = ("created_at", "id")
    list_display = ("created_at", "actor", "deed", "target", "method", "status_code", "actor_ip", "duration_ms")
    list_filter = (ActionFilter, ActorFilter)
    search_fields = ("=actor", "=action")
    search_help_text = _("Whole actor or action")
    fields = ("deed", "target", *all_fields(AdminAuditLog, "id", "action", "resource_type", "resource_id"))

    @display(description=_("action"))
    def deed(self, row: AdminAuditLog) -> str | SafeString:
        return short(action_in_words(row.action), 30)

    @display(description=_("resource"))
    def target(self, row: AdminAuditLog) -> str | SafeString:
        return short(f"{resource_in_words(row.resource_type)} {row.resource_id or ''}")


@register(LogEntry)
class ChangeAdmin(ReadOnlyKeysetAdmin):
    """What changed in which field: written by django-auditlog."""

    keyset = ("timestamp", "id")
    list_display = ("timestamp", "actor", "action", "kind", "thing", "changed")
    list_filter = ("action",)
    list_prefetch = ("content_type", "actor")
    search_fields = ("=object_pk",)
    search_help_text = _("Key of the changed row")
    fields = ("timestamp", "actor", "action", "kind", "thing", "remote_addr", "table")

    @display(description=_("kind"))
    def kind(self, row: Any) -> str:
        return str(row.content_type)

    @display(description=_("row"))
    def thing(self, row: Any) -> str | SafeString:
        return short(row.object_repr, 40)

    @display(description=_("changes"))
    def changed(self, row: Any) -> str | SafeString:
        return short(", ".join(label for label, _old, _new in _changes(row)))

    @display(description=_("changes"))
    def table(self, row: Any) -> str | SafeString:
        lines = format_html_join(
            "",
            '<tr class="align-top"><td class="pr-4">{}</td><td class="break-all pr-4">{}</td>'
            '<td class="break-all">{}</td></tr>',
            _changes(row),
        )
        head = (gettext("field"), gettext("before"), gettext("after"))
        return format_html('<table><tr class="text-left"><th>{}</th><th>{}</th><th>{}</th></tr>{}</table>', *head, lines)


def _changes(row: Any) -> list[tuple[str, str, str]]:
    """(column, old, new) of each change; relations between rows as one text."""
    model = row.content_type.model_class()
    names = {field.name: str(field.verbose_name) for field in model._meta.fields} if model else {}
    found = []
    for name, change in row.changes_dict.items():
        old, new = ("", ", ".join(change.get("objects", []))) if isinstance(change, dict) else change
        found.append((names.get(name, name), value_in_words(old), value_in_words(new)))
    return found
