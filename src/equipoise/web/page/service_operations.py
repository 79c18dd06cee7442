"""Seasons, webhooks and the audit log of the service, as the page sees them."""

from __future__ import annotations

from equipoise.messages.audit import AuditPage
from equipoise.messages.pools import DeletedPool, PoolChange, PoolMessage
from equipoise.messages.seasons import SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.messages.webhooks import NewWebhookMessage, WebhookMessage, WebhookRequest
from equipoise.store.connection import Store
from equipoise.web.service import Service
from equipoise.workflows import auditing, deleting, pool_settings, season_preview, seasons, webhooks
from equipoise.workflows.clock import now


class ServiceOperations:
    """See `Operations`."""

    def __init__(self, service: Service, moment: Store | None = None) -> None:
        self._service, self._moment = service, moment

    @property
    def _store(self) -> Store:
        return self._service.store if self._moment is None else self._moment

    def seasons(self, pool: str) -> list[SeasonMessage]:
        """Return the seasons of a pool that have ended."""
        return seasons.seasons(self._store, pool).seasons

    def preview_season(self, pool: str, request: SeasonRequest) -> SeasonPreview:
        """Return what ending a season would do."""
        return season_preview.preview_season(self._store, pool, request)

    def end_season(self, pool: str, request: SeasonRequest, *, key: int | None) -> SeasonMessage:
        """End a season and begin the next, which rates as before: nothing need be warmed up."""
        ended = seasons.end_season(self._store, pool, request, key=key, now=now())
        self._service.access.forget()
        self._service.background.wake()
        return ended

    def change_pool(self, pool: str, request: PoolChange, *, key: int | None) -> PoolMessage:
        """Change settings of a pool."""
        changed = pool_settings.change_settings(self._store, pool, request, now(), key=key)
        self._service.access.forget()
        self._service.background.wake()
        return changed

    def delete_pool(self, pool: str, confirm: str, *, key: int | None) -> DeletedPool:
        """Delete a pool; confirm : its name once more."""
        gone = deleting.delete_pool(self._store, pool, confirm, key=key, now=now())
        self._service.access.forget()
        self._service.background.wake()
        return gone

    def webhooks(self, pool: str) -> list[WebhookMessage]:
        """Return the webhooks of a pool."""
        return webhooks.list_webhooks(self._store, pool).webhooks

    def create_webhook(
        self, pool: str, request: WebhookRequest, *, key: int | None
    ) -> NewWebhookMessage:
        """Make a webhook."""
        private = self._service.settings.private_webhooks
        return webhooks.create_webhook(
            self._store, pool, request, key=key, now=now(), private=private
        )

    def disable_webhook(self, pool: str, webhook: int, *, key: int | None) -> WebhookMessage:
        """Tell a webhook nothing more."""
        return webhooks.disable_webhook(self._store, pool, webhook, key=key, now=now())

    def audit(self, pool: str | None, *, cursor: str | None, limit: int) -> AuditPage:
        """Return what administrators did."""
        return auditing.audit_page(self._store, pool=pool, cursor=cursor, limit=limit)
