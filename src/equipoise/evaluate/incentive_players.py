"""Whose incentives are looked at, and in which matches."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Flags, Ints
from equipoise.data.history import History
from equipoise.errors import NotFoundError
from equipoise.evaluate.incentive_courses import Entered
from equipoise.rating.system import Capabilities

#: Players looked at where none are named; half of them the most active ones.
PLAYERS = 4
#: Rated matches of a player of medium activity, at least, where there are such players.
_MEDIUM = 10


def rated_matches(history: History, capabilities: Capabilities) -> Flags:
    """Return which matches change ratings, shape (M,)."""
    teams = history.teams()
    rated: Flags = teams > 1
    if capabilities.skips_all_tied:
        rated &= (teams == 2) | (history.distinct_ranks() > 1)
    return rated


def activity_of(history: History, rated: Flags) -> Ints:
    """Return the number of rated matches of every player, shape (P,)."""
    return np.bincount(history.player[rated[history.match_rows()]], minlength=history.players)


def sample(activity: Ints, count: int = PLAYERS) -> list[int]:
    """Return some players: half of them the most active, the others spread over those after them.

    activity : shape (P,), rated matches of every player
    Players with fewer than 10 are left out where there are enough of the others.
    """
    order = np.argsort(-activity, kind="stable")
    order = order[activity[order] > 0]
    busy = order[activity[order] >= _MEDIUM]
    order = busy if len(busy) >= count else order
    most = order[: (count + 1) // 2]
    rest = order[len(most) :]
    wanted = min(count - len(most), len(rest))
    # The middles of equal parts.
    spread = ((np.arange(wanted) + 0.5) * len(rest) / max(wanted, 1)).astype(np.int64)
    return [*most.tolist(), *rest[spread].tolist()]


def entered_matches(history: History, rated: Flags, row: int, matches: int) -> Entered:
    """Return the last rated matches of a player. Raises : NotFoundError where there are none."""
    at = np.flatnonzero(history.player == row)
    match = history.match_rows()[at]
    at, match = at[rated[match]], match[rated[match]]
    if not len(at):
        raise NotFoundError(f"{history.player_ids[row]} has no match that changes ratings")
    at, match = at[-matches:], match[-matches:]
    return Entered(row, match, at - history.offsets[match])
