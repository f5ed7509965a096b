"""Column types that every table shares: identity text, SHA-256 digests and JSON that every database takes."""

from __future__ import annotations

import json
from typing import Any

from django.db import models

REPLACEMENT = "\ufffd"


def storable(text: str) -> str:
    """``text`` without what MariaDB or SQLite refuses or cuts: lone surrogates become U+FFFD, NUL goes."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\x00", "")


class IdentityField(models.CharField):
    """Text that identifies a row: compared byte by byte, blanks at both ends stripped on input.

    Under the ``_ci`` collation of the database ``A`` equals ``a`` and all emoji are equal, also in unique keys; so on MySQL and
    MariaDB the column is ``utf8mb4_bin``. SQLite compares bytes anyway.
    """

    def db_parameters(self, connection: Any) -> dict[str, Any]:
        parameters = super().db_parameters(connection)
        if connection.vendor == "mysql":
            parameters["collation"] = "utf8mb4_bin"
        return parameters

    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        return value.strip() if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return value.strip() if isinstance(value, str) else value


class SeedIndex(models.Index):
    """An index whose name the seed gives: Django stops at 30 characters for Oracle's sake, MySQL takes 64."""

    max_name_length = 64


class HashField(IdentityField):
    """A hex SHA-256 digest, CHAR(64) as in the seed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["max_length"] = 64
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["max_length"]
        return name, path, args, kwargs

    def db_type(self, connection: Any) -> str:
        return "char(64)"


class StrictJSONEncoder(json.JSONEncoder):
    """JSON as MariaDB accepts it and SQL can search it: no NaN, Chinese kept as characters."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.update(allow_nan=False, ensure_ascii=False)
        super().__init__(**kwargs)

    def encode(self, o: Any) -> str:
        return storable(super().encode(o))


class JSONField(models.JSONField):
    """``models.JSONField`` with the one encoder of the project. Raises ValueError for NaN and infinities."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["encoder"] = StrictJSONEncoder
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("encoder", None)
        return name, path, args, kwargs
