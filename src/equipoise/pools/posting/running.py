"""Player states in memory: of a whole pool, or of those that a writer has rated.

`RunningPool` holds them. Replays and verifications rate the log on one that has every player. Posts
are rated on the one that `StateCache` keeps between posts, so that states need not be read again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats, Ids, Ints
from equipoise.errors import ConvergenceError, EquipoiseError, InvalidDataError
from equipoise.pools.pool.pools import code_version
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.rating import (
    LastChanges,
    LoggedMatch,
    Participants,
    object_array,
    rated_changes,
    rating_rows,
    time_kind,
)
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state import State, pack_players, unpack_players
from equipoise.store import checkpoints, ratings
from equipoise.store.bulk import Sizes, sizes_of
from equipoise.store.checkpoints import Checkpoint, PartialEnd
from equipoise.store.pools import START, PoolRecord, Position
from equipoise.store.ratings import StateRow

#: zlib's level: floats hardly compress, but those of players who have not changed do.
ZLIB_LEVEL = 1


def _no_ids() -> Ids:
    return np.zeros(0, np.int64)


@dataclass(slots=True, eq=False)
class RunningPool:
    """States of players of a pool at a position of its log: of all, unless it says otherwise.

    players : ids, row by row of the state; row_of : the other way round
    last_changes : positions of their last changes
    position : of the last rated match
    board_day : day to which the ratings shown have decayed
    matches, participations : rated so far; participations include those before the checkpoint from
        which it started
    _ids, _filled : room for the ids as an array, and how many it has
    """

    rules: PoolRules
    players: list[str]
    row_of: dict[str, int]
    state: State
    last_changes: LastChanges
    position: Position = START
    matches: int = 0
    participations: int = 0
    board_day: int | None = None
    _ids: Ids = field(default_factory=_no_ids)
    _filled: int = 0

    @classmethod
    def of(cls, rules: PoolRules, players: list[str], state: State) -> RunningPool:
        """Return players who have a state and no change yet."""
        row_of = {player: row for row, player in enumerate(players)}
        last_changes = LastChanges.empty(len(players))
        return cls(rules, players, row_of, state, last_changes)

    @classmethod
    def start(cls, rules: PoolRules) -> RunningPool:
        """Return a pool without players."""
        return cls.of(rules, [], rules.system.initial(0))

    @classmethod
    def resume(cls, rules: PoolRules, checkpoint: Checkpoint) -> RunningPool:
        """Return the pool at a checkpoint. Raises : InvalidDataError."""
        saved = unpacked_state(checkpoint.content, "checkpoint")
        if saved.system != rules.system:
            raise InvalidDataError([], "a checkpoint of another system")
        running = cls.of_state(rules, saved)
        running.last_changes = LastChanges.from_bytes(checkpoint.trail, len(running.players))
        running.position = checkpoint.position
        running.participations = checkpoint.participations
        return running

    @classmethod
    def of_state(cls, rules: PoolRules, state: PoolState) -> RunningPool:
        """Return a pool before its first match, whose players have a state."""
        players = [str(player) for player in state.player_ids.tolist()]
        return cls.of(rules, players, state.state)

    def rate(self, matches: Sequence[LoggedMatch]) -> tuple[dict[str, Sequence[Any]], Ints]:
        """Rate matches in the order of rating; return their changes and the rows of the players.

        The players include those whom the matches only list. Those of several matches come several
        times.

        Raises : ConvergenceError, InvalidDataError; the state is then of no further use
        """
        rated = [match for match in matches if match.request.teams]
        listed = [player for match in matches for player in match.listed]
        changes, rows = self.rate_teams(rated, Participants.of(rated))
        if matches:
            self.position = matches[-1].position
        return changes, np.concatenate([rows, self.rows(listed)])

    def rate_teams(
        self, matches: Sequence[LoggedMatch], participants: Participants
    ) -> tuple[dict[str, Sequence[Any]], Ints]:
        """Rate matches with teams, as `rate` does, without the players whom they only list.

        participants : of the matches
        """
        rows = self.rows(participants.names)
        changes = rated_changes(
            self.rules,
            self.state,
            self.last_changes,
            matches,
            participants,
            rows,
            self._player_ids(),
        )
        self.matches += len(matches)
        self.participations += len(rows)
        return changes, rows

    def first_failure(self, matches: Sequence[LoggedMatch]) -> tuple[int, EquipoiseError] | None:
        """Rate matches one by one; return the index of the first that fails, and why, or None."""
        for index, match in enumerate(matches):
            try:
                _, rows = self.rate([match])
                self.ratings(rows)
            except (ConvergenceError, InvalidDataError) as error:
                return index, error
        return None

    def put(self, part: RunningPool) -> None:
        """Replace the states of a part's players. The state may then have room for more players."""
        at = self.rows(part.players, spare=1.5)
        self.state.put(at, part.state)
        self.last_changes.put(at, part.last_changes)

    def changed_after(self, position: Position) -> Ints:
        """Return the rows of the players with changes after a position."""
        last, (time, seq) = self.last_changes, position
        after = (last.time > time) | ((last.time == time) & (last.seq > seq))
        return np.flatnonzero(after & (last.seq > 0))

    def packed_after(self, position: Position) -> dict[str, bytes]:
        """Return the packed states of the players with changes after a position."""
        rows = self.changed_after(position)
        names = [self.players[row] for row in rows.tolist()]
        return dict(zip(names, pack_players(self.state.take(rows)), strict=True))

    def rows(self, names: Sequence[str], spare: float = 1.0) -> Ints:
        """Return the rows of players, after adding those who are new.

        spare : where the state must grow, it grows at least by this factor
        """
        row_of, players = self.row_of, self.players
        rows = list(map(row_of.get, names))
        if None in rows:
            for at, row in enumerate(rows):
                if row is None:
                    rows[at] = new = row_of.setdefault(names[at], len(players))
                    if new == len(players):
                        players.append(names[at])
            if len(players) > self.state.players:
                room = max(len(players), int(spare * self.state.players))
                self.state.grow(room)
                self.last_changes.grow(room)
        return np.array(rows, np.int64)

    def _player_ids(self) -> Ids:
        """Return the ids of all players. Only those added since the last time are copied."""
        players = len(self.players)
        if players > len(self._ids):
            room = np.empty(2 * players, dtype=object)
            room[: self._filled] = self._ids[: self._filled]
            self._ids = room
        if players > self._filled:
            self._ids[self._filled : players] = self.players[self._filled :]
            self._filled = players
        return self._ids[:players]

    def ratings(self, rows: Ints) -> dict[str, Sequence[Any]]:
        """Return the ratings of the players at these rows as columns of the table."""
        names = [self.players[row] for row in rows]
        return rating_rows(self.rules, self.state, rows, names, self.last_changes, self.board_day)

    @property
    def last_time(self) -> int | None:
        """Time of the last rated match; None for none, and in pools without times."""
        return self.position[0] if self.rules.timed and self.position != START else None

    def pool_state(self) -> PoolState:
        """Return the state as a PoolState."""
        return PoolState(
            system=self.rules.system,
            player_ids=object_array(self.players),
            state=self.state,
            rated=_no_ids(),
            last_time=self.last_time,
            time_kind=time_kind(self.rules),
        )

    def checkpoint(self) -> Checkpoint:
        """Return the state as a checkpoint."""
        content = zlib.compress(self.pool_state().to_bytes(), ZLIB_LEVEL)
        last_changes = self.last_changes.to_bytes()
        code = code_version(self.rules.settings.system)
        return Checkpoint(self.position, self.participations, code, content, last_changes)


