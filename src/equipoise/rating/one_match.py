"""Rating one match from the numbers of its players alone: no pool, no file, no history.

`rate_match` returns what `replay` would write into the rows of the players' state, bit for bit. It
serves systems whose players are all there is to know. It knows no names, and it checks nothing
beyond what the systems check. `workspaces` makes it fast; a system that they do not know is given
a history of one match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.data.one_match import OneMatch, history_of
from equipoise.rating.state import State
from equipoise.rating.workspaces.lending import workspaces_of
from equipoise.rating.workspaces.workspace import PlayerNumbers

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


def rate_match(
    system: System, players: Sequence[PlayerNumbers], match: OneMatch
) -> list[PlayerNumbers]:
    """Return the players' states after a match, in their order; nothing given is changed.

    players : team after team; the same player only once
    match : of at least two teams
    Raises : ConvergenceError; InvalidDataError if the system needs `at_home`
    """
    workspaces = workspaces_of(system)
    # Few matches have deviations of their own, so there is no kept memory for them.
    if workspaces.usable and not match.has_own_deviations:
        shape = tuple(match.sizes)
        workspace = workspaces.take(shape)
        found = workspace.rate(players, match)
        workspaces.give_back(shape, workspace)
        return found
    return rate_once(system, players, match)


def rate_once(
    system: System, players: Sequence[PlayerNumbers], match: OneMatch
) -> list[PlayerNumbers]:
    """Return what `rate_match` does, in memory that is not kept: for a system of one match."""
    state = state_of(system, players)
    system.run(state, history_of([match]), 0, 1)
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
