"""Writing the ratings with which a pool begins."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection

from equipoise.rating.pool_state import PoolState
from equipoise.store import ratings
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.rated_rows import rating_rows
from equipoise.workflows.trail import LastChanges

#: Players written in one statement.
_ROWS = 5_000


def plant_ratings(
    connection: Connection, pool: int, generation: int, rules: PoolRules, state: PoolState
) -> int:
    """Write the ratings of all players of a state, and return how many they are."""
    players = len(state.player_ids)
    last_changes = LastChanges.empty(players)
    for low in range(0, players, _ROWS):
        rows = np.arange(low, min(low + _ROWS, players))
        names = [str(one) for one in state.player_ids[rows].tolist()]
        ratings.put(
            connection, pool, generation, rating_rows(rules, state.state, rows, names, last_changes)
        )
    return players
