"""The application: requests find their endpoint; answers get headers and a line of the log.

Every request pays for every call here, so there are few.

An id may contain any character, also a slash, if it is percent-encoded: `/players/a%2Fb` is the
player `a/b`. So the path is split as it was sent and then decoded part by part. The time to find an
endpoint in the table of parts does not depend on the number of endpoints.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes

import msgspec
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.pools.pool.rules import id_fault
from equipoise.store.connection import open_store
from equipoise.web.api import ENDPOINTS
from equipoise.web.http.endpoints import (
    ApiRequest,
    Endpoint,
    decode_body,
    matches_tag,
    media_of,
    read_body,
    read_query,
    tag_of,
)
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    InternalError,
    MalformedError,
    MethodError,
    SlowRequestError,
    TimedOutError,
    UnavailableError,
    error_response,
)
from equipoise.web.monitoring import FIELDS, NO_ROUTE, Metrics, Tracing, check_installed
from equipoise.web.openapi import openapi_document
from equipoise.web.page import PAGES
from equipoise.web.page.context import PageContext, PageState
from equipoise.web.service import Service
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)
access_log = logging.getLogger("equipoise.access")


#: Our request ids are that of the process and a count, which is faster than a random id.
_PROCESS = secrets.token_hex(8)
_numbers = count(1)

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}$")
#: Status in log and metrics of a request if its client disconnected.
_GONE = 499

#: Headers of every answer, unless it has its own.
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
#: Further headers of every answer of the API; pages have their own policy.
DEFAULT_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class RequestMiddleware:
    """The outermost layer: gives a request its id, adds headers, logs and counts the answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracing: Tracing | None) -> None:
        self._app, self._metrics, self._tracing = app, metrics, tracing

    async def traced(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application in a span."""
        assert self._tracing is not None
        with self._tracing.request(scope):
            await self.plain(scope, receive, send)

    async def plain(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, and answer a request that it did not answer."""
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
        except asyncio.CancelledError:
            # The service stops, and its grace has ended.
            if not status:
                problem = TimedOutError("the service stops; the request may still be carried out")
                await error_response(problem)(scope, receive, send_with_headers)
            raise
        except Exception:
            log.exception("a request failed", extra={FIELDS: {"request": identity}})
            if not status:
                failure = InternalError(f"the service failed; its log has request {identity}")
                await error_response(failure)(scope, receive, send_with_headers)
        finally:
            self._report(scope, status or _GONE, time.perf_counter() - started)

    def _report(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and log an answer."""
        route = scope.get("equipoise.route", NO_ROUTE)
        method = scope["method"][:10] if scope["method"].isalpha() else "?"
        self._metrics.count(method, route, status, seconds)
        fields: dict[str, Any] = {
            "request": scope["equipoise.request"],
            "method": method,
            "route": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 3),
        }
        if "equipoise.key" in scope:
            fields["key"] = scope["equipoise.key"]
        level = logging.WARNING if status >= 500 else logging.INFO
        if access_log.isEnabledFor(level):
            # `log` would look for the line of the code that calls it.
            record = logging.LogRecord(access_log.name, level, "", 0, "answered", (), None)
            setattr(record, FIELDS, fields)
            access_log.handle(record)
        if self._tracing is not None:
            self._tracing.describe_request(fields)


@lru_cache(maxsize=256)
def _missing(names: tuple[bytes, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that an answer with headers of these names still needs."""
    return tuple(header for header in (*HEADERS, *DEFAULT_HEADERS) if header[0] not in names)


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id that the client sent if it is well-formed, else a new one."""
    for name, value in headers:
        if name == b"x-request-id":
            if _REQUEST_ID.match(value):
                return str(value, "ascii")
            break
    return f"{_PROCESS}{next(_numbers):010x}"


@dataclass(slots=True)
class _Node:
    """A node in the tree of paths: the fixed parts that may follow, and the variable one.

    rest : the variable part is all that follows
    """

    fixed: dict[bytes, _Node] = field(default_factory=dict)
    name: str = ""
    variable: _Node | None = None
    rest: bool = False
    endpoints: dict[str, Endpoint] = field(default_factory=dict)


class Found(NamedTuple):
    """The endpoints of a path by method, and its variable parts as they were sent."""

    endpoints: dict[str, Endpoint]
    names: tuple[str, ...]
    parts: tuple[bytes, ...]

    def decoded(self) -> dict[str, str]:
        """Return the variable parts by name. Raises : UnicodeDecodeError."""
        return {
            name: (unquote_to_bytes(part) if b"%" in part else part).decode("utf-8")
            for name, part in zip(self.names, self.parts, strict=True)
        }


class PathTable:
    """All paths of the service."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._root = _Node()
        for endpoint in endpoints:
            self._add(endpoint)

    def _add(self, endpoint: Endpoint) -> None:
        node = self._root
        for part in endpoint.parts:
            if part.startswith("{"):
                node.rest = part.endswith(":path}")
                node.name = part.strip("{}").removesuffix(":path")
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.fixed.setdefault(part.encode(), _Node())
        node.endpoints[endpoint.method] = endpoint

    def find(self, path: bytes) -> Found | None:
        """Return the endpoints of a path as it was sent, None if it has none."""
        node = self._root
        names: list[str] = []
        parts: list[bytes] = []
        sent = path.split(b"/")[1:]
        for at, part in enumerate(sent):
            following = node.fixed.get(part)
            if following is None and node.variable is not None and (part or node.rest):
                names.append(node.name)
                parts.append(b"/".join(sent[at:]) if node.rest else part)
                following = node.variable
                if node.rest:
                    node = following
                    break
            if following is None:
                return None
            node = following
        return Found(node.endpoints, tuple(names), tuple(parts)) if node.endpoints else None


def sent_path(scope: Scope) -> bytes:
    """Return the path as it was sent, without the query."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]).encode() if raw is None else raw.partition(b"?")[0]


_encoder = msgspec.json.Encoder()
_TAGGED = {"Cache-Control": "no-cache", "Vary": "Authorization"}
_PRIVATE = {"Cache-Control": "no-store"}


class Dispatcher:
    """Answers requests to the endpoints of a service. Every error becomes an answer here."""

    def __init__(self, service: Service, endpoints: Iterable[Endpoint]) -> None:
        self._service = service
        self._paths = PathTable(endpoints)
        self._pages = PageState()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request: ApiRequest | None = None
        try:
            route = self._paths.find(sent_path(scope))
            if route is None:
                raise NotFoundError("nothing is at this path")
            scope["equipoise.route"] = next(iter(route.endpoints.values())).path
            endpoint = _endpoint(route, scope["method"])
            request_class: Callable[..., ApiRequest] = ApiRequest
            if endpoint.page:
                request_class = partial(PageContext, self._pages)
            request = request_class(self._service, endpoint, scope, receive, send, _path(route))
            response = await self._answer(request)
        except ClientDisconnect:
            return  # The client is gone.
        except EquipoiseError as error:
            response = _refusal(request, error)
        except DATABASE_ERRORS:
            log.exception("the database does not answer")
            response = _refusal(request, UnavailableError("the database does not answer"))
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, request: ApiRequest) -> Response | None:
        seconds = self._service.settings.request_seconds if _is_timed(request) else None
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._steps(request)
        except TimeoutError:
            if not limit.expired():
                raise
        if request.reading:
            what = "form" if request.endpoint.page else "body"
            raise SlowRequestError(f"the {what} must arrive within {seconds:g} s")
        raise TimedOutError(
            f"the request took longer than {seconds:g} s; it may still be carried out",
            2.0,
        )

    async def _steps(self, request: ApiRequest) -> Response | None:
        """Make the checks in their order, then call the endpoint."""
        await self._service.access.admit(request)
        if request.key is not None:
            request.scope["equipoise.key"] = request.key.id
        if isinstance(request, PageContext):
            return await request.answer()
        _check_ids(request)
        if request.endpoint.group != "Operation":
            request.query = read_query(request.endpoint.query, request.scope["query_string"])
        body = request.endpoint.body
        if body is not None and not body.raw:
            most = self._service.settings.body_bytes
            content = await read_body(request, min(most, body.most or most))
            request.body = decode_body(body, content)
        try:
            answer = await request.endpoint.handler(request)
        except NotFoundError as error:
            raise await _with_present_ids(request, error) from None
        if answer is None or isinstance(answer, Response):
            return answer
        return message_response(request, answer)


def _refusal(request: ApiRequest | None, error: EquipoiseError) -> Response:
    return request.refuse(error) if isinstance(request, PageContext) else error_response(error)


async def _with_present_ids(request: ApiRequest, error: NotFoundError) -> NotFoundError:
    """Return the error, with the present ids of players in the path who were renamed or merged."""
    players = [request.path[name] for name in ("player", "other") if name in request.path]
    renames = await request.present_ids(players) if players else {}
    now = "".join(f"; player {old!r} is now {new!r}" for old, new in renames.items())
    return NotFoundError(f"{error}{now}") if now else error


def _is_timed(request: ApiRequest) -> bool:
    body = request.endpoint.body
    if body is not None and body.lines:
        return media_of(request) not in body.lines
    return request.endpoint.timed


def message_response(request: ApiRequest, message: Any) -> Response:
    """Return a message as JSON, with an ETag of its content if the endpoint has one."""
    try:
        content = _encoder.encode(message)
    except UnicodeEncodeError:
        problem = Problem("", None, "", "must be text", "a lone surrogate")
        raise InvalidDataError([problem]) from None
    if not request.endpoint.tagged:
        return Response(content, headers=_PRIVATE, media_type="application/json")
    tag = tag_of(content)
    headers = {**_TAGGED, "ETag": tag}
    if matches_tag(request.header(b"if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def _endpoint(route: Found, method: str) -> Endpoint:
    """Return the endpoint for a method; HEAD is GET without its body. Raises : MethodError."""
    endpoint = route.endpoints.get("GET" if method == "HEAD" else method)
    if endpoint is None:
        allowed = tuple(route.endpoints)
        raise MethodError(method[:20], (*allowed, "HEAD") if "GET" in allowed else allowed)
    return endpoint


def _path(route: Found) -> dict[str, str]:
    try:
        return route.decoded()
    except UnicodeDecodeError:
        raise MalformedError("the path must be percent-encoded UTF-8") from None


def _check_ids(request: ApiRequest) -> None:
    """Check that variable parts of the path can be ids. Raises : InvalidDataError."""
    for name, value in request.path.items():
        if (rule := id_fault(value)) is not None:
            raise InvalidDataError([Problem("", None, name, rule, repr(value[:50]))])


class Application(Starlette):
    """The service: our dispatcher answers requests, Starlette calls what opens and closes it.

    Starlette's routing and middleware would take as long as the rest of a request.
    """

    def serve(self, service: Service, endpoints: Iterable[Endpoint]) -> None:
        """Answer requests from now on."""
        self.state.service = service
        answer: ASGIApp = Dispatcher(service, endpoints)
        if service.settings.cors:
            answer = _allow_origins(answer, service.settings.cors)
        outermost = RequestMiddleware(answer, service.metrics, service.tracing)
        self._answer = outermost.plain if service.tracing is None else outermost.traced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or handle a message of the lifespan."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_application(
    settings: ServiceSettings | None = None, endpoints: Sequence[Endpoint] = ENDPOINTS
) -> Application:
    """Return the service as an ASGI application; its lifespan opens and closes the database.

    Meanwhile `app.state.service` is the `equipoise.web.service.Service`.
    """
    chosen = settings or ServiceSettings()
    if chosen.tracing:
        check_installed()

    @asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        store = await asyncio.to_thread(open_store, chosen.database)
        service = Service(chosen, store, openapi_document(endpoints))
        service.start()
        app.serve(service, (*endpoints, *(PAGES if chosen.page else ())))
        try:
            yield
        finally:
            await service.close()

    return Application(lifespan=lifespan)


def served_application(settings: ServiceSettings) -> Application:
    """Return the application as the process of the service runs it."""
    application = create_application(settings)
    _tune_garbage_collection()
    return application


def _tune_garbage_collection() -> None:
    """Make garbage collection rarer, and exclude the objects that exist now.

    A stream makes hundreds of thousands of objects, hardly any of them in cycles. With the default
    thresholds a process spends a quarter of its time on collections.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _allow_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Allow pages of these origins to call the API. Keys go in a header, so no cookies."""
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "PUT", "PATCH", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "If-None-Match", "X-Request-ID"],
        expose_headers=["ETag", "Retry-After", "X-Request-ID"],
        max_age=600,
    )
