"""Endpoints of keys, webhooks, the audit log, and of the operation of the service.

All but the last are for administrators; `equipoise.web.api` says so for whole groups.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from sqlalchemy import text
from starlette.responses import Response

from equipoise.errors import DamagedError, NotFoundError
from equipoise.messages.upkeep import (
    AuditPage,
    KeyRequest,
    NewWebhookMessage,
    RotationRequest,
    WebhookRequest,
    WebhookTestMessage,
)
from equipoise.pools import webhooks
from equipoise.pools.pool import access
from equipoise.store.connection import Store, accepts_writes, oldest_on_server
from equipoise.web.http.access import MISSING_KEY, audited_pool
from equipoise.web.http.endpoints import (
    ApiRequest,
    Body,
    Cursor,
    Endpoint,
    IdText,
    Limit,
    changes,
    reads,
)
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    ForbiddenError,
    OverloadedError,
    UnauthorisedError,
    UnavailableError,
)
from equipoise.web.monitoring import MEDIA_TYPE
from equipoise.web.openapi import docs_page

KEYS = (
    Endpoint(
        route="GET /v1/keys",
        name="listKeys",
        summary="List keys, newest first",
        handler=reads(access.all_keys),
    ),
    Endpoint(
        route="POST /v1/keys",
        name="createKey",
        summary="Create a key",
        description="Only this response contains the secret. With a `token`, random text that is "
        "not stored, you can repeat the request: it creates only one key, and every response "
        "contains the secret.",
        handler=changes(access.make_key),
        body=Body(shape=KeyRequest, example={"name": "game server", "role": "writer"}),
        errors=(404, 409),
    ),
    Endpoint(
        route="POST /v1/keys/{key}/rotate",
        name="rotateKey",
        summary="Give a key a new secret",
        description="The previous secret remains valid for `keep_seconds`, one day by default. "
        "An older one ends at once. With a `token`, you can repeat the request, as in "
        "`createKey`.",
        handler=changes(access.rotate_key),
        body=Body(shape=RotationRequest, example={"keep_seconds": 86_400}, required=False),
        errors=(404, 409),
    ),
    Endpoint(
        route="POST /v1/keys/{key}/revoke",
        name="revokeKey",
        summary="Revoke a key permanently",
        handler=changes(access.end_key),
        errors=(404,),
    ),
)


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which page of the audit log, and of which pool."""

    pool: IdText | None = None
    cursor: Cursor | None = None
    limit: Limit = 50


async def list_audit(request: ApiRequest) -> AuditPage:
    """Return a page of the audit log. A key for one pool sees that pool only."""
    query: AuditQuery = request.query
    pool = audited_pool(request.key, query.pool)
    return await request.service.read(
        access.audit_page, pool=pool, cursor=query.cursor, limit=query.limit
    )


AUDIT = (
    Endpoint(
        route="GET /v1/audit",
        name="listAudit",
        summary="List actions of administrators, newest first",
        description="Of one pool or of all pools. With the key of a pool, the actions in that "
        "pool.",
        handler=list_audit,
        query=AuditQuery,
    ),
)


_HOOK = {"url": "https://example.org/hook", "events": ["match.rated"]}


async def create_webhook(request: ApiRequest) -> NewWebhookMessage:
    """Create a webhook."""
    private = request.service.settings.private_webhooks
    return await request.change(webhooks.create_webhook, request.body, private=private)


async def test_webhook(request: ApiRequest) -> WebhookTestMessage:
    """Send a webhook a test message and return the result."""
    return await request.service.test_webhook(request.pool_name, request.number("webhook"))


WEBHOOKS = (
    Endpoint(
        route="POST /v1/pools/{pool}/webhooks",
        name="createWebhook",
        summary="Create a webhook",
        description="From now on, the address receives events: in order, at least once, and "
        "signed according to the Standard Webhooks specification. Only this response contains "
        "the secret.",
        handler=create_webhook,
        body=Body(shape=WebhookRequest, example=_HOOK),
        errors=(409,),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/webhooks",
        name="listWebhooks",
        summary="List the webhooks of a pool, newest first",
        description="With the number of events that wait for each, and the last failure.",
        handler=reads(webhooks.list_webhooks),
    ),
    Endpoint(
        route="DELETE /v1/pools/{pool}/webhooks/{webhook}",
        name="deleteWebhook",
        summary="Delete a webhook permanently",
        description="The webhook receives no more events, and its address and secret are "
        "deleted. The audit log keeps its entries.",
        handler=changes(webhooks.delete_webhook),
    ),
    Endpoint(
        route="POST /v1/pools/{pool}/webhooks/{webhook}/disable",
        name="disableWebhook",
        summary="Disable a webhook",
        description="The webhook stays in the list, but receives no more events. No events are "
        "stored for it.",
        handler=changes(webhooks.disable_webhook),
    ),
    Endpoint(
        route="POST /v1/pools/{pool}/webhooks/{webhook}/enable",
        name="enableWebhook",
        summary="Enable a webhook",
        description="The webhook receives events from now on, but none from the time when it was "
        "disabled.",
        handler=changes(webhooks.enable_webhook),
        errors=(409,),
    ),
    Endpoint(
        route="POST /v1/pools/{pool}/webhooks/{webhook}/test",
        name="testWebhook",
        summary="Send a test message to a webhook",
        description="The message has the type `webhook.test`. The response contains the result.",
        handler=test_webhook,
        errors=(409,),
    ),
)


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
        route="GET /healthz",
        name="health",
        summary="Check whether the process responds",
        handler=health,
    ),
    Endpoint(
        route="GET /readyz",
        name="ready",
        summary="Check whether the service can handle requests",
        handler=ready,
        errors=(503,),
    ),
    Endpoint(
        route="GET /metrics",
        name="metrics",
        summary="Get metrics for Prometheus",
        handler=metrics,
        media=("text/plain",),
        errors=(401, 403, 404),
    ),
    Endpoint(
        route="GET /openapi.json",
        name="openapi",
        summary="Get this description as OpenAPI 3.1",
        handler=openapi,
    ),
    Endpoint(
        route="GET /docs",
        name="docs",
        summary="Get this description as a web page",
        handler=docs,
        media=("text/html",),
    ),
)
