"""What a replay changed: the numbers of players before and after it.

Comparing all players takes longer than writers should wait. So the difference is stored in a second
transaction, after the swap that lets readers see the new ratings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from equipoise.arrays import Ints
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import DifferenceMessage, PlayerDifference
from equipoise.pools.replay.checkpointing import RunningPool
from equipoise.store import ratings
from equipoise.store.pools import PoolRecord
from equipoise.store.replays import ReplayRecord

#: Players that a difference lists.
MOST_PLAYERS = 1000

#: Microseconds after a replay within which its difference is stored. A difference that is missing
#: after that was interrupted, and is never stored.
_STORED_WITHIN = 10_000_000


def known_difference(replay: ReplayRecord, now: int) -> tuple[bool, DifferenceMessage | None]:
    """Return whether the difference of a replay is final, and the difference if it is stored."""
    if replay.difference:
        return True, msgspec.json.decode(replay.difference, type=DifferenceMessage)
    return now - replay.finished >= _STORED_WITHIN, None


class Numbers(NamedTuple):
    """The numbers of a player that are compared."""

    rating: float
    deviation: float | None

    @classmethod
    def of(cls, rating: float, deviation: float) -> Numbers:
        """Return the numbers of a player; NaN is no deviation."""
        return cls(rating, json_value(deviation))


def stored_numbers(connection: Connection, pool: PoolRecord) -> dict[str, Numbers]:
    """Return the stored numbers of all players, which readers see."""
    return {
        row.player: Numbers(row.rating, row.deviation)
        for rows in ratings.all_ratings(connection, pool.id, pool.generation)
        for row in rows
    }


def running_numbers(running: RunningPool, rows: Ints) -> dict[str, Numbers]:
    """Return the numbers of the players at some rows of a replay."""
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
    """Return the players whose numbers changed, largest changes first.

    matches : number of replayed matches
    """
    changed = [player for player in {**before, **after} if before.get(player) != after.get(player)]
    listed = [compared(player, before.get(player), after.get(player)) for player in changed]
    # Players who are new or gone come first.
    listed.sort(key=lambda one: (one.change is not None, -abs(one.change or 0.0), one.player))
    return DifferenceMessage(matches, len(changed), listed[:MOST_PLAYERS])


def compared(player: str, before: Numbers | None, after: Numbers | None) -> PlayerDifference:
    """Return a player's numbers before and after; None for a player who is new or gone."""
    change = None if before is None or after is None else after.rating - before.rating
    return PlayerDifference(
        player=player,
        rating_before=None if before is None else before.rating,
        deviation_before=None if before is None else before.deviation,
        rating=None if after is None else after.rating,
        deviation=None if after is None else after.deviation,
        change=change,
    )
