"""Summaries of a pool: matches over time, distribution and mean of ratings; search of players."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    CTE,
    BigInteger,
    Connection,
    Integer,
    cast,
    func,
    literal,
    literal_column,
    null,
    select,
)

from equipoise.store.bulk import among
from equipoise.store.changes import further_changes
from equipoise.store.derived.standings import standing_of
from equipoise.store.pools import PoolRecord
from equipoise.store.ratings import RatingRow, ratings_of
from equipoise.store.schema import changes, log, ratings


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
    if standing is not None:
        return RatingTotals(
            len(standing.names),
            int(standing.provisional.sum()),
            0.0 - float(standing.ordering.max()),
            0.0 - float(standing.ordering.min()),
            0.0 - float(standing.ordering.mean()),
        )
    shown = ratings.c.ordering
    query = select(
        func.count(),
        func.sum(cast(ratings.c.provisional, Integer)),
        func.max(shown),
        func.min(shown),
        func.avg(shown),
    ).where(ratings.c.pool == pool.id, ratings.c.generation == pool.generation)
    players, provisional, high, low, mean = connection.execute(query).one()
    if not players:
        return None
    # The table keeps ratings with the other sign, so that they sort best first.
    return RatingTotals(int(players), int(provisional), 0.0 - high, 0.0 - low, 0.0 - mean)


def ratings_by_bin(
    connection: Connection, pool: PoolRecord, low: float, width: float
) -> dict[int, int]:
    """Return the number of players in each bin of the ratings shown, numbered from `low` up."""
    standing = standing_of(connection, pool)
    if standing is not None:
        bins = np.floor((-standing.ordering - low) / width).astype(np.int64)
        numbers, counts = np.unique(bins, return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    # The value is not negative, so that the casts of both databases agree after floor.
    which = cast(func.floor((-ratings.c.ordering - low) / width), Integer)
    query = (
        select(which, func.count())
        .where(ratings.c.pool == pool.id, ratings.c.generation == pool.generation)
        .group_by(which)
    )
    return {int(row[0]): int(row[1]) for row in connection.execute(query)}


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
    standing = standing_of(connection, pool)
    if standing is not None:
        drawn = among(ratings.c.player, standing.names[every - 1 :: every], connection)
    else:
        number = func.row_number().over(order_by=ratings.c.player).label("number")
        numbered = (
            select(ratings.c.player, number)
            .where(ratings.c.pool == pool.id, ratings.c.generation == pool.generation)
            .subquery()
        )
        some = select(numbered.c.player).where(numbered.c.number % every == 0)
        drawn = ratings.c.player.in_(some)
    chain = _changes_since(pool, drawn, since, by_seq)
    which = _bin(chain.c.seq if by_seq else chain.c.time, since, width)
    distance = chain.c.rating - about
    query = (
        select(which, func.count(), func.avg(chain.c.rating), func.avg(distance * distance))
        .where(chain.c.seq.is_not(None))
        .group_by(which)
        .order_by(which)
    )
    return [
        MeanRow(int(row[0]), int(row[1]), float(row[2]), float(row[3]))
        for row in connection.execute(query)
    ]


def _changes_since(pool: PoolRecord, drawn: Any, since: int, by_seq: bool) -> CTE:
    """Return some players' changes since a time, or since a record in a pool without times.

    drawn : the condition of the players
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
    ).where(
        ratings.c.pool == pool.id,
        ratings.c.generation == pool.generation,
        drawn,
        newest >= since,
    )
    chain = start.cte("chain", recursive=True)
    before = chain.c.previous_seq if by_seq else chain.c.previous_time
    shown = [changes.c[column.name] for column in chain.c]
    # Without "+ 0" SQLite would use this condition for the lookup and read all changes since then.
    return chain.union_all(further_changes(chain, pool, shown).where(before + 0 >= since))


def players_with(
    connection: Connection, pool: PoolRecord, text: str, limit: int
) -> list[RatingRow]:
    """Return players whose id contains a text, regardless of case, best first.

    Disqualified players come after all others.
    """
    standing = standing_of(connection, pool)
    if standing is not None:
        names = standing.containing(text, limit)
        found = ratings_of(connection, pool.id, pool.generation, names)
        return [found[name] for name in names]
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    query = (
        select(*(ratings.c[name] for name in RatingRow._fields))
        .where(
            ratings.c.pool == pool.id,
            ratings.c.generation == pool.generation,
            ratings.c.player.ilike(f"%{escaped}%", escape="\\"),
        )
        .order_by(ratings.c.disqualified, ratings.c.ordering, ratings.c.player)
        .limit(limit)
    )
    return [RatingRow._make(row) for row in connection.execute(query)]


def _bin(column: Any, since: int, width: int) -> Any:
    """Return the number of the bin of a time from `since` on."""
    return (column - literal(since, BigInteger)) // literal(width, BigInteger)
