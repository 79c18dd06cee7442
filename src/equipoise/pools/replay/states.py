"""The state of a pool at a position of its log, and how two states differ.

A checkpoint is the packed state of all players after one match of the log. It follows from the log:
one that cannot be read is skipped, and the state is made from the checkpoint before it.

The states of the players of one match follow from the last partial checkpoint before it, and from
the matches since that these states depend on: those of its players, those of their opponents in
these, and so on. The chains of changes lead to them. Where a match changes numbers of the whole
pool, such as the entry, they are all matches since. So the time does not depend on the length of
the log.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats, Ints
from equipoise.errors import InvalidDataError
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import DifferenceMessage, OthersMessage, PlayerDifference
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.rating import (
    LoggedMatch,
    Participants,
    numbers_of,
)
from equipoise.pools.posting.running import RunningPool, stored_pool, unpacked_state
from equipoise.pools.records import (
    Amendments,
    cached_known,
    counted_matches,
    counted_piece,
    read_known,
)
from equipoise.rating.base_system import System
from equipoise.rating.newcomers import ENTRY_PARAMETERS, SEEDED
from equipoise.rating.pool_state import PoolState, carry_entry, seeded_state
from equipoise.rating.state import DRAWS, pack_players, unpack_players
from equipoise.rating.system import RatingSystem
from equipoise.store import changes, checkpoints, log, pools, ratings
from equipoise.store.bulk import sizes_of
from equipoise.store.changes import ChangeRow
from equipoise.store.checkpoints import Checkpoint, PartialStates
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, Position, ReplayRecord, change_pool, get_pool

logger = logging.getLogger(__name__)


def position_before(begin: Position) -> Position:
    """Return the last position before `begin`; no match counts between the two."""
    return (begin[0], begin[1] - 1) if begin != START else START


def running_from_start(
    connection: Connection, pool: PoolRecord, rules: PoolRules, renames: Mapping[str, str]
) -> RunningPool:
    """Return the pool before its first match: empty, with known ratings or the seed of its season.

    renames : earlier ids of players -> present ones; a player with several begins as the present
    Raises : InvalidDataError if the known ratings cannot be read
    """
    known = read_known(connection, pool)
    content = None if pool.follows is None else pools.content_of(connection, pool.id)
    if known is not None:
        players = list(known.content.players)
        begun = RunningPool.of(rules, players, known.state(rules))
    elif content is not None:
        state = seed_state(rules.system, content, "the seed of the season")
        begun = RunningPool.of_state(rules, state)
    else:
        return RunningPool.start(rules)
    if renames.keys().isdisjoint(begun.row_of):
        return begun
    rows = {player: row for player, row in begun.row_of.items() if player not in renames}
    for old, new in renames.items():
        if old in begun.row_of:
            rows.setdefault(new, begun.row_of[old])
    at = np.array(list(rows.values()), np.int64)
    return RunningPool.of(rules, list(rows), begun.state.take(at))


def seed_state(system: RatingSystem, content: bytes, name: str) -> PoolState:
    """Return the state of a packed seed under a system.

    The parameters of the entry and the level may have changed since it was made; all others must be
    the same.
    name : of the seed, for errors
    Raises : InvalidDataError
    """
    saved = unpacked_state(content, name)
    if saved.system == system:
        return saved
    was = saved.system
    if isinstance(was, System) and isinstance(system, System):
        changed: Any = {name: getattr(system, name) for name in ENTRY_PARAMETERS}
        if type(was) is type(system) and dataclasses.replace(was, **changed) == system:
            # Systems without deviations ignore them.
            named = "deviation" if "deviation" in saved.state.initial else "rating"
            state = saved.state
            seeded = seeded_state(system, state.column("rating"), state.column(named))
            carry_entry(seeded, saved.state, was)
            return dataclasses.replace(saved, system=system, state=seeded)
    raise InvalidDataError([], f"{name} is of another system than the pool's")


#: Matches that are looked up one by one; after that all since the partial checkpoint are read.
_SINGLY = 40
#: Changes that are read at most. Only where partial checkpoints are missing are there more.
_MOST_CHANGES = 50_000


@dataclass(frozen=True, slots=True)
class PoolPast:
    """A pool and its log, from which its states at earlier positions follow.

    rules : by which matches are rated
    amendments : those that count
    """

    connection: Connection
    pool: PoolRecord
    rules: PoolRules
    amendments: Amendments

    def running_before(
        self, position: Position, beat: Callable[[], None] = lambda: None
    ) -> RunningPool:
        """Return the pool before a position, rated from the last checkpoint.

        beat : called about every two seconds, to renew a lease
        """
        running = self._resumed(position)
        after, last_beat = running.position, time.monotonic()
        while True:
            if time.monotonic() - last_beat > sizes_of(self.connection).beat:
                beat()
                last_beat = time.monotonic()
            piece = counted_piece(self.connection, self.pool, self.amendments, after)
            before = [match for match in piece.matches if match.position < position]
            if before:
                running.rate(before)
            if piece.last or len(before) < len(piece.matches) or piece.end >= position:
                return running
            after = piece.end

    def _resumed(self, position: Position) -> RunningPool:
        """Return the pool at its last readable checkpoint before a position, or before its log."""
        while True:
            saved = checkpoints.last_before(self.connection, self.pool.id, position)
            if saved is None:
                renames = self.amendments.renames
                return running_from_start(self.connection, self.pool, self.rules, renames)
            try:
                return RunningPool.resume(self.rules, saved)
            except InvalidDataError as error:
                # It is damaged, or from another version of the code.
                name = self.pool.name
                logger.warning("checkpoint of pool %s at %s: %s", name, saved.position, error)
                position = saved.position

    def numbers_of_replay(
        self, begin: Position
    ) -> tuple[dict[str, Numbers], dict[str, Numbers], int]:
        """Return the numbers of all players before and after a replay from a position.

        Also returned is the number of matches that it would rate.
        Raises : ConvergenceError, InvalidDataError
        """
        running = self.running_before(begin)
        running.matches = 0
        after = max(position_before(begin), running.position)
        for matches in counted_matches(self.connection, self.pool, self.amendments, after):
            if matches:
                running.rate(matches)
        before = stored_numbers(self.connection, self.pool)
        return before, running_numbers(running, np.arange(len(running.players))), running.matches

    def players_before(self, position: Position) -> PoolState | None:
        """Return the state of a match's players before it, and of players that it depends on.

        None if the partial checkpoints that it needs are missing
        """
        connection, pool, rules = self.connection, self.pool, self.rules
        end = checkpoints.last_partial_before(connection, pool, position)
        if end is None and pool.follows is not None:
            return None
        start = START if end is None else end.position
        stored = PartialStates(connection, pool)
        shared = rules.system.initial(0).shared if end is None else stored.shared_at(end)
        reached = self._reached(start, position)
        if reached is None:
            return None
        places, begins = reached
        packed: dict[str, bytes | None] = {}
        for player, change in begins.items():
            packed[player] = stored.state_after(player, change) if change[1] else None
            if packed[player] is None and (
                change[1] or (pool.follows is not None and not pool.initial)
            ):
                return None
        known = cached_known(connection, pool)
        if known is not None:
            if self.amendments.renames or SEEDED in rules.system.initial(0).initial:
                # Players have their known ratings by earlier ids, or the level depends on all.
                return None
            begun = [
                name for name, change in begins.items() if not change[1] and name in known.row_of
            ]
            states = pack_players(known.state(rules, begun)) if begun else []
            packed |= dict(zip(begun, states, strict=True))
        matches = self._matches(places)
        return None if matches is None else _rated(rules, packed, matches, shared)

    def _reached(
        self, start: Position, position: Position
    ) -> tuple[list[Position], dict[str, Position]] | None:
        """Return the matches after `start` that a match depends on, and where their players begin.

        Where matches change numbers of the whole pool, they are all matches before it.
        Returns : positions of the matches in order, without the match itself; and of each player
            the position of the last change up to `start`, number 0 for none. None if there are too
            many
        """
        own = changes.changes_of_match(self.connection, self.pool, position)
        if not own:
            return None
        read: dict[Position, dict[str, ChangeRow]] | None = None
        if _changes_pool(self.rules.system) and (read := self._between(start, position)) is None:
            return None
        begins: dict[str, Position] = {}
        rated: set[Position] = set() if read is None else set(read)
        waiting = [own] if read is None else [own, *read.values()]
        while waiting:
            for row in waiting.pop().values():
                if row.previous <= start or not row.previous[1]:
                    begins[row.player] = row.previous
                elif row.previous not in rated:
                    rated.add(row.previous)
                    if read is None and len(rated) > _SINGLY:
                        read = self._between(start, position)
                        if read is None:
                            return None
                    if read is None:
                        previous = row.previous
                        found = changes.changes_of_match(self.connection, self.pool, previous)
                        waiting.append(found)
                    else:
                        waiting.append(read.get(row.previous, {}))
        return sorted(rated), begins

    def _between(
        self, start: Position, position: Position
    ) -> dict[Position, dict[str, ChangeRow]] | None:
        """Return the changes of all matches between two positions; None if there are too many."""
        limit = _MOST_CHANGES + 1
        every = changes.changes_between(self.connection, self.pool, start, position, limit)
        if len(every) == limit:
            return None
        rows: dict[Position, dict[str, ChangeRow]] = {}
        for row in every.values():
            if start < row.position < position:
                rows.setdefault(row.position, {})[row.player] = row
        return rows

    def _matches(self, places: list[Position]) -> list[LoggedMatch] | None:
        """Return the matches at some positions as they were rated; None if one is elsewhere."""
        records = log.records_at(self.connection, self.pool.id, [seq for _, seq in places])
        matches = []
        for place in places:
            record = records.get(place[1])
            if record is None:
                return None
            rated = self.amendments.eligibility.rated_part(self.amendments.match(record))
            if rated is None or not rated.request.teams or rated.position != place:
                return None
            matches.append(rated)
        return matches


def _changes_pool(system: RatingSystem) -> bool:
    """Return whether matches change more than the states of their players, other than draws.

    They do where the system learns roles, the entry or the home advantage, or holds the level.
    """
    learns_roles = bool(getattr(system, "roles", False))
    if not isinstance(system, System):
        return learns_roles
    return learns_roles or system.changes_entry or system.learns_advantage


def _rated(
    rules: PoolRules,
    packed: dict[str, bytes | None],
    matches: list[LoggedMatch],
    shared: dict[str, Floats],
) -> PoolState | None:
    """Rate matches on packed states; return the state after them, None if a player has none."""
    if any(name not in packed for name in Participants.of(matches).names):
        return None
    state = unpack_players(rules.system, list(packed.values()))
    state.shared = shared
    running = RunningPool.of(rules, list(packed), state)
    running.rate(matches)
    # Sums of draws change no rating. All other numbers of the pool depend on all matches.
    running.state.shared.pop(DRAWS, None)
    return running.pool_state()


def keep_checkpoints(store: Store, pool: str) -> bool:
    """Store a checkpoint of the current state, if one is due; return whether it was stored.

    Writers do not wait while the state is read and packed.
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        if record.dirty is not None or record.checkpoint_due < record.checkpoint_every(store.sizes):
            return False
        saved = _rated_checkpoint(connection, record, rules_of(record.settings))
        salt = log.salt_of(connection, record.id, record.last_seq)
    with store.write() as connection:
        now = get_pool(connection, pool, lock=True)
        changed = now.id != record.id or now.generation != record.generation
        # The state that was read may have a name that was erased in the meantime.
        if changed or now.dirty is not None or now.erased != record.erased:
            return False
        # If the database went back to an earlier state, as after a restore, another history may
        # have reached the same number of records, but not the same salts.
        if log.salt_of(connection, record.id, record.last_seq) != salt:
            return False
        checkpoints.add_checkpoint(connection, record.id, saved)
        interval = now.checkpoint_interval
        if checkpoints.thin(connection, record.id):
            interval *= 2
        due = now.checkpoint_due - record.checkpoint_due
        change_pool(connection, record.id, checkpoint_due=due, checkpoint_interval=interval)
    return True


