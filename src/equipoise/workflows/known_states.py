"""Player states that one writer has rated, so that it need not read them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Ints
from equipoise.rating.state import State
from equipoise.rating.state_bytes import unpack_players
from equipoise.store import ratings
from equipoise.store.pools import PoolRecord
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.trail import LastChanges

#: Bytes that a cache holds at most.
MOST_BYTES = 128 * 2**20

_NONE = np.zeros(0, np.int64)

#: Bytes of a player's id and row number, about.
_ID_BYTES = 150


class PlayerStates(NamedTuple):
    """States of some players of a pool, row by row; a copy that may be rated on.

    new : how many have no rating yet
    """

    players: Sequence[str]
    state: State
    last_changes: LastChanges
    new: int


@dataclass(slots=True)
class _Pool:
    """States of players of a pool in a generation, after a log record.

    rows : of players in state and last_changes, which have room for more
    """

    generation: int
    last_seq: int
    state: State
    last_changes: LastChanges
    rows: dict[str, int] = field(default_factory=dict)

    def holds(self, pool: PoolRecord) -> bool:
        """Return whether nobody has written to the pool since."""
        return (self.generation, self.last_seq) == (pool.generation, pool.last_seq)

    def put(self, states: PlayerStates) -> None:
        """Store new states of players."""
        rows = self.rows
        for player in states.players:
            if player not in rows:
                rows[player] = len(rows)
        if len(rows) > self.state.players:
            room = max(len(rows), 3 * self.state.players // 2)
            self.state.grow(room)
            self.last_changes.grow(room)
        at = np.array([rows[player] for player in states.players], np.int64)
        self.state.put(at, states.state)
        self.last_changes.put(at, states.last_changes)

    def size(self) -> int:
        """Return the bytes it takes, about."""
        runs = 0 if self.state.runs is None else self.state.runs.values.nbytes
        return int(self.state.table.nbytes) + int(runs) + _ID_BYTES * len(self.rows)


class StateCache:
    """Player states by pool, valid while nobody else writes to the pool.

    Who rates holds the lock of the pool, every post or amendment adds to its log, and every replay
    makes a new generation. So the generation and the number of the last log record tell whether
    the cache agrees with the tables. Not for several threads at once.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._pools: dict[int, _Pool] = {}

    def get(
        self, connection: Connection, pool: PoolRecord, rules: PoolRules, players: Sequence[str]
    ) -> PlayerStates:
        """Return the states of players, read where they are not in the cache; `pool` is locked."""
        known = self._pools.get(pool.id)
        if known is not None and not known.holds(pool):
            del self._pools[pool.id]
            known = None
        rows = {} if known is None else known.rows
        at = np.array([rows.get(player, -1) for player in players], np.int64)
        state, last_changes = rules.system.initial(len(players)), LastChanges.empty(len(players))
        here, away = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
        if known is not None and len(here):
            state.put(here, known.state.take(at[here]))
            last_changes.put(here, known.last_changes.take(at[here]))
        new = 0
        if len(away):
            new = _read(connection, pool, rules, players, away, state, last_changes)
        state.shared = {name: values.copy() for name, values in pool.shared.items()}
        return PlayerStates(players, state, last_changes, new)

    def update(self, before: PoolRecord, after: PoolRecord, states: PlayerStates | None) -> None:
        """Store states that were written and are committed.

        before, after : the pool, as it was when it was locked and as it was left
        states : of the rated players, None for nobody
        """
        known = self._pools.pop(before.id, None)
        if known is None or not known.holds(before):
            if states is None:
                return
            known = _Pool(
                before.generation, before.last_seq, states.state.take(_NONE), LastChanges.empty(0)
            )
        known.last_seq = after.last_seq
        if states is not None:
            known.put(states)
        # The pool that was written to last is dropped last.
        self._pools[after.id] = known
        while sum(one.size() for one in self._pools.values()) > self._most:
            del self._pools[next(iter(self._pools))]


def _read(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    players: Sequence[str],
    rows: Ints,
    state: State,
    last_changes: LastChanges,
) -> int:
    """Read the states of the players at some rows; return how many have no rating."""
    stored = ratings.states_of(
        connection, pool.id, pool.generation, [players[row] for row in rows.tolist()]
    )
    found = [(row, stored[players[row]]) for row in rows.tolist() if players[row] in stored]
    if found:
        at = np.array([row for row, _ in found], np.int64)
        known = [one for _, one in found]
        state.put(at, unpack_players(rules.system, [one.state for one in known]))
        last_changes.put(at, LastChanges.of(known))
    return len(rows) - len(found)
