"""``manage.py demo_site``: serves the bundled government site on loopback."""

from __future__ import annotations

import runpy
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Serves the bundled demo government site (three hosts on 127.0.0.1) until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--ports", default="18101,18102,18103", help="three ports, 0 for a free one")
        parser.add_argument("--crawl-delay", default="0.2", help="Crawl-delay of robots.txt, seconds; 0 leaves it out")
        parser.add_argument("--access-log", help="file for one JSON line per request")
        parser.add_argument("--manifest", help="file for the truth about the site, JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        names = {"ports": "--ports", "crawl_delay": "--crawl-delay", "access_log": "--access-log", "manifest": "--manifest"}
        argv = [part for name, flag in names.items() if options[name] is not None for part in (flag, options[name])]
        script = Path(settings.BASE_DIR) / "deploy" / "demo" / "serve.py"
        sys.argv = [str(script), *argv]
        sys.path.insert(0, str(settings.BASE_DIR))
        runpy.run_path(str(script), run_name="__main__")
