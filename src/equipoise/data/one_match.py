"""One match as plain numbers, and the history of a few such matches."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids
from equipoise.data.history import History


class OneMatch(NamedTuple):
    """A match between players who are listed team after team.

    sizes : number of players of each team
    ranks : of each team, dense from 0, lower is better, equal is a tie
    time : microseconds since 1970; None without times
    performance_ceiling, beta, gamma : NaN for none
    performance, share, at_home, score, role : one value for each player, or none at all; NaN is an
        absent performance; a score is that of the player's team

    Other fields are those of a `History`.
    """

    sizes: Sequence[int]
    ranks: Sequence[int]
    weight: float = 1.0
    time: int | None = None
    performance_ceiling: float = math.nan
    beta: float = math.nan
    gamma: float = math.nan
    performance: Sequence[float] = ()
    share: Sequence[float] = ()
    at_home: Sequence[bool] = ()
    score: Sequence[float] = ()
    role: Sequence[str] = ()

    @property
    def has_own_deviations(self) -> bool:
        """Whether a beta or a gamma counts instead of the system's."""
        # Only NaN differs from itself.
        return self.beta == self.beta or self.gamma == self.gamma


def history_of(
    matches: Sequence[OneMatch],
    players: Sequence[Sequence[Hashable]] | None = None,
    match_ids: Sequence[str | int] | None = None,
) -> History:
    """Return matches in this order as a history.

    matches : at least one; all have times, or none has
    players : ids of the players of each match; None numbers those of each match from 0
    match_ids : None numbers the matches from 0
    """
    # The fields of all matches: a tuple of what `OneMatch` has one of.
    given: Any = OneMatch._make(zip(*matches, strict=True))
    counts = [sum(sizes) for sizes in given.sizes]
    row_of: dict[Hashable, int] = {}
    named = [range(count) for count in counts] if players is None else players
    player = [row_of.setdefault(name, len(row_of)) for names in named for name in names]
    team, rank = [], []
    for sizes, ranks in zip(given.sizes, given.ranks, strict=True):
        for number, (size, place) in enumerate(zip(sizes, ranks, strict=True)):
            team += [number] * size
            rank += [place] * size

    def of_matches(values: Any) -> Floats | None:
        column = np.array(values, np.float64)
        return None if np.isnan(column).all() else column

    def of_players(values: Any, absent: float | str | None, kind: type[Any] = float) -> Ids | None:
        if not any(map(len, values)):
            return None
        each = zip(values, counts, strict=True)
        parts = [part or [absent] * count for part, count in each]
        return np.array([value for part in parts for value in part], dtype=kind)

    kept = {
        "at_home": of_players(given.at_home, 0.0),
        "score": of_players(given.score, math.nan),
        "role": of_players(given.role, None, object),
    }
    return History(
        match_ids=ids_of(range(len(matches)) if match_ids is None else match_ids),
        player_ids=ids_of(list(row_of)),
        offsets=np.cumsum([0, *counts]),
        player=np.array(player),
        team=np.array(team),
        rank=np.array(rank),
        time=None if matches[0].time is None else np.array(given.time, np.int64),
        time_kind="datetime",
        weight=of_matches(given.weight),
        performance_ceiling=of_matches(given.performance_ceiling),
        beta=of_matches(given.beta),
        gamma=of_matches(given.gamma),
        performance=of_players(given.performance, math.nan),
        share=of_players(given.share, 1.0),
        attributes={name: column for name, column in kept.items() if column is not None},
    )


def ids_of(values: Sequence[Any]) -> Ids:
    """Return ids as a history has them: whole numbers, or Python objects."""
    if all(isinstance(one, int) for one in values):
        return np.array(values, np.int64)
    found: Ids = np.empty(len(values), dtype=object)
    found[:] = values
    return found
