"""Endpoints for administrators: keys, the audit log, webhooks."""

from __future__ import annotations

from msgspec import Struct

from equipoise.analysis.clock import now
from equipoise.errors import NotFoundError
from equipoise.messages.access import (
    AuditPage,
    KeyList,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    RotationRequest,
)
from equipoise.messages.webhooks import (
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)
from equipoise.pools import webhooks
from equipoise.pools.pool import access
from equipoise.web.http.access import audited_pool
from equipoise.web.http.endpoints import ApiRequest, Body, Cursor, Endpoint, IdText, Limit
from equipoise.web.http.reading import number_in_path

#: Largest number of a key or webhook.
_LARGEST = 2**31 - 1


async def list_keys(request: ApiRequest) -> KeyList:
    """Return all keys."""
    return await request.service.read(access.all_keys)


async def create_key(request: ApiRequest) -> NewKeyMessage:
    """Create a key."""
    body: KeyRequest = request.body
    return await request.service.change(access.make_key, body, now(), by=request.key_number)


async def rotate_key(request: ApiRequest) -> NewKeyMessage:
    """Give a key a new secret."""
    number, body = _key_in_path(request), request.body
    return await request.service.change(
        access.rotate_key, number, body, now(), by=request.key_number
    )


async def revoke_key(request: ApiRequest) -> KeyMessage:
    """Revoke a key."""
    number = _key_in_path(request)
    return await request.service.change(access.end_key, number, now(), by=request.key_number)


def _key_in_path(request: ApiRequest) -> int:
    """Return the number of the key. Raises : NotFoundError."""
    number = number_in_path(request, "key", _LARGEST)
    if number is None:
        raise NotFoundError(f"no key {request.path['key']!r}")
    return number


KEYS = (
    Endpoint(
        method="GET",
        path="/v1/keys",
        name="listKeys",
        group="Keys",
        summary="List keys, newest first",
        handler=list_keys,
        right="admin",
        all_pools=True,
        shape=KeyList,
    ),
    Endpoint(
        method="POST",
        path="/v1/keys",
        name="createKey",
        group="Keys",
        summary="Create a key",
        description="Only this response contains the secret. With a `token`, random text that is "
        "not stored, you can repeat the request: it creates only one key, and every response "
        "contains the secret.",
        handler=create_key,
        right="admin",
        all_pools=True,
        body=Body(shape=KeyRequest, example={"name": "game server", "role": "writer"}),
        shape=NewKeyMessage,
        errors=(404, 409),
    ),
    Endpoint(
        method="POST",
        path="/v1/keys/{key}/rotate",
        name="rotateKey",
        group="Keys",
        summary="Give a key a new secret",
        description="The previous secret remains valid for `keep_seconds`, one day by default. "
        "An older one ends at once. With a `token`, you can repeat the request, as in "
        "`createKey`.",
        handler=rotate_key,
        right="admin",
        all_pools=True,
        body=Body(shape=RotationRequest, example={"keep_seconds": 86_400}, required=False),
        shape=NewKeyMessage,
        errors=(404, 409),
    ),
    Endpoint(
        method="POST",
        path="/v1/keys/{key}/revoke",
        name="revokeKey",
        group="Keys",
        summary="Revoke a key permanently",
        handler=revoke_key,
        right="admin",
        all_pools=True,
        shape=KeyMessage,
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
        method="GET",
        path="/v1/audit",
        name="listAudit",
        group="Keys",
        summary="List actions of administrators, newest first",
        description="Of one pool or of all pools. With the key of a pool, the actions in that "
        "pool.",
        handler=list_audit,
        right="admin",
        query=AuditQuery,
        shape=AuditPage,
    ),
)


_HOOK = {"url": "https://example.org/hook", "events": ["match.rated"]}


async def create_webhook(request: ApiRequest) -> NewWebhookMessage:
    """Create a webhook."""
    body: WebhookRequest = request.body
    private = request.service.settings.private_webhooks
    return await request.service.change(
        webhooks.create_webhook,
        request.pool,
        body,
        key=request.key_number,
        now=now(),
        private=private,
    )


async def list_webhooks(request: ApiRequest) -> WebhookList:
    """Return the webhooks of a pool."""
    return await request.service.read(webhooks.list_webhooks, request.pool)


async def disable_webhook(request: ApiRequest) -> WebhookMessage:
    """Disable a webhook."""
    return await request.service.change(
        webhooks.disable_webhook, request.pool, _number(request), key=request.key_number, now=now()
    )


async def enable_webhook(request: ApiRequest) -> WebhookMessage:
    """Enable a webhook."""
    return await request.service.change(
        webhooks.enable_webhook, request.pool, _number(request), key=request.key_number, now=now()
    )


async def delete_webhook(request: ApiRequest) -> WebhookMessage:
    """Delete a webhook."""
    return await request.service.change(
        webhooks.delete_webhook, request.pool, _number(request), key=request.key_number, now=now()
    )


async def test_webhook(request: ApiRequest) -> WebhookTestMessage:
    """Send a webhook a test message and return the result."""
    return await request.service.test_webhook(request.pool, _number(request))


def _number(request: ApiRequest) -> int:
    """Return the number of the webhook. Raises : NotFoundError."""
    number = number_in_path(request, "webhook", _LARGEST)
    if number is None:
        raise NotFoundError(f"no webhook {request.path['webhook']!r}")
    return number


WEBHOOKS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/webhooks",
        name="createWebhook",
        group="Webhooks",
        summary="Create a webhook",
        description="From now on, the address receives events: in order, at least once, and "
        "signed according to the Standard Webhooks specification. Only this response contains "
        "the secret.",
        handler=create_webhook,
        right="admin",
        body=Body(shape=WebhookRequest, example=_HOOK),
        shape=NewWebhookMessage,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/webhooks",
        name="listWebhooks",
        group="Webhooks",
        summary="List the webhooks of a pool, newest first",
        description="With the number of events that wait for each, and the last failure.",
        handler=list_webhooks,
        right="admin",
        shape=WebhookList,
    ),
    Endpoint(
        method="DELETE",
        path="/v1/pools/{pool}/webhooks/{webhook}",
        name="deleteWebhook",
        group="Webhooks",
        summary="Delete a webhook permanently",
        description="The webhook receives no more events, and its address and secret are "
        "deleted. The audit log keeps its entries.",
        handler=delete_webhook,
        right="admin",
        shape=WebhookMessage,
    ),
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/webhooks/{webhook}/disable",
        name="disableWebhook",
        group="Webhooks",
        summary="Disable a webhook",
        description="The webhook stays in the list, but receives no more events. No events are "
        "stored for it.",
        handler=disable_webhook,
        right="admin",
        shape=WebhookMessage,
    ),
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/webhooks/{webhook}/enable",
        name="enableWebhook",
        group="Webhooks",
        summary="Enable a webhook",
        description="The webhook receives events from now on, but none from the time when it was "
        "disabled.",
        handler=enable_webhook,
        right="admin",
        shape=WebhookMessage,
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/webhooks/{webhook}/test",
        name="testWebhook",
        group="Webhooks",
        summary="Send a test message to a webhook",
        description="The message has the type `webhook.test`. The response contains the result.",
        handler=test_webhook,
        right="admin",
        shape=WebhookTestMessage,
        errors=(409,),
    ),
)
