"""The audit log: what administrators did, written in the same transaction, never changed.

It is a hash chain, so its rows are written one at a time in a database: `store.chain`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from equipoise.store.chain import FIRST_OF_AUDIT, Seal, audit_leaf, linked, salts
from equipoise.store.schema import audit, audit_chain


class AuditRow(NamedTuple):
    """A row of the audit log."""

    id: int
    time: int
    key: int | None
    what: str
    pool: str | None
    subject: str | None
    detail: str


_SHOWN = [audit.c[name] for name in AuditRow._fields]


def note(
    connection: Connection,
    what: str,
    *,
    now: int,
    key: int | None,
    pool: str | None = None,
    subject: object = None,
    **detail: Any,
) -> None:
    """Add a row to the audit log.

    what : the action, such as "pool.created"
    key : number of the key that did it, None for the command line
    subject : the match, player, key, webhook or season concerned
    detail : further values; never a secret
    """
    chain = lock_chain(connection)
    row = AuditRow(
        id=chain.last + 1,
        time=now,
        key=key,
        what=what,
        pool=pool,
        subject=None if subject is None else str(subject),
        detail=msgspec.json.encode(detail).decode(),
    )
    (salt,) = salts(1)
    connection.execute(insert(audit).values(**row._asdict(), salt=salt))
    head = linked(chain.head, audit_leaf(row, salt))
    connection.execute(update(audit_chain).values(last=row.id, head=head))


class AuditChain(NamedTuple):
    """The hash chain over the audit log: number of a row, and the hash after it.

    last, head : of the last row
    cut, cut_head : of the last row that was deleted because of its age
    chained_from : first row that was chained when it was written
    """

    last: int
    head: bytes
    cut: int
    cut_head: bytes
    chained_from: int


def begin_chain(connection: Connection) -> None:
    """Begin the chain in an empty database."""
    first = AuditChain(0, FIRST_OF_AUDIT, 0, FIRST_OF_AUDIT, chained_from=1)
    connection.execute(insert(audit_chain).values(id=1, **first._asdict()))


def chain_of(connection: Connection) -> AuditChain:
    """Return the hash chain over the audit log."""
    return _chain(connection.execute(_CHAIN).one())


def lock_chain(connection: Connection) -> AuditChain:
    """Return the chain; nobody else can add a row before the transaction ends."""
    return _chain(connection.execute(_CHAIN.with_for_update()).one())


def _chain(row: Row[Any]) -> AuditChain:
    chain = AuditChain._make(row)
    return chain._replace(head=bytes(chain.head), cut_head=bytes(chain.cut_head))


_CHAIN = select(*(audit_chain.c[name] for name in AuditChain._fields))


def chained_rows(connection: Connection, after: int, limit: int) -> list[tuple[AuditRow, Seal]]:
    """Return the next rows after one, with their seals. A row that is not chained has no salt."""
    query = select(*_SHOWN, audit.c.salt, audit.c.leaf).where(audit.c.id > after)
    rows = connection.execute(query.order_by(audit.c.id).limit(limit))
    return [(AuditRow._make(row), Seal.of(salt, leaf)) for *row, salt, leaf in rows]


def cut_through(connection: Connection, number: int, limit: int) -> bool:
    """Delete the oldest rows up to a number, at most `limit`, and keep the hash of the chain there.

    Returns : whether all of them are deleted
    """
    chain = lock_chain(connection)
    rows = [row for row in chained_rows(connection, chain.cut, limit) if row[0].id <= number]
    if not rows:
        return True
    head = chain.cut_head
    for row, seal in rows:
        head = linked(head, audit_leaf(row, seal.salt) if seal.leaf is None else seal.leaf)
    last = rows[-1][0].id
    connection.execute(delete(audit).where(audit.c.id <= last))
    connection.execute(update(audit_chain).values(cut=last, cut_head=head))
    return len(rows) < limit


def last_before(connection: Connection, time: int) -> int | None:
    """Return the number of the last row before the first one at or after a time; None for none."""
    kept = connection.execute(select(func.min(audit.c.id)).where(audit.c.time >= time)).scalar()
    older = select(func.max(audit.c.id))
    if kept is not None:
        older = older.where(audit.c.id < kept)
    return connection.execute(older).scalar()


def entries_before(
    connection: Connection, pool: str | None, before: int | None, limit: int
) -> list[AuditRow]:
    """Return the newest rows with a number below `before`; pool : None for all."""
    query = select(*_SHOWN)
    if pool is not None:
        query = query.where(audit.c.pool == pool)
    if before is not None:
        query = query.where(audit.c.id < before)
    rows = connection.execute(query.order_by(audit.c.id.desc()).limit(limit))
    return [AuditRow._make(row) for row in rows]
