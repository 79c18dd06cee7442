"""People of a pool: found by a part of their name, looked up together, followed over time."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.errors import NotFoundError, require
from equipoise.messages.overview import RatingTimeline
from equipoise.messages.players import LeaderboardRow
from equipoise.store import changes, ratings, summaries
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from equipoise.workflows.pool_reading import played_times
from equipoise.workflows.pools import rules_of, written

#: Players that one search returns, and matches of one timeline, at most.
MOST_FOUND, MOST_MATCHES = 200, 20_000


def search_players(store: Store, pool: str, text: str, *, limit: int) -> list[LeaderboardRow]:
    """Return players in whose id a text stands, best first; their places are not looked up.

    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= limit <= MOST_FOUND, "limit", f"from 1 to {MOST_FOUND}", limit)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        # PostgreSQL cannot look for NUL, and no id has one.
        found = [] if "\0" in text else summaries.players_with(connection, record, text, limit)
    return [
        LeaderboardRow(
            place=None,
            player=row.player,
            display=0.0 - row.ordering,
            rating=row.rating,
            deviation=row.deviation,
            matches=row.matches,
            last_time=written(row.last_time, rules),
            provisional=row.provisional,
            disqualified=row.disqualified,
        )
        for row in found
    ]


def ratings_of_players(
    store: Store, pool: str, players: Sequence[str]
) -> dict[str, tuple[float, float | None]]:
    """Return rating and deviation of those players that the pool knows. Raises : NotFoundError."""
    wanted = [one for one in players if "\0" not in one]
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = ratings.ratings_of(connection, record.id, record.generation, wanted)
    return {player: (row.rating, row.deviation) for player, row in found.items()}


def rating_timeline(store: Store, pool: str, player: str, *, most: int) -> RatingTimeline:
    """Return a player's last rated matches as columns, oldest first.

    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= most <= MOST_MATCHES, "most", f"from 1 to {MOST_MATCHES}", most)
    with store.read() as connection:
        record = get_pool(connection, pool)
        timed = rules_of(record.settings).timed
        own = ratings.rating_of(connection, record.id, record.generation, player)
        if own is None:
            raise NotFoundError(f"no player {player!r} in pool {pool!r}")
        rows = changes.changes_of_player(connection, record, player, None, most)[::-1]
        posted = played_times(connection, record, [row.seq for row in rows])
    return RatingTimeline(
        player=player,
        matches=[posted[row.seq][0] for row in rows],
        times=[row.time / 1e6 for row in rows] if timed else None,
        ratings=[row.rating for row in rows],
        deviations=[row.deviation for row in rows],
        changes=[row.rating - row.rating_before for row in rows],
        ranks=[row.rank + 1 for row in rows],
        teams=[row.teams for row in rows],
        performances=[row.performance for row in rows],
        left_out=max(own.matches - len(rows), 0),
        played=[posted[row.seq][1] is not None for row in rows],
    )
