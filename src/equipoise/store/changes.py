"""What matches changed, and what is counted from it for the page of a pool.

The table is in the order of rating. A player's changes are a chain through it: the player's rating
has the position of the last change, and each change has the position of the one before it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    cast,
    func,
    literal,
    literal_column,
    null,
    select,
    true,
    tuple_,
)

from equipoise.arrays import Floats, Ints
from equipoise.store.bulk import Prepared, PreparedEach, among, insert
from equipoise.store.pools import PoolRecord, Position, row_value, seen_rows
from equipoise.store.ratings import RatingRow, ratings_of, standing_of
from equipoise.store.schema import changes, log, ratings

#: How `numbers` begin, little-endian: rank, teams, rating and deviation before, deviation,
#: expected score, performance. The system's further numbers follow.
_HEAD = struct.Struct("<ii5d")

#: Changes of matches that are read at once.
_AT_ONCE = 5_000


class ChangeRow(NamedTuple):
    """What a match did to a player.

    rank : number of teams of the match that came before the player's
    extra : the system's further numbers, packed float64
    previous : position of the player's change before it; its seq is 0 for none
    """

    player: str
    time: int
    seq: int
    rank: int
    teams: int
    rating_before: float
    deviation_before: float | None
    rating: float
    deviation: float | None
    expected: float | None
    performance: float | None
    extra: bytes
    previous: Position

    @property
    def position(self) -> Position:
        """Position of the match in the order of rating."""
        return self.time, self.seq


#: The columns of a change, in the order in which `change_row` takes them, and `SHOWN` in queries.
COLUMNS = ("player", "time", "seq", "previous_time", "previous_seq", "rating", "numbers")
SHOWN = [changes.c[name] for name in COLUMNS]
#: The same columns, first those that give the order of the table.
BY_POSITION = ("time", "seq", "player", "previous_time", "previous_seq", "rating", "numbers")


def pack_numbers(rank: Ints, teams: Ints, values: Floats) -> list[bytes]:
    """Return the packed numbers of changes.

    rank, teams : shape (changes,)
    values : rating and deviation before, deviation, expected score, performance, and the system's
        further numbers, shape (numbers, changes); NaN for none
    """
    layout = np.dtype([("places", "<i4", 2), ("values", "<f8", len(values))])
    rows = np.empty(len(rank), layout)
    rows["places"][:, 0], rows["places"][:, 1] = rank, teams
    # -0.0 becomes 0.0, as in columns of numbers: SQLite does not keep the sign of zero.
    rows["values"] = values.T + 0.0
    data, width = rows.tobytes(), layout.itemsize
    return [data[at : at + width] for at in range(0, len(data), width)]


def change_row(stored: Sequence[Any]) -> ChangeRow:
    """Return a change from its columns, which are `COLUMNS`."""
    player, time, seq, previous_time, previous_seq, rating, numbers = stored
    head = _HEAD.unpack_from(numbers)
    rank, teams, before, deviation_before, deviation, expected, performance = head
    # Written out, as every match that is posted comes here; NaN is not equal to itself.
    return ChangeRow(
        player,
        time,
        seq,
        rank,
        teams,
        before,
        None if deviation_before != deviation_before else deviation_before,
        rating,
        None if deviation != deviation else deviation,
        None if expected != expected else expected,
        None if performance != performance else performance,
        bytes(numbers[_HEAD.size :]),
        (previous_time, previous_seq),
    )


def put(
    connection: Connection, pool: int, generation: int, columns: dict[str, Sequence[Any]]
) -> None:
    """Write changes, given as columns: `COLUMNS`."""
    rows = len(columns["player"])
    fixed = {"pool": [pool] * rows, "generation": [generation] * rows}
    insert(connection, changes, {**fixed, **columns})


def changes_of_match(
    connection: Connection,
    pool: PoolRecord,
    position: Position,
    players: Iterable[str] | None = None,
) -> dict[str, ChangeRow]:
    """Return what a match did to its players, by id; players : only to these."""
    if players is None:
        return changes_of_matches(connection, pool, [position]).get(position, {})
    values = {**pool.seen, "time": position[0], "seq": position[1]}
    rows = _OF_PLAYERS.rows(connection, players, values)
    return {row[0]: change_row(row) for row in rows}


def changes_of_matches(
    connection: Connection, pool: PoolRecord, positions: Collection[Position]
) -> dict[Position, dict[str, ChangeRow]]:
    """Return what matches did to their players, by position and id, in one query.

    Matches that changed nothing are left out.
    """
    of_position: dict[Position, dict[str, ChangeRow]] = {}
    if not positions:
        return of_position
    if connection.dialect.name == "sqlite":
        rows = _OF_MATCHES_SQLITE.rows(connection, {**pool.seen, "each": json.dumps([*positions])})
    else:
        times, seqs = zip(*positions, strict=True)
        values = {**pool.seen, "times": [*times], "seqs": [*seqs]}
        rows = _OF_MATCHES_POSTGRESQL.rows(connection, values)
    for row in rows:
        of_position.setdefault((row[1], row[2]), {})[row[0]] = change_row(row)
    return of_position


def changes_in_turn(
    connection: Connection, pool: PoolRecord, matches: Iterable[tuple[Position, int]]
) -> Iterator[dict[str, ChangeRow]]:
    """Give what each match did to its players, by id. Many are read at once, in bounded memory.

    matches : position and number of players of each
    """
    piece: list[Position] = []
    left = _AT_ONCE
    for position, players in matches:
        if piece and players > left:
            of_position = changes_of_matches(connection, pool, piece)
            yield from (of_position.get(position, {}) for position in piece)
            piece, left = [], _AT_ONCE
        piece.append(position)
        left -= players
    of_position = changes_of_matches(connection, pool, piece)
    yield from (of_position.get(position, {}) for position in piece)


_COUNTS = seen_rows(changes)
_SEEN = select(*SHOWN).where(_COUNTS)
_OF_PLAYERS = PreparedEach(
    _SEEN.where(changes.c.time == bindparam("time"), changes.c.seq == bindparam("seq")),
    changes.c.player,
)
_pairs = func.json_each(bindparam("each")).table_valued("value")
_OF_MATCHES_SQLITE = Prepared(
    _SEEN.where(
        tuple_(changes.c.time, changes.c.seq).in_(
            select(*(func.json_extract(_pairs.c.value, f"$[{at}]") for at in (0, 1)))
        )
    )
)
_wanted = (
    func.unnest(*(bindparam(name, type_=ARRAY(BigInteger)) for name in ("times", "seqs")))
    .table_valued("time", "seq")
    .render_derived("wanted")
)
# The offset keeps PostgreSQL from joining the tables in another order: see `PreparedEach`.
_of_wanted = (
    _SEEN.where(changes.c.time == _wanted.c.time, changes.c.seq == _wanted.c.seq)
    .offset(0)
    .lateral()
)
_OF_MATCHES_POSTGRESQL = Prepared(select(_of_wanted).select_from(_wanted).join(_of_wanted, true()))


def changes_of_player(
    connection: Connection, pool: PoolRecord, player: str, before: Position | None, limit: int
) -> list[ChangeRow]:
    """Return a player's last changes before a position, newest first."""
    start = None if before is None else _previous(connection, pool, player, before)
    # If a replay has deleted the change at `before`, the chain is read from the newest change.
    steps = limit if before is None or start is not None else None
    if start is None:
        start = _last(connection, pool, player)
    if start is None:
        return []
    chain = _chain(pool, player, start, steps)
    query = select(*(chain.c[name] for name in COLUMNS)).order_by(chain.c.step).limit(limit)
    if before is not None:
        query = query.where(tuple_(chain.c.time, chain.c.seq) < row_value(before))
    return [change_row(row) for row in connection.execute(query).all()]


