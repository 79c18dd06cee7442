"""Dispatch: from the path of a request to its endpoint, through the checks, to the answer.

An id may contain any character, also a slash, if it is percent-encoded: `/players/a%2Fb` is the
player `a/b`. So the path is split as it was sent and then decoded part by part. The time to find an
endpoint in the table of parts does not depend on the number of endpoints.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.web.http.endpoints import ApiRequest, Endpoint
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    MalformedError,
    MethodError,
    SlowRequestError,
    TimedOutError,
    UnavailableError,
    error_response,
)
from equipoise.web.http.reading import decode_body, media_of, read_body, read_query
from equipoise.web.service import Service


@dataclass(slots=True)
class _Node:
    """A node in the tree of paths: the fixed parts that may follow, and the variable one."""

    fixed: dict[bytes, _Node] = field(default_factory=dict)
    name: str = ""
    variable: _Node | None = None
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
                node.name = part.strip("{}")
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
        for part in path.split(b"/")[1:]:
            following = node.fixed.get(part)
            if following is None and node.variable is not None and part:
                names.append(node.name)
                parts.append(part)
                following = node.variable
            if following is None:
                return None
            node = following
        return Found(node.endpoints, tuple(names), tuple(parts)) if node.endpoints else None


def sent_path(scope: Scope) -> bytes:
    """Return the path as it was sent, without the query."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]).encode() if raw is None else raw.partition(b"?")[0]


log = logging.getLogger(__name__)

_encoder = msgspec.json.Encoder()
_LONGEST_ID = 200
_TAGGED = {"Cache-Control": "no-cache", "Vary": "Authorization"}
_PRIVATE = {"Cache-Control": "no-store"}


class Dispatcher:
    """Answers requests to the endpoints of a service. Every error becomes an answer here."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a known path."""
        found: Found = scope["equipoise.found"]
        endpoint: Endpoint | None = None
        try:
            endpoint = _endpoint(found, scope["method"])
            scope["equipoise.route"] = endpoint.path
            request = ApiRequest(self._service, endpoint, scope, receive, send, _path(found))
            response = await self._answer(request)
        except ClientDisconnect:
            return  # The client is gone.
        except EquipoiseError as error:
            if endpoint is None:
                scope["equipoise.route"] = next(iter(found.endpoints.values())).path
            response = error_response(error)
        except DATABASE_ERRORS:
            log.exception("the database does not answer")
            response = error_response(UnavailableError("the database does not answer"))
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
        if request.endpoint.body is not None and request.body is None:
            raise SlowRequestError(f"the body must arrive within {seconds:g} s")
        raise TimedOutError(
            f"the request took longer than {seconds:g} s; it may still be carried out",
            2.0,
        )

    async def _steps(self, request: ApiRequest) -> Response | None:
        """Make the checks in their order, then call the endpoint."""
        await self._service.access.admit(request)
        if request.key is not None:
            request.scope["equipoise.key"] = request.key.id
        _check_ids(request)
        if request.endpoint.group != "Operation":
            request.query = read_query(request.endpoint.query, request.scope["query_string"])
        body = request.endpoint.body
        if body is not None and not body.raw:
            content = await read_body(request, self._service.settings.body_bytes)
            request.body = decode_body(body, content)
        answer = await request.endpoint.handler(request)
        if answer is None or isinstance(answer, Response):
            return answer
        return message_response(request, answer)


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
    tag = f'W/"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    headers = {**_TAGGED, "ETag": tag}
    if _matches(request.header(b"if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def _matches(given: str | None, tag: str) -> bool:
    """Return whether If-None-Match names this ETag."""
    if given is None:
        return False
    bare = tag.removeprefix("W/")
    return any(one.strip().removeprefix("W/") in (bare, "*") for one in given.split(","))


def _endpoint(found: Found, method: str) -> Endpoint:
    """Return the endpoint for a method; HEAD is GET without its body. Raises : MethodError."""
    endpoint = found.endpoints.get("GET" if method == "HEAD" else method)
    if endpoint is None:
        allowed = tuple(found.endpoints)
        raise MethodError(method[:20], (*allowed, "HEAD") if "GET" in allowed else allowed)
    return endpoint


def _path(found: Found) -> dict[str, str]:
    try:
        return found.decoded()
    except UnicodeDecodeError:
        raise MalformedError("the path must be percent-encoded UTF-8") from None


def _check_ids(request: ApiRequest) -> None:
    """Check that variable parts of the path can be ids. Raises : InvalidDataError."""
    for name, value in request.path.items():
        if len(value) > _LONGEST_ID or (not value.isprintable() and _has_control(value)):
            rule = f"must have 1 to {_LONGEST_ID} characters and no control characters"
            raise InvalidDataError([Problem("", None, name, rule, repr(value[:50]))])


def _has_control(text: str) -> bool:
    return any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text)
