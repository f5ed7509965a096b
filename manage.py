#!/usr/bin/env python3
"""Management commands. A setting or database that is missing ends with one message and status 2."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "govcrawler.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        print(f"configuration error: {error}", file=sys.stderr)
        sys.exit(2)
    except OperationalError as error:
        detail = error.args[-1] if error.args else error
        print(f"database error: {detail}. Check DATABASE_URL and that the server runs; nothing was changed.", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
