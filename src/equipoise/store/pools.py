"""Pools: added, found, locked and changed; their seeds and replays; and rows of deleted pools.

A pool is locked while something is rated or amended in it. Its seed is the state with which its
season began. Rows of a deleted pool, and those that a replay has replaced, are deleted piece by
piece.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from equipoise.arrays import Floats
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import ConflictError, NotFoundError
from equipoise.store.bulk import Prepared, Sizes, has_json, is_name, sizes_of
from equipoise.store.schema import (
    changes,
    checkpoints,
    log,
    outbox,
    partial_checkpoints,
    pools,
    profiles,
    ratings,
    replays,
    seeds,
    webhooks,
)

#: A position in a pool's order of rating: (time, seq).
Position = tuple[int, int]

#: The generation of the ratings with which a pool begins.
FIRST_GENERATION = 1

#: The position before all matches.
START: Position = (-(2**62), 0)

#: The positions of a pool, and the columns in which they are.
_POSITIONS = {
    "begins": ("from_time", "from_seq"),
    "dirty": ("dirty_time", "dirty_seq"),
    "partial_end": ("partial_time", "partial_seq"),
}

#: Without those that only earlier versions use.
_COLUMNS = [
    column
    for column in pools.columns
    if column.name not in ("chained_through", "draws_from", "unfilled_time", "unfilled_seq")
]
_NAMES = tuple(column.name for column in _COLUMNS)

#: Not deleted. The rows of deleted pools stay, so that their numbers are not used again.
_EXISTS = pools.c.deleted.is_(None)

#: How often a pool is looked up that has become an archive in the meantime. Each attempt takes the
#: end of another season.
_ATTEMPTS = 100


class Heads(NamedTuple):
    """The state of the chain of a log.

    shared : the head; the same in every database that has the pool
    own : a hash over the runs of records with the same key and the same mark of a replay, and what
        the last run has
    """

    shared: bytes
    own: bytes

    @property
    def local(self) -> bytes:
        """The local head, of this database."""
        return sha256(self.shared + self.own).digest()


def first_heads(settings: str, name: str, created: int, chained_from: int) -> Heads:
    """Return the heads of an empty log.

    settings : JSON of the first settings of the pool
    name : with which the pool was created; created : when, microseconds since 1970
    chained_from : the first record that is chained when it is recorded
    """
    shared = sha256(f"equipoise log 1;{settings}".encode()).digest()
    own = json.dumps([name, created, chained_from]).encode()
    return Heads(shared, sha256(shared + own).digest())


class PoolRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A pool; times in microseconds since 1970.

    settings : JSON of PoolRequest
    last_seq : number of the last record of the log
    last_time : the latest time at which a match counts; None for no matches
    rated_to : no match is rated at a later time, neither in the ratings that readers see nor in a
        running replay; after last_time while amendments wait for a replay
    erased : number of the last log record that erased a player's name; 0 for none
    shared : state that belongs to no single player
    begins : position from which only changes of this generation count
    dirty : position from which the pool needs a replay, None for none
    closed, archive_of, season : of an archive: when its season ended, its earlier name, the season
    follows : number of the pool of the season before
    board_day : day to which the ratings shown have decayed; None if they do not decay
    webhooks : kinds of events that its webhooks receive, bits of store.webhooks.KINDS
    outbox_last : number of the last event in the outbox
    deleted : when the pool was deleted; `garbage` then says whether it still has rows
    board_from : the last player with changed settings, while they are written into ratings; ""
        before the first, None if all players have them
    initial : number of the log record of the known ratings with which players began; 0 for none
    known_ratings : number of players who have one
    first_settings : JSON of the settings that it was created with
    head, own_runs : of the hash chain over its log: `Heads`
    chained_from : number of the first record that was chained when it was recorded
    partial_due : participations since the last partial checkpoint
    partial_end : where that ends
    profiled : number of the last log record of profiles; 0 for none
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
    rated_to: int | None = None
    erased: int = 0
    initial: int = 0
    known_ratings: int = 0
    first_settings: str = ""
    head: bytes = b""
    own_runs: bytes = b""
    chained_from: int = 1
    partial_due: int = 0
    partial_end: Position = START
    profiled: int = 0

    @property
    def seen(self) -> dict[str, int]:
        """Parameters of prepared queries for what readers of this pool see."""
        return {
            "of_pool": self.id,
            "of_generation": self.generation,
            "begins_time": self.begins[0],
            "begins_seq": self.begins[1],
        }

    @property
    def heads(self) -> Heads:
        """State of the hash chain over its log."""
        return Heads(self.head, self.own_runs)

    def check_open(self) -> None:
        """Check that this is not the archive of a season. Raises : ConflictError."""
        if self.closed is not None:
            raise ConflictError(
                f"pool {self.name!r} is closed: it is the archive of season {self.season!r} "
                f"of {self.archive_of!r}"
            )

    def checkpoint_every(self, sizes: Sizes) -> int:
        """Return the number of participations between two checkpoints."""
        return max(self.checkpoint_interval, sizes.checkpoint_per_player * self.players)


def add_pool(
    connection: Connection,
    name: str,
    settings: str,
    code: str,
    now: int,
    *,
    shared: Mapping[str, Floats],
    board_day: int | None = None,
    first_settings: str | None = None,
) -> int | None:
    """Add an empty pool and return its number; None if a pool of this name exists.

    shared : state that belongs to no single player, before the first match
    first_settings : `settings` as an imported log has them, which its hash chain begins with
    """
    first = settings if first_settings is None else first_settings
    heads = first_heads(first, name, now, chained_from=1)
    insert_into = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    statement = (
        insert_into(pools)
        .values(
            name=name,
            settings=settings,
            created=now,
            code=code,
            shared=pack_shared(shared),
            generation=FIRST_GENERATION,
            from_time=START[0],
            from_seq=START[1],
            checkpoint_interval=sizes_of(connection).checkpoint_interval,
            board_day=board_day,
            first_settings=first,
            head=heads.shared,
            own_runs=heads.own,
        )
        .on_conflict_do_nothing(index_elements=[pools.c.name])
        .returning(pools.c.id)
    )
    number: int | None = connection.execute(statement).scalar_one_or_none()
    return number


def find_pool(
    connection: Connection, name: str, *, lock: bool = False, silence: float | None = None
) -> PoolRecord | None:
    """Return a pool, or None.

    lock : no other transaction can change it before this one ends
    silence : seconds between two statements after which PostgreSQL undoes the transaction, as this
        process may have been stopped while others wait for the lock; None for no limit. The process
        learns it from its next statement: `store.connection.was_silent`
    """
    if not is_name(name):
        return None
    values: dict[str, Any] = {"wanted": name}
    query, skipped = _LOCKED if lock else _BY_NAME, 0
    if silence is not None and connection.dialect.name != "sqlite":
        values["silence"] = str(round(1000 * silence))
        query, skipped = _LOCKED_UNLESS_SILENT, 1
    for _ in range(_ATTEMPTS):
        rows = query.rows(connection, values)
        # While this waited for the lock the pool may have become an archive. PostgreSQL then finds
        # neither the archive nor, in the same statement, the new pool of the name.
        if rows:
            return _from_columns(dict(zip(_NAMES, rows[0][skipped:], strict=True)))
        if not lock or not _BY_NAME.rows(connection, {"wanted": name}):
            return None
    raise ConflictError(f"pool {name!r} changes its name too often")


def allow_silence(connection: Connection, seconds: float) -> None:
    """Change the `silence` of `find_pool` for the rest of a transaction of PostgreSQL."""
    _SILENCE.rows(connection, {"silence": str(round(1000 * seconds))})


def pool_by_number(connection: Connection, pool: int) -> PoolRecord | None:
    """Return a pool by its number, or None."""
    row = connection.execute(select(*_COLUMNS).where(pools.c.id == pool, _EXISTS)).first()
    return None if row is None else _record(row)


def get_pool(
    connection: Connection, name: str, *, lock: bool = False, silence: float | None = None
) -> PoolRecord:
    """Return a pool as `find_pool`. Raises : NotFoundError."""
    pool = find_pool(connection, name, lock=lock, silence=silence)
    if pool is None:
        raise NotFoundError(f"no pool {name!r}")
    return pool


def all_pools(connection: Connection) -> list[PoolRecord]:
    """Return all pools by name."""
    query = select(*_COLUMNS).where(_EXISTS).order_by(pools.c.name)
    return [_record(row) for row in connection.execute(query)]


def pool_after(connection: Connection, pool: int) -> str | None:
    """Return the name of the pool of the next season, None for none."""
    query = select(pools.c.name).where(pools.c.follows == pool, _EXISTS)
    name: str | None = connection.execute(query.limit(1)).scalar()
    return name


def archives_of(connection: Connection, name: str) -> list[PoolRecord]:
    """Return the archived seasons of a pool, newest first."""
    query = select(*_COLUMNS).where(pools.c.archive_of == name, _EXISTS)
    rows = connection.execute(query.order_by(pools.c.closed.desc(), pools.c.id.desc()))
    return [_record(row) for row in rows]


def pools_with_work(connection: Connection, now: int) -> list[PoolRecord]:
    """Return pools with background work whose replay is not leased.

    That work is a replay, a checkpoint, deletion of garbage, or an update of the leaderboard.
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
        # Null in pools whose ratings shown do not decay.
        | (pools.c.last_time >= pools.c.board_day + MICROSECONDS_PER_DAY)
    )
    free = pools.c.replay_until.is_(None) | (pools.c.replay_until < now)
    query = select(*_COLUMNS).where(wanted, free, _EXISTS).order_by(pools.c.id)
    rows = connection.execute(query)
    return [_record(row) for row in rows]


