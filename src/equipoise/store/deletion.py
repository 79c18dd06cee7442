"""Rows of deleted pools, taken away a piece at a time."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, delete, literal, select, tuple_

from equipoise.store.schema import (
    changes,
    checkpoints,
    log,
    outbox,
    pools,
    ratings,
    replays,
    seeds,
    webhooks,
)

#: Where a pool has rows, `pools` itself and what tells of it afterwards, `audit` and `keys`, aside.
TABLES: tuple[Table, ...] = (
    ratings,
    changes,
    checkpoints,
    replays,
    outbox,
    webhooks,
    seeds,
    log,
)
#: Tables whose rows may have many megabytes.
LARGE = frozenset({checkpoints})


def pools_to_clear(connection: Connection) -> list[int]:
    """Return the numbers of deleted pools of which rows are left."""
    query = select(pools.c.id).where(pools.c.deleted.is_not(None), pools.c.garbage)
    return [int(row[0]) for row in connection.execute(query.order_by(pools.c.id))]


def forget_piece(
    connection: Connection, table: Table, pool: int, after: tuple[Any, ...] | None, limit: int
) -> tuple[Any, ...] | None:
    """Delete the next rows of a pool in the order of their key, at most `limit`.

    after : what the step before returned, None for the first one
    Returns : where to go on, None at the end
    """
    key = [column for column in table.primary_key.columns if column.name != "pool"]
    mine = table.c.pool == pool
    if not key:
        connection.execute(delete(table).where(mine))
        return None
    here = tuple_(*key)
    if after is not None:
        # Otherwise PostgreSQL goes each time through the index of all that was deleted before.
        mine &= here > _values(after)
    query = select(*key).where(mine).order_by(*key).offset(limit - 1).limit(1)
    last = connection.execute(query).first()
    if last is not None:
        mine &= here <= _values(tuple(last))
    connection.execute(delete(table).where(mine))
    return None if last is None else tuple(last)


def _values(key: tuple[Any, ...]) -> Any:
    return tuple_(*(literal(value) for value in key))
