"""How lists are paged: big tables by key, without counting all rows and without OFFSET; the others counted to a cap."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList

COUNT_CAP = 10_000
"""Lists with page numbers count and page up to here; further rows are found by filter or search."""
AFTER, BEFORE = "after", "before"
SEPARATOR = "~"


class CappedPaginator(Paginator):
    """Page numbers over the first ``COUNT_CAP`` rows: neither counts nor skips more."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        return rows.order_by()[:COUNT_CAP].count()


class CappedChangeList(ChangeList):
    """The count below the list is the only one: the theme's header would offer to "show all"."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class KeysetPage:
    """What the theme asks of a paginator; the links carry keys."""

    template_name = "admin/keyset_pagination.html"

    def __init__(self, per_page: int, first: bool, newer: str | None, older: str | None) -> None:
        self.per_page, self.first, self.newer, self.older = per_page, first, newer, older
        self.num_pages = 1

    def get_elided_page_range(self, *args: Any, **kwargs: Any) -> list[int]:
        return []


class KeysetChangeList(ChangeList):
    """A list whose links name the key of the last row shown: ``?after=`` goes on, ``?before=`` goes back.

    The order is the admin's ``keyset_for(request)``, all descending, the last column unique. NULL comes last, as it does on
    SQLite and MariaDB.
    """

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        for name in (AFTER, BEFORE):  # no link of the page takes them along, except the two below it
            self.params.pop(name, None)
            self.filter_params.pop(name, None)
        self.keys: tuple[str, ...] = self.model_admin.keyset_for(request)
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows

    def apply_select_related(self, qs: QuerySet[Any]) -> QuerySet[Any]:
        """Related rows by a query of their own: with a JOIN, MariaDB reads the small table first and sorts the big one."""
        return qs.prefetch_related(*self.model_admin.list_prefetch)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        return [f"-{key}" for key in self.keys]

    def get_results(self, request: HttpRequest) -> None:
        after, before = request.GET.get(AFTER), request.GET.get(BEFORE)
        rows = self.queryset
        size = self.list_per_page
        if before:
            nearest = rows.filter(self._newer_than(before)).order_by(*self.keys)[: size + 1]
            found = list(nearest)
            more_newer, more_older = len(found) > size, True
            found = found[:size][::-1]
        else:
            if after:
                rows = rows.filter(self._older_than(after))
            elif self.keys == ("id",):
                # Says nothing, and keeps MariaDB from intersecting two indexes for an answer that one gives in order.
                rows = rows.filter(pk__gt=0)
            found = list(rows[: size + 1])
            more_newer, more_older = bool(after), len(found) > size
            found = found[:size]
        newer = self._link(BEFORE, found[0]) if found and more_newer else None
        older = self._link(AFTER, found[-1]) if found and more_older else None
        self.paginator = KeysetPage(size, not (after or before), newer, older)
        self.result_list = found
        self.result_count = len(found)
        self.full_result_count = self.result_count
        self.show_full_result_count = False
        self.show_admin_actions = bool(found)
        self.can_show_all = self.multi_page = False
        self.page_num = 1

    def _link(self, name: str, row: Model) -> str:
        return str(self.get_query_string({name: SEPARATOR.join(_written(getattr(row, key)) for key in self.keys)}))

    def _values(self, text: str) -> list[Any]:
        parts = text.split(SEPARATOR)
        if len(parts) != len(self.keys):
            raise IncorrectLookupParameters(text)
        return [_read(self._column(key), part) for key, part in zip(self.keys, parts, strict=True)]

    def _column(self, key: str) -> Any:
        return self.lookup_opts.pk if key == "pk" else self.lookup_opts.get_field(key)

    def _older_than(self, text: str) -> Q:
        """Rows behind the key in descending order: smaller values, then NULL."""
        found, equal = Q(pk__in=[]), Q()
        for key, value in zip(self.keys, self._values(text), strict=True):
            if value is None:
                equal &= Q(**{f"{key}__isnull": True})
                continue
            behind = Q(**{f"{key}__lt": value})
            if self._column(key).null:
                behind |= Q(**{f"{key}__isnull": True})
            found |= equal & behind
            equal &= Q(**{key: value})
        return found

    def _newer_than(self, text: str) -> Q:
        found, equal = Q(pk__in=[]), Q()
        for key, value in zip(self.keys, self._values(text), strict=True):
            if value is None:
                found |= equal & Q(**{f"{key}__isnull": False})
                equal &= Q(**{f"{key}__isnull": True})
                continue
            found |= equal & Q(**{f"{key}__gt": value})
            equal &= Q(**{key: value})
        return found


def _written(value: Any) -> str:
    if value is None:
        return ""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)


def _read(field: Any, part: str) -> Any:
    if not part and field.null:
        return None
    try:
        value = field.to_python(part)
    except ValidationError as error:
        raise IncorrectLookupParameters(part) from error
    if isinstance(value, datetime) and value.tzinfo is None:
        raise IncorrectLookupParameters(part)
    return value
