"""Metrics, log lines and traces of the service.

Text from users is escaped in the log, so that a terminal does not obey it.

Off by default. With the setting `tracing`, spans go to the collector that the usual variables name
(`OTEL_EXPORTER_OTLP_ENDPOINT` and others). A span has the route of a request, never its path, so no
ids of players or matches leave the service.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.types import Scope

from equipoise.errors import InvalidParameterError
from equipoise.wording import how_to_install, printable_json

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import SpanContext


#: Attribute of a log record that holds its further fields.
FIELDS = "equipoise"
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
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
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


def _writable(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for name, value in fields.items()
    }


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Write the logs of this package and of the server as JSON, to standard error by default."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    for name in ("equipoise", "uvicorn", "opentelemetry"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    # No line has these, and finding them takes as long as writing a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # We write an access log of our own.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Return False for the traceback of a request that was cancelled when the service stops.

    One line of the server has said how many there are, and each has its line as an answer.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class Metrics:
    """The metrics of one application; routes are paths with their variable parts in braces."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: Any = {"namespace": "equipoise", "registry": self._registry}
        self.requests = Counter(
            "requests", "Requests by method, route and status", ["method", "route", "status"], **own
        )
        self.seconds = Histogram(
            "request_seconds", "Time of a request by route", ["route"], buckets=_SECONDS, **own
        )
        matches = Counter("matches", "Posted matches by outcome: new or known", ["as"], **own)
        self.new, self.known = matches.labels("new"), matches.labels("known")
        self.refused = Counter("refused_posts", "Posts that broke a rule", **own)
        self.queue = Gauge(
            "queued_matches", "Matches that wait for the writer: alert if this stays high", **own
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
        self.pending = Gauge("pending_pools", "Pools that wait for a replay", **own)
        self.calculation_memory = Gauge(
            "calculation_memory_bytes",
            "Resident memory of the largest process for calculations",
            **own,
        )

        # Looking a child up by its labels takes longer than counting.
        self._counter = lru_cache(1_000)(self.requests.labels)
        self._histogram = lru_cache(1_000)(self.seconds.labels)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._counter(method, route, status).inc()
        self._histogram(route).observe(seconds)

    def page(self) -> bytes:
        """Return all metrics as text for Prometheus."""
        return generate_latest(self._registry)


#: Seconds that sending the last spans may take when the service stops.
_LAST = 5.0
_PREFIX = "equipoise."
#: Route under which unknown paths are counted.
NO_ROUTE = "(none)"
#: Headers of W3C Trace Context, through which a client's trace continues here.
_TRACE_HEADERS = (b"traceparent", b"tracestate")


def check_installed() -> None:
    """Check that the libraries for traces are installed. Raises : InvalidParameterError."""
    needed = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
    try:
        installed = all(find_spec(name) is not None for name in needed)
    except ModuleNotFoundError:
        installed = False
    if not installed:
        raise InvalidParameterError(f"tracing needs more libraries: {how_to_install('tracing')}")


def otlp_exporter() -> SpanExporter:
    """Return the exporter that the environment describes."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class Tracing:
    """The spans of one process, sent in batches by a thread of the library."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        ours = {SERVICE_NAME: "equipoise", "service.version": version("equipoise")}
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say more, or something else.
        resource = Resource(ours).merge(_of_environment())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or otlp_exporter()))
        self._tracer = self._provider.get_tracer("equipoise", version("equipoise"))
        self._propagator = TraceContextTextMapPropagator()

    def flush(self) -> None:
        """Send what has not been sent yet."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send the last spans, but do not wait for a collector that does not answer."""
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(_LAST)

    @contextmanager
    def request(self, scope: Scope) -> Iterator[None]:
        """Make a span of a request, which continues the trace that its headers name."""
        from opentelemetry.trace import SpanKind

        carrier = {
            str(name, "latin-1"): str(value, "latin-1")
            for name, value in scope["headers"]
            if name in _TRACE_HEADERS
        }
        context = self._propagator.extract(carrier)
        method = scope["method"] if scope["method"].isalpha() else "?"
        with self._tracer.start_as_current_span(
            method[:10],
            context,
            SpanKind.SERVER,
            {"http.request.method": method[:10], "url.scheme": scope.get("scheme", "http")},
        ):
            yield

    def describe_request(self, answered: dict[str, Any]) -> None:
        """Add to the span of a request what its line of the log has: route, status, id and key."""
        from opentelemetry.trace import StatusCode, get_current_span

        current, route, status = get_current_span(), answered["route"], answered["status"]
        if route != NO_ROUTE:
            current.update_name(f"{answered['method']} {route}")
            current.set_attribute("http.route", route)
        current.set_attribute("http.response.status_code", status)
        if status >= 500:
            current.set_status(StatusCode.ERROR)
        for name in ("request", "key"):
            if name in answered:
                current.set_attribute(_PREFIX + name, answered[name])

    @contextmanager
    def work(
        self, name: str, causes: Sequence[SpanContext] = (), **attributes: Any
    ) -> Iterator[None]:
        """Make a span of work in a thread, linked to the requests that caused it."""
        from opentelemetry.trace import Link

        links = [Link(cause) for cause in causes if cause.is_valid]
        named = {_PREFIX + key: value for key, value in attributes.items()}
        with self._tracer.start_as_current_span(name, links=links, attributes=named):
            yield

    def describe_work(self, causes: Sequence[SpanContext], attributes: dict[str, Any]) -> None:
        """Add to the span of the work under way more requests that caused it, and attributes."""
        from opentelemetry.trace import get_current_span

        span = get_current_span()
        for cause in causes:
            if cause.is_valid:
                span.add_link(cause)
        for key, value in attributes.items():
            span.set_attribute(_PREFIX + key, value)

    def current(self) -> SpanContext:
        """Return what a span of other work is linked to: the span of the request."""
        from opentelemetry.trace import get_current_span

        return get_current_span().get_span_context()


def _of_environment() -> Any:
    from opentelemetry.sdk.resources import OTELResourceDetector

    return OTELResourceDetector().detect()
