"""Keys of the service, sessions, and the audit log of what was done with them.

A session is a browser that is signed in with a key. Keys and sessions have random secrets, and only
hashes of them are stored. After a rotation, a key has two secrets for a time. A session ends with
its key, and at the latest with the secret with which it began.

A request for a secret may have a token. The secret is then computed from the token and a random
salt, and only the salt and a hash of the token are stored. Neither the database nor the token alone
reveals the secret, but a repeated request gets the same one.

Rows of the audit log are written in the transaction of what administrators did. They are a hash
chain, so they are written one at a time in a database.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from equipoise.errors import ConflictError, NotFoundError
from equipoise.store.bulk import has_json
from equipoise.store.connection import Store
from equipoise.store.log import Seal, linked, salts
from equipoise.store.schema import audit, audit_chain, key_requests, keys, sessions

#: The beginnings of a secret and of a session, by which users and secret scanners recognise them.
PREFIX, SESSION_PREFIX = "eqp", "eqs_"
#: Sessions of one key. One more ends the oldest.
MOST_SESSIONS = 50
#: Bytes of a secret.
_RANDOM = 32


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key; times in microseconds since 1970.

    pool : its scope, None for all pools
    previous_until : end of the validity of the previous secret
    """

    id: int
    name: str
    role: str
    pool: str | None
    created: int
    expires: int | None
    revoked: int | None
    last_used: int | None
    previous_until: int | None = None


#: A key and its secret.
Issued: TypeAlias = tuple[KeyRecord, str]

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
    token: str | None = None,
) -> Issued:
    """Return a new key and its secret, which is not stored.

    by : number of the key that makes it
    token : random text; the same request with the same token gets the same key and secret
    Raises : ConflictError if the token was used for another request, or the secret has changed
    """

    def make(connection: Connection, random: str) -> KeyRecord:
        statement = insert(keys).values(
            name=name, role=role, pool=pool, hash=_hash(random), created=now, expires=expires
        )
        number = int(connection.execute(statement.returning(keys.c.id)).scalar_one())
        detail = {"name": name, "role": role, "expires": expires}
        add_audit_row(
            connection, "key.created", now=now, key=by, pool=pool, subject=number, **detail
        )
        return _by_number(connection, number)

    return _issued(store, ("create", name, role, pool, expires, by), token, now, make)


def rotate_key(
    store: Store,
    number: int,
    now: int,
    *,
    keep: int = 0,
    by: int | None = None,
    token: str | None = None,
) -> Issued:
    """Return a key and its new secret.

    keep : microseconds for which the previous secret remains valid; an older one ends now
    by, token : as in `create_key`
    Raises : NotFoundError; ConflictError as `create_key`, and if the key is revoked or has expired
    """

    def change(connection: Connection, random: str) -> KeyRecord:
        key = _by_number(connection, number)
        if key.revoked is not None or (key.expires is not None and key.expires <= now):
            raise ConflictError(f"key {number} is revoked or has expired: create a new one")
        connection.execute(
            update(keys)
            .where(keys.c.id == number)
            .values(
                hash=_hash(random),
                previous_hash=keys.c.hash if keep else None,
                previous_until=now + keep if keep else None,
            )
        )
        mine = (sessions.c.key == number) & (sessions.c.expires > now + keep)
        connection.execute(update(sessions).where(mine).values(expires=now + keep))
        detail = {"keep_seconds": keep / 1_000_000}
        what = "key.rotated"
        add_audit_row(connection, what, now=now, key=by, pool=key.pool, subject=number, **detail)
        return _by_number(connection, number)

    return _issued(store, ("rotate", number, keep, by), token, now, change)


def _issued(
    store: Store,
    request: tuple[object, ...],
    token: str | None,
    now: int,
    issue: Callable[[Connection, str], KeyRecord],
) -> Issued:
    """Return the key for which `issue` stores a secret, or what an earlier request got."""

    def attempt() -> Issued:
        with store.write() as connection:
            earlier = None if token is None else _repeated(connection, token, digest, now)
            if earlier is not None:
                return earlier
            salt = secrets.token_bytes(_RANDOM)
            random = _encoded(salt) if token is None else _derived(salt, token)
            key = issue(connection, random)
            if token is not None:
                row = {"token": _hash(token), "request": digest, "key": key.id, "salt": salt}
                connection.execute(insert(key_requests).values(**row, created=now))
            return key, _secret(key.id, random)

    digest = hashlib.sha256(msgspec.json.encode(request)).digest()
    try:
        return attempt()
    except IntegrityError:
        # On PostgreSQL, the same request may run at the same time. It has now been committed.
        return attempt()


