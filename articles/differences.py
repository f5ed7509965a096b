"""What changed between two revisions, for a person: fields side by side, text as added and removed lines."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist

from articles.models import Article, ArticleRevision

LONGEST_DIFF = 400
"""Lines shown. Longer differences are cut and say so."""
LONGEST_LINE = 2_000
LINES_COMPARED = 5_000


@dataclass(frozen=True)
class FieldChange:
    name: str
    old: str
    new: str

    @property
    def label(self) -> str:
        """The name of the article's column, else the key as it stands in the revision."""
        try:
            return str(getattr(Article._meta.get_field(self.name), "verbose_name", self.name))
        except FieldDoesNotExist:
            return self.name


@dataclass(frozen=True)
class Line:
    """``kind``: ``added``, ``removed``, ``same`` or ``place`` (where in the text)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Difference:
    fields: list[FieldChange]
    lines: list[Line]
    cut: bool


def between(old: ArticleRevision, new: ArticleRevision) -> Difference:
    fields = [FieldChange("title", old.title or "", new.title or "")] if old.title != new.title else []
    before, after = old.fields_json or {}, new.fields_json or {}
    fields += [
        FieldChange(name, _shown(before.get(name)), _shown(after.get(name)))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and name != "title"
    ]
    lines = _lines(old.content_text or "", new.content_text or "")
    return Difference(fields, lines[:LONGEST_DIFF], len(lines) > LONGEST_DIFF)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _lines(old: str, new: str) -> list[Line]:
    kinds = {"+": "added", "-": "removed", "@": "place"}
    before, after = old.splitlines()[:LINES_COMPARED], new.splitlines()[:LINES_COMPARED]
    found = list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]
    return [Line(kinds.get(line[:1], "same"), line[1:LONGEST_LINE] if line[:1] != "@" else line) for line in found]