def _rated_checkpoint(connection: Connection, pool: PoolRecord, rules: PoolRules) -> Checkpoint:
    """Return a checkpoint of the stored ratings."""
    running = stored_pool(connection, pool, rules)
    running.position = (pool.last_time or 0, pool.last_seq)
    before = checkpoints.last_before(connection, pool.id, running.position)
    running.participations = pool.checkpoint_due + (0 if before is None else before.participations)
    return running.checkpoint()


#: Players that a difference lists.
MOST_PLAYERS = 1000


def known_difference(replay: ReplayRecord) -> DifferenceMessage | None:
    """Return what a replay changed; None if it was interrupted in an earlier version."""
    if not replay.difference:
        return None
    return msgspec.json.decode(replay.difference, type=DifferenceMessage)


class Numbers(NamedTuple):
    """The numbers of a player that are compared."""

    rating: float
    deviation: float | None

    @classmethod
    def of(cls, rating: float, deviation: float) -> Numbers:
        """Return the numbers of a player; NaN is no deviation."""
        return cls(rating, json_value(deviation))


def stored_numbers(connection: Connection, pool: PoolRecord) -> dict[str, Numbers]:
    """Return the stored numbers of all players, which readers see."""
    return {
        row.player: Numbers(row.rating, row.deviation)
        for rows in ratings.all_ratings(connection, pool.id, pool.generation)
        for row in rows
    }