def _repeated(connection: Connection, token: str, request: bytes, now: int) -> Issued | None:
    """Return what an earlier request with this token got, None if there was none."""
    wanted = select(key_requests).where(key_requests.c.token == _hash(token))
    row = connection.execute(wanted).first()
    if row is None:
        return None
    if bytes(row.request) != request:
        raise ConflictError("this token was used for another request: use a new random token")
    random = _derived(bytes(row.salt), token)
    stored = connection.execute(_ONE, {"wanted": row.key}).one()
    key = _key(stored)
    if key.revoked is not None:
        raise ConflictError(f"the request with this token made key {key.id}, which is revoked")
    valid = [stored.hash]
    if key.previous_until is not None and now < key.previous_until:
        valid.append(stored.previous_hash)
    if _hash(random) not in valid:
        raise ConflictError(
            f"the request with this token was carried out for key {key.id}, which has been rotated "
            "since: use a new random token"
        )
    return key, _secret(key.id, random)


def find_key(store: Store, secret: str, now: int) -> KeyRecord | None:
    """Return the key of a secret, None if it is unknown, revoked or expired."""
    key = _find(store, secret, now)
    return None if key is None else key[0]


def _find(store: Store, secret: str, now: int) -> tuple[KeyRecord, int | None] | None:
    """Return the key of a secret, and until when this secret of it is valid, None for ever."""
    prefix, _, rest = secret.partition("_")
    number, _, random = rest.partition("_")
    known = prefix == PREFIX and number.isascii() and number.isdecimal() and len(number) < 10
    with store.read() as connection:
        row = connection.execute(_ONE, {"wanted": int(number) if known else 0}).first()
    # Both comparisons are made, and take the same time, whether or not the key exists.
    nothing, digest = bytes(_RANDOM), _hash(random)
    current = hmac.compare_digest(nothing if row is None else bytes(row.hash), digest)
    before = None if row is None else row.previous_hash
    previous = hmac.compare_digest(nothing if before is None else bytes(before), digest)
    if row is None or not (current or previous):
        return None
    key = _key(row)
    until = key.expires if current else key.previous_until
    if not _is_valid(key, now) or (until is not None and until <= now):
        return None
    return key, until


def _is_valid(key: KeyRecord, now: int) -> bool:
    return key.revoked is None and (key.expires is None or now < key.expires)


def note_uses(store: Store, uses: Mapping[int, int]) -> None:
    """Store when keys were last used: times by the numbers of keys."""
    later = or_(keys.c.last_used.is_(None), keys.c.last_used < bindparam("at"))
    change = update(keys).where(keys.c.id == bindparam("number"), later)
    rows = [{"number": number, "at": at} for number, at in sorted(uses.items())]
    with store.write() as connection:
        connection.execute(change.values(last_used=bindparam("at")), rows)


def list_keys(store: Store) -> list[KeyRecord]:
    """Return all keys, newest first."""
    with store.read() as connection:
        rows = connection.execute(select(*_SHOWN).order_by(keys.c.id.desc()))
        return [KeyRecord(*row) for row in rows]


def revoke_key(store: Store, number: int, now: int, *, by: int | None = None) -> KeyRecord:
    """Revoke a key, end its sessions, and return it; a revoked key does not change.

    Raises : NotFoundError
    """
    with store.write() as connection:
        key = _by_number(connection, number)
        if key.revoked is None:
            connection.execute(update(keys).where(keys.c.id == number).values(revoked=now))
            connection.execute(delete(sessions).where(sessions.c.key == number))
            what = "key.revoked"
            add_audit_row(connection, what, now=now, key=by, pool=key.pool, subject=number)
        return _by_number(connection, number)