def change_after(
    connection: Connection, pool: PoolRecord, player: str, after: Position, steps: int
) -> Position:
    """Return the position of a player's change some steps after a position, or of the newest."""
    start = _last(connection, pool, player)
    if start is None or steps < 1:
        return after
    chain = _chain(pool, player, start, None)
    later = tuple_(chain.c.time, chain.c.seq) > row_value(after)
    query = select(chain.c.time, chain.c.seq).where(later)
    rows = connection.execute(query.order_by(chain.c.step.desc()).limit(steps)).all()
    return (rows[-1][0], rows[-1][1]) if rows else after


def _chain(pool: PoolRecord, player: str, start: Position, steps: int | None) -> CTE:
    """Return a player's changes back from one at `start`, numbered by `step`; None for all."""
    first = select(*SHOWN, literal(1).label("step")).where(
        counts(pool), *_at(start), changes.c.player == player
    )
    chain = first.cte("chain", recursive=True)
    further = further_changes(chain, pool).add_columns(chain.c.step + 1)
    if steps is not None:
        further = further.where(chain.c.step < steps)
    return chain.union_all(further)


def further_changes(
    chain: CTE, pool: PoolRecord, shown: Sequence[ColumnElement[Any]] = tuple(SHOWN)
) -> Select[Any]:
    """Return the query for the changes right before those in a chain; shown : their columns."""
    here = and_(
        changes.c.time == chain.c.previous_time,
        changes.c.seq == chain.c.previous_seq,
        changes.c.player == chain.c.player,
    )
    return select(*shown).join(chain, here).where(counts(pool))


def _previous(
    connection: Connection, pool: PoolRecord, player: str, position: Position
) -> Position | None:
    """Return the position before that of a player's change; None if there is no such change."""
    query = select(changes.c.previous_time, changes.c.previous_seq).where(
        counts(pool), *_at(position), changes.c.player == player
    )
    row = connection.execute(query).first()
    return None if row is None else (row[0], row[1])


