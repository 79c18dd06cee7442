"""Games of two players as histories, for the systems of federations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.rating.base_system import System

DAY = 86_400_000_000

_RANKS = {1.0: (0, 1), 0.5: (0, 0), 0.0: (1, 0)}


def games(
    listed: Sequence[tuple[int, int, float]],
    players: int,
    *,
    days: Sequence[float] | None = None,
    weight: Sequence[float] | None = None,
    **attributes: Sequence[Any],
) -> History:
    """Return a history of (first player, second player, score of the first).

    attributes : columns with a value for every participation
    """
    count = len(listed)
    return History(
        match_ids=np.arange(count),
        player_ids=np.arange(players),
        offsets=2 * np.arange(count + 1),
        player=np.array([one for first, second, _ in listed for one in (first, second)]),
        team=np.tile([0, 1], count),
        rank=np.array([rank for *_, score in listed for rank in _RANKS[score]]),
        time=None if days is None else np.array([int(day * DAY) for day in days]),
        time_kind="datetime",
        weight=None if weight is None else np.array(weight, np.float64),
        attributes={name: np.array(values) for name, values in attributes.items()},
    )


def rated(
    system: System, columns: Mapping[str, Sequence[float]], history: History
) -> dict[str, Floats]:
    """Return the ratings of players after a history.

    columns : of the state before it; columns that are missing are those of newcomers
    """
    state = system.initial(history.players)
    for name, values in columns.items():
        state.column(name)[:] = values
    system.run(state, history, 0, history.matches)
    return system.at(state, np.arange(history.players), None)


def expected(system: System, columns: Mapping[str, Sequence[float]], history: History) -> Floats:
    """Return the expected scores of all participations."""
    state = system.initial(history.players)
    for name, values in columns.items():
        state.column(name)[:] = values
    names = ("expected", "rating_before", "deviation_before", "rating", "deviation")
    trace = {name: np.full(history.participations, np.nan) for name in names}
    system.run(state, history, 0, history.matches, trace)
    return trace["expected"]
