"""``fill ARTICLES TAKEN PAGE``: stores articles, and lets the consumer claim and acknowledge the first TAKEN in pages."""

from __future__ import annotations

import json
import sys

import django

from deploy.bench.children import articles


def main(count: int, taken: int, page: int) -> None:
    django.setup()
    from articles import export
    from articles.store import save_batch

    for batch in articles.batches(articles.target(), 0, count):
        save_batch(batch)
    for _ in range(taken // page):
        claim = export.claim(export.MAIN_CONSUMER, page, 600)
        export.ack(export.MAIN_CONSUMER, [export.Ack(item.article_id, item.revision, "done") for item in claim.items])
    print(json.dumps({}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
