"""What every request passes first and every answer last: its id, headers, log line, metrics.

Each request pays for every call here, so there are few (benchmarks/request_cost.py).

The log of the service: a line of JSON an event, on standard error.

What users sent is escaped where a terminal would obey it.

Counts and durations of the service, as Prometheus reads them; of all its processes together.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import count
from typing import Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from equipoise.web.http.errors import InternalError, error_response
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


#: Names a folder that all processes share; read by the library when it is imported.
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
MEDIA_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REPLAY_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_MATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: Any = {"namespace": "equipoise", "registry": self._registry}
        self._requests = Counter(
            "requests", "Requests answered", ["method", "route", "status"], **own
        )
        self._seconds = Histogram(
            "request_seconds", "Time to answer", ["route"], buckets=_SECONDS, **own
        )
        self._matches = Counter("matches", "Matches posted, by what became of them", ["as"], **own)
        self.refused = Counter("refused_posts", "Posts of matches that were refused", **own)
        self.queue = Gauge(
            "queued_matches",
            "Matches that wait for the writer",
            multiprocess_mode="livesum",
            **own,
        )
        self.batch = Histogram("batch_matches", "Matches a commit", buckets=_MATCHES, **own)
        self.commit = Histogram("commit_seconds", "Time of a commit", buckets=_SECONDS, **own)
        self.replay = Histogram(
            "replay_seconds", "Time of a replay that was swapped in", buckets=_REPLAY_SECONDS, **own
        )
        sent = Counter("webhook_posts", "Posts to webhooks, by what became of them", ["as"], **own)
        self.delivered, self.undelivered = sent.labels("delivered"), sent.labels("failed")
        self.failures = Counter("replay_failures", "Replays that failed", **own)
        self.pending = Gauge(
            "pending_pools",
            "Pools that wait for a replay",
            multiprocess_mode="max",
            **own,
        )
        self._new = self._matches.labels("new")
        self._known = self._matches.labels("known")
        #: What counts the answers of a method, route and status, and what takes their seconds.
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
        """Count matches that were recorded, and those that were already."""
        if new:
            self._new.inc(new)
        if known:
            self._known.inc(known)

    def page(self) -> bytes:
        """Return all metrics as text for Prometheus."""
        if FOLDER_VARIABLE not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def close(self) -> None:
        """Take the gauges of this process out of the sums."""
        if FOLDER_VARIABLE in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


log = logging.getLogger(__name__)

#: Ids that we give: of this process, then counted, which is sooner done than a random one.
_PROCESS = secrets.token_hex(8)
_numbers = count(1)

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}$")
#: What a path that we do not have is counted as.
_NO_ROUTE = "(none)"
#: Status in log and metrics of a request whose caller went away.
_GONE = 499

#: Headers of every answer; a page may have others in their place.
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
#: Headers of answers that bring none of their own; pages have their own policy.
DEFAULT_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class RequestMiddleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and answer what nothing inside has answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        identity = scope["equipoise.request"] = _request_id(scope["headers"])
        status = 0

        def send_with_headers(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                message["headers"] = [
                    *headers,
                    *_missing(tuple([name for name, _ in headers])),
                    (b"x-request-id", identity.encode()),
                ]
            return send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            log.exception("a request failed", extra={FIELDS: {"request": identity}})
            if not status:
                problem = InternalError(f"the service failed; its log has request {identity}")
                await error_response(problem)(scope, receive, send_with_headers)
        finally:
            self._report(scope, status or _GONE, time.perf_counter() - started)

    def _report(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and log an answer."""
        route = scope.get("equipoise.route") or _page_route(scope)
        method = scope["method"][:10] if scope["method"].isalpha() else "?"
        self._metrics.answered(method, route, status, seconds)
        fields: dict[str, Any] = {
            "request": scope["equipoise.request"],
            "method": method,
            "route": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 3),
        }
        if "equipoise.key" in scope:
            fields["key"] = scope["equipoise.key"]
        log_answer(fields, status)


@lru_cache(maxsize=256)
def _missing(names: tuple[bytes, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that an answer with headers of these names still needs."""
    return tuple(one for one in (*HEADERS, *DEFAULT_HEADERS) if one[0] not in names)


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id that the caller gave, if it is a sane one, or a new one."""
    for name, value in headers:
        if name == b"x-request-id":
            if _REQUEST_ID.match(value):
                return str(value, "ascii")
            break
    return f"{_PROCESS}{next(_numbers):010x}"


def _page_route(scope: Scope) -> str:
    """Return the path of a page with its variable parts in braces."""
    return getattr(scope.get("route"), "path_format", None) or _NO_ROUTE
