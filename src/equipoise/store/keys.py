"""Keys of the service: random secrets, of which only a hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select, update

from equipoise.errors import NotFoundError
from equipoise.store import audit
from equipoise.store.connection import Store
from equipoise.store.schema import keys

#: The beginning of a secret, by which users and secret scanners recognise it.
PREFIX = "eqp"

#: Microseconds between two updates of a key's last use.
_LAST_USED_EVERY = 60_000_000


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key; times in microseconds since 1970.

    pool : its scope, None for all pools
    """

    id: int
    name: str
    role: str
    pool: str | None
    created: int
    expires: int | None
    revoked: int | None
    last_used: int | None


_SHOWN = [keys.c[name] for name in KeyRecord.__dataclass_fields__]


def create_key(
    store: Store,
    name: str,
    role: str,
    pool: str | None,
    expires: int | None,
    now: int,
    *,
    by: int | None = None,
) -> tuple[KeyRecord, str]:
    """Return a new key and its secret, which is not stored.

    by : number of the key that makes it
    """
    random = secrets.token_urlsafe(32)
    with store.write() as connection:
        made = insert(keys).values(
            name=name, role=role, pool=pool, hash=_hash(random), created=now, expires=expires
        )
        number = int(connection.execute(made.returning(keys.c.id)).scalar_one())
        detail = {"name": name, "role": role, "expires": expires}
        audit.note(connection, "key.created", now=now, key=by, pool=pool, subject=number, **detail)
    return (
        KeyRecord(number, name, role, pool, now, expires, None, None),
        f"{PREFIX}_{number}_{random}",
    )


def find_key(store: Store, secret: str, now: int) -> KeyRecord | None:
    """Return the key of a secret, None if it is unknown, revoked or expired."""
    prefix, _, rest = secret.partition("_")
    number, _, random = rest.partition("_")
    known = prefix == PREFIX and number.isascii() and number.isdecimal() and len(number) < 10
    with store.read() as connection:
        found = connection.execute(_ONE, {"wanted": int(number) if known else 0}).first()
    # The comparison takes the same time whether or not the key exists.
    stored = bytes(32) if found is None else bytes(found[-1])
    if not hmac.compare_digest(stored, _hash(random)) or found is None:
        return None
    key = KeyRecord(*found[:-1])
    if key.revoked is not None or (key.expires is not None and key.expires <= now):
        return None
    return key


def note_use(store: Store, key: KeyRecord, now: int) -> None:
    """Store the last use of a key, unless that was done within a minute."""
    if key.last_used is None or now - key.last_used > _LAST_USED_EVERY:
        with store.write() as connection:
            connection.execute(update(keys).where(keys.c.id == key.id).values(last_used=now))


def list_keys(store: Store) -> list[KeyRecord]:
    """Return all keys, newest first."""
    with store.read() as connection:
        rows = connection.execute(select(*_SHOWN).order_by(keys.c.id.desc()))
        return [KeyRecord(*row) for row in rows]


def revoke_key(store: Store, number: int, now: int, *, by: int | None = None) -> KeyRecord:
    """Revoke a key and return it; a revoked key does not change.

    Raises : NotFoundError
    """
    with store.write() as connection:
        found = _by_number(connection, number)
        if found.revoked is None:
            connection.execute(update(keys).where(keys.c.id == number).values(revoked=now))
            what = "key.revoked"
            audit.note(connection, what, now=now, key=by, pool=found.pool, subject=number)
        return _by_number(connection, number)


def revoke_keys_of(connection: Connection, pool: str, now: int) -> list[int]:
    """Revoke the keys of a pool that is deleted; return their numbers."""
    mine = (keys.c.pool == pool) & keys.c.revoked.is_(None)
    found = [int(row[0]) for row in connection.execute(select(keys.c.id).where(mine))]
    connection.execute(update(keys).where(mine).values(revoked=now))
    return sorted(found)


def _by_number(connection: Connection, number: int) -> KeyRecord:
    known = 0 < number < 2**31
    row = connection.execute(_ONE, {"wanted": number}).first() if known else None
    if row is None:
        raise NotFoundError(f"no key {number}")
    return KeyRecord(*row[:-1])


def _hash(random: str) -> bytes:
    return hashlib.sha256(random.encode("utf-8", "surrogatepass")).digest()


_ONE = select(*_SHOWN, keys.c.hash).where(keys.c.id == bindparam("wanted"))
