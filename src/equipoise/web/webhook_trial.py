"""Sending a test message to a webhook, for the API and for pages."""

from __future__ import annotations

import uuid

import msgspec

from equipoise.analysis.clock import now
from equipoise.messages.webhooks import EventMessage, WebhookTestMessage
from equipoise.pools.events import signed_headers
from equipoise.pools.pool.rules import iso
from equipoise.pools.webhooks import find_webhook
from equipoise.web.delivery import Receiver
from equipoise.web.service import Service


async def try_webhook(service: Service, pool: str, webhook: int) -> WebhookTestMessage:
    """Send a webhook a test message and return the result.

    Raises : NotFoundError, ConflictError if it is disabled
    """
    settings = service.settings
    hook = await service.read(find_webhook, pool, webhook)
    at = now()
    told = EventMessage("webhook.test", iso(at), pool, {"webhook": hook.id})
    body = msgspec.json.encode(told)
    seconds = min(settings.webhook_seconds, 0.8 * settings.request_seconds)
    receiver = Receiver(hook.url, seconds, settings.private_webhooks)
    try:
        message = f"msg_test_{uuid.uuid4().hex}"
        headers = signed_headers(hook.secret, message, at // 10**6, body)
        outcome = await receiver.post(headers, body)
    finally:
        receiver.close()
    return WebhookTestMessage(outcome.arrived, outcome.status, outcome.failure, outcome.seconds)
