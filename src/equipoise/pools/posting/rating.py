"""Rating matches on the stored states of their players, with a cache of those states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats, Ints
from equipoise.errors import ConvergenceError, EquipoiseError, InvalidDataError
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.match_history import (
    LoggedMatch,
    Participants,
    history_of,
    object_array,
)
from equipoise.pools.posting.rated_rows import LastChanges, rated_changes, rating_rows
from equipoise.rating.player_state import unpack_players
from equipoise.rating.state import State
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool

#: Bytes of a cache at most.
MOST_BYTES = 128 * 2**20

#: Bytes of packed states kept for the next partial checkpoint at most.
_RECENT_BYTES = 32 * 2**20

#: Bytes of a player's id and row number, roughly.
_ID_BYTES = 150
_NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """Result of rating some matches: rows to write, and the new states of the players."""

    ratings: dict[str, Sequence[Any]]
    changes: dict[str, Sequence[Any]]
    states: PlayerStates
    participations: int

    @property
    def shared(self) -> dict[str, Floats]:
        """State that belongs to no single player."""
        return self.states.state.shared

    def packed(self) -> dict[str, bytes]:
        """Return the packed states of the players."""
        return dict(zip(self.ratings["player"], self.ratings["state"], strict=True))


class UnratableMatchError(Exception):
    """The system cannot rate a match. Nothing was written.

    index : of the match in the batch; reason : why it cannot be rated
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
    listed: Iterable[str] = (),
) -> RatedBatch:
    """Rate matches, in the order of rating, on the stored states of their players.

    pool : locked
    cache : states that need not be read
    listed : further players without a rating, who get one but play no match
    Raises : UnratableMatchError for the first match that the system cannot rate
    """
    participants = Participants.of(matches)
    names = participants.names
    # Rows in the order of the tables are written faster.
    players = sorted({*names, *listed})
    states = cache.get(connection, pool, rules, players)
    row_of = {player: row for row, player in enumerate(players)}
    try:
        changes, _ = rated_changes(
            rules,
            states.state,
            states.last_changes,
            matches,
            participants,
            np.array([row_of[player] for player in names], np.int64),
            object_array(players),
            pool.draws_from,
        )
        every = np.arange(len(players))
        rows = rating_rows(rules, states.state, every, players, states.last_changes)
    except (ConvergenceError, InvalidDataError) as error:
        # The states were changed before the failure: begin with fresh ones.
        before = cache.get(connection, pool, rules, players)
        raise _culprit(rules, matches, before, error) from error
    return RatedBatch(rows, changes, states, len(names))


def _culprit(
    rules: PoolRules,
    matches: Sequence[LoggedMatch],
    states: PlayerStates,
    error: EquipoiseError,
) -> UnratableMatchError:
    """Return the first match that fails when matches are rated one by one."""
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
    # They fail together, but not one by one. Slices of a history are rated alike, so this is a
    # defect; the last match is named for want of a better one.
    return UnratableMatchError(len(matches) - 1, error)


class PlayerStates(NamedTuple):
    """States of some players of a pool, row by row: a copy that rating may change.

    new : how many of the players have no rating yet
    """

    players: Sequence[str]
    state: State
    last_changes: LastChanges
    new: int


#: Pools whose rules are remembered; as many as `rules_of` keeps.
_MOST_RULES = 256


class StateCache:
    """Player states by pool, valid while nobody else writes to the pool.

    Rating takes the lock of the pool, every post or amendment adds to its log, and every replay
    makes a new generation. So the cache agrees with the tables if the generation and the head of
    the hash chain over the log are the same. Numbers of records would not do: where a database goes
    back to an earlier state, other records may get the same numbers, but never the same salts. It
    is for one thread.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._pools: dict[int, _CachedPool] = {}
        self._rules: dict[str, PoolRules] = {}

    def rules(self, store: Store, pool: str) -> PoolRules:
        """Return the rules that a pool has now or had in the last transaction.

        Whoever has locked the pool must compare them with its settings.
        Raises : NotFoundError
        """
        found = self._rules.get(pool)
        if found is None:
            with store.read() as connection:
                found = rules_of(get_pool(connection, pool).settings)
        return found

    def set_rules(self, pool: str, rules: PoolRules) -> None:
        """Remember the rules of a pool."""
        self._rules.pop(pool, None)
        self._rules[pool] = rules
        if len(self._rules) > _MOST_RULES:
            del self._rules[next(iter(self._rules))]

    def forget(self, pool: str) -> None:
        """Drop everything, after a transaction of a pool that may be stored or not."""
        self._pools.clear()
        self._rules.pop(pool, None)

    def get(
        self, connection: Connection, pool: PoolRecord, rules: PoolRules, players: Sequence[str]
    ) -> PlayerStates:
        """Return the states of players, from the cache or else the tables; `pool` is locked."""
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

    def since_partial(self, pool: PoolRecord, batch: RatedBatch) -> dict[str, bytes] | None:
        """Return the packed states of all players with changes since the last partial checkpoint.

        pool : locked; batch : rated in this transaction
        None if this cache does not have them all
        """
        known = self._pools.get(pool.id)
        if pool.partial_due == 0:
            return batch.packed()
        if known is None or not known.holds(pool) or known.recent is None:
            return None
        return {**known.recent, **batch.packed()}

    def update(self, before: PoolRecord, after: PoolRecord, batch: RatedBatch | None) -> None:
        """Store states that were written and committed.

        before, after : the pool when it was locked, and after the transaction
        batch : None if nobody was rated
        """
        known = self._pools.pop(before.id, None)
        states = None if batch is None else batch.states
        if known is None or not known.holds(before):
            if states is None:
                return
            known = _CachedPool(
                before.generation,
                before.head,
                states.state.take(_NO_ROWS),
                LastChanges.empty(0),
            )
        known.head = after.head
        if batch is not None:
            known.put(batch.states)
            known.follow(before, after, batch)
        # The pools that were written to longest ago are dropped first.
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
    """Read the states of the players at some rows; return how many of them have no rating."""
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


@dataclass(slots=True)
class _CachedPool:
    """States of some players of a pool, of one generation and after one log record.

    head : of the hash chain after that record
    rows : player -> row in state and last_changes, which have room for more rows
    recent : packed states of the players with changes since the last partial checkpoint; None if
        some are missing
    recent_bytes : of them, states that were replaced since included
    """

    generation: int
    head: bytes
    state: State
    last_changes: LastChanges
    rows: dict[str, int] = field(default_factory=dict)
    recent: dict[str, bytes] | None = None
    recent_bytes: int = 0

    def follow(self, before: PoolRecord, after: PoolRecord, batch: RatedBatch) -> None:
        """Store packed states; before, after : the pool around the batch."""
        if after.partial_due == 0:
            self.recent, self.recent_bytes = {}, 0
            return
        if before.partial_due == 0:
            self.recent, self.recent_bytes = {}, 0
        if self.recent is None:
            return
        self.recent.update(batch.packed())
        self.recent_bytes += sum(map(len, batch.ratings["state"]))
        if self.recent_bytes > _RECENT_BYTES:
            self.recent, self.recent_bytes = None, 0

    def holds(self, pool: PoolRecord) -> bool:
        """Return whether nothing was written to the pool since."""
        return (self.generation, self.head) == (pool.generation, pool.head)

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
        """Return its size in bytes, roughly."""
        runs = 0 if self.state.runs is None else self.state.runs.values.nbytes
        return int(self.state.table.nbytes) + int(runs) + _ID_BYTES * len(self.rows)
