"""``save_ways COUNT FIRST``: saves COUNT articles in batches and COUNT one by one; FIRST (batches, single) begins.

Prints the seconds of both ways. They take turns batch by batch in one database, so what disturbs one disturbs the other.
"""

from __future__ import annotations

import json
import sys
import time

import django

from deploy.bench.children import articles


def main(count: int, first: str) -> None:
    django.setup()
    from articles.store import save_batch

    target = articles.target()
    for batch in articles.batches(target, 0, articles.BATCH):
        save_batch(batch)  # the first statements of a process are slower; none of this is counted
    seconds = {"batches": 0.0, "single": 0.0}
    ways = sorted(seconds, reverse=first == "single")
    streams = {"batches": articles.batches(target, 1_000_000, count), "single": articles.batches(target, 2_000_000, count)}
    for _ in range(count // articles.BATCH):
        for way in ways:
            batch = next(streams[way])
            parts = [batch] if way == "batches" else [[one] for one in batch]
            started = time.perf_counter()
            outcomes = [outcome for part in parts for outcome in save_batch(part)]
            seconds[way] += time.perf_counter() - started
            if any(outcome.kind != "inserted" for outcome in outcomes):
                raise SystemExit(f"not inserted: {outcomes}")
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
