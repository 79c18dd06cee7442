"""Calls for those who run a league: seasons, webhooks, the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.client.call import Call, ask, in_pool
from equipoise.messages.audit import AuditPage
from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.messages.webhooks import (
    EventKind,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)


def end_season(pool: str, request: SeasonRequest) -> Call[SeasonMessage]:
    """End a season: the pool becomes an archive, and a new one has its name."""
    return ask("POST", in_pool(pool, "seasons"), SeasonMessage, request)


def preview_season(pool: str, request: SeasonRequest) -> Call[SeasonPreview]:
    """Return what the end of a season would do; the season goes on."""
    query = {"preview": True}
    return ask("POST", in_pool(pool, "seasons"), SeasonPreview, request, query=query)


def seasons(pool: str) -> Call[SeasonList]:
    """Return the seasons of a pool that have ended, newest first."""
    return ask("GET", in_pool(pool, "seasons"), SeasonList)


def webhooks(pool: str) -> Call[WebhookList]:
    """Return the webhooks of a pool, and how they do."""
    return ask("GET", in_pool(pool, "webhooks"), WebhookList)


def create_webhook(
    pool: str, url: str, events: Sequence[EventKind] = ()
) -> Call[NewWebhookMessage]:
    """Have an address told what happens in a pool; the secret is never shown again."""
    request = WebhookRequest(url=url, events=list(events))
    return ask("POST", in_pool(pool, "webhooks"), NewWebhookMessage, request, repeatable=False)


def disable_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Tell a webhook nothing more."""
    return ask("DELETE", in_pool(pool, "webhooks", webhook), WebhookMessage)


def test_webhook(pool: str, webhook: int) -> Call[WebhookTestMessage]:
    """Send a webhook a test message, and return what came of it."""
    return ask("POST", in_pool(pool, "webhooks", webhook, "test"), WebhookTestMessage)


def audit(
    pool: str | None = None, *, cursor: str | None = None, limit: int | None = None
) -> Call[AuditPage]:
    """Return a page of what administrators did, newest first."""
    query = {"pool": pool, "cursor": cursor, "limit": limit}
    return ask("GET", "/v1/audit", AuditPage, query=query)
