"""Crawl: the program on the demo site, against a bare loop that fetches the same URLs.

The program does what it does when deployed: robots.txt before each host, one request a host at a time, raw pages, texts and
files synced to disk before the row that names them, log, revisions, checkpoints, jobs taken from the queue. The bare loop is
the least anybody could write: httpx, lxml for the title, one committed row a page, a thread for each of the three hosts. It
parses, archives and survives nothing, so the ratio is the price of all that; politeness keeps every real crawl far below.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.bench.figures import Goal, Report, judge
from deploy.bench.places import ROOT, BenchFailed, Place
from deploy.demo.run import SITE_FILES, WRITTEN_PORTS

# Measured on two busy cores: 0.08 of the bare loop's pages/s (0.07-0.11) and 11 times its CPU (8-14) on SQLite, 0.13 and 8.4 on
# MariaDB. Half the speed and one and a half times the CPU are the limits: beyond them something was lost, not disturbed.
SPEED = Goal("pages/s, program / bare loop", "at least", 0.04)
PROCESSOR = Goal("CPU a page, program / bare loop", "at most", 17)


def benchmark(place: Place, rounds: int, scale: float) -> Report:
    """``scale`` is the part of the demo site's 11 targets that are crawled, at least one."""
    with demo_site(place) as (hosts, log):
        write_sites(place, hosts)
        requests = crawled(place, hosts, log, scale)[1]  # warms up, and tells the bare loop what to fetch
        program, bare = [], []
        for _ in range(rounds):
            figures, asked = crawled(place, hosts, log, scale)
            if sorted(asked) != sorted(requests):
                raise BenchFailed(f"the rounds differ: {len(requests)} requests in the first crawl, {len(asked)} in this one")
            program.append(figures)
            with place.database(migrated=False) as database:
                bare.append(place.child("bare_crawl", database, given=requests))
    pages = len(requests)
    report = Report(
        f"crawl: {pages} pages and files of three hosts, {place.kind}, rounds: {rounds}", ["pages/s", "CPU ms a page"]
    )
    for name, runs in (("program", program), ("bare loop", bare)):
        report.rows.append((name, [[pages / run["seconds"] for run in runs], [1000 * run["cpu"] / pages for run in runs]]))
    report.judgements = [
        judge(SPEED, [run["seconds"] for run in bare], [run["seconds"] for run in program]),
        judge(PROCESSOR, [run["cpu"] for run in program], [run["cpu"] for run in bare]),
    ]
    return report


def crawled(place: Place, hosts: list[str], log: Path, scale: float) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """One crawl into an empty store: its figures and, from the site's own log, what it asked for (method and URL)."""
    shutil.rmtree(place.folder / "content", ignore_errors=True)
    before = len(log.read_text().splitlines())
    allowed = ",".join(url.removeprefix("http://") for url in hosts)
    with place.database() as database:
        figures = place.child("program_crawl", database, str(scale), CRAWL_ALLOW_ADDRESSES=allowed)
    entries = [json.loads(line) for line in log.read_text().splitlines()[before:]]
    return figures, [(entry["method"], f"http://{entry['host']}{entry['path']}") for entry in entries]


@contextmanager
def demo_site(place: Place) -> Iterator[tuple[list[str], Path]]:
    """The bundled site in a process of its own: base URLs of its hosts, and its access log."""
    log = place.folder / "access.jsonl"
    command = [sys.executable, "-m", "deploy.bench.children.site", str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as site:
        try:
            assert site.stdout is not None, "it is a pipe"
            line = site.stdout.readline()
            if not line:
                raise BenchFailed(f"the demo site did not start: status {site.wait()}")
            yield json.loads(line)["hosts"], log
        finally:
            site.terminate()


def write_sites(place: Place, hosts: list[str]) -> None:
    """The demo's site files with the real ports, enabled."""
    folder = place.folder / "sites"
    folder.mkdir()
    for name in SITE_FILES:
        text = (ROOT / "deploy" / "demo" / "sites" / f"{name}.yaml").read_text(encoding="utf-8")
        for port, url in zip(WRITTEN_PORTS, hosts, strict=True):
            text = text.replace(f"127.0.0.1:{port}", url.removeprefix("http://"))
        (folder / f"{name}.yaml").write_text(text.replace("\nenabled: false\n", "\nenabled: true\n"), encoding="utf-8")
