"""API keys, and the people who may come in. A key is shown once, when it is made; its hash is never shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import display
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from govcrawler.access import keys
from govcrawler.access.models import ApiKey, ApiKeyUsage
from govcrawler.admin_base import GovAdmin, ReadOnlyKeysetAdmin, action, link, list_url, register
from govcrawler.admin_wording import VERBS
from govcrawler.audit import record as audit

SCOPES = {
    "read": _("read: articles, files and changes"),
    "export": _("export: claim and acknowledge"),
    "operate": _("operate: run and cancel jobs"),
}
SCOPE_WORDS = {"read": _("read"), "export": _("export"), "operate": _("operate")}
LIMITS = ("rate_per_minute", "daily_quota")


class KeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        label=_("scopes"), choices=[(scope, SCOPES[scope]) for scope in keys.SCOPES], widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = ApiKey
        fields = ("name", "scopes", "consumer", *LIMITS, "expires_at")

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).strip()

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for name in LIMITS:
            if data.get(name) is not None and data[name] < 1:
                self.add_error(name, _("Give a whole number above 0, or leave it empty for no limit."))
        return data


@register(ApiKey)
class KeyAdmin(GovAdmin):
    form = KeyForm
    list_display = ("name", "prefix", "scope_list", "consumer", "state", "expires_at", "last_used_at", "created_at")
    list_filter = ("consumer",)
    search_fields = ("name", "prefix")
    search_help_text = _("Name or prefix")
    ordering = ("name",)
    actions = ("revoke_selected",)
    readonly_fields = ("prefix", "state", "revoked_at", "last_used_at", "created_at")
    fieldsets = (
        (None, {"fields": ("name", "scopes", "consumer", ("rate_per_minute", "daily_quota"), "expires_at")}),
        (_("State"), {"fields": (("prefix", "state"), ("revoked_at", "last_used_at"), "created_at")}),
    )
    add_fieldsets = ((None, {"fields": ("name", "scopes", "consumer", ("rate_per_minute", "daily_quota"), "expires_at")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """The audit log knows a key by its name, the feed by its consumer: neither changes."""
        return (*self.readonly_fields, "name", "consumer") if obj else self.readonly_fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        names = ("consumer", *LIMITS, "expires_at")
        made, text = keys.create(obj.name, obj.scopes, **{name: getattr(obj, name) for name in names})
        obj.__dict__.update(made.__dict__)
        request.new_api_key = text  # type: ignore[attr-defined]
        audit.describe(request, action="key.create", resource_type="key", resource_id=made.name)

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """The page that shows the key: no cookie, session or log ever holds it."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("The new API key"),
            "key": request.new_api_key,  # type: ignore[attr-defined]
            "row": obj,
            "list_url": list_url(ApiKey),
        }
        return TemplateResponse(request, "admin/access/apikey/created.html", context, headers={"Cache-Control": "no-store"})

    @action(description=_("Revoke selected keys"), permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        chosen = list(queryset.filter(revoked_at__isnull=True))
        for row in chosen:
            row.revoked_at = timezone.now()
            row.save(update_fields=["revoked_at"])
            self.message_user(request, _("Key %(name)s is revoked.") % {"name": row.name}, messages.SUCCESS)
        if not chosen:
            self.message_user(request, _("These keys were revoked before."), messages.INFO)
        names = ",".join(row.name for row in chosen)
        audit.describe(request, action="key.revoke", resource_type="key", resource_id=names)

    @display(description=_("scopes"))
    def scope_list(self, row: ApiKey) -> str:
        return ", ".join(str(SCOPE_WORDS.get(scope, scope)) for scope in row.scopes)

    @display(description=_("state"))
    def state(self, row: ApiKey) -> Any:
        now = timezone.now()
        if row.revoked_at and row.revoked_at <= now:
            return _("revoked")
        return _("expired") if row.expires_at and row.expires_at <= now else _("valid")


@register(ApiKeyUsage)
class UsageAdmin(ReadOnlyKeysetAdmin):
    list_display = ("key_link", "span", "count")
    list_prefetch = ("key",)
    fields = ("key_link", "span", "count")

    @display(description=_("API key"))
    def key_link(self, row: ApiKeyUsage) -> Any:
        return link(row.key)

    @display(description=_("time span"))
    def span(self, row: ApiKeyUsage) -> str:
        return row.window

    @display(description=_("requests"))
    def count(self, row: ApiKeyUsage) -> int:
        return row.requests


admin.site.unregister(User)
admin.site.unregister(Group)


class PermissionWords:
    """Permissions in the reader's language: their names in the database are English whatever the language."""

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None and db_field.related_model is Permission:
            shown = ContentType.objects.get_for_models(*admin.site._registry).values()
            field.queryset = field.queryset.filter(content_type__in=[kind.pk for kind in shown]).select_related("content_type")
            field.label_from_instance = permission_words
        return field


def permission_words(permission: Permission) -> str:
    verb = permission.codename.partition("_")[0]
    return f"{permission.content_type.app_labeled_name} | {VERBS.get(verb, permission.name)}"


@register(User)
class UserAdmin(PermissionWords, DjangoUserAdmin, GovAdmin):  # type: ignore[misc]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@register(Group)
class GroupAdmin(PermissionWords, DjangoGroupAdmin, GovAdmin):  # type: ignore[misc]
    """Groups of permissions."""
