"""``save_growth EMPTY FIRST COUNT``: saves COUNT articles into the database of DATABASE_URL, and as many into EMPTY.

They take turns batch by batch. FIRST is the number of the first article, fresh in both. Prints the median seconds of a batch.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import django
from django.db import connections

from deploy.bench.children import articles
from deploy.bench.children.databases import connection_to, working_on


def main(empty: str, first: int, count: int) -> None:
    django.setup()
    from articles.store import save_batch

    places = {"late": connections["default"], "early": connection_to(empty)}
    streams, seconds = {}, {}
    for name, connection in places.items():
        with working_on(connection):
            streams[name] = articles.batches(articles.target(), first, articles.BATCH + count)
            seconds[name] = []
            save_batch(next(streams[name]))  # the first statements of a connection are slower
    for _ in range(count // articles.BATCH):
        for name, connection in places.items():
            batch = next(streams[name])
            with working_on(connection):
                started = time.perf_counter()
                save_batch(batch)
                seconds[name].append(time.perf_counter() - started)
    places["early"].close()
    print(json.dumps({name: statistics.median(each) for name, each in seconds.items()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
