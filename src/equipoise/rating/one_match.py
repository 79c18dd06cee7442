"""Rating one match from the numbers of its players alone: no pool, no file, no history.

`rate_match` returns what `replay` would write into the rows of the players' state, bit for bit. It
serves systems whose players are all there is to know. It knows no names, and it checks nothing
beyond what the systems check. `workspaces` makes it fast; a system that they do not know is given
a history of one match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.rating.state import State
from equipoise.rating.workspaces.lending import workspaces_of
from equipoise.rating.workspaces.workspace import PlayerNumbers

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


def rate_match(
    system: System,
    players: Sequence[PlayerNumbers],
    sizes: Sequence[int],
    ranks: Sequence[int],
    *,
    weight: float = 1.0,
    time: float = math.nan,
    performance_ceiling: float = math.inf,
    beta: float = math.nan,
    gamma: float = math.nan,
    performance: Sequence[float] = (),
    share: Sequence[float] = (),
    at_home: Sequence[bool] = (),
    score: Sequence[float] = (),
) -> list[PlayerNumbers]:
    """Return the players' states after a match, in their order; nothing given is changed.

    players : in the order of their teams; the same player only once
    sizes : number of players of each team, at least two teams
    ranks : of each team, dense from 0, lower is better, equal is a tie
    time : of the match, whole microseconds in days since 1970; NaN without times
    performance_ceiling : inf for none
    beta, gamma : deviations of the match's own, NaN for none
    performance, share, at_home, score : one value for each player, or none at all; a performance
        of NaN is absent; score : of the player's team
    Raises : ConvergenceError; InvalidDataError if the system needs `at_home`
    """
    workspaces = workspaces_of(system)
    # Few matches have deviations of their own, so there is no kept memory for them.
    if workspaces.usable and math.isnan(beta) and math.isnan(gamma):
        shape = tuple(sizes)
        workspace = workspaces.take(shape)
        found = workspace.rate(
            players, ranks, weight, time, performance_ceiling, performance, share, at_home, score
        )
        workspaces.give_back(shape, workspace)
        return found
    return rate_once(
        system,
        players,
        sizes,
        ranks,
        weight=weight,
        time=time,
        performance_ceiling=performance_ceiling,
        beta=beta,
        gamma=gamma,
        performance=performance,
        share=share,
        at_home=at_home,
        score=score,
    )


def rate_once(
    system: System,
    players: Sequence[PlayerNumbers],
    sizes: Sequence[int],
    ranks: Sequence[int],
    *,
    weight: float = 1.0,
    time: float = math.nan,
    performance_ceiling: float = math.inf,
    beta: float = math.nan,
    gamma: float = math.nan,
    performance: Sequence[float] = (),
    share: Sequence[float] = (),
    at_home: Sequence[bool] = (),
    score: Sequence[float] = (),
) -> list[PlayerNumbers]:
    """Return what `rate_match` does, in memory that is not kept: for a system of one match."""
    state = state_of(system, players)
    match = _history(
        sizes,
        ranks,
        weight=weight,
        time=time,
        performance_ceiling=performance_ceiling,
        beta=beta,
        gamma=gamma,
        performance=performance,
        share=share,
        at_home=at_home,
        score=score,
    )
    system.run(state, match, 0, 1)
    return numbers_of(state)


def state_of(system: System, players: Sequence[PlayerNumbers]) -> State:
    """Return a state of these players alone."""
    state = system.initial(len(players))
    state.table[:] = [row for row, _ in players]
    runs = state.runs
    if runs is not None:
        counts = np.array([len(records) // runs.fields for _, records in players], np.int64)
        runs.reserve(np.arange(len(players)), counts)
        for (_, records), span, count in zip(players, runs.spans, counts.tolist(), strict=True):
            begin, room = int(span[0]), int(span[1])
            for field in range(runs.fields if count else 0):
                at = begin + field * room
                runs.values[at : at + count] = records[field * count : (field + 1) * count]
        runs.spans[:, 3] = counts
    return state


def numbers_of(state: State) -> list[PlayerNumbers]:
    """Return the numbers of every player of a state, in order."""
    rows = [tuple(row) for row in state.table.tolist()]
    runs = state.runs
    if runs is None:
        return [(row, ()) for row in rows]
    ends = np.cumsum(runs.spans[:, 3]).tolist()
    fields = [runs.records(field).tolist() for field in range(runs.fields)]
    starts = [0, *ends[:-1]]
    return [
        (row, tuple(value for field in fields for value in field[start:end]))
        for row, start, end in zip(rows, starts, ends, strict=True)
    ]


def _history(
    sizes: Sequence[int],
    ranks: Sequence[int],
    *,
    weight: float,
    time: float,
    performance_ceiling: float,
    beta: float,
    gamma: float,
    performance: Sequence[float],
    share: Sequence[float],
    at_home: Sequence[bool],
    score: Sequence[float],
) -> History:
    """Return a history of this match only, its players numbered in their order."""
    count = sum(sizes)
    given = None if math.isnan(time) else np.array([round(time * MICROSECONDS_PER_DAY)])
    capped = not math.isinf(performance_ceiling)
    columns = {"at_home": at_home, "score": score}
    given_columns = {name: np.array(one, np.float64) for name, one in columns.items() if len(one)}
    return History(
        match_ids=np.zeros(1, np.int64),
        player_ids=np.arange(count),
        offsets=np.array([0, count]),
        player=np.arange(count),
        team=np.repeat(np.arange(len(sizes)), sizes),
        rank=np.repeat(np.array(ranks, np.int64), sizes),
        time=given,
        weight=np.array([float(weight)]),
        performance_ceiling=np.array([performance_ceiling]) if capped else None,
        beta=None if math.isnan(beta) else np.array([beta]),
        gamma=None if math.isnan(gamma) else np.array([gamma]),
        performance=_floats(performance),
        share=_floats(share),
        attributes=given_columns,
    )


def _floats(values: Sequence[float]) -> Floats | None:
    """Return a column, None without values."""
    return np.array(values, np.float64) if len(values) else None
