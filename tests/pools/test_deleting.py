"""A pool is deleted: its name is free at once, its number never, its rows in small steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import func, select

from equipoise.errors import ConflictError, InvalidParameterError, NotFoundError
from equipoise.messages.pools import PoolRequest, SeasonRequest
from equipoise.messages.upkeep import WebhookRequest
from equipoise.pools import webhooks
from equipoise.pools.pool.access import audit_page
from equipoise.pools.pool.pools import (
    clear_deleted,
    create_pool,
    delete_pool,
    pool_message,
    pool_messages,
    pools_to_clear,
)
from equipoise.pools.replay.replaying import pending_pools
from equipoise.pools.seasons import end_season
from equipoise.pools.webhooks import (
    clear_audit,
    clear_webhooks,
    create_webhook,
    disable_webhook,
    list_webhooks,
)
from equipoise.store import keys
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import create_key, find_key
from equipoise.store.pools import TABLES, get_pool
from equipoise.store.schema import metadata
from pools.pool_trials import NOW, Trial, duel


def full(store: Store, name: str) -> Trial:
    """Return a pool with rows wherever a pool can have some."""
    pool = Trial(store, name, late="replay")
    create_webhook(
        store, name, WebhookRequest(url="http://127.0.0.1/x"), key=None, now=NOW, private=True
    )
    for at in range(12):
        pool.post(duel(f"m{at}", f"p{at % 5}", f"p{(at + 1) % 5}", at))
    pool.void("m3")
    pool.disqualify("p1")
    pool.settle()
    pool.post(duel("late", "p0", "p3", 2))
    return pool


def rows_of(store: Store, number: int) -> int:
    """Return how many rows of other tables are of a pool."""
    with store.read() as connection:
        counts = (select(func.count()).where(table.c.pool == number) for table in TABLES)
        return sum(int(connection.execute(query).scalar_one()) for query in counts)


def number_of(store: Store, name: str) -> int:
    """Return the number of a pool."""
    with store.read() as connection:
        return get_pool(connection, name).id


def test_every_table_of_a_pool_is_cleared() -> None:
    """A table that is added later is not forgotten."""
    numbered = {table.name for table in metadata.tables.values() if "pool" in table.c}
    # These two have a pool's name, and stay.
    assert {table.name for table in TABLES} == numbered - {"keys", "audit"}


def test_a_pool_is_deleted_and_its_rows_are_cleared_in_pieces(store: Store) -> None:
    """Cut off after any step, it goes on; nobody else's rows are touched."""
    store = Store(store.engine, Sizes(rows=3))
    other, pool = full(store, "other"), full(store, "ladder")
    number, kept = number_of(store, "ladder"), number_of(store, "other")
    there = rows_of(store, kept)
    secret = create_key(store, "theirs", "writer", "ladder", None, NOW)[1]
    gone = delete_pool(store, "ladder", "ladder", key=4, now=NOW + 1)
    assert (gone.pool, gone.matches) == ("ladder", 13)
    with pytest.raises(NotFoundError):
        pool_message(store, "ladder")
    with pytest.raises(NotFoundError):
        pool.post(duel("more", "p0", "p1", 99))
    assert find_key(store, secret, NOW + 2) is None
    assert [one.pool for one in pool_messages(store)] == ["other"]
    assert pending_pools(store) == ["other"]
    assert pools_to_clear(store) == [number]
    # The name is free while rows of the old pool are still there.
    fresh = Trial(store, "ladder")
    assert number_of(store, "ladder") > number
    fresh.post(duel("m1", "new", "old", 5))
    left = rows_of(store, number)
    assert left > 20
    while left:
        calls: list[int] = []

        def stop(calls: list[int] = calls) -> bool:
            # Each table that is empty by now takes a step too.
            calls.append(1)
            return len(calls) > len(TABLES)

        clear_deleted(store, number, stop=stop)
        now = rows_of(store, number)
        assert left - 3 * len(TABLES) <= now < left
        assert pools_to_clear(store) == [number]
        left = now
    assert clear_deleted(store, number)
    assert pools_to_clear(store) == []
    assert rows_of(store, kept) == there
    assert fresh.ratings().keys() == {"new", "old"}
    assert fresh.is_sound()
    other.check()
    entries = audit_page(store, pool="ladder").entries
    (line,) = [one for one in entries if one.what == "pool.deleted"]
    assert (line.key, line.detail["number"], line.detail["keys"]) == (4, number, [1])


