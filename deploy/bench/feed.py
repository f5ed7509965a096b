"""Feed: what a consumer's page costs, claim and acknowledgement, when ten times as many articles are stored.

In both databases the last 1,000 revisions are new to the consumer, and everything before them it has already acknowledged.
"""

from __future__ import annotations

from deploy.bench.figures import Goal, Report, judge
from deploy.bench.places import Place

FEW = 1_000
MANY = 10_000
REVISIONS = 1_000
PAGE = 100

# Measured: 0.9-1.0 for both on SQLite and MariaDB. A page whose cost grows with the store would show here as a multiple.
CLAIM = Goal(f"time of a claim, {MANY:,} articles / {FEW:,}", "at most", 1.3)
ACK = Goal(f"time of an acknowledgement, {MANY:,} articles / {FEW:,}", "at most", 1.3)


def benchmark(place: Place, rounds: int, scale: float) -> Report:
    """``scale`` makes every number of articles smaller, for a quick look; the goals are for 1."""
    few, many, revisions = (max(round(count * scale / PAGE), 1) * PAGE for count in (FEW, MANY, REVISIONS))
    with place.database() as small, place.database() as large:
        for database, count in ((small, few), (large, many)):
            place.child("fill", database, str(count), str(count - revisions), str(PAGE))
        runs = [place.child("feed_pages", large, small, str(revisions), str(PAGE)) for _ in range(rounds)]
    before, after = [run["small"] for run in runs], [run["large"] for run in runs]
    report = Report(
        f"feed: {revisions:,} revisions in pages of {PAGE}, {place.kind}, rounds: {rounds}",
        ["claim, ms a page", "ack, ms a page"],
    )
    for name, figures in ((f"{few:,} articles", before), (f"{many:,} articles", after)):
        report.rows.append((name, [[1000 * run["claim"] for run in figures], [1000 * run["ack"] for run in figures]]))
    report.judgements = [
        judge(CLAIM, [run["claim"] for run in after], [run["claim"] for run in before]),
        judge(ACK, [run["ack"] for run in after], [run["ack"] for run in before]),
    ]
    return report
