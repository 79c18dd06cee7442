"""What the page needs of the running of a league: seasons, webhooks, who did what."""

from __future__ import annotations

from typing import Protocol

from equipoise.messages.audit import AuditPage
from equipoise.messages.pools import DeletedPool, PoolChange, PoolMessage
from equipoise.messages.seasons import SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.messages.webhooks import NewWebhookMessage, WebhookMessage, WebhookRequest


class Operations(Protocol):
    """The operations of the service as the page sees them; see `Backend`."""

    def seasons(self, pool: str) -> list[SeasonMessage]:
        """Return the seasons of a pool that have ended, newest first."""

    def preview_season(self, pool: str, request: SeasonRequest) -> SeasonPreview:
        """Return what ending a season would do, without doing it."""

    def end_season(self, pool: str, request: SeasonRequest, *, key: int | None) -> SeasonMessage:
        """End a season and begin the next."""

    def change_pool(self, pool: str, request: PoolChange, *, key: int | None) -> PoolMessage:
        """Change settings of a pool."""

    def delete_pool(self, pool: str, confirm: str, *, key: int | None) -> DeletedPool:
        """Delete a pool; confirm : its name once more."""

    def webhooks(self, pool: str) -> list[WebhookMessage]:
        """Return the webhooks of a pool, newest first."""

    def create_webhook(
        self, pool: str, request: WebhookRequest, *, key: int | None
    ) -> NewWebhookMessage:
        """Make a webhook; the secret is told once."""

    def disable_webhook(self, pool: str, webhook: int, *, key: int | None) -> WebhookMessage:
        """Tell a webhook nothing more."""

    def audit(self, pool: str | None, *, cursor: str | None, limit: int) -> AuditPage:
        """Return what administrators did, newest first; in one pool or, for None, in all."""
