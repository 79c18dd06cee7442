"""For whoever runs the service: whether it lives, whether it can work, what it counts, its API."""

from __future__ import annotations

import msgspec
from sqlalchemy import text
from starlette.responses import Response

from equipoise.errors import NotFoundError
from equipoise.store.connection import Store
from equipoise.web.docs_page import docs_page
from equipoise.web.endpoints import Asked, Endpoint
from equipoise.web.errors import (
    DATABASE_ERRORS,
    ForbiddenError,
    OverloadedError,
    UnauthorisedError,
    UnavailableError,
)
from equipoise.web.metrics import MEDIA_TYPE


class HealthMessage(msgspec.Struct, frozen=True):
    """That the service lives, or can do its work."""

    status: str


async def health(asked: Asked) -> HealthMessage:
    """Return that the process answers; the database is not asked."""
    return HealthMessage("ok")


async def ready(asked: Asked) -> HealthMessage:
    """Return whether posts can be recorded and pools read."""
    if not asked.service.running:
        raise OverloadedError("the service is being started or stopped")
    try:
        await asked.service.read(_reach)
    except DATABASE_ERRORS:
        raise UnavailableError("the database does not answer") from None
    return HealthMessage("ready")


def _reach(store: Store) -> None:
    with store.read() as connection:
        connection.execute(text("SELECT 1"))


async def metrics(asked: Asked) -> Response:
    """Return the metrics, to whom the settings say."""
    said = asked.service.settings.metrics
    if said == "off":
        raise NotFoundError("no metrics are shown")
    if said == "key":
        asked.key = await asked.service.access.identify(asked)
        if asked.key is None:
            raise UnauthorisedError("a key must be given: Authorization: Bearer KEY")
        if asked.key.pool is not None:
            raise ForbiddenError("this needs a key for all pools")
    page = await asked.service.read(lambda _: asked.service.metrics.page())
    return Response(page, media_type=MEDIA_TYPE)


async def openapi(asked: Asked) -> Response:
    """Return the description of the API."""
    return Response(asked.service.description, media_type="application/json")


async def docs(asked: Asked) -> Response:
    """Return the description of the API for people."""
    page, policy = docs_page(asked.service.description)
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
    return Response(page, media_type="text/html", headers=headers)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/healthz",
        name="health",
        group="Operation",
        summary="Whether the process lives",
        handler=health,
        right=None,
        shape=HealthMessage,
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        name="ready",
        group="Operation",
        summary="Whether the service can do its work",
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
        summary="Metrics for Prometheus",
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
        summary="This description, as OpenAPI 3.1",
        handler=openapi,
        right=None,
    ),
    Endpoint(
        method="GET",
        path="/docs",
        name="docs",
        group="Operation",
        summary="This description, for people",
        handler=docs,
        right=None,
        media=("text/html",),
    ),
)
