"""Chaining of records from before schema 0006, which have no hashes yet.

This is the second part of an upgrade. It works in small transactions, and each records the
progress. So an upgrade that is killed continues from there, and two processes can take turns.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, bindparam, func, select, update

from equipoise.store import audit as audit_log
from equipoise.store.chain import (
    Heads,
    audit_leaf,
    extended,
    first_heads,
    leaf_of,
    linked,
    salts,
)
from equipoise.store.log import LogRecord
from equipoise.store.schema import audit, audit_chain, log, pools
from equipoise.store.sizes import SIZES

#: Rows in one transaction.
_PIECE = 5_000


def is_chained(connection: Connection) -> bool:
    """Return whether an upgrade has chained everything."""
    left = select(pools.c.id).where(_UNFINISHED).limit(1)
    if connection.execute(left).first() is not None:
        return False
    return audit_log.chain_of(connection).chained_through is None


def chain_existing(engine: Engine) -> None:
    """Chain everything that is not chained yet, in small transactions."""
    more = True
    while more:
        with engine.begin() as connection:
            more = _chain_log(connection, _PIECE) or _chain_audit(connection, _PIECE)


_UNFINISHED = pools.c.chained_through.is_not(None) & pools.c.deleted.is_(None)


def _chain_log(connection: Connection, piece: int) -> bool:
    """Chain the next records of the first pool that has any; return whether there was a pool."""
    query = select(pools).where(_UNFINISHED).order_by(pools.c.id).limit(1).with_for_update()
    found = connection.execute(query).first()
    if found is None:
        # On PostgreSQL another process may just have finished the pool.
        return connection.execute(select(func.count()).where(_UNFINISHED)).scalar_one() > 0
    pool, through, columns = found.id, found.chained_through, dict[str, Any]()
    if found.head is None:
        first = _first_settings(connection, pool, found.settings)
        columns["first_settings"] = first
        name = found.name if found.archive_of is None else found.archive_of
        heads = first_heads(first, name, found.created, found.chained_from)
    else:
        heads = Heads(bytes(found.head), bytes(found.own_runs))
    records, done = _next_records(connection, pool, through, piece)
    new = salts(len(records))
    heads = extended(heads, records, map(leaf_of, records, new))
    if records:
        connection.execute(
            update(log)
            .where(log.c.pool == pool, log.c.seq == bindparam("the_seq"))
            .values(salt=bindparam("the_salt")),
            [
                {"the_seq": record.seq, "the_salt": salt}
                for record, salt in zip(records, new, strict=True)
            ],
        )
    columns |= {
        "head": heads.shared,
        "own_runs": heads.own,
        "chained_through": None if done else records[-1].seq,
    }
    connection.execute(update(pools).where(pools.c.id == pool).values(**columns))
    return True


def _next_records(
    connection: Connection, pool: int, after: int, limit: int
) -> tuple[list[LogRecord], bool]:
    """Return the next records, fewer where they are large, and whether these are the last."""
    fields = [log.c[name] for name in LogRecord._fields]
    query = select(*fields).where(log.c.pool == pool, log.c.seq > after).order_by(log.c.seq)
    found, characters = [], 0
    options = {"yield_per": SIZES.fetched}
    with connection.execute(query.limit(limit), execution_options=options) as rows:
        for row in rows:
            found.append(LogRecord._make(row))
            characters += len(found[-1].content)
            if characters >= SIZES.characters:
                return found, False
    return found, len(found) < limit


def _first_settings(connection: Connection, pool: int, settings: str) -> str:
    """Return the settings that a pool was created with, as JSON."""
    query = select(log.c.content).where(log.c.pool == pool, log.c.kind == "settings")
    changes = connection.execute(query.order_by(log.c.seq.desc())).scalars().all()
    if not changes:
        return settings
    first = msgspec.json.decode(settings)
    for content in changes:
        first |= msgspec.json.decode(content)["before"]
    return msgspec.json.encode(first).decode()


def _chain_audit(connection: Connection, piece: int) -> bool:
    """Chain the next rows of the audit log; return whether any were left."""
    if audit_log.chain_of(connection).chained_through is None:
        return False
    chain = audit_log.lock_chain(connection)
    if chain.chained_through is None:
        return False
    rows = [row for row, _ in audit_log.chained_rows(connection, chain.chained_through, piece)]
    new, head = salts(len(rows)), chain.head
    for row, salt in zip(rows, new, strict=True):
        head = linked(head, audit_leaf(row, salt))
    if rows:
        connection.execute(
            update(audit)
            .where(audit.c.id == bindparam("the_id"))
            .values(salt=bindparam("the_salt")),
            [{"the_id": row.id, "the_salt": salt} for row, salt in zip(rows, new, strict=True)],
        )
    done = len(rows) < piece
    through = None if done else rows[-1].id
    connection.execute(update(audit_chain).values(head=head, chained_through=through))
    return True
