"""What a replay changed: the numbers of players before and after it.

Comparing all players takes longer than writers should wait. So the difference is stored in a second
transaction, after the swap that lets readers see the new ratings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Ints
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import DifferenceMessage, OthersMessage, PlayerDifference
from equipoise.pools.amended_log import Amendments, counted_matches
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.rated_rows import numbers_of
from equipoise.pools.replay.checkpointing import RunningPool, running_before
from equipoise.store import ratings
from equipoise.store.pools import START, PoolRecord, Position
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
    now_at = numbers_of(running.rules.system, running.state, rows)
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


def difference_of_others(
    before: Mapping[str, Numbers], after: Mapping[str, Numbers], player: str | None
) -> OthersMessage:
    """Return how the numbers of all players but one changed."""
    names = {**before, **after}.keys() - {player}
    changed = [name for name in names if before.get(name) != after.get(name)]
    sizes = [
        abs(after[name].rating - before[name].rating)
        for name in changed
        if name in before and name in after
    ]
    if not sizes:
        return OthersMessage(len(changed), None, None)
    return OthersMessage(len(changed), math.fsum(sizes) / len(sizes), max(sizes))


def numbers_of_replay(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    amendments: Amendments,
    begin: Position,
) -> tuple[dict[str, Numbers], dict[str, Numbers], int]:
    """Return the numbers of all players before and after a replay from a position.

    Also returned is the number of matches that it would rate.
    Raises : ConvergenceError, InvalidDataError
    """
    running = running_before(connection, pool, rules, amendments, begin)
    running.matches = 0
    # No match counts between this position and `begin`.
    after = max((begin[0], begin[1] - 1) if begin != START else START, running.position)
    for matches in counted_matches(connection, pool, amendments, after):
        if matches:
            running.rate(matches)
    before = stored_numbers(connection, pool)
    then = running_numbers(running, np.arange(len(running.players)))
    return before, then, running.matches
