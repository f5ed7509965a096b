"""All pages of the admin, and what a reader sees of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import reverse
from lxml import html

SHOWN_ATTRIBUTES = ("placeholder", "title", "aria-label", "alt", "value")
NOT_SHOWN = {"script", "style", "head", "template", "noscript", "code"}


def addresses() -> Iterator[str]:
    """The first page, each list, each add form, the pages of each list's first rows."""
    yield reverse("admin:index")
    yield reverse("admin:password_change")
    for model in list(admin.site._registry):
        yield from of_model(model)


def of_model(model: type[Any]) -> Iterator[str]:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield reverse(f"{name}_changelist")
    yield reverse(f"{name}_add")
    for row in model._default_manager.order_by("pk")[:2]:
        for page in ("change", "delete", "history"):
            yield reverse(f"{name}_{page}", args=[row.pk])


def visible_texts(page: bytes) -> Iterator[str]:
    tree = html.document_fromstring(page.decode())
    yield tree.findtext(".//title") or ""
    yield from _texts(tree.body)


def _texts(node: Any) -> Iterator[str]:
    if not isinstance(node.tag, str) or node.tag in NOT_SHOWN or "material-symbols-outlined" in (node.get("class") or ""):
        yield node.tail or ""
        return
    if node.tag not in {"input", "option"} or node.get("type") in {"submit", "button"}:
        yield node.text or ""
    for name in SHOWN_ATTRIBUTES:
        if name != "value" or (node.get("type") in {"submit", "button"} and node.tag == "input"):
            yield node.get(name) or ""
    if node.tag == "option":
        yield node.text or ""
    for child in node:
        yield from _texts(child)
    yield node.tail or ""
