"""Settings read from the environment, each refused with one clear message when it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

STRICT_SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
MYSQL_SESSION = f"SET sql_mode='{STRICT_SQL_MODE}', innodb_strict_mode=1, time_zone='+00:00', innodb_lock_wait_timeout=10"
SQLITE_SESSION = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"


def database(env: environ.Env, default_sqlite: Path) -> dict[str, Any]:
    """The ``default`` database from DATABASE_URL; SQLite under the state folder when it is not set.

    MySQL and MariaDB: utf8mb4, READ COMMITTED, strict mode, the session in UTC. SQLite: WAL, IMMEDIATE transactions, 20 s wait.
    """
    url = env.str("DATABASE_URL", default="") or f"sqlite:///{default_sqlite}"
    scheme = urlsplit(url).scheme
    if scheme not in {"sqlite", "mysql"}:
        raise ImproperlyConfigured(
            f"DATABASE_URL begins with {scheme!r}: use sqlite:///PATH or mysql://USER:PASSWORD@HOST:PORT/NAME"
        )
    config = dict(environ.Env.db_url_config(url))
    if scheme == "sqlite":
        if config["NAME"] != ":memory:":
            Path(config["NAME"]).parent.mkdir(parents=True, exist_ok=True)
        config["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": SQLITE_SESSION}
    else:
        config["OPTIONS"] = {
            "charset": "utf8mb4",
            "isolation_level": "read committed",
            "init_command": MYSQL_SESSION,
            **config.get("OPTIONS", {}),
        }
        config["CONN_MAX_AGE"] = env.int("DATABASE_CONN_MAX_AGE", default=0)
        config["CONN_HEALTH_CHECKS"] = True
        config["TEST"] = {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_unicode_ci"}
    config["ATOMIC_REQUESTS"] = False
    return config


def secret_key(env: environ.Env, debug: bool) -> str:
    """SECRET_KEY, required outside debug: it signs sessions and queue messages."""
    value = env.str("SECRET_KEY", default="")
    if value:
        return str(value)
    if debug:
        return "insecure-debug-key"
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Give it a long random value in the environment or in .env, for example "
        "`python3 -c 'import secrets; print(secrets.token_urlsafe(50))'`; DEBUG=1 runs without one"
    )


def positive(env: environ.Env, name: str, default: int, *, zero: bool = False) -> int:
    """An integer setting above zero (or from zero). Raises ImproperlyConfigured naming it."""
    text = env.str(name, default=str(default))
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < (0 if zero else 1):
        raise ImproperlyConfigured(f"{name}={text!r}: give a whole number {'from' if zero else 'above'} 0")
    return value