def _last(connection: Connection, pool: PoolRecord, player: str) -> Position | None:
    """Return the position of a player's last change, None for a player without a rating."""
    query = select(ratings.c.change_time, ratings.c.change_seq).where(
        ratings.c.pool == pool.id,
        ratings.c.generation == pool.generation,
        ratings.c.player == player,
    )
    row = connection.execute(query).first()
    return None if row is None else (row[0], row[1])


def changes_between(
    connection: Connection,
    pool: PoolRecord,
    first: Position,
    last: Position,
    limit: int | None = None,
) -> dict[tuple[str, int], ChangeRow]:
    """Return what matches from one position to another did, by player and seq.

    limit : of these changes; which ones is left open
    """
    query = select(*SHOWN).where(
        counts(pool), _position() >= row_value(first), _position() <= row_value(last)
    )
    if limit is not None:
        query = query.limit(limit)
    changes = (change_row(row) for row in connection.execute(query).all())
    return {(row.player, row.seq): row for row in changes}


def newest_changes(
    connection: Connection, pool: PoolRecord, since: int, limit: int
) -> list[ChangeRow]:
    """Return the newest changes of a pool from a time on, newest first; limit : of them."""
    order = (changes.c.time.desc(), changes.c.seq.desc(), changes.c.player.desc())
    query = select(*SHOWN).where(counts(pool), changes.c.time >= since)
    return [change_row(row) for row in connection.execute(query.order_by(*order).limit(limit))]


def ratings_since(
    connection: Connection, pool: PoolRecord, players: Sequence[str], since: int
) -> dict[str, list[float]]:
    """Return the ratings of players after each match since a time, oldest first.

    The first value is the rating before these matches. Players without such a match are left out.
    """
    drawn = among(ratings.c.player, players, connection)
    chain = _changes_since(pool, drawn, since, by_seq=False, shown=("numbers",))
    query = select(chain.c.player, chain.c.rating, chain.c.numbers).where(chain.c.seq.is_not(None))
    found: dict[str, list[float]] = {}
    rows = connection.execute(query.order_by(chain.c.time, chain.c.seq)).all()
    for player, rating, numbers in rows:
        found.setdefault(player, [_HEAD.unpack_from(numbers)[2]]).append(rating)
    return found


def rows_after(
    connection: Connection, pool: PoolRecord, after: Position, through: Position
) -> list[tuple[Any, ...]]:
    """Return the changes after one position up to another as rows of `BY_POSITION`, in order."""
    values = {
        **pool.seen,
        "after_time": after[0],
        "after_seq": after[1],
        "through_time": through[0],
        "through_seq": through[1],
    }
    return _ROWS_AFTER.rows(connection, values)


def count_of(connection: Connection, pool: PoolRecord) -> int:
    """Return the number of changes that count."""
    query = select(func.count()).select_from(changes).where(counts(pool))
    return int(connection.execute(query).scalar_one())


def counts(pool: PoolRecord) -> Any:
    """Return the condition that readers of a pool see a change."""
    return seen_rows(changes, pool)


def _at(position: Position) -> tuple[Any, ...]:
    return changes.c.time == position[0], changes.c.seq == position[1]


def _position() -> Any:
    return tuple_(changes.c.time, changes.c.seq)


_ROWS_AFTER = Prepared(
    select(*(changes.c[name] for name in BY_POSITION))
    .where(
        _COUNTS,
        _position() > tuple_(bindparam("after_time"), bindparam("after_seq")),
        _position() <= tuple_(bindparam("through_time"), bindparam("through_seq")),
    )
    .order_by(changes.c.time, changes.c.seq, changes.c.player)
)


class Reach(NamedTuple):
    """The matches of an overview: times of the first and the last, and their number."""

    first: int
    last: int
    matches: int


class RatingTotals(NamedTuple):
    """Ratings shown: number of players, number of provisional ones, lowest, highest and mean."""

    players: int
    provisional: int
    low: float
    high: float
    mean: float


class MeanRow(NamedTuple):
    """Ratings after matches in one bin: count, mean, mean square of the distance to `about`."""

    bin: int
    participations: int
    mean: float
    square: float


#: A literal, not a parameter: databases need it to use the partial indexes.
_MATCH = log.c.kind == literal_column("'match'")


