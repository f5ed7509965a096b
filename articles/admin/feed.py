"""How far each consumer of the feed is. Machines write these rows; people read them."""

from __future__ import annotations

from django.contrib.admin import display
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from articles import changes
from articles.admin.history import OfArticle
from articles.models import ConsumerCursor, ConsumerState
from govcrawler.admin_base import ReadOnlyAdmin, all_fields, register, short


@register(ConsumerCursor)
class CursorAdmin(ReadOnlyAdmin):
    list_display = ("consumer", "position", "last_change", "updated_at")
    ordering = ("consumer",)
    fields = (*all_fields(ConsumerCursor), "last_change")

    @display(description=_("last change number"))
    def last_change(self, row: ConsumerCursor) -> int:
        return changes.current_number()


@register(ConsumerState)
class StateAdmin(OfArticle):
    list_display = ("no", "consumer", "article_link", "revision_id", "state", "attempts", "lease_until", "retry_at", "problem")
    list_filter = ("state", "consumer")
    search_fields = ("=token", "=article__id")
    search_help_text = _("Claim or number of the article")
    fields = ("article_link", *all_fields(ConsumerState, "id", "article"))

    @display(description=_("error"))
    def problem(self, row: ConsumerState) -> str | SafeString:
        return short(row.error)