def test_a_number_is_never_given_again(store: Store) -> None:
    """Also not that of the last pool, when all its rows are gone."""
    numbers = set()
    for _ in range(3):
        Trial(store, "one")
        numbers.add(number := number_of(store, "one"))
        delete_pool(store, "one", "one", key=None, now=NOW)
        assert clear_deleted(store, number)
    assert len(numbers) == 3


def test_a_deletion_wants_the_name_and_no_other_seasons(store: Store) -> None:
    pool = Trial(store, "ladder")
    pool.post(duel("a", "ana", "ben", 1))
    for wrong in ("", "Ladder", "ladder "):
        with pytest.raises(InvalidParameterError, match="must repeat the name"):
            delete_pool(store, "ladder", wrong, key=None, now=NOW)
    with pytest.raises(NotFoundError):
        delete_pool(store, "nothing", "nothing", key=None, now=NOW)
    end_season(store, "ladder", SeasonRequest(season="one"), key=None, now=NOW)
    with pytest.raises(ConflictError, match=r"archives of earlier seasons.*ladder\.one"):
        delete_pool(store, "ladder", "ladder", key=None, now=NOW)
    with pytest.raises(ConflictError, match="is the season before 'ladder'"):
        delete_pool(store, "ladder.one", "ladder.one", key=None, now=NOW)
    assert pool.is_sound()


def test_a_replay_of_a_deleted_pool_writes_nothing_more(store: Store) -> None:
    pool = full(store, "ladder")
    number = number_of(store, "ladder")
    steps: list[int] = []

    def deleted_meanwhile() -> bool:
        steps.append(1)
        if len(steps) == 2:
            delete_pool(store, "ladder", "ladder", key=None, now=NOW)
            assert clear_deleted(store, number)
        return False

    with pytest.raises(NotFoundError):
        pool.replay(stop=deleted_meanwhile)
    assert rows_of(store, number) == 0


DAY = 86_400_000_000
TODAY = 20_000 * DAY


@pytest.fixture
def aged(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    create_pool(opened, "ladder", PoolRequest(system="elo"), TODAY - 100 * DAY)
    yield opened
    opened.close()


def note(aged: Store, *days: float) -> None:
    """Add entries that are some days old."""
    with aged.write() as connection:
        for age in days:
            keys.add_audit_row(
                connection, "test", now=TODAY - int(age * DAY), key=None, subject=age
            )


def subjects(aged: Store) -> list[str | None]:
    with aged.read() as connection:
        return [one.subject for one in keys.audit_rows_before(connection, None, None, 10_000)]


def test_old_entries_of_the_audit_log_are_deleted_in_their_order(aged: Store) -> None:
    """An entry of a clock that was set back stays until those before it go."""
    note(aged, 40, 30.5, 29.5, 35, 1)
    for _ in range(2):
        clear_audit(aged, 30, TODAY)
        assert subjects(aged) == ["1", "35", "29.5"]
    clear_audit(aged, 2, TODAY)
    assert subjects(aged) == ["1"]
    clear_audit(aged, 0.5, TODAY)
    assert subjects(aged) == []
    note(aged, 0)
    assert subjects(aged) == ["0"]


def test_deleting_takes_small_steps_and_can_be_stopped(
    aged: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_AT_ONCE", 2)
    note(aged, *range(50, 40, -1))
    steps = iter([False, False, True])
    clear_audit(aged, 30, TODAY, stop=lambda: next(steps))
    assert len(subjects(aged)) == 11 - 4
    clear_audit(aged, 30, TODAY)
    assert subjects(aged) == []


def test_webhooks_that_were_disabled_long_ago_are_deleted(aged: Store) -> None:
    """Which is audited. Others stay, however long they have been there."""
    for age in (60, 31, 29, None):
        request = WebhookRequest(url="https://example.org")
        made = create_webhook(aged, "ladder", request, key=None, now=TODAY - 90 * DAY)
        if age is not None:
            number = made.webhook.webhook
            disable_webhook(aged, "ladder", number, key=None, now=TODAY - age * DAY)
    clear_webhooks(aged, 30, TODAY)
    left = list_webhooks(aged, "ladder").webhooks
    assert [one.disabled is None for one in left] == [True, False]
    with aged.read() as connection:
        entries = keys.audit_rows_before(connection, "ladder", None, 100)
    deleted = [one for one in entries if one.what == "webhook.deleted"]
    assert len(deleted) == 2
    assert all("disabled more than 30 days ago" in one.detail for one in deleted)
