"""Named places where a test may kill the process: proof that a crash at any of them loses and doubles nothing.

``GOVCRAWLER_CRASHPOINT=name:n:marker`` kills with SIGKILL at the n-th hit of ``name``, once: the file ``marker`` is made before
and tells that the point was reached. Without the variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

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

_wanted, _nth, _marker = (os.environ.get("GOVCRAWLER_CRASHPOINT") or ":1:").split(":", 2)
_left = int(_nth)


def crashpoint(name: str) -> None:
    """Dies here if the environment says so."""
    global _left
    if name != _wanted:
        return
    _left -= 1
    if _left == 0 and not os.path.exists(_marker):
        Path(_marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