def revoke_keys_of(connection: Connection, pool: str, now: int) -> list[int]:
    """Revoke the keys of a pool that is deleted; return their numbers."""
    mine = (keys.c.pool == pool) & keys.c.revoked.is_(None)
    numbers = [int(row[0]) for row in connection.execute(select(keys.c.id).where(mine))]
    connection.execute(update(keys).where(mine).values(revoked=now))
    connection.execute(delete(sessions).where(sessions.c.key.in_(numbers)))
    return sorted(numbers)


def open_session(
    store: Store, secret: str, now: int, lifetime: int, *, patience: float | None = None
) -> tuple[KeyRecord, str] | None:
    """Return the key of a secret and the token of a new session; None if the secret is invalid.

    lifetime : microseconds, at most; patience : as for `Store.write`
    """
    key_and_end = _find(store, secret, now)
    if key_and_end is None:
        return None  # Nothing is written for a wrong secret.
    key, until = key_and_end
    expires = now + lifetime if until is None else min(now + lifetime, until)
    token = SESSION_PREFIX + secrets.token_urlsafe(_RANDOM)
    mine = sessions.c.key == key.id
    with store.write(patience=patience) as connection:
        connection.execute(delete(sessions).where(sessions.c.expires <= now))
        newest = select(sessions.c.hash).where(mine).order_by(sessions.c.created.desc())
        oldest = [row[0] for row in connection.execute(newest.offset(MOST_SESSIONS - 1))]
        if oldest:
            connection.execute(delete(sessions).where(sessions.c.hash.in_(oldest)))
        row = {"hash": _hash(token), "key": key.id, "created": now, "expires": expires}
        connection.execute(insert(sessions).values(**row))
    return key, token


def find_session(store: Store, token: str, now: int) -> KeyRecord | None:
    """Return the key of a session, None if the session or its key is not valid."""
    with store.read() as connection:
        row = connection.execute(_OF_SESSION, {"wanted": _hash(token)}).first()
    if row is None or row.session_expires <= now:
        return None
    key = _key(row)
    return key if _is_valid(key, now) else None


def end_session(store: Store, token: str, *, patience: float | None = None) -> None:
    """End a session, if there is one.

    patience : as for `Store.write`
    """
    with store.write(patience=patience) as connection:
        connection.execute(delete(sessions).where(sessions.c.hash == _hash(token)))


def end_sessions(store: Store, number: int, *, patience: float | None = None) -> int:
    """End all sessions of a key; return how many there were.

    patience : as for `Store.write`
    """
    with store.write(patience=patience) as connection:
        return connection.execute(delete(sessions).where(sessions.c.key == number)).rowcount


def _by_number(connection: Connection, number: int) -> KeyRecord:
    known = 0 < number < 2**31
    row = connection.execute(_ONE, {"wanted": number}).first() if known else None
    if row is None:
        database = Path(connection.engine.url.database or "").name
        raise NotFoundError(f"no key {number} in the database {database}")
    return _key(row)


def _key(row: Sequence[Any]) -> KeyRecord:
    """Return the key in a row that begins with its columns."""
    return KeyRecord(*row[: len(_SHOWN)])


def _secret(number: int, random: str) -> str:
    return f"{PREFIX}_{number}_{random}"


def _derived(salt: bytes, token: str) -> str:
    return _encoded(hmac.digest(salt, token.encode("utf-8", "surrogatepass"), "sha256"))


def _encoded(random: bytes) -> str:
    return base64.urlsafe_b64encode(random).decode().rstrip("=")


def _hash(random: str) -> bytes:
    return hashlib.sha256(random.encode("utf-8", "surrogatepass")).digest()


_ONE = select(*_SHOWN, keys.c.hash, keys.c.previous_hash).where(keys.c.id == bindparam("wanted"))
_OF_SESSION = (
    select(*_SHOWN, sessions.c.expires.label("session_expires"))
    .join(sessions, sessions.c.key == keys.c.id)
    .where(sessions.c.hash == bindparam("wanted"))
)


def audit_leaf(row: Sequence[Any], salt: bytes) -> bytes:
    """Return the leaf of a row of the audit log; row : the fields of `AuditRow`."""
    return hashlib.sha256(salt + json.dumps(tuple(row), default=repr).encode()).digest()


class AuditRow(NamedTuple):
    """A row of the audit log."""

    id: int
    time: int
    key: int | None
    what: str
    pool: str | None
    subject: str | None
    detail: str


