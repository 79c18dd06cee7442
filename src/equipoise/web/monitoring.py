"""Monitoring: the log of the service as lines of JSON, and its metrics for Prometheus.

Text from users is escaped in the log, so that a terminal does not obey it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from equipoise.wording import printable_json

#: Attribute of a log record that holds its further fields.
FIELDS = "equipoise"
access_log = logging.getLogger("equipoise.access")
_encoder = msgspec.json.Encoder()

MEDIA_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REPLAY_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_MATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class JsonFormatter(logging.Formatter):
    """Formats records as JSON objects: time, level, logger, message and the further fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        fields: dict[str, Any] = {
            "time": _utc(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = "".join(traceback.format_exception(*record.exc_info))
        try:
            content = _encoder.encode(fields)
        except UnicodeEncodeError:
            # Half of a surrogate pair is not UTF-8. The line must be written anyway.
            content = _encoder.encode(_writable(fields))
        return printable_json(str(content, "utf-8"))


def _utc(seconds: float) -> str:
    """Return seconds since 1970 as text in UTC, to the millisecond."""
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{micro // 1000:03}+00:00"


@lru_cache(maxsize=4)
def _second(whole: int) -> str:
    """Return a whole second as text; cached, as most lines of a log share it with the last."""
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _writable(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for name, value in fields.items()
    }


class JsonHandler(logging.Handler):
    """Writes each record to a stream as a line of JSON, without delay."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._format = JsonFormatter().format
        self._one_by_one = threading.RLock()

    def handle(self, record: logging.LogRecord) -> bool:
        """Write a record; there are no filters."""
        with self._one_by_one:
            self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self._stream.write(self._format(record) + "\n")
            self._stream.flush()
        except Exception:  # noqa: BLE001 - as in all handlers: a log that fails stops no request
            self.handleError(record)


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Write the logs of this package and of the server as JSON, to standard error by default."""
    handler = JsonHandler(stream or sys.stderr)
    for name in ("equipoise", "uvicorn", "opentelemetry"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    # We write an access log of our own.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Return False for the traceback of a request that was cancelled when the service stops.

    One line of the server has said how many there are, and each has its line as an answer.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def log_answer(fields: dict[str, Any], status: int) -> None:
    """Log that a request was answered, as a warning if the service failed."""
    level = logging.WARNING if status >= 500 else logging.INFO
    if access_log.isEnabledFor(level):
        # The logger would look up its caller, and the class of records its thread and process.
        # All answers are sent from one thread, so a record of the same kind is copied instead.
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
    """Return the attributes that all records of answers share."""
    return vars(logging.LogRecord(access_log.name, level, "", 0, "answered", None, None))


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: Any = {"namespace": "equipoise", "registry": self._registry}
        self._requests = Counter(
            "requests", "Requests by method, route and status", ["method", "route", "status"], **own
        )
        self._seconds = Histogram(
            "request_seconds", "Time of a request by route", ["route"], buckets=_SECONDS, **own
        )
        self._matches = Counter("matches", "Posted matches by outcome: new or known", ["as"], **own)
        self.refused = Counter("refused_posts", "Posts that broke a rule", **own)
        self.queue = Gauge(
            "queued_matches",
            "Matches that wait for the writer: alert if this stays high",
            **own,
        )
        self.batch = Histogram("batch_matches", "Matches per commit", buckets=_MATCHES, **own)
        self.commit = Histogram(
            "commit_seconds", "Time of a commit, which depends on the disk", buckets=_SECONDS, **own
        )
        self.replay = Histogram(
            "replay_seconds", "Time of a completed replay", buckets=_REPLAY_SECONDS, **own
        )
        sent = Counter(
            "webhook_posts", "Webhook messages by outcome: delivered or failed", ["as"], **own
        )
        self.delivered, self.undelivered = sent.labels("delivered"), sent.labels("failed")
        self.failures = Counter("replay_failures", "Failed replays: alert if this grows", **own)
        self.pending = Gauge(
            "pending_pools",
            "Pools that wait for a replay",
            **own,
        )
        self.calculation_memory = Gauge(
            "calculation_memory_bytes",
            "Resident memory of the largest process for calculations",
            **own,
        )
        self._new = self._matches.labels("new")
        self._known = self._matches.labels("known")
        #: Method, route and status -> functions that count an answer and observe its seconds.
        self._answers: dict[
            tuple[str, str, int], tuple[Callable[[], None], Callable[[float], None]]
        ] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the path with its variable parts in braces."""
        found = self._answers.get((method, route, status))
        if found is None:
            counter = self._requests.labels(method, route, str(status))
            found = self._answers[method, route, status] = (
                counter.inc,
                self._seconds.labels(route).observe,
            )
        count, observe = found
        count()
        observe(seconds)

    def posted(self, new: int, known: int) -> None:
        """Count matches that were recorded now, and those that were known already."""
        if new:
            self._new.inc(new)
        if known:
            self._known.inc(known)

    def page(self) -> bytes:
        """Return all metrics as text for Prometheus."""
        return generate_latest(self._registry)
