"""Deleting a pool: its name can be used again at once, and its rows are deleted in small steps.

The row in `pools` stays, without the name, so that nothing else ever gets the pool's number.
No progress is recorded: after a crash the next process deletes the rows that are left.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from equipoise.errors import ConflictError, InvalidParameterError
from equipoise.messages.pools import DeletedPool
from equipoise.pools.pool.rules import iso
from equipoise.store import audit, keys, pools, webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import archives_of, change_pool, get_pool, pool_after

#: Archives that an error names.
_NAMED = 5


def delete_pool(store: Store, pool: str, confirm: str, *, key: int | None, now: int) -> DeletedPool:
    """Delete a pool with its log, ratings and webhooks, and revoke the keys that are for it alone.

    confirm : the name of the pool, repeated
    key : number of the key that deletes it
    Raises : NotFoundError; InvalidParameterError if the name is not repeated; ConflictError
        if archives of the pool exist, or the season after it
    """
    if confirm != pool:
        raise InvalidParameterError(
            f"confirm must repeat the name of the pool, {pool}; got {confirm[:100]!r}"
        )
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        archives = [one.name for one in archives_of(connection, pool)]
        if archives:
            more = f" and {len(archives) - _NAMED} more" if len(archives) > _NAMED else ""
            raise ConflictError(
                f"Pool {pool!r} has archives of earlier seasons and cannot be deleted: "
                f"{', '.join(archives[:_NAMED])}{more}"
            )
        after = pool_after(connection, record.id)
        if after is not None:
            raise ConflictError(
                f"Pool {pool!r} is the season before {after!r} and cannot be deleted: that "
                "season started with the ratings of this pool"
            )
        revoked = keys.revoke_keys_of(connection, pool, now)
        webhooks.forget_webhooks(connection, record.id)
        change_pool(
            connection,
            record.id,
            # No pool can have this name.
            name=f"deleted/{record.id}",
            deleted=now,
            garbage=True,
            dirty=None,
            replay_generation=None,
            replay_owner=None,
            replay_until=None,
            checkpoint_due=0,
            board_day=None,
            board_from=None,
            webhooks=0,
        )
        audit.note(
            connection,
            "pool.deleted",
            now=now,
            key=key,
            pool=pool,
            number=record.id,
            matches=record.matches,
            players=record.players,
            keys=revoked,
        )
    return DeletedPool(pool, iso(now), record.matches, record.players)


def pools_to_clear(store: Store) -> list[int]:
    """Return the numbers of deleted pools that still have rows."""
    with store.read() as connection:
        return pools.pools_to_clear(connection)


def clear_deleted(store: Store, number: int, *, stop: Callable[[], bool] = lambda: False) -> bool:
    """Delete the rows of a deleted pool, in small steps; return whether all are gone."""
    for table in pools.TABLES:
        after, more = None, True
        while more:
            if stop():
                return False
            with store.write() as connection:
                limit = 1 if table in pools.LARGE else store.sizes.rows
                after = pools.forget_piece(connection, table, number, after, limit)
            more = after is not None
            # Neither SQLite nor locks are fair: without a pause a waiting writer may starve.
            time.sleep(0.001)
    with store.write() as connection:
        change_pool(connection, number, garbage=False)
    return True
