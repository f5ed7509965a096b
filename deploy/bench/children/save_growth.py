"""``save_growth EMPTY FIRST COUNT``: saves COUNT articles into the database of DATABASE_URL, and as many into EMPTY.

They take turns batch by batch, so what disturbs one disturbs the other. FIRST is the number of the first article, fresh in
both. Prints the median seconds of a batch.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from copy import deepcopy

import django
import environ
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

from deploy.bench.children import articles


def main(empty: str, first: int, count: int) -> None:
    django.setup()
    from articles.store import save_batch

    places = {"late": connections["default"], "early": connection_to(empty)}
    streams, seconds = {}, {}
    for name, connection in places.items():
        connections["default"] = connection
        streams[name] = articles.batches(articles.target(), first, articles.BATCH + count)
        seconds[name] = []
        save_batch(next(streams[name]))  # the first statements of a connection are slower
    for _ in range(count // articles.BATCH):
        for name, connection in places.items():
            connections["default"] = connection
            batch = next(streams[name])
            started = time.perf_counter()
            save_batch(batch)
            seconds[name].append(time.perf_counter() - started)
    for connection in places.values():
        connection.close()
    print(json.dumps({name: statistics.median(each) for name, each in seconds.items()}))


def connection_to(url: str) -> BaseDatabaseWrapper:
    """A further connection of the same kind; ``save_batch`` writes to whichever is the default one."""
    settings = deepcopy(connections["default"].settings_dict)
    settings["NAME"] = environ.Env.db_url_config(url)["NAME"]
    return ConnectionHandler({"default": settings})["default"]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
