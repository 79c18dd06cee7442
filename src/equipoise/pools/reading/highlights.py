"""What stands out in a pool: upsets, players who rise or fall most, records."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.messages.matches import (
    HighlightsMessage,
    MatchLine,
    MostMatches,
    MoverMessage,
    PeakRecord,
    PoolOverview,
    RecordsMessage,
)
from equipoise.pools.pool.rules import rules_of, written
from equipoise.pools.reading.matches import lines_at
from equipoise.pools.reading.players import MOST_COUNTED, overview
from equipoise.pools.reading.summaries import CHANGE_DAYS
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool

#: Changes that are read at most: with more, the highlights are of a shorter time.
MOST_CHANGES = 20_000
_UPSETS, _MOVERS = 4, 3
#: Upsets by the expected scores of players, among which those by the chances of teams are found.
_CANDIDATES = 12
#: Highest ratings, among which that of a settled player is found.
_HIGHEST = 1_000


def highlights(store: Store, pool: str) -> HighlightsMessage:
    """Return upsets and movers of the year before the pool's last match.

    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        since = 0
        if rules.timed and record.last_time is not None:
            since = record.last_time - CHANGE_DAYS * MICROSECONDS_PER_DAY
        rows = changes.newest_changes(connection, record, since, MOST_CHANGES)
        lines = lines_at(connection, record, rules, [row.seq for row in _unexpected(rows)])
        first: dict[str, ChangeRow] = {}
        last: dict[str, ChangeRow] = {}
        for row in rows:
            first[row.player] = row
            last.setdefault(row.player, row)
        moved = {
            player: last[player].rating - row.rating_before
            for player, row in first.items()
            if row.previous[1]
        }
        settled = [
            row
            for row in ratings.ratings_of(
                connection, record.id, record.generation, list(moved)
            ).values()
            if not row.provisional and not row.disqualified
        ]
    settled.sort(key=lambda row: (moved[row.player], row.player))
    return HighlightsMessage(
        pool=pool,
        matches=len({row.seq for row in rows}),
        upsets=greatest_upsets(lines)[:_UPSETS],
        rising=[
            MoverMessage(row.player, row.rating, moved[row.player])
            for row in settled[: -_MOVERS - 1 : -1]
            if moved[row.player] > 0
        ],
        falling=[
            MoverMessage(row.player, row.rating, moved[row.player])
            for row in settled[:_MOVERS]
            if moved[row.player] < 0
        ],
    )


def pool_overview(store: Store, pool: str) -> PoolOverview:
    """Return the distribution of ratings of a pool, its upsets, movers and records.

    Raises : NotFoundError
    """
    with store.moment() as moment:
        return PoolOverview(
            pool, overview(moment, pool), highlights(moment, pool), records(moment, pool)
        )


def records(store: Store, pool: str) -> RecordsMessage:
    """Return the records of a pool, among as many matches as an overview covers.

    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        covered = changes.reach(connection, record, MOST_COUNTED)
        since = 0 if covered is None else covered.first
        highest = changes.highest_ratings(connection, record, since, _HIGHEST)
        known = ratings.ratings_of(
            connection, record.id, record.generation, {row.player for row in highest}
        )
        settled = {one.player for one in known.values() if not one.provisional}
        best = next((row for row in highest if row.player in settled), None)
        largest = changes.largest_match(connection, record, since)
        busiest = ratings.busiest_player(connection, record)
        lines = [] if largest is None else lines_at(connection, record, rules, [largest])
        ids = {} if best is None else log.match_ids(connection, record.id, [best.seq])
    return RecordsMessage(
        highest=None
        if best is None
        else PeakRecord(best.player, best.rating, ids[best.seq], written(best.time, rules)),
        largest=lines[0] if lines else None,
        most_matches=None if busiest is None else MostMatches(busiest.player, busiest.matches),
    )


def _unexpected(rows: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Return first places in matches of two teams that were least expected."""
    found = [row for row in rows if row.teams == 2 and row.rank == 0 and row.expected is not None]
    return sorted(found, key=lambda row: row.expected or 0.0)[:_CANDIDATES]


def greatest_upsets(lines: Sequence[MatchLine]) -> list[MatchLine]:
    """Return the upsets among matches of two teams, that of the lowest chance first."""
    found = [one for one in lines if one.upset]
    return sorted(found, key=lambda one: min(side.chance or 0.0 for side in one.sides))
