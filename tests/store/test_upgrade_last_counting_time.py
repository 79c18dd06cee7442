"""Migration 0007: the last time of every pool becomes that of the latest match that counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from equipoise.messages.pools import PoolMessage
from equipoise.pools.amended_log import amendments_of, last_counting_time
from equipoise.pools.pool.pools import pool_message, pool_messages
from equipoise.pools.replay.replaying import maintain_pool, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import Trial, duel
from trials.saved_database import restore

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow


def test_the_last_time_is_recomputed(database_url: str, tmp_path: Path) -> None:
    """In pool "far" a match of the year 5138 is void, and another there counts until its void.

    In the other pools the recomputed times are those that new code gives to the same logs.
    """
    restore(database_url, "0005", tmp_path)
    store = open_store(database_url)
    pools: list[PoolMessage] = pool_messages(store)
    for pool in pools:
        with store.read() as connection:
            record = get_pool(connection, pool.pool)
            last = last_counting_time(connection, record, amendments_of(connection, record))
        assert record.last_time == last
        if record.dirty is None:
            assert record.rated_to == last
        assert verify_pool(store, pool.pool).identical
    trial = Trial.__new__(Trial)
    trial.store, trial.name = store, "far"
    assert pool_message(store, "far").last_time == 99_972_489_600
    trial.void("c")
    (seen,) = trial.post(duel("d", "ben", "ana", 300))
    assert seen.status == "pending"
    trial.settle()
    (seen,) = trial.post(duel("e", "ben", "ana", 400))
    assert (seen.status, pool_message(store, "far").last_time) == ("rated", 400)
    for pool in pools:
        rerate(store, pool.pool)
        maintain_pool(store, pool.pool, owner="tester", stop=lambda: False)
        found = verify_pool(store, pool.pool)
        assert found.identical, found.differences
    store.close()


def test_a_pool_that_a_void_match_blocks_is_free_after_the_upgrade(
    database_url: str, tmp_path: Path
) -> None:
    """Without its last match, the pool "far" had one far match alone, and that is void.

    Checkpoints at the time of the void match are deleted: later matches come before it.
    """
    restore(database_url, "0005", tmp_path)
    engine = create_engine(database_url)
    with engine.begin() as connection:
        pool = connection.execute(text("SELECT id FROM pools WHERE name = 'far'")).scalar_one()
        # As if match "c" had not been posted.
        connection.execute(
            text(
                "UPDATE log SET time = 300000000, posted_time = 300000000 "
                "WHERE pool = :pool AND seq = 5"
            ),
            {"pool": pool},
        )
        connection.execute(
            text("UPDATE changes SET time = 300000000 WHERE pool = :pool AND seq = 5"),
            {"pool": pool},
        )
    engine.dispose()
    store = open_store(database_url)
    assert pool_message(store, "far").last_time == 300
    trial = Trial.__new__(Trial)
    trial.store, trial.name = store, "far"
    (seen,) = trial.post(duel("d", "ben", "ana", 400))
    assert seen.status == "rated"
    with store.read() as connection:
        record = get_pool(connection, "far")
        left = connection.execute(
            text("SELECT count(*) FROM checkpoints WHERE pool = :pool AND time > :last"),
            {"pool": record.id, "last": 300_000_000},
        ).scalar_one()
    assert left == 0
    rerate(store, "far")
    trial.settle()
    assert verify_pool(store, "far").identical
    store.close()
