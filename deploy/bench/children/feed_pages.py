"""``feed_pages REVISIONS PAGE``: claims and acknowledges the last REVISIONS, and prints the median seconds of both a page.

What an earlier round did to them is undone first, so every round finds the same.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import django


def main(revisions: int, page: int) -> None:
    django.setup()
    from articles import export

    undo(revisions)
    export.claim("warm-up", page, 600)  # the first statements of a process are slower
    claims, acks = [], []
    for _ in range(revisions // page):
        started = time.perf_counter()
        claim = export.claim(export.MAIN_CONSUMER, page, 600)
        claimed = time.perf_counter()
        results = export.ack(export.MAIN_CONSUMER, [export.Ack(item.article_id, item.revision, "done") for item in claim.items])
        acks.append(time.perf_counter() - claimed)
        claims.append(claimed - started)
        if [result.code for result in results] != ["acked"] * page:
            raise SystemExit(f"a page of {page} revisions was not handed out and taken: {results}")
    undo_others("warm-up")
    print(json.dumps({"claim": statistics.median(claims), "ack": statistics.median(acks)}))


def undo(revisions: int) -> None:
    """The consumer's place is before the last ``revisions`` again, and it knows nothing of them."""
    from articles.export import MAIN_CONSUMER
    from articles.models import Article, ConsumerCursor, ConsumerState

    rows = list(Article.objects.order_by("-change_seq").values_list("pk", "change_seq")[:revisions])
    ConsumerState.objects.filter(consumer=MAIN_CONSUMER, article__in=[pk for pk, _ in rows]).delete()
    ConsumerCursor.objects.update_or_create(consumer=MAIN_CONSUMER, defaults={"position": rows[-1][1] - 1})


def undo_others(consumer: str) -> None:
    from articles.models import ConsumerCursor, ConsumerState

    ConsumerState.objects.filter(consumer=consumer).delete()
    ConsumerCursor.objects.filter(consumer=consumer).delete()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
