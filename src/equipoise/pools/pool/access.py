"""Access to the service: its keys, and the audit log of what was done with them."""

from __future__ import annotations

import msgspec

from equipoise.errors import require
from equipoise.messages.upkeep import (
    LONGEST_TOKEN,
    MOST_KEEP_SECONDS,
    SHORTEST_TOKEN,
    AuditEntry,
    AuditPage,
    KeyList,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    RotationRequest,
)
from equipoise.pools.pool.pools import check_page, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import iso, moment
from equipoise.store import keys
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord, audit_rows_before
from equipoise.store.pools import get_pool

#: Maximum number of characters of a key's name.
_NAME = 200


def make_key(
    store: Store, request: KeyRequest, now: int, *, key: int | None = None
) -> NewKeyMessage:
    """Return a new key with its secret, which is not stored.

    If the request has a token and was carried out before, the answer is the same.

    now : microseconds since 1970; key : number of the key that makes it
    Raises : InvalidParameterError; NotFoundError if its pool does not exist; ConflictError if the
        token was used for another request, or the secret is no longer valid
    """
    rule = f"1 to {_NAME} printable characters"
    fits = 0 < len(request.name) <= _NAME and request.name.isprintable()
    require(fits, "name", rule, request.name[:50])
    expires = None if request.expires is None else moment(request.expires, "expires")
    require(expires is None or expires > now, "expires", "in the future", request.expires)
    _check_token(request.token)
    if request.pool is not None:
        with store.read() as connection:
            get_pool(connection, request.pool)
    new, secret = keys.create_key(
        store, request.name, request.role, request.pool, expires, now, by=key, token=request.token
    )
    return NewKeyMessage(message_of(new), secret)


def rotate_key(
    store: Store, number: int, request: RotationRequest, now: int, *, key: int | None = None
) -> NewKeyMessage:
    """Return a key with a new secret. The previous secret remains valid for a time.

    If the request has a token and was carried out before, the answer is the same.

    Raises : InvalidParameterError; NotFoundError; ConflictError if the key is revoked or has
        expired, the token was used for another request, or its secret is no longer valid
    """
    keep = request.keep_seconds
    require(
        0 <= keep <= MOST_KEEP_SECONDS, "keep_seconds", f"from 0 to {MOST_KEEP_SECONDS:,}", keep
    )
    _check_token(request.token)
    new, secret = keys.rotate_key(
        store, number, now, keep=keep * 1_000_000, by=key, token=request.token
    )
    return NewKeyMessage(message_of(new), secret)


def _check_token(token: str | None) -> None:
    fits = token is None or SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN
    # The token must not be shown, because the secret can be computed from it.
    require(fits, "token", f"{SHORTEST_TOKEN} to {LONGEST_TOKEN} characters", "another length")


def all_keys(store: Store) -> KeyList:
    """Return all keys, newest first, without their secrets."""
    return KeyList([message_of(key) for key in keys.list_keys(store)])


def end_key(store: Store, number: int, now: int, *, key: int | None = None) -> KeyMessage:
    """Revoke a key for good, and return it. Raises : NotFoundError."""
    return message_of(keys.revoke_key(store, number, now, by=key))


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
        previous_until=None if key.previous_until is None else iso(key.previous_until),
    )


def audit_page(
    store: Store, *, pool: str | None = None, cursor: str | None = None, limit: int = 50
) -> AuditPage:
    """Return a page of the audit log, newest first.

    pool : only what was done to it; None for all
    cursor : from an earlier page; limit : rows, from 1 to 1000
    Raises : InvalidParameterError
    """
    check_page(limit)
    before = decode_cursor(cursor, int)
    with store.read() as connection:
        rows = audit_rows_before(connection, pool, before, limit + 1)
    entries = [
        AuditEntry(
            entry=row.id,
            time=iso(row.time),
            key=row.key,
            what=row.what,
            pool=row.pool,
            subject=row.subject,
            detail=msgspec.json.decode(row.detail),
        )
        for row in rows[:limit]
    ]
    more = len(rows) > limit
    return AuditPage(entries, encode_cursor(entries[-1].entry) if more else None)
