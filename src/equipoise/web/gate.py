"""What every request passes first and every answer last: its id, headers, log line, metrics."""

from __future__ import annotations

import logging
import re
import secrets
import time
from itertools import count
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from equipoise.web.errors import InternalError, error_response
from equipoise.web.logs import FIELDS, log_answer
from equipoise.web.metrics import Metrics

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


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and answer what nothing inside has answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passing = _Passing(scope, send)
        try:
            await self._app(scope, receive, passing.send)
        except Exception:
            log.exception("a request failed", extra={FIELDS: {"request": passing.id}})
            if not passing.status:
                problem = InternalError(f"the service failed; its log has request {passing.id}")
                await error_response(problem)(scope, receive, passing.send)
        finally:
            self._tell(scope, passing)

    def _tell(self, scope: Scope, passing: _Passing) -> None:
        seconds = time.perf_counter() - passing.started
        route = scope.get("equipoise.route") or _route(scope)
        status = passing.status or _GONE
        method = scope["method"] if scope["method"].isalpha() else "?"
        self._metrics.answered(method[:10], route, status, seconds)
        fields: dict[str, Any] = {
            "request": passing.id,
            "method": method[:10],
            "route": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 3),
        }
        if "equipoise.key" in scope:
            fields["key"] = scope["equipoise.key"]
        log_answer(fields, status)


class _Passing:
    """One request on its way: its id, when it came, and what was answered."""

    __slots__ = ("_send", "id", "started", "status")

    def __init__(self, scope: Scope, send: Send) -> None:
        self.started = time.perf_counter()
        self.id = _request_id(scope)
        scope["equipoise.request"] = self.id
        self.status = 0
        self._send = send

    async def send(self, message: Message) -> None:
        """Send a part of the answer; its beginning gets the headers that all answers have."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message["headers"])
            given = {name for name, _ in headers}
            headers += [one for one in (*HEADERS, *DEFAULT_HEADERS) if one[0] not in given]
            headers.append((b"x-request-id", self.id.encode()))
            message["headers"] = headers
        await self._send(message)


def _request_id(scope: Scope) -> str:
    """Return the id that the caller gave, if it is a sane one, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            if _REQUEST_ID.match(value):
                return str(value, "ascii")
            break
    return f"{_PROCESS}{next(_numbers):010x}"


def _route(scope: Scope) -> str:
    """Return the path of a page with its variable parts in braces."""
    return getattr(scope.get("route"), "path_format", None) or _NO_ROUTE
