"""What webhooks are to be told: written with what it tells of, kept until all have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from equipoise.store.bulk import insert_rows
from equipoise.store.schema import outbox

#: Kinds of events, a bit each in `pools.webhooks`.
KINDS = {"match.rated": 1, "ratings.corrected": 2, "season.ended": 4}


class Event(NamedTuple):
    """An event as the table has it.

    source : number of the pool that it tells of
    reference : an entry of that pool's log, or one of its generations
    """

    number: int
    kind: str
    source: int
    reference: int
    created: int


_SHOWN = [outbox.c.id, outbox.c.kind, outbox.c.source, outbox.c.reference, outbox.c.created]


def append(
    connection: Connection,
    pool: int,
    last: int,
    source: int,
    happened: Sequence[tuple[str, int]],
    now: int,
) -> int:
    """Append events, and return the last number, which the caller keeps in the pool.

    last : the number of the last one before; happened : (kind, reference) of each
    """
    rows = [
        (pool, last + number, kind, source, reference, now)
        for number, (kind, reference) in enumerate(happened, start=1)
    ]
    insert_rows(connection, outbox, ("pool", "id", "kind", "source", "reference", "created"), rows)
    return last + len(rows)


def events_after(connection: Connection, pool: int, after: int, limit: int) -> list[Event]:
    """Return the next events of a pool after a number."""
    query = select(*_SHOWN).where(outbox.c.pool == pool, outbox.c.id > after)
    rows = connection.execute(query.order_by(outbox.c.id).limit(limit))
    return [Event._make(row) for row in rows]


def count_after(connection: Connection, pool: int, after: int) -> int:
    """Return the number of events of a pool after a number."""
    query = select(func.count()).where(outbox.c.pool == pool, outbox.c.id > after)
    return int(connection.execute(query).scalar_one())


def forget_through(connection: Connection, pool: int, through: int, limit: int) -> int:
    """Delete at most `limit` events up to a number; return how many."""
    mine = outbox.c.pool == pool
    oldest = select(outbox.c.id).where(mine, outbox.c.id <= through).order_by(outbox.c.id)
    found = [int(row[0]) for row in connection.execute(oldest.limit(limit))]
    if found:
        connection.execute(delete(outbox).where(mine, outbox.c.id <= found[-1]))
    return len(found)


def move(connection: Connection, old: int, new: int) -> None:
    """Hand the events of a pool to the one that follows it."""
    connection.execute(update(outbox).where(outbox.c.pool == old).values(pool=new))
