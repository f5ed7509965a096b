"""Log lines: one line a record, control characters escaped, secrets masked (fault-model X4, X5)."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

SECRET = re.compile(
    r"(?i)(?P<key>(?:^|[?&;\s\"'])(?:token|key|sign|secret|password|passwd|api[_-]?key|access[_-]?token|signature)=)[^&\s\"']+"
)
BEARER = re.compile(r"(?i)\b(bearer|basic|api-key)\s+[A-Za-z0-9._~+/=-]{8,}")
USERINFO = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def masked(text: str) -> str:
    """``text`` with URL user-info, secret query values and credentials replaced by ``***``."""
    text = USERINFO.sub(r"\g<scheme>***@", text)
    text = SECRET.sub(r"\g<key>***", text)
    return BEARER.sub(r"\1 ***", text)


def one_line(text: str) -> str:
    """``text`` with control characters written as escapes."""
    return CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


class PlainFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        trace = record.exc_info
        record.exc_info, text = None, ""
        try:
            text = one_line(masked(super().format(record)))
        finally:
            record.exc_info = trace
        return text + ("\n" + masked(self.formatException(trace)) if trace else "")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, the record's ``extra`` under ``data``, and a trace."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": masked(record.getMessage()),
        }
        data = getattr(record, "data", None)
        if data:
            entry["data"] = {key: masked(str(value)) for key, value in data.items()}
        if record.exc_info:
            entry["trace"] = masked(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
