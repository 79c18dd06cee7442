"""What is deleted because of its age, and what is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from equipoise.messages.pools import PoolRequest
from equipoise.messages.upkeep import WebhookRequest
from equipoise.pools import webhooks
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.webhooks import (
    clear_audit,
    clear_webhooks,
    create_webhook,
    disable_webhook,
    list_webhooks,
)
from equipoise.store import keys
from equipoise.store.connection import Store, open_store

DAY = 86_400_000_000
NOW = 20_000 * DAY


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    create_pool(opened, "ladder", PoolRequest(system="elo"), NOW - 100 * DAY)
    yield opened
    opened.close()


def note(store: Store, *days: float) -> None:
    """Add entries that are some days old."""
    with store.write() as connection:
        for age in days:
            keys.add_audit_row(connection, "test", now=NOW - int(age * DAY), key=None, subject=age)


def subjects(store: Store) -> list[str | None]:
    with store.read() as connection:
        return [one.subject for one in keys.audit_rows_before(connection, None, None, 10_000)]


def test_old_entries_of_the_audit_log_are_deleted_in_their_order(store: Store) -> None:
    """An entry of a clock that was set back stays until those before it go."""
    note(store, 40, 30.5, 29.5, 35, 1)
    for _ in range(2):
        clear_audit(store, 30, NOW)
        assert subjects(store) == ["1", "35", "29.5"]
    clear_audit(store, 2, NOW)
    assert subjects(store) == ["1"]
    clear_audit(store, 0.5, NOW)
    assert subjects(store) == []
    note(store, 0)
    assert subjects(store) == ["0"]


def test_deleting_takes_small_steps_and_can_be_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_AT_ONCE", 2)
    note(store, *range(50, 40, -1))
    steps = iter([False, False, True])
    clear_audit(store, 30, NOW, stop=lambda: next(steps))
    assert len(subjects(store)) == 11 - 4
    clear_audit(store, 30, NOW)
    assert subjects(store) == []


def test_webhooks_that_were_disabled_long_ago_are_deleted(store: Store) -> None:
    """Which is audited. Others stay, however long they have been there."""
    for age in (60, 31, 29, None):
        request = WebhookRequest(url="https://example.org")
        made = create_webhook(store, "ladder", request, key=None, now=NOW - 90 * DAY)
        if age is not None:
            number = made.webhook.webhook
            disable_webhook(store, "ladder", number, key=None, now=NOW - age * DAY)
    clear_webhooks(store, 30, NOW)
    left = list_webhooks(store, "ladder").webhooks
    assert [one.disabled is None for one in left] == [True, False]
    with store.read() as connection:
        entries = keys.audit_rows_before(connection, "ladder", None, 100)
    deleted = [one for one in entries if one.what == "webhook.deleted"]
    assert len(deleted) == 2
    assert all("disabled more than 30 days ago" in one.detail for one in deleted)
