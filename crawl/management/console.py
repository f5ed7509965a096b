"""The console of a command: as wide as the terminal, 120 columns where there is none."""

from __future__ import annotations

from typing import TextIO, cast

from django.core.management.base import OutputWrapper
from rich.console import Console


def console_of(stdout: OutputWrapper, width: int = 120) -> Console:
    return Console(file=cast("TextIO", stdout), width=None if stdout.isatty() else width)