def change_pool(connection: Connection, pool: int, **columns: Any) -> None:
    """Set columns of a pool; positions and `shared` have the form of `PoolRecord`."""
    if "shared" in columns:
        columns["shared"] = pack_shared(columns["shared"])
    for name, (time, seq) in _POSITIONS.items():
        if name in columns:
            columns[time], columns[seq] = columns.pop(name) or (None, None)
    values = {f"new_{name}": value for name, value in columns.items()}
    _change(tuple(columns)).run(connection, {"the_pool": pool, **values})


@lru_cache(maxsize=64)
def _change(names: tuple[str, ...]) -> Prepared:
    """Return the statement that sets these columns; making it takes longer than running it."""
    values = {name: bindparam(f"new_{name}", type_=pools.c[name].type) for name in names}
    return Prepared(update(pools).where(pools.c.id == bindparam("the_pool")).values(values))


def _record(row: Row[Any]) -> PoolRecord:
    return _from_columns(dict(row._mapping))


def _from_columns(values: dict[str, Any]) -> PoolRecord:
    """Return a pool from its columns."""
    values["garbage"] = bool(values["garbage"])
    values["shared"] = unpack_shared(values["shared"])
    for name, (time, seq) in _POSITIONS.items():
        position = values.pop(time), values.pop(seq)
        values[name] = None if position[0] is None else position
    for name in ("head", "own_runs"):
        values[name] = bytes(values[name] or b"")
    return PoolRecord(**values)


