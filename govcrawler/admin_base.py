"""The one base of all admin screens: cheap lists, refusals with a reason, and buttons that only POST.

Big tables are paged by key (``KeysetAdmin``). The others count to a cap only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.actions import delete_selected as delete_selected_rows
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import PROTECT, RESTRICT, Model, ProtectedError, QuerySet, RestrictedError
from django.db.models.fields.reverse_related import ForeignObjectRel
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html, strip_tags
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.views import ChangeList

from govcrawler.admin_paging import CappedChangeList, CappedPaginator, KeysetChangeList

SHOWN_CHARACTERS = 60


class BlankJSONField(forms.JSONField):
    """NULL is an empty box, not the word null."""

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)


def _dash_for_null(contents: Any) -> Any:
    return "-" if set(strip_tags(str(contents)).split()) <= {"null", "None"} else contents


class GovAdmin(ModelAdmin):
    """Base of every admin screen. A list of related tables may refuse a deletion before anything is collected."""

    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_fullwidth = True
    list_filter_sheet = True
    compressed_fields = True
    warn_unsaved_form = True
    actions: ClassVar[Any] = ("delete_selected",)
    goes_with_parent = False
    """Rows that go with the row they belong to: deleting that one asks for no further permission."""

    def __init__(self, model: type[Model], admin_site: Any) -> None:
        super().__init__(model, admin_site)
        columns = [field.name for field in model._meta.concrete_fields if isinstance(field, models.JSONField)]
        self.readonly_preprocess_fields = dict.fromkeys(columns, _dash_for_null)

    @action(description=_("Delete selected %(verbose_name_plural)s"), permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        obstacles = [obstacle for row in queryset for obstacle in self.delete_obstacles(row)]
        if obstacles:
            for obstacle in obstacles[:20]:
                self.message_user(request, obstacle, messages.ERROR)
            return None
        asked: HttpResponse | None = delete_selected_rows(self, request, queryset)
        return asked

    def delete_obstacles(self, row: Model) -> list[str]:
        """Why ``row`` cannot be deleted, in words with the remedy; empty when it can."""
        return [
            gettext("%(row)s cannot be deleted: %(what)s belong to it (%(count)s). Delete them first or disable it.")
            % {"row": row, "what": relation.related_model._meta.verbose_name_plural, "count": count}
            for relation in row._meta.related_objects
            if isinstance(relation, ForeignObjectRel) and relation.on_delete in (RESTRICT, PROTECT)
            if (count := _counted(relation, row))
        ]

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        if row is not None and self.has_delete_permission(request, row) and (obstacles := self.delete_obstacles(row)):
            for obstacle in obstacles:
                self.message_user(request, obstacle, messages.ERROR)
            return redirect(admin_url(row))
        try:
            page: HttpResponse = super().delete_view(request, object_id, extra_context)
        except (RestrictedError, ProtectedError):
            self.message_user(request, _("Something that belongs to it was stored meanwhile. Look again."), messages.ERROR)
            return redirect(request.path)
        return page

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        listed, counts, lacking, protected = super().get_deleted_objects(objs, request)
        along = {str(model._meta.verbose_name) for model, known in self.admin_site._registry.items() if goes_along(known)}
        return listed, counts, {name for name in lacking if str(name) not in along}, protected

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CappedChangeList

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without what a new row does not have yet."""
        sets = super().get_fieldsets(request, obj)
        if obj is not None:
            return sets
        later = set(self.get_readonly_fields(request, obj))
        kept = [(title, {**options, "fields": _without(options["fields"], later)}) for title, options in sets]
        return [(title, options) for title, options in kept if options["fields"]]

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if isinstance(db_field, models.JSONField):
            kwargs["form_class"] = BlankJSONField
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description=_("no."), ordering="pk")
    def no(self, row: Model) -> Any:
        return row.pk

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """A change writes only what the form changed: columns that workers move meanwhile keep their values."""
        if not change:
            obj.save()
            return
        concrete = {field.name for field in obj._meta.concrete_fields}
        moved = {field.name for field in obj._meta.concrete_fields if getattr(field, "auto_now", False)}
        if changed := concrete.intersection([*form.changed_data, *self.follows(form)]):
            obj.save(update_fields=changed | moved)

    def follows(self, form: Any) -> Iterable[str]:
        """Fields that the form sets beside those it shows."""
        return ()


