"""The audit log: what administrators did, written in the same transaction, never changed.

Its oldest rows may be deleted after some time: `cut_through`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, delete, func, insert, select

from equipoise.store.schema import audit


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
    connection.execute(
        insert(audit).values(
            time=now,
            key=key,
            what=what,
            pool=pool,
            subject=None if subject is None else str(subject),
            detail=msgspec.json.encode(detail).decode(),
        )
    )


def last_before(connection: Connection, time: int) -> int | None:
    """Return the number of the last row before the first one at or after a time; None for none."""
    kept = connection.execute(select(func.min(audit.c.id)).where(audit.c.time >= time)).scalar()
    older = select(func.max(audit.c.id))
    if kept is not None:
        older = older.where(audit.c.id < kept)
    return connection.execute(older).scalar()


def cut_through(connection: Connection, number: int, limit: int) -> bool:
    """Delete the oldest rows up to a number, at most `limit`; return whether all are deleted."""
    oldest = select(audit.c.id).where(audit.c.id <= number).order_by(audit.c.id).limit(limit)
    found = [int(row[0]) for row in connection.execute(oldest)]
    if found:
        connection.execute(delete(audit).where(audit.c.id <= found[-1]))
    return len(found) < limit


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