def pack_shared(shared: Mapping[str, Floats]) -> str:
    """Return numbers as JSON; Python writes floats so that they are read back bit for bit."""
    return json.dumps({name: values.tolist() for name, values in shared.items()})


def unpack_shared(text: str) -> dict[str, Floats]:
    """Return the numbers of a JSON text made by `pack_shared`."""
    if text == "{}":
        return {}
    return {name: np.array(values, np.float64) for name, values in json.loads(text).items()}


_NAMED = (pools.c.name == bindparam("wanted"), _EXISTS)
_BY_NAME = Prepared(select(*_COLUMNS).where(*_NAMED))
# SQLite ignores FOR UPDATE: there a writer locks the whole database.
_LOCKED = Prepared(select(*_COLUMNS).where(*_NAMED).with_for_update())
# The limit is set in the same statement, because another one would take as long as this.
_LIMIT = func.set_config("idle_in_transaction_session_timeout", bindparam("silence"), true())
_SILENCE = Prepared(select(_LIMIT))
_LOCKED_UNLESS_SILENT = Prepared(select(_LIMIT, *_COLUMNS).where(*_NAMED).with_for_update())


@dataclass(frozen=True, slots=True)
class Seed:
    """The seed of a pool: what its season began with.

    archive : number of the pool whose season ended
    request : JSON of SeasonRequest; centre : of a soft reset, None for a hard one
    players : in the seed
    """

    archive: int
    request: str
    centre: float | None
    players: int


