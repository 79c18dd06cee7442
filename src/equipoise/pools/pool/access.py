"""Access to the service: its keys, and the audit log of what was done with them."""

from __future__ import annotations

import msgspec

from equipoise.errors import require
from equipoise.messages.access import (
    AuditEntry,
    AuditPage,
    KeyList,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
)
from equipoise.pools.pool.pages import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import iso, moment
from equipoise.store import audit, keys
from equipoise.store.audit import AuditRow
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord
from equipoise.store.pools import get_pool

#: Characters of a key's name at most.
_NAME = 200


def make_key(
    store: Store, request: KeyRequest, now: int, *, by: int | None = None
) -> NewKeyMessage:
    """Return a new key with its secret, which is not stored.

    now : microseconds since 1970; by : number of the key that makes it
    Raises : InvalidParameterError; NotFoundError if its pool does not exist
    """
    rule = f"1 to {_NAME} printable characters"
    fits = 0 < len(request.name) <= _NAME and request.name.isprintable()
    require(fits, "name", rule, request.name[:50])
    expires = None if request.expires is None else moment(request.expires, "expires")
    require(expires is None or expires > now, "expires", "in the future", request.expires)
    if request.pool is not None:
        with store.read() as connection:
            get_pool(connection, request.pool)
    made, secret = keys.create_key(
        store, request.name, request.role, request.pool, expires, now, by=by
    )
    return NewKeyMessage(message_of(made), secret)


def all_keys(store: Store) -> KeyList:
    """Return all keys, newest first, without their secrets."""
    return KeyList([message_of(key) for key in keys.list_keys(store)])


def end_key(store: Store, number: int, now: int, *, by: int | None = None) -> KeyMessage:
    """Revoke a key for good, and return it. Raises : NotFoundError."""
    return message_of(keys.revoke_key(store, number, now, by=by))


def message_of(key: KeyRecord) -> KeyMessage:
    """Return a key without its secret."""
    return KeyMessage(
        key=key.id,
        name=key.name,
        role=key.role,
        pool=key.pool,
        created=iso(key.created),
        expires=None if key.expires is None else iso(key.expires),
        revoked=None if key.revoked is None else iso(key.revoked),
        last_used=None if key.last_used is None else iso(key.last_used),
    )


def audit_page(
    store: Store, *, pool: str | None = None, cursor: str | None = None, limit: int = 50
) -> AuditPage:
    """Return a page of the audit log, newest first.

    pool : only what was done to it; None for all
    cursor : from an earlier page; limit : rows, from 1 to 1000
    Raises : InvalidParameterError
    """
    check_limit(limit)
    before = decode_cursor(cursor, int)
    with store.read() as connection:
        rows = audit.entries_before(connection, pool, before, limit + 1)
    shown = rows[:limit]
    more = len(rows) > limit
    return AuditPage([_entry(row) for row in shown], encode_cursor(shown[-1].id) if more else None)


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
