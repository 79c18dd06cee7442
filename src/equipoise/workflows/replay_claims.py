"""Whose a replay is: one process replays a pool at a time, and says in between that it goes on."""

from __future__ import annotations

from sqlalchemy import Connection

from equipoise.errors import ConflictError
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, change_pool, get_pool
from equipoise.store.sizes import sizes_of
from equipoise.workflows.clock import now


def claim_replay(store: Store, pool: str, owner: str) -> PoolRecord | None:
    """Return the pool if a replay is wanted and nobody is at it."""
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        if record.dirty is None:
            return None
        if record.replay_until is not None and record.replay_until >= now():
            return None
        generation = max(record.generation, record.replay_generation or 0) + 1
        # A replay that was given up has left rows of its generation, which are to be cleared out.
        given_up = record.replay_generation
        change_pool(
            connection,
            record.id,
            replay_generation=generation,
            replay_owner=owner,
            replay_until=now() + store.sizes.lease,
            garbage=record.garbage or given_up is not None,
        )
        return get_pool(connection, pool)


def go_on(store: Store, claimed: PoolRecord) -> None:
    """Say that a replay goes on. Raises : ConflictError where somebody else took it over."""
    with store.write() as connection:
        keep_claim(connection, get_pool(connection, claimed.name, lock=True), claimed)


def keep_claim(connection: Connection, record: PoolRecord, claimed: PoolRecord) -> None:
    """Say that a replay goes on; `record` is the pool, locked. Raises : ConflictError."""
    check_claim(record, (claimed.replay_owner, claimed.replay_generation))
    change_pool(connection, record.id, replay_until=now() + sizes_of(connection).lease)


def leave_replay(store: Store, claimed: PoolRecord) -> None:
    """Leave a replay to whoever comes next. Raises : ConflictError where that was done already."""
    with store.write() as connection:
        keep_claim(connection, get_pool(connection, claimed.name, lock=True), claimed)
        change_pool(connection, claimed.id, replay_owner=None, replay_until=None)


def check_claim(record: PoolRecord, mine: tuple[str | None, int | None]) -> None:
    """Refuse to go on with a replay that is another's by now. Raises : ConflictError."""
    if (record.replay_owner, record.replay_generation) != mine:
        raise ConflictError(f"the replay of pool {record.name} was taken over")