def reach(connection: Connection, pool: PoolRecord, most: int) -> Reach | None:
    """Return the times of the newest matches, at most so many; None if there are no matches."""
    newest = (
        select(log.c.time)
        .where(log.c.pool == pool.id, _MATCH)
        .order_by(log.c.time.desc(), log.c.seq.desc())
    )
    last = connection.execute(newest.limit(1)).scalar()
    if last is None:
        return None
    count = min(pool.matches, most)
    first = connection.execute(newest.limit(1).offset(max(count - 1, 0))).scalar()
    if first is None:  # fewer matches than the pool counts: it has just been changed
        oldest = newest.order_by(None).order_by(log.c.time, log.c.seq)
        first = connection.execute(oldest.limit(1)).scalar_one()
    return Reach(int(first), int(last), count)


def matches_by_bin(
    connection: Connection, pool: PoolRecord, since: int, width: int
) -> dict[int, int]:
    """Return the number of matches in each bin of time, numbered from `since` on."""
    which = _bin(log.c.time, since, width)
    query = (
        select(which, func.count())
        .where(log.c.pool == pool.id, _MATCH, log.c.time >= since)
        .group_by(which)
    )
    return {int(row[0]): int(row[1]) for row in connection.execute(query)}


def rating_totals(connection: Connection, pool: PoolRecord) -> RatingTotals | None:
    """Return the totals of all ratings; None if there are no players."""
    standing = standing_of(connection, pool)
    if not standing.names:
        return None
    # The order has ratings with the other sign, so that they sort best first.
    shown = 0.0 - standing.ordering
    return RatingTotals(
        len(shown),
        int(standing.provisional.sum()),
        float(shown.min()),
        float(shown.max()),
        float(shown.mean()),
    )


def ratings_by_bin(
    connection: Connection, pool: PoolRecord, low: float, width: float
) -> dict[int, int]:
    """Return the number of players in each bin of the ratings shown, numbered from `low` up."""
    shown = -standing_of(connection, pool).ordering
    bins = np.floor((shown - low) / width).astype(np.int64)
    numbers, counts = np.unique(bins, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def means_by_bin(
    connection: Connection,
    pool: PoolRecord,
    *,
    players: int,
    since: int,
    width: int,
    by_seq: bool,
    about: float,
) -> list[MeanRow]:
    """Return ratings after matches by bins of time, or of numbers in the log, first to last.

    players : whose changes are read at most; evenly drawn if the pool has more
    about : a rating near the mean, so that squares keep their digits
    """
    every = max(1, -(-pool.players // players))
    rows: FromClause = changes
    counted = counts(pool)
    if every > 1:
        names = standing_of(connection, pool).names[every - 1 :: every]
        rows = _changes_since(pool, among(ratings.c.player, names, connection), since, by_seq)
        counted = rows.c.seq.is_not(None)
    place = rows.c.seq if by_seq else rows.c.time
    which, distance = _bin(place, since, width), rows.c.rating - about
    query = (
        select(which, func.count(), func.avg(rows.c.rating), func.avg(distance * distance))
        .where(counted, place >= since)
        .group_by(which)
        .order_by(which)
    )
    return [
        MeanRow(int(row[0]), int(row[1]), float(row[2]), float(row[3]))
        for row in connection.execute(query)
    ]


def _changes_since(
    pool: PoolRecord, drawn: Any, since: int, by_seq: bool, shown: Sequence[str] = ()
) -> CTE:
    """Return some players' changes since a time, or since a record in a pool without times.

    drawn : the condition of the players; shown : further columns
    Returns : the changes, and a row for each player in which `time` and `seq` are null
    """
    newest = ratings.c.change_seq if by_seq else ratings.c.change_time
    nothing = cast(null(), BigInteger)
    # The chain starts with a row for each player that has the position of the last change. With a
    # join here, SQLite would read all changes and look up the player of each.
    start = select(
        ratings.c.player,
        nothing.label("time"),
        nothing.label("seq"),
        ratings.c.change_time.label("previous_time"),
        ratings.c.change_seq.label("previous_seq"),
        ratings.c.rating,
        *(cast(null(), changes.c[name].type).label(name) for name in shown),
    ).where(
        ratings.c.pool == pool.id,
        ratings.c.generation == pool.generation,
        drawn,
        newest >= since,
    )
    chain = start.cte("chain", recursive=True)
    before = chain.c.previous_seq if by_seq else chain.c.previous_time
    columns = [changes.c[column.name] for column in chain.c]
    # Without "+ 0" SQLite would use this condition for the lookup and read all changes since then.
    return chain.union_all(further_changes(chain, pool, columns).where(before + 0 >= since))


def players_with(
    connection: Connection, pool: PoolRecord, text: str, limit: int
) -> list[RatingRow]:
    """Return players whose id contains a text, regardless of case, best first.

    Disqualified players come after all others.
    """
    names = standing_of(connection, pool).containing(text, limit)
    rows = ratings_of(connection, pool.id, pool.generation, names)
    return [rows[name] for name in names]


def _bin(column: Any, since: int, width: int) -> Any:
    """Return the number of the bin of a time from `since` on."""
    return (column - literal(since, BigInteger)) // literal(width, BigInteger)
