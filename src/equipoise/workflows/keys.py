"""Keys of the service: made, listed, revoked."""

from __future__ import annotations

from equipoise.errors import require
from equipoise.messages.keys import KeyList, KeyMessage, KeyRequest, NewKeyMessage
from equipoise.store import keys
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord
from equipoise.store.pools import get_pool
from equipoise.workflows.pools import iso
from equipoise.workflows.posted_matches import moment

#: Characters of a key's name at most.
_NAME = 200


def make_key(
    store: Store, request: KeyRequest, now: int, *, by: int | None = None
) -> NewKeyMessage:
    """Return a new key with its secret, which is kept nowhere.

    now : microseconds since 1970; by : number of the key with which it is made
    Raises : InvalidParameterError; NotFoundError for a pool that is not there
    """
    rule = f"1 to {_NAME} characters that are printable"
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
    """Return a key as it is shown."""
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
