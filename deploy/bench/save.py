"""Save: ``articles.store.save_batch`` with 50 articles a transaction against one, and a full database against an empty one."""

from __future__ import annotations

from deploy.bench.figures import Goal, Report, judge
from deploy.bench.places import Place

ARTICLES = 2_000
ROWS = 10_000
WINDOW = 500
BATCH = 50

# Measured: batches are 4.8 times as fast on SQLite and 6 times on MariaDB; late rows cost what early ones do (0.8-1.1).
BATCHED = Goal("articles/s, batches / one by one", "at least", 2.0)
GROWTH = Goal(f"time a batch, last {WINDOW} of {ROWS:,} rows / first {WINDOW}", "at most", 1.3)


def benchmark(place: Place, rounds: int, scale: float) -> Report:
    """``scale`` makes every number of articles smaller, for a quick look; the goals are for 1.

    For the growth one database is filled once, up to its last rows; it keeps those of each round, so later rounds are harder.
    """
    articles, rows, window = (max(round(count * scale / BATCH), 1) * BATCH for count in (ARTICLES, ROWS, WINDOW))
    ways, growth = [], []
    with place.database() as full:
        place.child("fill", full, str(rows - window), "0", str(BATCH))
        for turn in range(rounds):
            with place.database() as database:
                ways.append(place.child("save_ways", database, str(articles), "batches" if turn % 2 == 0 else "single"))
            with place.database() as empty:
                growth.append(place.child("save_growth", full, empty, str((turn + 1) * 1_000_000), str(window)))
    report = Report(f"save: {articles:,} articles each way; {place.kind}, rounds: {rounds}", ["articles/s"])
    for name, rates in (
        (f"in batches of {BATCH}", [articles / run["batches"] for run in ways]),
        ("one by one", [articles / run["single"] for run in ways]),
        (f"first {window} of {rows:,} rows", [BATCH / run["early"] for run in growth]),
        (f"last {window} of {rows:,} rows", [BATCH / run["late"] for run in growth]),
    ):
        report.rows.append((name, [rates]))
    report.judgements = [
        judge(BATCHED, [run["single"] for run in ways], [run["batches"] for run in ways]),
        judge(GROWTH, [run["late"] for run in growth], [run["early"] for run in growth]),
    ]
    return report
