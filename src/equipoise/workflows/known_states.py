"""What one writer remembers of the players it has rated, so as not to read it again."""

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
from equipoise.workflows.trail import Trail

#: Bytes that are remembered at most.
MOST_BYTES = 128 * 2**20

_NONE = np.zeros(0, np.int64)

#: Bytes of a player's id and row number, about.
_ID_BYTES = 150


class PlayersStanding(NamedTuple):
    """Players of a pool as they stand, row by row; a copy that may be rated on.

    new : how many have no rating yet
    """

    players: Sequence[str]
    state: State
    trail: Trail
    new: int


@dataclass(slots=True)
class _Pool:
    """Players of a pool as they stand in a generation after an entry of the log.

    rows : of players in state and trail, which have room for more
    """

    generation: int
    last_seq: int
    state: State
    trail: Trail
    rows: dict[str, int] = field(default_factory=dict)

    def holds(self, pool: PoolRecord) -> bool:
        """Return whether nobody has written to the pool since."""
        return (self.generation, self.last_seq) == (pool.generation, pool.last_seq)

    def put(self, standing: PlayersStanding) -> None:
        """Take over how players stand now."""
        rows = self.rows
        for player in standing.players:
            if player not in rows:
                rows[player] = len(rows)
        if len(rows) > self.state.players:
            room = max(len(rows), 3 * self.state.players // 2)
            self.state.grow(room)
            self.trail.grow(room)
        at = np.array([rows[player] for player in standing.players], np.int64)
        self.state.put(at, standing.state)
        self.trail.put(at, standing.trail)

    def size(self) -> int:
        """Return the bytes it takes, about."""
        runs = 0 if self.state.runs is None else self.state.runs.values.nbytes
        return int(self.state.table.nbytes) + int(runs) + _ID_BYTES * len(self.rows)


class KnownStates:
    """Players by pool, as they stand as long as nobody else writes to the pool.

    Whoever rates holds the pool's lock, every post or amendment adds to its log, and every replay
    makes another generation: so the number of the last entry and the generation tell whether what
    is remembered is what is stored. Not for several threads at once.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._pools: dict[int, _Pool] = {}

    def standing(
        self, connection: Connection, pool: PoolRecord, rules: PoolRules, players: Sequence[str]
    ) -> PlayersStanding:
        """Return how players stand, read where it is not known; `pool` is locked."""
        known = self._pools.get(pool.id)
        if known is not None and not known.holds(pool):
            del self._pools[pool.id]
            known = None
        rows = {} if known is None else known.rows
        at = np.array([rows.get(player, -1) for player in players], np.int64)
        state, trail = rules.system.initial(len(players)), Trail.empty(len(players))
        here, away = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
        if known is not None and len(here):
            state.put(here, known.state.take(at[here]))
            trail.put(here, known.trail.take(at[here]))
        new = 0
        if len(away):
            new = _read(connection, pool, rules, players, away, state, trail)
        state.shared = {name: values.copy() for name, values in pool.shared.items()}
        return PlayersStanding(players, state, trail, new)

    def remember(
        self, before: PoolRecord, after: PoolRecord, standing: PlayersStanding | None
    ) -> None:
        """Remember what was written and is committed.

        before, after : the pool, as it was when it was locked and as it was left
        standing : of those who were rated, None for nobody
        """
        known = self._pools.pop(before.id, None)
        if known is None or not known.holds(before):
            if standing is None:
                return
            known = _Pool(
                before.generation, before.last_seq, standing.state.take(_NONE), Trail.empty(0)
            )
        known.last_seq = after.last_seq
        if standing is not None:
            known.put(standing)
        # The pool that was written to last is forgotten last.
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
    trail: Trail,
) -> int:
    """Read how the players at some rows stand; return how many have no rating."""
    stored = ratings.states_of(
        connection, pool.id, pool.generation, [players[row] for row in rows.tolist()]
    )
    found = [(row, stored[players[row]]) for row in rows.tolist() if players[row] in stored]
    if found:
        at = np.array([row for row, _ in found], np.int64)
        known = [one for _, one in found]
        state.put(at, unpack_players(rules.system, [one.state for one in known]))
        trail.put(at, Trail.of(known))
    return len(rows) - len(found)