_AUDIT = [audit.c[name] for name in AuditRow._fields]


def add_audit_row(
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
    chain = audit_chain_of(connection, lock=True)
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


_CHAIN = select(*(audit_chain.c[name] for name in AuditChain._fields))


def audit_chain_of(connection: Connection, *, lock: bool = False) -> AuditChain:
    """Return the hash chain over the audit log.

    lock : nobody else can add a row before the transaction ends
    """
    row = connection.execute(_CHAIN.with_for_update() if lock else _CHAIN).one()
    chain = AuditChain._make(row)
    return chain._replace(head=bytes(chain.head), cut_head=bytes(chain.cut_head))


def audit_rows_after(connection: Connection, after: int, limit: int) -> list[tuple[AuditRow, Seal]]:
    """Return the next rows after one, with their seals. A row that is not chained has no salt."""
    query = _SEALED_ROWS.where(audit.c.id > after).order_by(audit.c.id).limit(limit)
    return list(map(_sealed_row, connection.execute(query)))


_SEALED_ROWS = select(*_AUDIT, audit.c.salt, audit.c.leaf)


def _sealed_row(row: Sequence[Any]) -> tuple[AuditRow, Seal]:
    *fields, salt, leaf = row
    return AuditRow._make(fields), Seal.of(salt, leaf)


def _first_leaf(row: AuditRow, seal: Seal) -> bytes:
    return audit_leaf(row, seal.salt) if seal.leaf is None else seal.leaf


def cut_audit(connection: Connection, number: int, limit: int) -> bool:
    """Delete the oldest rows up to a number, at most `limit`, and keep the hash of the chain there.

    Returns : whether all of them are deleted
    """
    chain = audit_chain_of(connection, lock=True)
    rows = [row for row in audit_rows_after(connection, chain.cut, limit) if row[0].id <= number]
    if not rows:
        return True
    head = chain.cut_head
    for row, seal in rows:
        head = linked(head, _first_leaf(row, seal))
    last = rows[-1][0].id
    connection.execute(delete(audit).where(audit.c.id <= last))
    connection.execute(update(audit_chain).values(cut=last, cut_head=head))
    return len(rows) < limit


def last_audit_row_before(connection: Connection, time: int) -> int | None:
    """Return the number of the last row before the first one at or after a time; None for none."""
    kept = connection.execute(select(func.min(audit.c.id)).where(audit.c.time >= time)).scalar()
    older = select(func.max(audit.c.id))
    if kept is not None:
        older = older.where(audit.c.id < kept)
    return connection.execute(older).scalar()


def audit_rows_before(
    connection: Connection, pool: str | None, before: int | None, limit: int
) -> list[AuditRow]:
    """Return the newest rows with a number below `before`; pool : None for all."""
    query = select(*_AUDIT)
    if pool is not None:
        query = query.where(audit.c.pool == pool)
    if before is not None:
        query = query.where(audit.c.id < before)
    rows = connection.execute(query.order_by(audit.c.id.desc()).limit(limit))
    return [AuditRow._make(row) for row in rows]


def rewrite_audit(
    connection: Connection,
    pools: Sequence[str],
    player: str,
    rewritten: Callable[[str, str | None, str], tuple[str | None, str] | None],
    write: bool,
) -> dict[int, str]:
    """Rewrite rows of the audit log that name the player, as `log.rewrite_records` does.

    Returns : the leaves of what they say now, in hexadecimal, by number
    rewritten : takes what was done, subject and detail; returns the new subject and detail
    """
    named = or_(audit.c.subject == player, has_json(connection, audit.c.detail, player))
    rows = connection.execute(_SEALED_ROWS.where(audit.c.pool.in_(pools), named)).all()
    leaves = {}
    for before, seal in map(_sealed_row, rows):
        new = rewritten(before.what, before.subject, before.detail)
        if new is None:
            continue
        after = before._replace(subject=new[0], detail=new[1])
        (salt,) = salts(1)
        leaves[after.id] = audit_leaf(after, salt).hex()
        if write:
            leaf = _first_leaf(before, seal)
            values = {"subject": new[0], "detail": new[1], "salt": salt, "leaf": leaf}
            connection.execute(update(audit).where(audit.c.id == after.id).values(**values))
    return leaves