def stored_pool(connection: Connection, pool: PoolRecord, rules: PoolRules) -> RunningPool:
    """Return all players of a pool with their stored states; at no position."""
    pieces = ratings.all_states(connection, pool.id, pool.generation)
    return _pool_of(pool, rules, [row for rows in pieces for row in rows])


def _pool_of(pool: PoolRecord, rules: PoolRules, stored: Sequence[StateRow]) -> RunningPool:
    """Return some players of a pool with their stored states; at no position."""
    state = unpack_players(rules.system, [row.state for row in stored])
    state.shared = dict(pool.shared)
    running = RunningPool.of(rules, [row.player for row in stored], state)
    running.last_changes = LastChanges.of(stored)
    return running


def unpacked_state(content: bytes, name: str) -> PoolState:
    """Return a packed state; name : of it, for errors. Raises : InvalidDataError."""
    try:
        return PoolState.from_bytes(zlib.decompress(content), name)
    except zlib.error as error:
        raise InvalidDataError([], f"{name} is damaged: {error}") from error


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """Result of rating some matches: rows to write.

    shared : new state that belongs to no single player
    participations : in the matches; new : how many of the players had no rating
    """

    ratings: dict[str, Sequence[Any]]
    changes: dict[str, Sequence[Any]]
    shared: dict[str, Floats]
    participations: int
    new: int


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
    matches : with teams each
    cache : states that need not be read
    listed : further players without a rating, who get one but play no match
    Raises : UnratableMatchError for the first match that the system cannot rate
    """
    participants = Participants.of(matches)
    # Rows in the order of the tables are written faster.
    players = sorted({*participants.names, *listed})
    running, new = cache.get(connection, pool, rules, players)
    try:
        changes, _ = running.rate_teams(matches, participants)
        rows = running.ratings(running.rows(players))
    except (ConvergenceError, InvalidDataError) as error:
        # The states were changed before the failure: they are read again.
        before, _ = cache.get(connection, pool, rules, players)
        # Where matches fail together, but not one by one, there is a defect, because slices of a
        # history are rated alike. The last match is named for want of a better one.
        failure = before.first_failure(matches) or (len(matches) - 1, error)
        raise UnratableMatchError(*failure) from error
    return RatedBatch(rows, changes, running.state.shared, len(participants.names), new)


def partial_states(
    sizes: Sizes, before: int, after: int, states: Callable[[], Mapping[str, bytes]]
) -> Mapping[str, bytes] | None:
    """Return the states of the next partial checkpoint, None if it is not due after a batch.

    If it turns out to be too large, the next attempt is made at twice the distance, so that
    attempts stay a small part of the work.

    before, after : participations since the last one, before and after the batch
    states : gives the packed states of all players with changes since
    """
    interval = sizes.partial_interval
    if (after // interval).bit_length() <= (before // interval).bit_length():
        return None
    packed = states()
    small = sum(map(len, packed.values())) <= sizes.partial_bytes * after
    return packed if small else None


def columns_after(
    connection: Connection,
    pool: PoolRecord,
    waits: bool,
    end: Position,
    batch: RatedBatch,
    cache: StateCache,
) -> dict[str, Any]:
    """Write a partial checkpoint if one is due; return the columns of the pool after it.

    pool : before the batch, whose ratings are written; waits : for a replay, after the batch
    end : after the last record of the batch
    """
    due, states = pool.partial_due + batch.participations, None
    # While a replay waits, times of the log may go back.
    if not waits:
        states = partial_states(
            sizes_of(connection),
            pool.partial_due,
            due,
            lambda: cache.packed_since_partial(connection, pool),
        )
    if states is None:
        return {"partial_due": due}
    made = PartialEnd(end, pool.generation, pool.partial_end)
    checkpoints.put_partial(connection, pool.id, made, states, batch.shared)
    return {"partial_due": 0, "partial_end": end}


#: Bytes of a cache at most.
MOST_BYTES = 128 * 2**20

#: Bytes of a player's id and row number, roughly.
_ID_BYTES = 150


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

    def get(
        self, connection: Connection, pool: PoolRecord, rules: PoolRules, players: list[str]
    ) -> tuple[RunningPool, int]:
        """Return a pool with these players, and how many have no rating yet; `pool` is locked.

        Rating may change it: it is of no further use unless `update` is called after the commit.
        """
        known = self._pools.get(pool.id)
        if known is None or not known.holds(pool):
            running = RunningPool.start(rules)
            running.state.shared = {name: values.copy() for name, values in pool.shared.items()}
            known = self._pools[pool.id] = _CachedPool(pool.generation, pool.head, running)
        running, known.head = known.running, None
        missing = [player for player in players if player not in running.row_of]
        if not missing:
            return running, 0
        stored = ratings.states_of(connection, pool.id, pool.generation, missing)
        running.put(_pool_of(pool, rules, list(stored.values())))
        running.rows(missing, spare=1.5)
        return running, len(missing) - len(stored)

    def packed_since_partial(self, connection: Connection, pool: PoolRecord) -> Mapping[str, bytes]:
        """Return the packed states of all players with changes since the last partial checkpoint.

        pool : locked, before the batch that was rated and written in this transaction
        """
        known = self._pools[pool.id]
        if pool.partial_due and not known.since_partial:
            return checkpoints.states_since(connection, pool, pool.generation, pool.partial_end)
        return known.running.packed_after(pool.partial_end)

    def update(self, before: PoolRecord, after: PoolRecord, batch: RatedBatch | None) -> None:
        """Keep states that were written and committed.

        before, after : the pool when it was locked, and after the transaction
        batch : None if nobody was rated
        """
        known = self._pools.pop(before.id, None)
        if known is None or (batch is None and not known.holds(before)):
            return
        known.head = after.head
        if batch is not None and 0 in (before.partial_due, after.partial_due):
            known.since_partial = True
        # The pools that were written to longest ago are dropped first.
        self._pools[after.id] = known
        while sum(running.size() for running in self._pools.values()) > self._most:
            del self._pools[next(iter(self._pools))]


@dataclass(slots=True)
class _CachedPool:
    """States of some players of a pool, of one generation and after one log record.

    head : of the hash chain after that record; None while the states are being changed
    running : of these players; its state has room for more
    since_partial : whether all players with changes since the last partial checkpoint are there
    """

    generation: int
    head: bytes | None
    running: RunningPool
    since_partial: bool = False

    def holds(self, pool: PoolRecord) -> bool:
        """Return whether nothing was written to the pool since."""
        return (self.generation, self.head) == (pool.generation, pool.head)

    def size(self) -> int:
        """Return its size in bytes, roughly."""
        state = self.running.state
        runs = 0 if state.runs is None else state.runs.values.nbytes
        return int(state.table.nbytes) + int(runs) + _ID_BYTES * len(self.running.players)