def running_numbers(running: RunningPool, rows: Ints) -> dict[str, Numbers]:
    """Return the numbers of the players at some rows of a replay."""
    now_at = numbers_of(running.rules.system, running.state, rows)
    return {
        running.players[row]: Numbers.of(rating, deviation)
        for row, rating, deviation in zip(
            rows.tolist(), now_at["rating"].tolist(), now_at["deviation"].tolist(), strict=True
        )
    }


def differences(
    before: Mapping[str, Numbers], after: Mapping[str, Numbers]
) -> list[PlayerDifference]:
    """Return the players whose numbers changed, largest changes first."""
    changed = [player for player in {**before, **after} if before.get(player) != after.get(player)]
    listed = [compared(player, before.get(player), after.get(player)) for player in changed]
    return sorted(listed, key=_size)


def _size(line: PlayerDifference) -> tuple[bool, float, str]:
    """Return the place of a difference in order: players who are new or gone come first."""
    return line.change is not None, -abs(line.change or 0.0), line.player


def difference(
    before: Mapping[str, Numbers],
    after: Mapping[str, Numbers],
    matches: int,
    listed: Sequence[PlayerDifference] = (),
) -> DifferenceMessage:
    """Return the difference between the numbers of players.

    matches : number of replayed matches
    listed : the `differences` of others, and of these players a moment ago
    """
    others, changed = (
        [line for line in listed if line.player not in after],
        differences(before, after),
    )
    first = sorted([*others[:MOST_PLAYERS], *changed], key=_size)[:MOST_PLAYERS]
    return DifferenceMessage(matches, len(others) + len(changed), first)


def compared(player: str, before: Numbers | None, after: Numbers | None) -> PlayerDifference:
    """Return a player's numbers before and after; None for a player who is new or gone."""
    change = None if before is None or after is None else after.rating - before.rating
    return PlayerDifference(
        player=player,
        rating_before=None if before is None else before.rating,
        deviation_before=None if before is None else before.deviation,
        rating=None if after is None else after.rating,
        deviation=None if after is None else after.deviation,
        change=change,
    )


def difference_of_others(
    before: Mapping[str, Numbers], after: Mapping[str, Numbers], players: Container[str | None]
) -> OthersMessage:
    """Return how the numbers of all players but these changed."""
    names = [name for name in {**before, **after} if name not in players]
    changed = [name for name in names if before.get(name) != after.get(name)]
    sizes = [
        abs(after[name].rating - before[name].rating)
        for name in changed
        if name in before and name in after
    ]
    if not sizes:
        return OthersMessage(len(changed), None, None)
    return OthersMessage(len(changed), math.fsum(sizes) / len(sizes), max(sizes))
