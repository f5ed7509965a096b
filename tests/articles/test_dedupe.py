"""Which stored row a found article is: the source's id before the URL."""

from __future__ import annotations

import pytest

from articles.dedupe import Decision, Stored, decide

A = Stored(1, "hash", "ready")
B = Stored(2, "hash", "ready")


@pytest.mark.parametrize(
    ("found", "by_native", "by_url", "decision"),
    [
        (("hash", "ready"), None, None, Decision("insert")),
        (("hash", "ready"), A, None, Decision("unchanged", 1)),
        (("hash", "ready"), None, A, Decision("unchanged", 1)),
        (("hash", "ready"), A, A, Decision("unchanged", 1)),
        (("other", "ready"), A, A, Decision("update", 1)),
        (("hash", "raw"), None, A, Decision("update", 1)),
        (("hash", "ready"), A, B, Decision("unchanged", 1, 2, "native_id")),
        (("other", "ready"), A, B, Decision("update", 1, 2, "native_id")),
        (("hash", "ready"), None, Stored(3, None, ""), Decision("update", 3)),
    ],
)
def test_the_sources_id_wins_and_the_row_of_the_url_becomes_a_duplicate(
    found: tuple[str, str], by_native: Stored | None, by_url: Stored | None, decision: Decision
) -> None:
    assert decide(*found, by_native, by_url) == decision
