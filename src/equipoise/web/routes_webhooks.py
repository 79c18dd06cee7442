"""Webhooks: made, listed, tried, disabled."""

from __future__ import annotations

from equipoise.errors import NotFoundError
from equipoise.messages.webhooks import (
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)
from equipoise.web import webhook_trial
from equipoise.web.endpoints import ApiRequest, Body, Endpoint
from equipoise.workflows import webhooks
from equipoise.workflows.clock import now

_LARGEST = 2**31 - 1
_HOOK = {"url": "https://example.org/hook", "events": ["match.rated"]}


async def make_webhook(request: ApiRequest) -> NewWebhookMessage:
    """Make a webhook."""
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


async def try_webhook(request: ApiRequest) -> WebhookTestMessage:
    """Send a webhook a test message and return the result."""
    return await webhook_trial.try_webhook(request.service, request.pool, _number(request))


def _number(request: ApiRequest) -> int:
    """Return the number of the webhook. Raises : NotFoundError."""
    text = request.path["webhook"]
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else -1
    if not 0 < number <= _LARGEST:
        raise NotFoundError(f"no webhook {text!r}")
    return number


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/webhooks",
        name="createWebhook",
        group="Webhooks",
        summary="Have an address told what happens in a pool",
        description="From now on, in order, at least once, signed as the Standard Webhooks "
        "specification says. The secret is in this answer and nowhere else.",
        handler=make_webhook,
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
        summary="The webhooks of a pool, newest first, and how they do",
        handler=list_webhooks,
        right="admin",
        shape=WebhookList,
    ),
    Endpoint(
        method="DELETE",
        path="/v1/pools/{pool}/webhooks/{webhook}",
        name="disableWebhook",
        group="Webhooks",
        summary="Tell a webhook nothing more",
        description="It stays in the list as disabled.",
        handler=disable_webhook,
        right="admin",
        shape=WebhookMessage,
    ),
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/webhooks/{webhook}/test",
        name="testWebhook",
        group="Webhooks",
        summary="Send a webhook a test message",
        description="Of the type `webhook.test`; the answer says what came of it.",
        handler=try_webhook,
        right="admin",
        shape=WebhookTestMessage,
        errors=(409,),
    ),
)
