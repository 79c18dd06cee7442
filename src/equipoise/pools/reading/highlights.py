"""What happened in a pool lately: upsets, and players who rise or fall most."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.messages.matches import HighlightsMessage, MatchLine, MoverMessage
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.reading.matches import lines_at
from equipoise.pools.reading.summaries import CHANGE_DAYS
from equipoise.store import changes, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool

#: Changes that are read at most: with more, the highlights are of a shorter time.
MOST_CHANGES = 20_000
_UPSETS, _MOVERS = 4, 3
#: Upsets by the expected scores of players, among which those by the chances of teams are found.
_CANDIDATES = 12


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
        upsets=_upsets(lines),
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


def _unexpected(rows: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Return first places in matches of two teams that were least expected."""
    found = [row for row in rows if row.teams == 2 and row.rank == 0 and row.expected is not None]
    return sorted(found, key=lambda row: row.expected or 0.0)[:_CANDIDATES]


def _upsets(lines: Sequence[MatchLine]) -> list[MatchLine]:
    """Return the upsets, the greatest first."""
    found = [one for one in lines if one.upset]
    return sorted(found, key=lambda one: min(side.chance or 0.0 for side in one.sides))[:_UPSETS]
