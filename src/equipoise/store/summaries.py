"""A pool as a whole, in a few numbers: counts over time, spread of ratings, names found."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import CTE, BigInteger, Connection, Integer, cast, func, literal, null, select

from equipoise.store.changes import further_changes
from equipoise.store.pools import PoolRecord
from equipoise.store.ratings import RatingRow
from equipoise.store.schema import changes, log, ratings


class Reach(NamedTuple):
    """Which matches are told of: from a position in time on, up to the last; how many they are."""

    first: int
    last: int
    matches: int


class RatingTotals(NamedTuple):
    """Ratings as they are shown: how many, how many provisional, their ends and mean."""

    players: int
    provisional: int
    low: float
    high: float
    mean: float


class MeanRow(NamedTuple):
    """Ratings after matches in one bin: count, mean, mean of their squares about `about`."""

    bin: int
    participations: int
    mean: float
    square: float


_MATCH = log.c.kind == "match"


def reach(connection: Connection, pool: PoolRecord, most: int) -> Reach | None:
    """Return the times of the newest matches, at most so many; None where there is none."""
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
    """Return what all ratings have in common; None where there is none."""
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
    # The value is not negative, so that casts of both databases, after floor, agree.
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

    players : of whom the changes are read at most; evenly drawn where the pool has more
    about : a rating in the midst of them, so that squares keep their digits
    """
    every = max(1, -(-pool.players // players))
    numbered = (
        select(
            ratings.c.player,
            func.row_number().over(order_by=ratings.c.player).label("number"),
        )
        .where(ratings.c.pool == pool.id, ratings.c.generation == pool.generation)
        .subquery()
    )
    drawn = select(numbered.c.player).where(numbered.c.number % every == 0)
    chain = _changes_since(pool, drawn, since, by_seq)
    which = _bin(chain.c.seq if by_seq else chain.c.time, since, width)
    apart = chain.c.rating - about
    query = (
        select(which, func.count(), func.avg(chain.c.rating), func.avg(apart * apart))
        .where(chain.c.seq.is_not(None))
        .group_by(which)
        .order_by(which)
    )
    return [
        MeanRow(int(row[0]), int(row[1]), float(row[2]), float(row[3]))
        for row in connection.execute(query)
    ]


def _changes_since(pool: PoolRecord, players: Any, since: int, by_seq: bool) -> CTE:
    """Return some players' changes since a time, or a number in a log without times.

    players : the query for them
    Returns : the changes, and a row a player in which `time` and `seq` are null
    """
    newest = ratings.c.change_seq if by_seq else ratings.c.change_time
    nothing = cast(null(), BigInteger)
    # It begins with a row a player that is no change, and says where the last one stands: joined
    # here, SQLite would go through all changes and look for the player of each.
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
        ratings.c.player.in_(players),
        newest >= since,
    )
    chain = start.cte("chain", recursive=True)
    before = chain.c.previous_seq if by_seq else chain.c.previous_time
    shown = [changes.c[column.name] for column in chain.c]
    # Added to, as SQLite would otherwise look for all changes since then instead of for one.
    return chain.union_all(further_changes(chain, pool, shown).where(before + 0 >= since))


def players_with(
    connection: Connection, pool: PoolRecord, text: str, limit: int
) -> list[RatingRow]:
    """Return players in whose id a text stands, small or capital letters alike, best first.

    Those who are disqualified come after all others.
    """
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
    """Return the number of the bin; nothing before `since` is asked for."""
    return (column - literal(since, BigInteger)) // literal(width, BigInteger)
