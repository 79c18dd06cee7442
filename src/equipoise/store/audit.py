"""What administrators did: written in the transaction that does it, never changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, insert, select

from equipoise.store.schema import audit


class AuditRow(NamedTuple):
    """An entry as the table has it."""

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
    """Write down what was done.

    key : number of the key that did it, None for the command line
    subject : of which match, player, key, webhook or season
    detail : more, never a secret
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


def entries_before(
    connection: Connection, pool: str | None, before: int | None, limit: int
) -> list[AuditRow]:
    """Return the newest entries with a number below `before`; pool : None for all."""
    query = select(*_SHOWN)
    if pool is not None:
        query = query.where(audit.c.pool == pool)
    if before is not None:
        query = query.where(audit.c.id < before)
    rows = connection.execute(query.order_by(audit.c.id.desc()).limit(limit))
    return [AuditRow._make(row) for row in rows]