def _without(fields: Any, names: set[str]) -> list[Any]:
    rows = [tuple(name for name in ((row,) if isinstance(row, str) else row) if name not in names) for row in fields]
    return [row if len(row) > 1 else row[0] for row in rows if row]


def goes_along(known: Any) -> bool:
    return bool(getattr(known, "goes_with_parent", False))


def _counted(relation: Any, row: Model) -> str:
    """How many rows stand in the way, counted to a thousand; '' for none."""
    rows = relation.related_model._default_manager.filter(**{relation.field.name: row})
    count = rows.order_by()[:1001].count()
    return "" if not count else "1000+" if count > 1000 else str(count)


class KeysetAdmin(GovAdmin):
    """A list paged by key. ``keyset``: columns of the order, newest first, the last one unique."""

    keyset: ClassVar[tuple[str, ...]] = ("id",)
    list_prefetch: ClassVar[tuple[Any, ...]] = ()
    """Related rows that the list shows; never ``list_select_related``."""
    sortable_by = ()
    list_per_page = 50

    def keyset_for(self, request: HttpRequest) -> tuple[str, ...]:
        return self.keyset

    def get_ordering(self, request: HttpRequest) -> Sequence[str]:
        return [f"-{key}" for key in self.keyset_for(request)]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList


class ReadOnly:
    """History: nobody adds, changes or deletes a row here, a superuser neither. Whole rows are shown."""

    actions: ClassVar[Any] = ()
    warn_unsaved_form = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, GovAdmin):
    """Read-only, with page numbers."""


class ReadOnlyKeysetAdmin(ReadOnly, KeysetAdmin):
    """Read-only, paged by key."""


def require(request: HttpRequest, permission: str) -> None:
    """Raises PermissionDenied for users without the permission."""
    if not request.user.has_perm(permission):
        raise PermissionDenied(permission)


def admin_url(row: Model, page: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=[row.pk])


def list_url(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def link(row: Model | None, label: object = "") -> str | SafeString:
    """A link to the row's page, its text escaped; '-' for no row."""
    if row is None:
        return "-"
    return format_html('<a href="{}" class="text-primary-600 dark:text-primary-500">{}</a>', admin_url(row), label or row)


def outward(url: str | None) -> str | SafeString:
    """A link to a source that tells it nothing about us; only http(s) becomes a link, anything else stays text."""
    if not url or not url.lower().startswith(("http://", "https://")):
        return url or "-"
    shown = Truncator(url).chars(120)
    return format_html(
        '<a href="{}" rel="noreferrer noopener" target="_blank" class="break-all text-primary-600">{}</a>',
        url,
        shown,
    )


def short(text: object, characters: int = SHOWN_CHARACTERS) -> str | SafeString:
    """Text of a list cell: cut, never one character a line, the whole of it in the tooltip."""
    whole = str(text or "-")
    return format_html(
        '<span class="inline-block whitespace-normal" style="min-width:{}em;max-width:36em" title="{}">{}</span>',
        min(len(whole), 18),
        whole[:500],
        Truncator(whole).chars(characters),
    )


def button(url: str, label: object, kind: str = "secondary") -> SafeString:
    """A button of a row that POSTs the surrounding form to ``url``: nothing changes by GET (fault-model X1)."""
    look = {
        "primary": "bg-primary-600 border-primary-600 text-white",
        "danger": "bg-red-600 border-red-600 text-white",
        "secondary": "bg-white border-base-200 text-font-default-light dark:bg-base-900 dark:border-base-700 "
        "dark:text-font-default-dark",
    }[kind]
    return format_html(
        '<button type="submit" formmethod="post" formaction="{}" class="border cursor-pointer font-medium px-2 py-1 '
        'rounded-default text-xs whitespace-nowrap {}">{}</button>',
        url,
        look,
        label,
    )


def back(request: HttpRequest, fallback: str) -> HttpResponseRedirect:
    """To the page the button stood on, if it is one of ours, else to ``fallback``."""
    referer = request.META.get("HTTP_REFERER", "")
    here = request.build_absolute_uri("/admin/")
    return HttpResponseRedirect(referer if referer.startswith(here) else fallback)


def all_fields(model: type[models.Model], *leave_out: str) -> tuple[str, ...]:
    """The names of the columns, for a page that shows a whole row."""
    return tuple(field.name for field in model._meta.concrete_fields if field.name not in leave_out)


register = admin.register
