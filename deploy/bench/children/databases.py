"""Two databases in one process, so that what disturbs the machine for a while disturbs both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

import environ
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler


def connection_to(url: str) -> BaseDatabaseWrapper:
    """A further connection of the same kind as the default one."""
    settings = deepcopy(connections["default"].settings_dict)
    settings["NAME"] = environ.Env.db_url_config(url)["NAME"]
    return ConnectionHandler({"default": settings})["default"]


@contextmanager
def working_on(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Inside, the program's queries go to ``connection``."""
    usual = connections["default"]
    connections["default"] = connection
    try:
        yield
    finally:
        connections["default"] = usual
