"""Rating some matches on the stored states of their players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats, Ids
from equipoise.errors import ConvergenceError, EquipoiseError, InvalidDataError
from equipoise.rating.state import State
from equipoise.rating.state_bytes import unpack_players
from equipoise.store import ratings
from equipoise.store.pools import PoolRecord
from equipoise.store.ratings import StateRow
from equipoise.workflows.match_history import LoggedMatch, history_of, names_of
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.rated_rows import change_rows, empty_trace, rating_rows
from equipoise.workflows.trail import Trail


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """What came of some matches: rows to write, and what all players share.

    new_players : number of those without a rating before
    """

    ratings: dict[str, Sequence[Any]]
    changes: dict[str, Sequence[Any]]
    shared: dict[str, Floats]
    new_players: int
    participations: int


class UnratableMatchError(Exception):
    """A match that the system cannot rate, and why; nothing was written.

    index : of the match in the batch
    """

    def __init__(self, index: int, reason: EquipoiseError) -> None:
        super().__init__(str(reason))
        self.index = index
        self.reason = reason


def rate_batch(
    connection: Connection, pool: PoolRecord, rules: PoolRules, matches: Sequence[LoggedMatch]
) -> RatedBatch:
    """Return what matches, in the order of rating, do to the stored states of their players.

    Raises : UnratableMatchError for the first match that the system cannot rate
    """
    names = names_of(matches)
    # In the order in which the tables keep them, which makes writing faster.
    players = sorted(set(names))
    stored = ratings.states_of(connection, pool.id, pool.generation, players)
    known = [stored.get(player) for player in players]
    packed = [None if one is None else one.state for one in known]
    trail = trail_of(known)
    try:
        state, changes = _run(pool, rules, matches, players, names, packed, trail)
        rows = rating_rows(rules, state, np.arange(len(players)), players, trail)
    except (ConvergenceError, InvalidDataError) as error:
        raise _culprit(pool, rules, matches, players, packed, error) from error
    return RatedBatch(
        ratings=rows,
        changes=changes,
        shared=state.shared,
        new_players=len(players) - len(stored),
        participations=len(names),
    )


def trail_of(stored: Sequence[StateRow | None]) -> Trail:
    """Return where the last changes of players stand."""
    return Trail(
        np.array([0 if one is None else one.change_time for one in stored], np.int64),
        np.array([0 if one is None else one.change_seq for one in stored], np.int64),
    )


def _run(
    pool: PoolRecord,
    rules: PoolRules,
    matches: Sequence[LoggedMatch],
    players: Sequence[str],
    names: Sequence[str],
    packed: Sequence[bytes | None],
    trail: Trail,
) -> tuple[State, dict[str, Sequence[Any]]]:
    """Return the states after the matches, and the changes."""
    state = unpack_players(rules.system, packed)
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    rows = {player: row for row, player in enumerate(players)}
    history = history_of(matches, rows, object_array(players), rules)
    trace = empty_trace(rules.system, history)
    rules.system.run(state, history, 0, history.matches, trace)
    seqs = [match.seq for match in matches]
    return state, change_rows(rules, history, trace, seqs, names, trail)


def _culprit(
    pool: PoolRecord,
    rules: PoolRules,
    matches: Sequence[LoggedMatch],
    players: Sequence[str],
    packed: Sequence[bytes | None],
    error: EquipoiseError,
) -> UnratableMatchError:
    """Return the first match that fails when they are rated one after the other."""
    state = unpack_players(rules.system, packed)
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    rows = {player: row for row, player in enumerate(players)}
    every, ids = np.arange(len(players)), object_array(players)
    for index, match in enumerate(matches):
        history = history_of([match], rows, ids, rules)
        try:
            rules.system.run(state, history, 0, 1)
            rating_rows(rules, state, every, players, Trail.empty(len(players)))
        except (ConvergenceError, InvalidDataError) as reason:
            return UnratableMatchError(index, reason)
    # One at a time they all pass, although together they did not: slices of a history are
    # rated alike, so this is a defect, and the last match is as good to name as any.
    return UnratableMatchError(len(matches) - 1, error)


def object_array(values: Sequence[str]) -> Ids:
    """Return ids as the array that histories have."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
