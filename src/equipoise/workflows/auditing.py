"""Reading what administrators did."""

from __future__ import annotations

import msgspec

from equipoise.errors import require
from equipoise.messages.audit import AuditEntry, AuditPage
from equipoise.store import audit
from equipoise.store.audit import AuditRow
from equipoise.store.connection import Store
from equipoise.workflows.cursors import cursor_in, cursor_out
from equipoise.workflows.pools import iso

#: Entries of a page at most.
_MOST = 1000


def audit_page(
    store: Store, *, pool: str | None = None, cursor: str | None = None, limit: int = 50
) -> AuditPage:
    """Return what was done, newest first; pool : only what concerns it.

    Raises : InvalidParameterError
    """
    require(1 <= limit <= _MOST, "limit", f"from 1 to {_MOST}", limit)
    before = cursor_in(cursor, int)
    with store.read() as connection:
        rows = audit.entries_before(connection, pool, before, limit + 1)
    shown = rows[:limit]
    more = len(rows) > limit
    return AuditPage([_entry(row) for row in shown], cursor_out(shown[-1].id) if more else None)


def _entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(
        entry=row.id,
        time=iso(row.time),
        key=row.key,
        what=row.what,
        pool=row.pool,
        subject=row.subject,
        detail=msgspec.json.decode(row.detail),
    )
