"""The games of a pool within some days, as a tournament: results, ratings before and after.

Games are rated matches of two single players, as they count now. They stay in the pool, so the
standings of a tournament have a permanent address.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.pools.pool.pools import read_pool
from equipoise.store import changes
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store

#: Changes of ratings that are read at most, two for each game.
MOST_CHANGES = 20_000
_MICROSECONDS = 1_000_000
#: After every seq of a log.
_END = 2**62


class Game(NamedTuple):
    """A game; points : of the first player, 0, 0.5 or 1; ratings before the tournament."""

    first: str
    second: str
    points: float
    first_rating: float
    second_rating: float


@dataclass(frozen=True, slots=True)
class PoolGames:
    """The games of some days; before, after : ratings of the players."""

    games: list[Game]
    before: dict[str, float]
    after: dict[str, float]


def games_between(store: Store, pool: str, first: date, last: date) -> PoolGames:
    """Return the games of a pool from one day to another in UTC, both included, in order.

    Raises : NotFoundError            no such pool, or no games in this time
    Raises : InvalidParameterError    too many games, days in the wrong order, or no times
    """
    require(first <= last, "from", "not after until", str(first))
    since, until = (
        round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * _MICROSECONDS
        for day in (first, last + timedelta(days=1) if last < date.max else last)
    )
    with read_pool(store, pool) as (connection, record, rules):
        if not rules.timed:
            raise InvalidParameterError("the matches of this pool have no times")
        rows = changes.changes_between(
            connection, record, (since, 0), (until - 1, _END), MOST_CHANGES + 1
        )
    if len(rows) > MOST_CHANGES:
        rule = f"from and until must have at most {MOST_CHANGES // 2:,} games between them"
        raise InvalidParameterError(rule)
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    matches: dict[tuple[int, int], list[ChangeRow]] = {}
    for row in sorted(rows.values(), key=lambda row: (row.time, row.seq, row.rank, row.player)):
        matches.setdefault((row.time, row.seq), []).append(row)
    duels = [rows for rows in matches.values() if len(rows) == 2 and rows[0].teams == 2]
    if not duels:
        raise NotFoundError(f"no games between two players from {first} to {last}")
    games = []
    for pair in duels:
        for row in pair:
            before.setdefault(row.player, row.rating_before)
            after[row.player] = row.rating
        winner, other = pair
        points = 0.5 if winner.rank == other.rank else 1.0
        ratings = before[winner.player], before[other.player]
        games.append(Game(winner.player, other.player, points, *ratings))
    return PoolGames(games, before, after)
