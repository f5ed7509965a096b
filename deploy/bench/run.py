"""``make bench``: measures the program here, prints medians and ratios, and fails when a ratio misses its goal.

Everything works on databases and folders of its own, gone at the end. Status 0: every goal is met. 1: a ratio misses its goal.
2: wrong arguments, or something could not be measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

if __package__ in (None, ""):
    # Started as a script: the package is found from the root of the repository.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deploy.bench import crawl, feed, save
from deploy.bench.figures import Report
from deploy.bench.places import BenchFailed, Place, place

BENCHMARKS: dict[str, Callable[[Place, int, float], Report]] = {
    "crawl": crawl.benchmark,
    "save": save.benchmark,
    "feed": feed.benchmark,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    names = options.names or list(BENCHMARKS)
    met = True
    try:
        for name in names:
            with place(options.database) as here:
                report = BENCHMARKS[name](here, options.rounds, options.scale)
            print(report.text(), end="\n\n", flush=True)
            met = met and report.met
    except BenchFailed as error:
        print(f"bench failed: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0 if met else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("names", nargs="*", type=benchmark, metavar="NAME", help=f"{', '.join(BENCHMARKS)}; none: all of them")
    made.add_argument("--rounds", type=rounds, default=5, help="how often everything is measured (5)")
    made.add_argument("--scale", type=scale, default=1.0, help="above 0 to 1: less work for a quick look; goals are for 1 (1)")
    made.add_argument(
        "--database", type=server, metavar="URL", help="mysql://USER:PASSWORD@HOST:PORT of a user who may create databases"
    )
    return made


def benchmark(text: str) -> str:
    if text not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"{text!r}: there are {', '.join(BENCHMARKS)}")
    return text


def rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from 1")
    return int(text)


def scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number above 0, at most 1")
    return value


def server(text: str) -> str:
    try:
        url = urlsplit(text)
        usable = url.scheme == "mysql" and bool(url.hostname) and url.port != 0  # a port that is no number raises ValueError
    except ValueError:
        usable = False
    if not usable:
        raise argparse.ArgumentTypeError(f"{text!r}: give mysql://USER:PASSWORD@HOST:PORT, or leave it out for SQLite")
    return text


if __name__ == "__main__":
    sys.exit(main())
