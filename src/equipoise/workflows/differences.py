"""What a replay changed: ratings before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection

from equipoise.arrays import Ints
from equipoise.messages.amendments import DifferenceMessage, PlayerDifference
from equipoise.messages.conversion import json_value
from equipoise.store import ratings
from equipoise.store.pools import PoolRecord
from equipoise.workflows.checkpointing import RunningPool

#: Players that a difference lists.
MOST_PLAYERS = 1000


class Numbers(NamedTuple):
    """What is compared of a player."""

    rating: float
    deviation: float | None

    @classmethod
    def of(cls, rating: float, deviation: float) -> Numbers:
        """Return the numbers of a player; NaN is no deviation."""
        return cls(rating, json_value(deviation))


def stored_numbers(connection: Connection, pool: PoolRecord) -> dict[str, Numbers]:
    """Return what readers see of all players."""
    return {
        row.player: Numbers(row.rating, row.deviation)
        for rows in ratings.all_ratings(connection, pool.id, pool.generation)
        for row in rows
    }


def running_numbers(running: RunningPool, rows: Ints) -> dict[str, Numbers]:
    """Return the numbers of the players at these rows."""
    now_at = running.rules.system.at(running.state, rows, None)
    return {
        running.players[row]: Numbers.of(rating, deviation)
        for row, rating, deviation in zip(
            rows.tolist(), now_at["rating"].tolist(), now_at["deviation"].tolist(), strict=True
        )
    }


def difference(
    before: Mapping[str, Numbers], after: Mapping[str, Numbers], matches: int
) -> DifferenceMessage:
    """Return who has other numbers after than before, largest changes first.

    matches : how many were replayed
    """
    changed = [player for player in {**before, **after} if before.get(player) != after.get(player)]
    told = [compared(player, before.get(player), after.get(player)) for player in changed]
    # Whoever is new or gone comes first: nothing is larger.
    told.sort(key=lambda one: (one.change is not None, -abs(one.change or 0.0), one.player))
    return DifferenceMessage(matches, len(changed), told[:MOST_PLAYERS])


def compared(player: str, before: Numbers | None, after: Numbers | None) -> PlayerDifference:
    """Return a player's numbers before and after; None where there are none."""
    change = None if before is None or after is None else after.rating - before.rating
    return PlayerDifference(
        player=player,
        rating_before=None if before is None else before.rating,
        deviation_before=None if before is None else before.deviation,
        rating=None if after is None else after.rating,
        deviation=None if after is None else after.deviation,
        change=change,
    )
