"""The middleware around every request: its id, headers, log line and metrics.

Every request pays for every call here, so there are few (benchmarks/request_cost.py).
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Iterable
from functools import lru_cache
from itertools import count
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from equipoise.web.http.errors import InternalError, TimedOutError, error_response
from equipoise.web.monitoring import FIELDS, Metrics, log_answer

log = logging.getLogger(__name__)

#: Our request ids are that of the process and a count, which is faster than a random id.
_PROCESS = secrets.token_hex(8)
_numbers = count(1)

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}$")
#: Route under which unknown paths are counted.
_NO_ROUTE = "(none)"
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

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, and answer a request that it did not answer."""
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
    """Return the id that the client sent if it is well-formed, else a new one."""
    for name, value in headers:
        if name == b"x-request-id":
            if _REQUEST_ID.match(value):
                return str(value, "ascii")
            break
    return f"{_PROCESS}{next(_numbers):010x}"


def _page_route(scope: Scope) -> str:
    """Return the path of a page with its variable parts in braces."""
    return getattr(scope.get("route"), "path_format", None) or _NO_ROUTE
