"""Traces for OpenTelemetry: spans of requests, of commits and of replays.

Off by default. With the setting `tracing`, spans go to the collector that the usual variables name
(`OTEL_EXPORTER_OTLP_ENDPOINT` and others). A span has the route of a request, never its path, so no
ids of players or matches leave the service.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from equipoise.errors import InvalidParameterError
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanContext

#: Seconds that sending the last spans may take when the service stops.
_LAST = 5.0
_PREFIX = "equipoise."
#: Headers of W3C Trace Context, through which a client's trace continues here.
_TRACE_HEADERS = (b"traceparent", b"tracestate")


def check_installed() -> None:
    """Check that the libraries for traces are installed. Raises : InvalidParameterError."""
    needed = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
    try:
        found = all(find_spec(name) is not None for name in needed)
    except ModuleNotFoundError:
        found = False
    if not found:
        raise InvalidParameterError(f"tracing needs more libraries: {how_to_install('tracing')}")


def otlp_exporter() -> SpanExporter:
    """Return the exporter that the environment describes."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class Tracing:
    """The spans of one process, sent in batches by a thread of the library."""

    def __init__(self, exporter: SpanExporter) -> None:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        ours = {SERVICE_NAME: "equipoise", "service.version": version("equipoise")}
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say more, or something else.
        resource = Resource(ours).merge(_of_environment())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
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
    def request(self, scope: Scope) -> Iterator[Span]:
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
        ) as span:
            yield span

    @contextmanager
    def work(
        self, name: str, causes: Sequence[SpanContext], attributes: dict[str, Any]
    ) -> Iterator[None]:
        """Make a span of work in a thread, linked to the requests that caused it."""
        from opentelemetry.trace import Link

        links = [Link(one) for one in causes if one.is_valid]
        named = {_PREFIX + key: value for key, value in attributes.items()}
        with self._tracer.start_as_current_span(name, links=links, attributes=named):
            yield

    def describe_work(self, causes: Sequence[SpanContext], attributes: dict[str, Any]) -> None:
        """Add to the span of the work under way more requests that caused it, and attributes."""
        from opentelemetry.trace import get_current_span

        span = get_current_span()
        for one in causes:
            if one.is_valid:
                span.add_link(one)
        for key, value in attributes.items():
            span.set_attribute(_PREFIX + key, value)

    def current(self) -> SpanContext:
        """Return what a span of other work is linked to: the span of the request."""
        from opentelemetry.trace import get_current_span

        return get_current_span().get_span_context()


def span(
    tracing: Tracing | None, name: str, causes: Sequence[Any] = (), **attributes: Any
) -> AbstractContextManager[None]:
    """Make a span of work in a thread, if there are traces."""
    return nullcontext() if tracing is None else tracing.work(name, causes, attributes)


class TracingMiddleware:
    """The layer around all others: a span for each request."""

    def __init__(self, app: ASGIApp, tracing: Tracing) -> None:
        self._app, self._tracing = app, tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application within a span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._tracing.request(scope) as current:
            try:
                await self._app(scope, receive, seen)
            finally:
                _describe(current, scope, status)


def _describe(current: Span, scope: Scope, status: int) -> None:
    """Add to the span of a request what is known once it was answered."""
    from opentelemetry.trace import StatusCode

    route = scope.get("equipoise.route") or getattr(scope.get("route"), "path_format", None)
    if route is not None:
        current.update_name(f"{scope['method'][:10]} {route}")
        current.set_attribute("http.route", route)
    if status:
        current.set_attribute("http.response.status_code", status)
    if status >= 500:
        current.set_status(StatusCode.ERROR)
    if "equipoise.request" in scope:
        current.set_attribute("equipoise.request", scope["equipoise.request"])
    if "equipoise.key" in scope:
        current.set_attribute("equipoise.key", scope["equipoise.key"])


def _of_environment() -> Any:
    from opentelemetry.sdk.resources import OTELResourceDetector

    return OTELResourceDetector().detect()
