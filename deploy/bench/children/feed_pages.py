"""``feed_pages SMALL REVISIONS PAGE``: claims and acknowledges the last REVISIONS of DATABASE_URL's articles and of SMALL's.

They take turns page by page. Prints the median seconds of claim and ack in both. What an earlier round did to these revisions
is undone first, so every round finds the same.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import django
from django.db import connections

from deploy.bench.children.databases import connection_to, working_on


def main(small: str, revisions: int, page: int) -> None:
    django.setup()
    from articles import export

    places = {"large": connections["default"], "small": connection_to(small)}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
    for connection in places.values():
        with working_on(connection):
            undo(revisions)
            export.claim("warm-up", page, 600)  # the first statements of a connection are slower
    for _ in range(revisions // page):
        for name, connection in places.items():
            with working_on(connection):
                seconds[name].append(one_page(page))
    places["small"].close()
    medians = {name: [statistics.median(part) for part in zip(*pages, strict=True)] for name, pages in seconds.items()}
    print(json.dumps({name: {"claim": claim, "ack": ack} for name, (claim, ack) in medians.items()}))


def one_page(page: int) -> tuple[float, float]:
    """Seconds of a claim and of its acknowledgement."""
    from articles import export

    started = time.perf_counter()
    claim = export.claim(export.MAIN_CONSUMER, page, 600)
    claimed = time.perf_counter()
    results = export.ack(export.MAIN_CONSUMER, [export.Ack(item.article_id, item.revision, "done") for item in claim.items])
    ended = time.perf_counter()
    if [result.code for result in results] != ["acked"] * page:
        raise SystemExit(f"a page of {page} revisions was not handed out and taken: {results}")
    return claimed - started, ended - claimed


def undo(revisions: int) -> None:
    """The consumer's place is before the last ``revisions`` again, it knows nothing of them, and nobody else knows anything."""
    from articles.export import MAIN_CONSUMER
    from articles.models import Article, ConsumerCursor, ConsumerState

    rows = list(Article.objects.order_by("-change_seq").values_list("pk", "change_seq")[:revisions])
    ConsumerState.objects.filter(consumer=MAIN_CONSUMER, article__in=[pk for pk, _ in rows]).delete()
    ConsumerCursor.objects.update_or_create(consumer=MAIN_CONSUMER, defaults={"position": rows[-1][1] - 1})
    for model in (ConsumerState, ConsumerCursor):
        model.objects.exclude(consumer=MAIN_CONSUMER).delete()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
