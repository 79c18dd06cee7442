"""The log of the service: a line of JSON an event, on standard error.

What users sent is escaped where a terminal would obey it.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, TextIO

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
            "time": _utc(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            told["exception"] = "".join(traceback.format_exception(*record.exc_info))
        try:
            content = _encoder.encode(told)
        except UnicodeEncodeError:
            # Half of a surrogate pair is no UTF-8; it must not cost us the line.
            content = _encoder.encode(_writable(told))
        return printable_json(str(content, "utf-8"))


def _utc(seconds: float) -> str:
    """Return a time since 1970 in milliseconds, in UTC."""
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{micro // 1000:03}+00:00"


@lru_cache(maxsize=4)
def _second(whole: int) -> str:
    """Return a whole second since 1970; most lines of a log share theirs with the line before."""
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _writable(told: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for name, value in told.items()
    }


class JsonHandler(logging.Handler):
    """Writes records to standard error as lines of JSON, each at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._format = JsonFormatter().format
        self._one_by_one = threading.RLock()

    def handle(self, record: logging.LogRecord) -> bool:
        """Write a record; there are no filters to ask."""
        with self._one_by_one:
            self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self._stream.write(self._format(record) + "\n")
            self._stream.flush()
        except Exception:  # noqa: BLE001 - as all handlers do: a log that fails stops no request
            self.handleError(record)


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Write what this package and the server log as JSON, to standard error by default."""
    handler = JsonHandler(stream or sys.stderr)
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
        # Not by the logger, which would look up who calls it, nor by the class of records, which
        # would look up its thread and process again: all answers are sent from one thread.
        record = logging.LogRecord.__new__(logging.LogRecord)
        created = time.time()
        record.__dict__ = {
            **_answered(level),
            "created": created,
            "msecs": int(created % 1 * 1000) + 0.0,
            FIELDS: fields,
        }
        access_log.handle(record)


@cache
def _answered(level: int) -> dict[str, Any]:
    """Return what all records of answers have in common."""
    return vars(logging.LogRecord(access_log.name, level, "", 0, "answered", None, None))
