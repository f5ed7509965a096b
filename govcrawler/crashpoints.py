"""Named places where a test may kill the process: proof that a crash at any of them loses and doubles nothing.

``GOVCRAWLER_CRASHPOINT=name:n`` kills with SIGKILL at the n-th hit of ``name``; without it a point costs one comparison.
"""

from __future__ import annotations

import os
import signal

NAMES = (
    "job.after_claim",
    "fetch.after_response",
    "raw.before_put",
    "raw.after_put",
    "file.before_link",
    "file.after_put",
    "save.in_transaction",
    "save.after_commit",
    "page.after_checkpoint",
    "run.before_finish",
)

_wanted, _, _nth = os.environ.get("GOVCRAWLER_CRASHPOINT", "").partition(":")
_left = int(_nth or 1)


def crashpoint(name: str) -> None:
    """Dies here if the environment says so."""
    global _left
    if name != _wanted:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
