"""Same article, or another? The rule alone: values in, decision out (invariant 1).

The source's own id wins over the URL: a page that moved keeps its id, and two spellings of a URL have one canonical form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["insert", "update", "unchanged"]


@dataclass(frozen=True, slots=True)
class Stored:
    """What the rule asks of a stored article."""

    id: int
    content_hash: str | None
    status: str


@dataclass(frozen=True, slots=True)
class Decision:
    """``article_id`` is the row to write (None for insert); ``duplicate_id`` a row that turned out to be the same article."""

    kind: Kind
    article_id: int | None = None
    duplicate_id: int | None = None
    reason: str = ""


def decide(content_hash: str, status: str, by_native: Stored | None, by_url: Stored | None) -> Decision:
    """What to do with a found article of ``content_hash`` that shall have ``status``."""
    same = by_native or by_url
    if same is None:
        return Decision("insert")
    other = by_url.id if by_native and by_url and by_url.id != by_native.id else None
    unchanged = same.content_hash == content_hash and same.status == status
    return Decision("unchanged" if unchanged else "update", same.id, other, "native_id" if other else "")
