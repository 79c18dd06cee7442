"""Replacing the name of a player in the tables of a pool.

Every column that may hold a name of a player is written here, apart from `board_from` of the pool,
which only says how far an update of the leaderboard is. What is inside of texts and packed states
is rewritten by functions that the caller gives: text or state in, the new one or None out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from equipoise.store.audit import AuditRow
from equipoise.store.chain import Seal, audit_leaf, leaf_of, salts, sealed_leaf
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import Position
from equipoise.store.schema import audit, changes, checkpoints, log, ratings, replays, seeds
from equipoise.store.sizes import sizes_of

#: Milliseconds that the emptying of SQLite's write-ahead log may wait for readers.
_WAIT = 2_000


def overwrite_deleted(connection: Connection) -> None:
    """Let SQLite overwrite what this transaction deletes, so that no page keeps it."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


def empty_write_ahead_log(store: Store) -> bool:
    """Move SQLite's write-ahead log into the database and empty it, as it has deleted rows.

    Returns : False if readers prevented that; a later checkpoint of SQLite does it
    """
    if not store.is_sqlite:
        return True
    with store.engine.connect() as connection:
        cursor = connection.connection.cursor()
        (before,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {_WAIT}")
        try:
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
            cursor.execute("PRAGMA secure_delete = OFF")
            cursor.close()
    return not busy


def count_of_player(connection: Connection, pool: int, player: str) -> dict[str, int]:
    """Return how many rows of ratings and changes are of a player."""
    found = {}
    for name, table in (("ratings", ratings), ("changes", changes)):
        query = select(func.count()).select_from(table)
        query = query.where(table.c.pool == pool, table.c.player == player)
        found[name] = int(connection.execute(query).scalar_one())
    return found


def rename_player(connection: Connection, pool: int, player: str, pseudonym: str) -> None:
    """Give the rows of ratings and changes of a player another name."""
    for table in (ratings, changes):
        mine = (table.c.pool == pool) & (table.c.player == player)
        connection.execute(update(table).where(mine).values(player=pseudonym))


# A literal, not a parameter: databases need it to use the index of amendments.
_ERASURES = (log.c.kind != literal_column("'match'"), log.c.kind == "erase")


class SealedRecord(NamedTuple):
    """A log record with its seal."""

    record: LogRecord
    seal: Seal


def records_with(connection: Connection, pool: int, player: str) -> Iterator[list[SealedRecord]]:
    """Give the log records about a player, or whose content has the name, in the order of the log.

    A piece may be rewritten before the next one is read.
    """
    sizes, after = sizes_of(connection), 0
    columns = [log.c[name] for name in (*LogRecord._fields, *Seal._fields)]
    about = or_(log.c.player == player, _has(connection, log.c.content, player))
    while True:
        mine = (log.c.pool == pool) & (log.c.seq > after) & about
        query = select(*columns).where(mine).order_by(log.c.seq).limit(sizes.matches)
        piece, characters = [], 0
        with connection.execute(query, execution_options={"yield_per": sizes.fetched}) as rows:
            for *fields, salt, leaf in rows:
                record = LogRecord._make(fields)
                piece.append(SealedRecord(record, _seal(salt, leaf)))
                characters += len(record.content)
                if characters >= sizes.characters:
                    break
        if not piece:
            return
        after = piece[-1].record.seq
        yield piece


def _seal(salt: bytes | None, leaf: bytes | None) -> Seal:
    return Seal(bytes(salt or b""), None if leaf is None else bytes(leaf))


def rewrite_records(
    connection: Connection, pool: int, pairs: Sequence[tuple[SealedRecord, LogRecord]]
) -> dict[int, str]:
    """Write log records again; return the leaves of what they say now, in hexadecimal, by number.

    The hash chain stays as it is: a record keeps its first leaf, and loses the salt with which that
    was made. No other function changes the log.

    pairs : a record as it was read, and as it is from now on
    """
    mine = (log.c.pool == pool) & (log.c.seq == bindparam("of_seq"))
    names = ("player", "content", "salt", "leaf")
    statement = update(log).where(mine).values({name: bindparam(f"new_{name}") for name in names})
    rows, leaves = [], {}
    for (before, seal), after in pairs:
        (salt,) = salts(1)
        leaves[after.seq] = leaf_of(after, salt).hex()
        values = (after.player, after.content, salt, sealed_leaf(before, seal))
        new = {f"new_{name}": value for name, value in zip(names, values, strict=True)}
        rows.append({"of_seq": after.seq, **new})
    if rows:
        connection.execute(statement, rows)
    return leaves


def rewrite_differences(
    connection: Connection,
    pool: int,
    player: str,
    rewritten: Callable[[str], str | None],
    write: bool,
) -> int:
    """Rewrite what replays have changed; return how many of them name the player."""
    mine = (replays.c.pool == pool) & _has(connection, replays.c.difference, player)
    numbers = [int(row[0]) for row in connection.execute(select(replays.c.generation).where(mine))]
    count = 0
    for generation in numbers:
        this = (replays.c.pool == pool) & (replays.c.generation == generation)
        text = connection.execute(select(replays.c.difference).where(this)).scalar_one()
        new = rewritten(text)
        if new is not None:
            count += 1
            if write:
                connection.execute(update(replays).where(this).values(difference=new))
    return count


def rewrite_audit(
    connection: Connection,
    pools: Sequence[str],
    player: str,
    rewritten: Callable[[str, str | None, str], tuple[str | None, str] | None],
    write: bool,
) -> dict[int, str]:
    """Rewrite rows of the audit log that name the player, as `rewrite_records` does.

    Returns : the leaves of what they say now, in hexadecimal, by number
    rewritten : takes what was done, subject and detail; returns the new subject and detail
    """
    named = or_(audit.c.subject == player, _has(connection, audit.c.detail, player))
    columns = [audit.c[name] for name in (*AuditRow._fields, *Seal._fields)]
    rows = connection.execute(select(*columns).where(audit.c.pool.in_(pools), named)).all()
    leaves = {}
    for *fields, old_salt, old_leaf in rows:
        before, seal = AuditRow._make(fields), _seal(old_salt, old_leaf)
        new = rewritten(before.what, before.subject, before.detail)
        if new is None:
            continue
        after = before._replace(subject=new[0], detail=new[1])
        (salt,) = salts(1)
        leaves[after.id] = audit_leaf(after, salt).hex()
        if write:
            first = audit_leaf(before, seal.salt) if seal.leaf is None else seal.leaf
            values = {"subject": new[0], "detail": new[1], "salt": salt, "leaf": first}
            connection.execute(update(audit).where(audit.c.id == after.id).values(**values))
    return leaves


def rewrite_checkpoints(
    connection: Connection,
    pool: int,
    rewritten: Callable[[bytes], bytes | None],
    write: bool,
    most_bytes: int,
) -> int:
    """Rewrite checkpoints, the newest first; return how many name the player.

    rewritten : raises ValueError for a checkpoint that cannot be read, which is then deleted
    most_bytes : after so many bytes were rewritten, further checkpoints are deleted. They follow
        from the log
    """
    key = (checkpoints.c.time, checkpoints.c.seq)
    query = select(*key).where(checkpoints.c.pool == pool).order_by(*(one.desc() for one in key))
    places: list[Position] = [(row[0], row[1]) for row in connection.execute(query)]
    count = done = 0
    for place in places:
        this = (checkpoints.c.pool == pool) & (tuple_(*key) == place)
        content = bytes(connection.execute(select(checkpoints.c.content).where(this)).scalar_one())
        try:
            new = rewritten(content)
        except ValueError:
            new = b""
        if new is None:
            continue
        count += 1
        done += len(new)
        if not write:
            continue
        if new and done <= most_bytes:
            connection.execute(update(checkpoints).where(this).values(content=new))
        else:
            connection.execute(checkpoints.delete().where(this))
    return count


def rewrite_seed(
    connection: Connection, pool: int, rewritten: Callable[[bytes], bytes | None], write: bool
) -> bool:
    """Rewrite the seed of a pool; return whether it names the player."""
    mine = seeds.c.pool == pool
    content = connection.execute(select(seeds.c.content).where(mine)).scalar()
    new = None if content is None else rewritten(bytes(content))
    if new is not None and write:
        connection.execute(update(seeds).where(mine).values(content=new))
    return new is not None


def erased_players(connection: Connection, pool: int) -> frozenset[str]:
    """Return the pseudonyms of players whose names were erased from a pool."""
    query = select(log.c.player).where(log.c.pool == pool, *_ERASURES)
    return frozenset(connection.execute(query).scalars())


def erasure_numbers(connection: Connection, pool: int) -> list[int]:
    """Return the numbers of the log records of erasures."""
    query = select(log.c.seq).where(log.c.pool == pool, *_ERASURES).order_by(log.c.seq)
    return [int(number) for number in connection.execute(query).scalars()]


def _has(connection: Connection, column: Column[Any], text: str) -> Any:
    """Return the condition that JSON in a column has a text."""
    escaped = msgspec.json.encode(text).decode()[1:-1]
    find = func.instr if connection.dialect.name == "sqlite" else func.strpos
    return find(column, escaped) > 0
