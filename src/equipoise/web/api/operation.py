"""Endpoints for operators: health, readiness, metrics and the description of the API."""

from __future__ import annotations

import msgspec
from sqlalchemy import text
from starlette.responses import Response

from equipoise.errors import DamagedError, NotFoundError
from equipoise.store.commits import accepts_writes, oldest_on_server
from equipoise.store.connection import Store
from equipoise.web.docs_page import docs_page
from equipoise.web.http.access import MISSING_KEY
from equipoise.web.http.endpoints import ApiRequest, Endpoint
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    ForbiddenError,
    OverloadedError,
    UnauthorisedError,
    UnavailableError,
)
from equipoise.web.monitoring import MEDIA_TYPE


class HealthMessage(msgspec.Struct, frozen=True):
    """That the service lives, or can do its work."""

    status: str


async def health(request: ApiRequest) -> HealthMessage:
    """Return that the process answers. The database is not checked."""
    return HealthMessage("ok")


async def ready(request: ApiRequest) -> HealthMessage:
    """Return whether posts can be recorded and pools read.

    Not once damage to the database was noticed, which only a restart with a sound one ends; not
    while a commit is under way for too long, in whatever process, or the database takes no writes
    or has no room on its disk.
    """
    if not request.service.running:
        raise OverloadedError("the service is starting or stopping")
    try:
        seconds = await request.service.read(_query_database)
    except DATABASE_ERRORS:
        raise UnavailableError("the database does not answer") from None
    limit = request.service.settings.commit_wait_seconds
    if 0 < limit < seconds:
        raise UnavailableError(
            f"posts are not acknowledged: a commit has been under way for {seconds:.0f} s"
        )
    return HealthMessage("ready")


def _query_database(store: Store) -> float:
    """Return for how many seconds the oldest commit has been under way.

    Raises : DamagedError; UnavailableError if the database takes no writes or its disk is full
    """
    if store.damage is not None:
        raise DamagedError(store.damage)
    if store.outdated is not None:
        raise UnavailableError(store.outdated)
    with store.read() as connection:
        # A table, as `SELECT 1` does not read the file.
        connection.execute(text("SELECT last FROM audit_chain"))
        if store.is_sqlite:
            seconds, writable = store.commits.oldest(), True
        else:
            writable = accepts_writes(connection)
            seconds = max(store.commits.oldest(), oldest_on_server(connection))
    if not writable:
        store.reconnect()
        raise UnavailableError("the database takes no writes: it is a standby")
    store.check_room()
    return seconds


async def metrics(request: ApiRequest) -> Response:
    """Return the metrics, if the settings allow it."""
    readers = request.service.settings.metrics
    if readers == "off":
        raise NotFoundError("metrics are off")
    if readers == "key":
        request.key = await request.service.access.identify(request)
        if request.key is None:
            raise UnauthorisedError(MISSING_KEY)
        if request.key.pool is not None:
            raise ForbiddenError("this needs a key for all pools")
    page = await request.service.read(lambda _: request.service.metrics.page())
    return Response(page, media_type=MEDIA_TYPE)


async def openapi(request: ApiRequest) -> Response:
    """Return the description of the API."""
    return Response(request.service.description, media_type="application/json")


async def docs(request: ApiRequest) -> Response:
    """Return the description of the API as a page."""
    page, policy = docs_page(request.service.description)
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
    return Response(page, media_type="text/html", headers=headers)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/healthz",
        name="health",
        group="Operation",
        summary="Check whether the process responds",
        handler=health,
        right=None,
        shape=HealthMessage,
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        name="ready",
        group="Operation",
        summary="Check whether the service can handle requests",
        handler=ready,
        right=None,
        shape=HealthMessage,
        errors=(503,),
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        name="metrics",
        group="Operation",
        summary="Get metrics for Prometheus",
        handler=metrics,
        right=None,
        media=("text/plain",),
        errors=(401, 403, 404),
    ),
    Endpoint(
        method="GET",
        path="/openapi.json",
        name="openapi",
        group="Operation",
        summary="Get this description as OpenAPI 3.1",
        handler=openapi,
        right=None,
    ),
    Endpoint(
        method="GET",
        path="/docs",
        name="docs",
        group="Operation",
        summary="Get this description as a web page",
        handler=docs,
        right=None,
        media=("text/html",),
    ),
)