_SHOWN = [seeds.c[name] for name in Seed.__dataclass_fields__]


def add_seed(connection: Connection, pool: int, seed: Seed, content: bytes | None) -> None:
    """Add the seed of a pool; content : its packed state, as in checkpoints."""
    connection.execute(insert(seeds).values(pool=pool, content=content, **asdict(seed)))


def content_of(connection: Connection, pool: int) -> bytes | None:
    """Return the packed state of a pool's seed, None for none."""
    content = connection.execute(select(seeds.c.content).where(seeds.c.pool == pool)).scalar()
    return None if content is None else bytes(content)


def seed_of(connection: Connection, pool: int) -> Seed | None:
    """Return the seed of a pool, None for none."""
    row = connection.execute(select(*_SHOWN).where(seeds.c.pool == pool)).first()
    return None if row is None else Seed(*row)


def seed_after(connection: Connection, archive: int) -> tuple[int, Seed] | None:
    """Return the number and the seed of the pool that followed an archive, or None."""
    query = select(seeds.c.pool, *_SHOWN).where(seeds.c.archive == archive)
    row = connection.execute(query).first()
    return None if row is None else (int(row[0]), Seed(*row[1:]))


def rewrite_seed(
    connection: Connection, pool: int, rewritten: Callable[[bytes], bytes | None], write: bool
) -> bool:
    """Rewrite the seed of a pool; return whether it names the player."""
    content = content_of(connection, pool)
    new = None if content is None else rewritten(content)
    if new is not None and write:
        connection.execute(update(seeds).where(seeds.c.pool == pool).values(content=new))
    return new is not None


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A replay that was swapped in.

    through_seq : last log record that it took into account
    begins : position from which it rated again
    difference : JSON of what it changed, empty if an earlier version did not store that
    """

    generation: int
    through_seq: int
    begins: Position
    started: int
    finished: int
    difference: str


def add_replay(connection: Connection, pool: int, replay: ReplayRecord) -> None:
    """Record a replay."""
    values = asdict(replay)
    time, seq = values.pop("begins")
    values |= {"from_time": time, "from_seq": seq}
    connection.execute(insert(replays).values(pool=pool, **values))


def last_through(connection: Connection, pool: int, *, before: int | None = None) -> int:
    """Return the last log record that a replay took into account; 0 for none.

    before : only replays before this generation
    """
    query = select(func.max(replays.c.through_seq)).where(replays.c.pool == pool)
    if before is not None:
        query = query.where(replays.c.generation < before)
    return int(connection.execute(query).scalar() or 0)


def rated_through(connection: Connection, pool: PoolRecord) -> int | None:
    """Return the last record that the ratings of a pool take into account; None for all."""
    return None if pool.dirty is None else last_through(connection, pool.id)


def first_replay_with(connection: Connection, pool: int, seq: int) -> ReplayRecord | None:
    """Return the first replay that took record `seq` into account, or None."""
    return next(_replays(connection, pool, replays.c.through_seq >= seq, limit=1), None)


def replay_of(connection: Connection, pool: int, generation: int) -> ReplayRecord | None:
    """Return the replay that made a generation, or None."""
    return next(_replays(connection, pool, replays.c.generation == generation, limit=1), None)


def replays_of(connection: Connection, pool: int) -> list[ReplayRecord]:
    """Return all replays of a pool, oldest first."""
    return list(_replays(connection, pool))


def _replays(
    connection: Connection, pool: int, *conditions: Any, limit: int | None = None
) -> Iterator[ReplayRecord]:
    """Give the replays of a pool, oldest first."""
    r = replays.c
    shown = (r.generation, r.through_seq, r.from_time, r.from_seq, r.started, r.finished)
    query = select(*shown, r.difference).where(r.pool == pool, *conditions).order_by(r.generation)
    for row in connection.execute(query.limit(limit)):
        yield ReplayRecord(row[0], row[1], (row[2], row[3]), *row[4:])


def rewrite_differences(
    connection: Connection,
    pool: int,
    player: str,
    rewritten: Callable[[str], str | None],
    write: bool,
) -> int:
    """Rewrite what replays have changed; return how many of them name the player."""
    mine, count = replays.c.pool == pool, 0
    named = select(replays.c.generation).where(
        mine, has_json(connection, replays.c.difference, player)
    )
    for generation in connection.execute(named).scalars().all():
        this = mine & (replays.c.generation == generation)
        new = rewritten(connection.execute(select(replays.c.difference).where(this)).scalar_one())
        count += new is not None
        if new is not None and write:
            connection.execute(update(replays).where(this).values(difference=new))
    return count


#: Tables with rows of a pool, except `pools`, `audit` and `keys`, whose rows stay.
TABLES: tuple[Table, ...] = (
    ratings,
    changes,
    checkpoints,
    partial_checkpoints,
    replays,
    outbox,
    webhooks,
    seeds,
    profiles,
    log,
)
#: Tables whose rows may be many megabytes large.
LARGE = frozenset({checkpoints})


def pools_to_clear(connection: Connection) -> list[int]:
    """Return the numbers of deleted pools that still have rows."""
    query = select(pools.c.id).where(pools.c.deleted.is_not(None), pools.c.garbage)
    return [int(row[0]) for row in connection.execute(query.order_by(pools.c.id))]


#: Tables with rows of several generations.
VERSIONED = (changes, ratings, partial_checkpoints)


def seen_rows(table: Table, pool: PoolRecord | None = None) -> ColumnElement[bool]:
    """Return the condition that readers of a pool see a row of a versioned table with positions.

    pool : None for a prepared query, whose parameters are then `PoolRecord.seen`
    """
    values = {} if pool is None else pool.seen

    def value(name: str) -> Any:
        return literal(values[name]) if values else bindparam(name)

    position = tuple_(table.c.time, table.c.seq)
    begins = tuple_(value("begins_time"), value("begins_seq"))
    older = (table.c.generation < value("of_generation")) & (begins > position)
    return and_(
        table.c.pool == value("of_pool"),
        or_(table.c.generation == value("of_generation"), older),
    )


def unseen(table: Table, pool: PoolRecord) -> ColumnElement[bool]:
    """Return the condition of rows that no reader sees and no replay writes.

    Newer rows have replaced them, or a replay that was given up has left them.
    """
    given_up = table.c.generation > pool.generation
    if pool.replay_generation is not None:
        given_up &= table.c.generation < pool.replay_generation
    replaced = table.c.generation < pool.generation
    if "time" not in table.c:
        return given_up | replaced
    position = tuple_(table.c.time, table.c.seq)
    # No replay that was given up began before the replay that the pool needs now.
    begins = pool.begins if pool.dirty is None else min(pool.begins, pool.dirty)
    replaced &= position >= row_value(pool.begins)
    return and_(or_(given_up, replaced), position >= row_value(begins))


def forget_piece(
    connection: Connection,
    table: Table,
    pool: int,
    after: tuple[Any, ...] | None,
    limit: int,
    condition: ColumnElement[bool] | None = None,
) -> tuple[Any, ...] | None:
    """Delete the next rows of a pool in the order of their key, at most `limit`.

    after : result of the step before, None for the first step
    condition : of the rows that are deleted, None for all
    Returns : where the next step begins, None at the end
    """
    key = [column for column in table.primary_key.columns if column.name != "pool"]
    mine = table.c.pool == pool
    if condition is not None:
        mine &= condition
    if not key:
        connection.execute(delete(table).where(mine))
        return None
    here = tuple_(*key)
    if after is not None:
        # Otherwise PostgreSQL reads the index entries of all deleted rows in each step.
        mine &= here > row_value(after)
    query = select(*key).where(mine).order_by(*key).offset(limit - 1).limit(1)
    last = connection.execute(query).first()
    if last is not None:
        mine &= here <= row_value(tuple(last))
    connection.execute(delete(table).where(mine))
    return None if last is None else tuple(last)


def row_value(key: tuple[Any, ...]) -> Any:
    """Return a position, or another key of several columns, as a row value of SQL."""
    return tuple_(*map(literal, key))
