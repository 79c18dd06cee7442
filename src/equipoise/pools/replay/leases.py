"""The lease of a replay: one process replays a pool at a time, and renews its lease."""

from __future__ import annotations

from sqlalchemy import Connection

from equipoise.analysis.clock import now
from equipoise.errors import ConflictError
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, change_pool, get_pool
from equipoise.store.sizes import sizes_of


def acquire_lease(store: Store, pool: str, owner: str) -> PoolRecord | None:
    """Lease the replay of a pool; None if it needs none, or another process has the lease."""
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        if record.dirty is None:
            return None
        if record.replay_until is not None and record.replay_until >= now():
            return None
        return lease(connection, record, owner)


def lease(connection: Connection, record: PoolRecord, owner: str) -> PoolRecord:
    """Lease a pool that is locked, whoever had the lease, and return it."""
    generation = max(record.generation, record.replay_generation or 0) + 1
    # A replay that was given up has left rows of its generation.
    given_up = record.replay_generation
    change_pool(
        connection,
        record.id,
        replay_generation=generation,
        replay_owner=owner,
        replay_until=now() + sizes_of(connection).lease,
        garbage=record.garbage or given_up is not None,
    )
    return get_pool(connection, record.name)


def renew_lease(store: Store, leased: PoolRecord) -> None:
    """Renew a lease. Raises : ConflictError if another process took the replay over."""
    with store.write() as connection:
        extend_lease(connection, get_pool(connection, leased.name, lock=True), leased)


def extend_lease(connection: Connection, record: PoolRecord, leased: PoolRecord) -> None:
    """Renew a lease; `record` is the pool, locked. Raises : ConflictError."""
    check_lease(record, (leased.replay_owner, leased.replay_generation))
    change_pool(connection, record.id, replay_until=now() + sizes_of(connection).lease)


def release_lease(store: Store, leased: PoolRecord) -> None:
    """Give up a lease. Raises : ConflictError if another process took the replay over."""
    with store.write() as connection:
        extend_lease(connection, get_pool(connection, leased.name, lock=True), leased)
        change_pool(connection, leased.id, replay_owner=None, replay_until=None)


def check_lease(record: PoolRecord, mine: tuple[str | None, int | None]) -> None:
    """Raise a ConflictError if another process has taken the replay over."""
    if (record.replay_owner, record.replay_generation) != mine:
        raise ConflictError(f"the replay of pool {record.name} was taken over")
