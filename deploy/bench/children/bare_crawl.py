"""``bare_crawl``: fetches the requests on standard input (JSON: method, URL), a thread a host, one committed row a page."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from lxml import html

TABLE = "CREATE TABLE page (id INTEGER PRIMARY KEY {auto}, url TEXT, status INTEGER, title TEXT, body {bytes})"
INSERT = "INSERT INTO page (url, status, title, body) VALUES ({marks})"
# What the program's own connections say (durability must not differ).
SQLITE_SESSION = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"

Connect = Callable[[], Any]  # a connection as PEP 249 has it


def main() -> None:
    requests = json.load(sys.stdin)
    hosts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for method, url in requests:
        hosts[urlsplit(url).netloc].append((method, url))
    connect, insert = prepare(os.environ["DATABASE_URL"])
    started, processor = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(lambda one: crawl(one, connect, insert), hosts.values()))
    print(json.dumps({"seconds": time.perf_counter() - started, "cpu": time.process_time() - processor}))


def crawl(requests: Sequence[tuple[str, str]], connect: Connect, insert: str) -> None:
    """One host, one request after the other over one connection."""
    with httpx.Client(timeout=30, trust_env=False) as client, closing(connect()) as connection:
        for method, url in requests:
            response = client.request(method, url)
            title = None
            if response.content and "html" in response.headers.get("content-type", ""):
                title = html.fromstring(response.content).findtext(".//title")
            with closing(connection.cursor()) as cursor:
                cursor.execute(insert, (url, response.status_code, title, response.content))
            connection.commit()


def prepare(url: str) -> tuple[Connect, str]:
    """Makes the table; gives what connects to it, and the statement in the driver's own style."""
    if url.startswith("sqlite:"):
        connect, words = sqlite(url.removeprefix("sqlite:///")), {"auto": "", "bytes": "BLOB"}
        marks = "?, ?, ?, ?"
    else:
        connect, words = mariadb(url), {"auto": "AUTO_INCREMENT", "bytes": "LONGBLOB"}
        marks = "%s, %s, %s, %s"
    with closing(connect()) as connection:
        connection.cursor().execute(TABLE.format(**words))
        connection.commit()
    return connect, INSERT.format(marks=marks)


def sqlite(path: str) -> Connect:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=20)
        connection.executescript(SQLITE_SESSION)
        return connection

    return connect


def mariadb(text: str) -> Connect:
    import MySQLdb

    url = urlsplit(text)
    return lambda: MySQLdb.connect(
        host=url.hostname,
        port=url.port or 3306,
        user=unquote(url.username or ""),
        password=unquote(url.password or ""),
        database=url.path.strip("/"),
        charset="utf8mb4",
    )


if __name__ == "__main__":
    main()
