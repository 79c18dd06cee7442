"""The state of a pool while its log is rated, and the checkpoints from which a replay can start.

A checkpoint is the packed state of all players after one match of the log. It follows from the log:
one that cannot be read is skipped, and the state is made from the checkpoint before it.
"""

from __future__ import annotations

import dataclasses
import logging
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Ids, Ints
from equipoise.errors import InvalidDataError
from equipoise.pools.amended_log import Amendments, counted_piece
from equipoise.pools.pool.known_ratings import KnownRatings, read_known
from equipoise.pools.pool.pools import code_version
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.match_history import (
    LoggedMatch,
    Participants,
    object_array,
    time_kind,
)
from equipoise.pools.posting.rated_rows import LastChanges, rated_changes, rating_rows
from equipoise.rating.base_system import System
from equipoise.rating.entry.entering import ENTRY_PARAMETERS
from equipoise.rating.player_state import carry_entry, seeded_state, unpack_players
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from equipoise.store import pools, ratings, replays
from equipoise.store.connection import Store
from equipoise.store.log import KnownLog
from equipoise.store.pools import START, PoolRecord, Position, change_pool, get_pool
from equipoise.store.replays import Checkpoint
from equipoise.store.sizes import sizes_of

log = logging.getLogger(__name__)

#: zlib's level: floats hardly compress, but those of players who have not changed do.
ZLIB_LEVEL = 1


def _no_ids() -> Ids:
    return np.zeros(0, np.int64)


