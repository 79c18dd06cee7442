"""Schema 0011 says since when a webhook fails and why the service disabled it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from equipoise.messages.webhooks import WebhookRequest
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.webhooks import (
    create_webhook,
    delete_webhook,
    disable_webhook,
    enable_webhook,
    list_webhooks,
)
from equipoise.store.connection import open_store
from equipoise.store.schema import webhooks
from trials.saved_database import restore

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow

NOW = 1_900_000_000_000_000


def test_webhooks_of_an_earlier_version_stay_as_they_are(database_url: str, tmp_path: Path) -> None:
    """They can be disabled, enabled and deleted, and the pools verify."""
    restore(database_url, "0005", tmp_path)
    store = open_store(database_url)
    try:
        with store.read() as connection:
            kept = connection.execute(select(webhooks)).all()
        assert all(one.reason is None and one.failing_since is None for one in kept)
        pools = [one.pool for one in pool_messages(store)]
        assert all(verify_pool(store, pool).identical for pool in pools)
        before = sum(len(list_webhooks(store, pool).webhooks) for pool in pools)
        assert before == len(kept)
        ladder = next(one.pool for one in pool_messages(store) if one.closed is None)
        request = WebhookRequest(url="https://example.org/hook")
        made = create_webhook(store, ladder, request, key=None, now=NOW).webhook.webhook
        disable_webhook(store, ladder, made, key=None, now=NOW, reason="no delivery in 7 days")
        assert list_webhooks(store, ladder).webhooks[0].disabled_because == "no delivery in 7 days"
        assert enable_webhook(store, ladder, made, key=None, now=NOW).disabled_because is None
        delete_webhook(store, ladder, made, key=None, now=NOW)
        assert sum(len(list_webhooks(store, pool).webhooks) for pool in pools) == before
    finally:
        store.close()
