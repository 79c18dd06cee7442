"""Pools: how they are made, found, and locked while something is rated.

What pools begin with: the seeds that the ends of seasons leave.

Rows of deleted pools, taken away a piece at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, insert, literal, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from equipoise.arrays import Floats
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import ConflictError, NotFoundError
from equipoise.store.bulk import Prepared
from equipoise.store.schema import (
    changes,
    checkpoints,
    is_name,
    log,
    outbox,
    pools,
    ratings,
    replays,
    seeds,
    webhooks,
)
from equipoise.store.sizes import Sizes, sizes_of

#: A place in a pool's order of rating: (time, seq).
Position = tuple[int, int]

#: The generation of the ratings with which a pool begins.
FIRST_GENERATION = 1

#: The position before all matches.
START: Position = (-(2**62), 0)

#: Leaves out pools that are deleted: their rows stay for their numbers.
_THERE = pools.c.deleted.is_(None)

#: How often a pool is looked for that has become an archive meanwhile; each time takes the end of
#: another season.
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """A pool as it stands; times in microseconds since 1970.

    settings : JSON, as the pool was made
    last_seq : of the last record of its log
    last_time : no match counts at a later time; None before the first
    shared : what the system knows of no single player
    begins : position from which on only changes of this generation count
    dirty : position from which a replay is wanted
    closed, archive_of, season : of an archived season: when it ended, the pool it was, its name
    follows : number of the pool of the season before
    board_day : day as of which the order of the leaderboard has what decays; None: nothing does
    webhooks : what any of them wants to be told, bits of store.outbox.KINDS
    outbox_last : number of the last event that was written for them
    deleted : when the pool was deleted; `garbage` then says whether rows of it are left
    board_from : changed settings are being written into ratings, and this player is the last who
        has them, "" before the first; None: all have them
    draws_from : number of the log from which matches count for the chance of a draw
    """

    id: int
    name: str
    settings: str
    created: int
    code: str
    last_seq: int
    matches: int
    amendments: int
    players: int
    last_time: int | None
    shared: dict[str, Floats]
    generation: int
    begins: Position
    dirty: Position | None
    replay_generation: int | None
    replay_owner: str | None
    replay_until: int | None
    garbage: bool
    checkpoint_interval: int
    checkpoint_due: int
    closed: int | None = None
    archive_of: str | None = None
    season: str | None = None
    follows: int | None = None
    board_day: int | None = None
    webhooks: int = 0
    outbox_last: int = 0
    deleted: int | None = None
    board_from: str | None = None
    draws_from: int = 1

    def checkpoint_every(self, sizes: Sizes) -> int:
        """Return the participations between two checkpoints of a pool with so many players."""
        return max(self.checkpoint_interval, sizes.checkpoint_per_player * self.players)


def add_pool(
    connection: Connection,
    name: str,
    settings: str,
    code: str,
    now: int,
    *,
    board_day: int | None = None,
) -> int | None:
    """Add an empty pool and return its number.

    None where another transaction was quicker to make one of this name.
    """
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    made = (
        insert(pools)
        .values(
            name=name,
            settings=settings,
            created=now,
            code=code,
            last_seq=0,
            matches=0,
            amendments=0,
            players=0,
            shared="{}",
            generation=FIRST_GENERATION,
            from_time=START[0],
            from_seq=START[1],
            garbage=False,
            checkpoint_interval=sizes_of(connection).checkpoint_interval,
            checkpoint_due=0,
            board_day=board_day,
        )
        .on_conflict_do_nothing(index_elements=[pools.c.name])
        .returning(pools.c.id)
    )
    number: int | None = connection.execute(made).scalar_one_or_none()
    return number


def find_pool(connection: Connection, name: str, *, lock: bool = False) -> PoolRecord | None:
    """Return a pool, or None.

    lock : no other transaction may change it before this one ends
    """
    if not is_name(name):
        return None
    values = {"wanted": name}
    if not lock:
        rows = _READ_BY_NAME.rows(connection, values)
        return _made(dict(zip(_NAMES, rows[0], strict=True))) if rows else None
    for _ in range(_ATTEMPTS):
        found = connection.execute(_LOCKED, values).first()
        # While it waited for the lock the pool may have become an archive. PostgreSQL then finds
        # neither the old one nor, in the same statement, the one that has the name now.
        if found is not None or connection.execute(_BY_NAME, values).first() is None:
            return _record_or_none(found)
    raise ConflictError(f"pool {name!r} changes its name too often")


def _record_or_none(row: Row[Any] | None) -> PoolRecord | None:
    return None if row is None else _record(row)


def pool_by_number(connection: Connection, pool: int) -> PoolRecord | None:
    """Return a pool by its number, or None."""
    query = select(pools).where(pools.c.id == pool, _THERE)
    found = connection.execute(query).first()
    return None if found is None else _record(found)


def get_pool(connection: Connection, name: str, *, lock: bool = False) -> PoolRecord:
    """Return a pool. Raises : NotFoundError."""
    found = find_pool(connection, name, lock=lock)
    if found is None:
        raise NotFoundError(f"no pool {name!r}")
    return found


def all_pools(connection: Connection) -> list[PoolRecord]:
    """Return all pools by name."""
    query = select(pools).where(_THERE).order_by(pools.c.name)
    return [_record(row) for row in connection.execute(query)]


def pool_after(connection: Connection, pool: int) -> str | None:
    """Return the name of the pool whose season came after that of a pool, None for none."""
    query = select(pools.c.name).where(pools.c.follows == pool, _THERE)
    found: str | None = connection.execute(query.limit(1)).scalar()
    return found


def archives_of(connection: Connection, name: str) -> list[PoolRecord]:
    """Return the archived seasons of a pool, newest first."""
    query = select(pools).where(pools.c.archive_of == name, _THERE)
    rows = connection.execute(query.order_by(pools.c.closed.desc(), pools.c.id.desc()))
    return [_record(row) for row in rows]


def pools_with_work(connection: Connection, now: int) -> list[PoolRecord]:
    """Return pools that want something done in the background, and nobody is at it.

    That is a replay, a checkpoint, a clearing out, or a leaderboard put in order.
    """
    per_player = sizes_of(connection).checkpoint_per_player
    wanted = (
        pools.c.dirty_time.is_not(None)
        | pools.c.garbage
        | (
            (pools.c.checkpoint_due >= pools.c.checkpoint_interval)
            & (pools.c.checkpoint_due >= per_player * pools.c.players)
        )
        | pools.c.board_from.is_not(None)
        # A null says no.
        | (pools.c.last_time >= pools.c.board_day + MICROSECONDS_PER_DAY)
    )
    free = pools.c.replay_until.is_(None) | (pools.c.replay_until < now)
    query = select(pools).where(wanted, free, _THERE).order_by(pools.c.id)
    rows = connection.execute(query)
    return [_record(row) for row in rows]


def change_pool(connection: Connection, pool: int, **columns: Any) -> None:
    """Set columns of a pool; positions and what is shared in the form of `PoolRecord`."""
    if "shared" in columns:
        columns["shared"] = _shared_out(columns["shared"])
    if "begins" in columns:
        columns["from_time"], columns["from_seq"] = columns.pop("begins")
    if "dirty" in columns:
        dirty = columns.pop("dirty")
        columns["dirty_time"], columns["dirty_seq"] = (None, None) if dirty is None else dirty
    connection.execute(update(pools).where(pools.c.id == pool).values(**columns))


def _record(row: Row[Any]) -> PoolRecord:
    return _made(dict(row._mapping))


def _made(values: dict[str, Any]) -> PoolRecord:
    """Return a pool from its columns."""
    values["garbage"] = bool(values["garbage"])
    values["shared"] = _shared_in(values["shared"])
    values["begins"] = (values.pop("from_time"), values.pop("from_seq"))
    time, seq = values.pop("dirty_time"), values.pop("dirty_seq")
    values["dirty"] = None if time is None else (time, seq)
    return PoolRecord(**values)


def _shared_out(shared: Mapping[str, Floats]) -> str:
    """Return numbers as JSON; Python writes floats so that they come back to the bit."""
    return json.dumps({name: values.tolist() for name, values in shared.items()})


def _shared_in(text: str) -> dict[str, Floats]:
    import numpy as np

    if text == "{}":
        return {}
    return {name: np.array(values, np.float64) for name, values in json.loads(text).items()}


def _by_name() -> Any:
    from sqlalchemy import bindparam

    return select(pools).where(pools.c.name == bindparam("wanted"), _THERE)


_NAMES = tuple(column.name for column in pools.columns)
_BY_NAME = _by_name()
_READ_BY_NAME = Prepared(_BY_NAME)
# SQLite ignores it: there, whoever writes holds the whole database.
_LOCKED = _BY_NAME.with_for_update()


@dataclass(frozen=True, slots=True)
class Seed:
    """What a pool began with.

    archive : number of the pool whose season ended
    request : JSON of how it was to be made; centre : of a soft reset
    """

    archive: int
    request: str
    centre: float | None
    players: int


_SHOWN = [seeds.c[name] for name in Seed.__dataclass_fields__]


def add_seed(connection: Connection, pool: int, seed: Seed, content: bytes | None) -> None:
    """Record what a pool begins with; content : its state as checkpoints have it."""
    connection.execute(
        insert(seeds).values(
            pool=pool,
            archive=seed.archive,
            request=seed.request,
            centre=seed.centre,
            players=seed.players,
            content=content,
        )
    )


def content_of(connection: Connection, pool: int) -> bytes | None:
    """Return the state that a pool began with, None where nobody was known."""
    found = connection.execute(select(seeds.c.content).where(seeds.c.pool == pool)).scalar()
    return None if found is None else bytes(found)


def seed_after(connection: Connection, archive: int) -> tuple[int, Seed] | None:
    """Return the number and the seed of the pool that came after an archived one, or None."""
    query = select(seeds.c.pool, *_SHOWN).where(seeds.c.archive == archive)
    found = connection.execute(query).first()
    return None if found is None else (int(found[0]), Seed(*found[1:]))


#: Where a pool has rows, `pools` itself and what tells of it afterwards, `audit` and `keys`, aside.
TABLES: tuple[Table, ...] = (
    ratings,
    changes,
    checkpoints,
    replays,
    outbox,
    webhooks,
    seeds,
    log,
)
#: Tables whose rows may have many megabytes.
LARGE = frozenset({checkpoints})


def pools_to_clear(connection: Connection) -> list[int]:
    """Return the numbers of deleted pools of which rows are left."""
    query = select(pools.c.id).where(pools.c.deleted.is_not(None), pools.c.garbage)
    return [int(row[0]) for row in connection.execute(query.order_by(pools.c.id))]


def forget_piece(
    connection: Connection, table: Table, pool: int, after: tuple[Any, ...] | None, limit: int
) -> tuple[Any, ...] | None:
    """Delete the next rows of a pool in the order of their key, at most `limit`.

    after : what the step before returned, None for the first one
    Returns : where to go on, None at the end
    """
    key = [column for column in table.primary_key.columns if column.name != "pool"]
    mine = table.c.pool == pool
    if not key:
        connection.execute(delete(table).where(mine))
        return None
    here = tuple_(*key)
    if after is not None:
        # Otherwise PostgreSQL goes each time through the index of all that was deleted before.
        mine &= here > _values(after)
    query = select(*key).where(mine).order_by(*key).offset(limit - 1).limit(1)
    last = connection.execute(query).first()
    if last is not None:
        mine &= here <= _values(tuple(last))
    connection.execute(delete(table).where(mine))
    return None if last is None else tuple(last)


def _values(key: tuple[Any, ...]) -> Any:
    return tuple_(*(literal(value) for value in key))
