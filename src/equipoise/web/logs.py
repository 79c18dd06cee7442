"""The log of the service: a line of JSON an event, on standard error.

What users sent is escaped where a terminal would obey it.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import msgspec

from equipoise.wording import printable_json

#: Attribute of a record that holds its further fields.
FIELDS = "equipoise"
access_log = logging.getLogger("equipoise.access")
_encoder = msgspec.json.Encoder()


class JsonFormatter(logging.Formatter):
    """Records as JSON objects: time, level, logger, message, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told.update(getattr(record, FIELDS, {}))
        if record.exc_info and record.exc_info[0] is not None:
            told["exception"] = "".join(traceback.format_exception(*record.exc_info))
        # Half of a surrogate pair is no UTF-8; it must not cost us the line.
        return printable_json(str(_encoder.encode(_writable(told)), "utf-8"))


def _writable(told: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for name, value in told.items()
    }


def configure_logs(level: str) -> None:
    """Write what this package and the server log as JSON on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("equipoise", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    # The access log of the server is ours.
    logging.getLogger("uvicorn.access").disabled = True


def log_answer(fields: dict[str, Any], status: int) -> None:
    """Log that a request was answered: as a warning where the fault is ours."""
    level = logging.WARNING if status >= 500 else logging.INFO
    if access_log.isEnabledFor(level):
        # Made by hand, as the logger would first look up who calls it.
        record = logging.LogRecord(access_log.name, level, "", 0, "answered", None, None)
        setattr(record, FIELDS, fields)
        access_log.handle(record)
