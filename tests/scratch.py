"""A database of its own for one test: for what cannot happen inside the rolled-back transaction of a test.

Migrations backwards, optimiser plans over many rows, and foreign keys that SQLite checks at COMMIT only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.db.utils import ConnectionHandler


@contextmanager
def scratch_database(blocker: Any, folder: Path) -> Iterator[None]:
    """Inside, the default connection is a freshly migrated database in autocommit; afterwards it is dropped.

    ``blocker``: pytest-django's ``django_db_blocker``. ``folder``: where a SQLite file goes.
    """
    usual = connections["default"]
    usual_name = usual.settings_dict["NAME"]
    settings = deepcopy(usual.settings_dict)
    name = str(folder / "scratch.sqlite3") if usual.vendor == "sqlite" else f"{usual_name}_scratch"
    settings["TEST"] = {**settings["TEST"], "NAME": name}
    if usual.vendor == "sqlite":
        settings["NAME"] = name
    with blocker.unblock():
        scratch = ConnectionHandler({"default": settings})["default"]
        connections["default"] = scratch
        ContentType.objects.clear_cache()  # its ids are those of one database
        try:
            scratch.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            yield
        finally:
            scratch.creation.destroy_test_db(usual_name, verbosity=0)
            scratch.close()
            connections["default"] = usual
            ContentType.objects.clear_cache()
