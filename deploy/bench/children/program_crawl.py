"""``program_crawl SCALE``: orders crawls of that part of the targets and works until all are done. Only the work is timed."""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import redirect_stdout

import django
from django.core.management import call_command


def main(scale: float) -> None:
    django.setup()
    from crawl.models import CrawlJob
    from crawl.slices import run_slice
    from sources.models import CrawlTarget

    with redirect_stdout(sys.stderr):
        call_command("import_departments", "deploy/demo/departments.csv")
        call_command("sync_sites")
        codes = sorted(CrawlTarget.objects.values_list("target_code", flat=True))
        call_command("enqueue", *codes[: math.ceil(scale * len(codes))])
        started, processor = time.perf_counter(), time.process_time()
        while CrawlJob.objects.filter(status__in=[CrawlJob.Status.QUEUED, CrawlJob.Status.RUNNING]).exists():
            if not run_slice():
                raise SystemExit(f"jobs wait: {list(CrawlJob.objects.values_list('target_code', 'status', 'error_msg'))}")
        seconds, processor = time.perf_counter() - started, time.process_time() - processor
    undone = CrawlJob.objects.exclude(status=CrawlJob.Status.DONE)
    if undone.exists():
        raise SystemExit(f"jobs are not done: {list(undone.values_list('target_code', 'status', 'error_msg'))}")
    print(json.dumps({"seconds": seconds, "cpu": processor}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