@dataclass(slots=True, eq=False)
class RunningPool:
    """All players of a pool at a position of its log.

    players : ids, row by row of the state; row_of : the other way round
    last_changes : positions of their last changes
    position : of the last rated match
    board_day : day to which the ratings shown have decayed
    matches, participations : rated so far; participations include those before the checkpoint from
        which it started
    draws_from : number of the first record whose match counts for the draw probability
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
    draws_from: int = 1
    _ids: Ids = field(default_factory=_no_ids)
    _filled: int = 0

    @classmethod
    def start(cls, rules: PoolRules, draws_from: int) -> RunningPool:
        """Return a pool without players."""
        state = rules.system.initial(0)
        return cls(rules, [], {}, state, LastChanges.empty(0), draws_from=draws_from)

    @classmethod
    def resume(cls, rules: PoolRules, checkpoint: Checkpoint, draws_from: int) -> RunningPool:
        """Return the pool at a checkpoint. Raises : InvalidDataError."""
        saved = _unpacked(checkpoint.content, "checkpoint")
        if saved.system != rules.system:
            raise InvalidDataError([], "a checkpoint of another system")
        running = cls.of_state(rules, saved, draws_from)
        running.last_changes = LastChanges.from_bytes(checkpoint.trail, len(running.players))
        running.position = checkpoint.position
        running.participations = checkpoint.participations
        return running

    @classmethod
    def of_state(cls, rules: PoolRules, state: PoolState, draws_from: int) -> RunningPool:
        """Return a pool before its first match, whose players have a state."""
        players = [str(player) for player in state.player_ids.tolist()]
        rows = {player: row for row, player in enumerate(players)}
        last_changes = LastChanges.empty(len(players))
        return cls(rules, players, rows, state.state, last_changes, draws_from=draws_from)

    def rate(self, matches: Sequence[LoggedMatch]) -> tuple[dict[str, Sequence[Any]], Ints]:
        """Rate matches in the order of rating; return their changes and the rows of the players.

        The players include those whom the matches only list.

        Raises : ConvergenceError, InvalidDataError; the state is then of no further use
        """
        rated = [match for match in matches if match.request.teams]
        listed = [player for match in matches for player in match.listed]
        participants = Participants.of(rated)
        rows = self._rows(participants.names)
        unrated = self._rows(listed)
        changes, history = rated_changes(
            self.rules,
            self.state,
            self.last_changes,
            rated,
            participants,
            rows,
            self._player_ids(),
            self.draws_from,
        )
        self.matches += len(rated)
        self.participations += len(rows)
        if matches:
            self.position = matches[-1].position
        return changes, np.union1d(history.player, unrated)

    def _rows(self, names: Sequence[str]) -> Ints:
        """Return the rows of players, after adding those who are new."""
        row_of, players = self.row_of, self.players
        found = list(map(row_of.get, names))
        if None in found:
            for at, row in enumerate(found):
                if row is None:
                    found[at] = new = row_of.setdefault(names[at], len(players))
                    if new == len(players):
                        players.append(names[at])
            self.state.grow(len(players))
            self.last_changes.grow(len(players))
        return np.array(found, np.int64)

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


def running_from_start(connection: Connection, pool: PoolRecord, rules: PoolRules) -> RunningPool:
    """Return the pool before its first match: empty, with known ratings or the seed of its season.

    Raises : InvalidDataError if the known ratings cannot be read
    """
    known = read_known(connection, pool)
    if known is not None:
        return _with_known_ratings(known, rules, pool.draws_from)
    content = None if pool.follows is None else pools.content_of(connection, pool.id)
    if content is None:
        return RunningPool.start(rules, pool.draws_from)
    state = seed_state(rules.system, content, "the seed of the season")
    return RunningPool.of_state(rules, state, pool.draws_from)


def seed_state(system: RatingSystem, content: bytes, name: str) -> PoolState:
    """Return the state of a packed seed under a system.

    The parameters of the entry and the level may have changed since it was made; all others must be
    the same.
    name : of the seed, for errors
    Raises : InvalidDataError
    """
    saved = _unpacked(content, name)
    if saved.system == system:
        return saved
    was = saved.system
    if isinstance(was, System) and isinstance(system, System):
        changed: Any = {one: getattr(system, one) for one in ENTRY_PARAMETERS}
        if type(was) is type(system) and dataclasses.replace(was, **changed) == system:
            # Systems without deviations ignore them.
            named = "deviation" if "deviation" in saved.state.initial else "rating"
            state = saved.state
            seeded = seeded_state(system, state.column("rating"), state.column(named))
            carry_entry(seeded, saved.state, was)
            return dataclasses.replace(saved, system=system, state=seeded)
    raise InvalidDataError([], f"{name} is of another system than the pool's")


def _unpacked(content: bytes, name: str) -> PoolState:
    """Return a packed state. Raises : InvalidDataError."""
    try:
        return PoolState.from_bytes(zlib.decompress(content), name)
    except zlib.error as error:
        raise InvalidDataError([], f"{name} is damaged: {error}") from error


def _with_known_ratings(known: KnownRatings, rules: PoolRules, draws_from: int) -> RunningPool:
    """Return the pool of players who begin with known ratings."""
    players = known.content.players
    return RunningPool(
        rules,
        list(players),
        {player: row for row, player in enumerate(players)},
        known.state(rules),
        LastChanges.empty(len(players)),
        draws_from=draws_from,
    )


def running_before(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    amendments: Amendments,
    position: Position,
    beat: Callable[[], None] = lambda: None,
) -> RunningPool:
    """Return the pool before a position, rated from the last checkpoint.

    amendments : those that the checkpoints before the position have taken into account
    beat : called about every two seconds, to renew a lease
    """
    running = _resumed(connection, pool, rules, position)
    after, last_beat = running.position, time.monotonic()
    while True:
        if time.monotonic() - last_beat > sizes_of(connection).beat:
            beat()
            last_beat = time.monotonic()
        piece = counted_piece(connection, pool, amendments, after)
        before = [match for match in piece.matches if match.position < position]
        if before:
            running.rate(before)
        if piece.last or len(before) < len(piece.matches) or piece.end >= position:
            return running
        after = piece.end


def _resumed(
    connection: Connection, pool: PoolRecord, rules: PoolRules, position: Position
) -> RunningPool:
    """Return the pool at its last readable checkpoint before a position, or before its log."""
    while True:
        saved = replays.last_before(connection, pool.id, position)
        if saved is None:
            return running_from_start(connection, pool, rules)
        try:
            return RunningPool.resume(rules, saved, pool.draws_from)
        except InvalidDataError as error:
            # It is damaged, or from another version of the code.
            log.warning("checkpoint of pool %s at %s: %s", pool.name, saved.position, error)
            position = saved.position


def state_before(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    amendments: Amendments,
    position: Position,
) -> PoolState:
    """Return the state of all players before a position."""
    return running_before(connection, pool, rules, amendments, position).pool_state()


def keep_checkpoints(store: Store, pool: str) -> bool:
    """Store a checkpoint of the current state, if one is due; return whether it was stored.

    Writers do not wait while the state is read and packed.
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        if record.dirty is not None or record.checkpoint_due < record.checkpoint_every(store.sizes):
            return False
        saved = _rated_checkpoint(connection, record, rules_of(record.settings))
    known = KnownLog.of(record)
    with store.read() as connection:
        # Most of what was posted in the meantime is read here, where writers do not wait.
        if not known.has_grown_to(connection, get_pool(connection, pool)):
            return False
    with store.write() as connection:
        now = get_pool(connection, pool, lock=True)
        changed = now.id != record.id or now.generation != record.generation
        # The state that was read may have a name that was erased in the meantime.
        if changed or now.dirty is not None or now.erased != record.erased:
            return False
        if not known.has_grown_to(connection, now):
            return False
        replays.add_checkpoint(connection, record.id, saved)
        interval = now.checkpoint_interval
        if replays.thin(connection, record.id):
            interval *= 2
        due = now.checkpoint_due - record.checkpoint_due
        change_pool(connection, record.id, checkpoint_due=due, checkpoint_interval=interval)
    return True


def _rated_checkpoint(connection: Connection, pool: PoolRecord, rules: PoolRules) -> Checkpoint:
    """Return a checkpoint of the stored ratings."""
    pieces = ratings.all_states(connection, pool.id, pool.generation)
    known = [one for rows in pieces for one in rows]
    players = [one.player for one in known]
    state = unpack_players(rules.system, [one.state for one in known])
    last_changes = LastChanges.of(known)
    state.shared = dict(pool.shared)
    position = (pool.last_time or 0, pool.last_seq)
    before = replays.last_before(connection, pool.id, position)
    rated = pool.checkpoint_due + (0 if before is None else before.participations)
    running = RunningPool(rules, players, {}, state, last_changes, position, participations=rated)
    return running.checkpoint()
