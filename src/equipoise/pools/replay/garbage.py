"""Garbage of replays: rows that a replay has replaced or left behind.

They are deleted in small steps, so that no writer waits long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from equipoise.analysis.clock import now
from equipoise.pools.replay.leases import extend_lease
from equipoise.store import changes, ratings
from equipoise.store.connection import Store
from equipoise.store.derived import partial_checkpoints
from equipoise.store.pools import PoolRecord, change_pool, get_pool


def collect_garbage(store: Store, pool: str, *, stop: Callable[[], bool] = lambda: False) -> bool:
    """Delete the rows of older generations, unless a replay runs; return whether all are gone."""
    with store.read() as connection:
        record = get_pool(connection, pool)
    if not record.garbage:
        return True
    if record.replay_until is not None and record.replay_until >= now():
        return False
    return clear(store, pool, stop)


def clear(
    store: Store, pool: str, stop: Callable[[], bool], leased: PoolRecord | None = None
) -> bool:
    """Delete rows that no reader sees and no replay writes; return whether all are gone.

    leased : the pool with the lease of the replay that does this; the lease is renewed
    """
    after: tuple[Any, ...] | None = None
    seen: tuple[int, int | None] | None = None
    while not stop():
        # After a crash the same rows are deleted once more.
        with store.write(durable=False) as connection:
            record = get_pool(connection, pool, lock=True)
            if leased is not None:
                extend_lease(connection, record, leased)
            if not record.garbage:
                return True
            # After a swap, or a replay given up, rows may be garbage that were not before.
            if seen != (record.generation, record.replay_generation):
                after, seen = None, (record.generation, record.replay_generation)
            after = changes.forget_unseen(connection, record, after, store.sizes.rows)
            gone = ratings.forget_others(
                connection,
                record.id,
                record.generation,
                record.replay_generation,
                store.sizes.rows,
            )
            gone += partial_checkpoints.forget_unseen(connection, record, store.sizes.partial_rows)
            if after is None and not gone:
                change_pool(connection, record.id, garbage=False)
                return True
        time.sleep(0.001)
    return False
