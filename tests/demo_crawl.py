"""The demo site as a source of the test's own database, and a real worker that crawls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from django.utils import timezone

from crawl.models import CrawlJob
from departments import importing
from deploy.demo.serve import DemoSite
from sources import sync

ROOT = Path(__file__).resolve().parent.parent
WRITTEN_HOSTS = ("127.0.0.1:18101", "127.0.0.1:18102", "127.0.0.1:18103")


def watch_demo(site: DemoSite, folder: Path, keep: Collection[str]) -> None:
    """Departments and the targets named in ``keep``, as `make demo` sets them up, with the site's real ports."""
    importing.run("departments.csv", (ROOT / "deploy/demo/departments.csv").read_bytes())
    folder.mkdir(exist_ok=True)
    for name in ("demo", "demo_gkmlpt", "demo_rules"):
        text = (ROOT / "deploy/demo/sites" / f"{name}.yaml").read_text(encoding="utf-8")
        for written, url in zip(WRITTEN_HOSTS, site.hosts, strict=True):
            text = text.replace(written, url.removeprefix("http://"))
        (folder / f"{name}.yaml").write_text(text.replace("\nenabled: false\n", "\nenabled: true\n"), encoding="utf-8")
    sync.sync(folder, now=timezone.now())
    from sources.models import CrawlTarget

    CrawlTarget.objects.exclude(target_code__in=keep).update(enabled=False)


def crawl_settings(site: DemoSite, content: Path, **more: str) -> dict[str, str]:
    """The environment of a worker that may reach the demo site."""
    hosts = ",".join(url.removeprefix("http://") for url in site.hosts)
    return {"CRAWL_ALLOW_ADDRESSES": hosts, "CONTENT_DIR": str(content), "LOG_JSON": "0", **more}


def manifest_of(site: DemoSite, keep: Collection[str]) -> dict[str, Any]:
    """The site's manifest, of these targets only."""
    return {**site.manifest, "targets": [target for target in site.manifest["targets"] if target["code"] in keep]}


def wait_until(what: str, condition: Callable[[], bool], seconds: float) -> None:
    """Asks again and again until ``condition`` holds; fails naming ``what`` and how the jobs stand."""
    ends, pause = monotonic() + seconds, Event()
    while not condition():
        if monotonic() > ends:
            stand = list(
                CrawlJob.objects.values("target_code", "status", "attempt_count", "current_page", "not_before", "wait_reason")
            )
            raise AssertionError(f"not within {seconds} s: {what}; jobs: {stand}")
        pause.wait(0.1)


@contextmanager
def worker(env: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real worker in a process group of its own; whatever is left of the group at the end is killed."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "worker"],
            cwd=ROOT,
            env=dict(env),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole worker: parent, sentinel, workers, at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait(10)
