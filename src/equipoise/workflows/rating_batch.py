"""Rating some matches on the stored states of their players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats
from equipoise.errors import ConvergenceError, EquipoiseError, InvalidDataError
from equipoise.store.pools import PoolRecord
from equipoise.workflows.known_states import PlayerStates, StateCache
from equipoise.workflows.match_history import LoggedMatch, history_of, names_of, object_array
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.rated_rows import rated_changes, rating_rows


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """Result of rating some matches: rows to write, and the new states of the players."""

    ratings: dict[str, Sequence[Any]]
    changes: dict[str, Sequence[Any]]
    states: PlayerStates
    participations: int

    @property
    def shared(self) -> dict[str, Floats]:
        """What the system knows of no single player."""
        return self.states.state.shared


class UnratableMatchError(Exception):
    """A match that the system cannot rate, and why; nothing was written.

    index : of the match in the batch
    """

    def __init__(self, index: int, reason: EquipoiseError) -> None:
        super().__init__(str(reason))
        self.index = index
        self.reason = reason


def rate_batch(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    matches: Sequence[LoggedMatch],
    cache: StateCache,
) -> RatedBatch:
    """Return what matches, in the order of rating, do to the stored states of their players.

    pool : locked; cache : states that need not be read
    Raises : UnratableMatchError for the first match that the system cannot rate
    """
    names = names_of(matches)
    # In the order in which the tables keep them, which makes writing faster.
    players = sorted(set(names))
    states = cache.get(connection, pool, rules, players)
    row_of = {player: row for row, player in enumerate(players)}
    try:
        changes, _ = rated_changes(
            rules,
            states.state,
            states.last_changes,
            matches,
            row_of,
            object_array(players),
            pool.draws_from,
        )
        every = np.arange(len(players))
        rows = rating_rows(rules, states.state, every, players, states.last_changes)
    except (ConvergenceError, InvalidDataError) as error:
        # Rated upon, it is of no further use.
        before = cache.get(connection, pool, rules, players)
        raise _culprit(rules, matches, before, error) from error
    return RatedBatch(rows, changes, states, len(names))


def _culprit(
    rules: PoolRules,
    matches: Sequence[LoggedMatch],
    states: PlayerStates,
    error: EquipoiseError,
) -> UnratableMatchError:
    """Return the first match that fails when they are rated one after the other."""
    players, state = states.players, states.state
    rows = {player: row for row, player in enumerate(players)}
    every, ids = np.arange(len(players)), object_array(players)
    for index, match in enumerate(matches):
        history = history_of([match], rows, ids, rules)
        try:
            rules.system.run(state, history, 0, 1)
            rating_rows(rules, state, every, players, states.last_changes)
        except (ConvergenceError, InvalidDataError) as reason:
            return UnratableMatchError(index, reason)
    # One at a time they all pass, although together they did not: slices of a history are
    # rated alike, so this is a defect, and the last match is as good to name as any.
    return UnratableMatchError(len(matches) - 1, error)
