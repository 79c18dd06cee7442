"""Whether stored ratings and checkpoints are those that a replay gives."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import attrgetter
from typing import Any

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.missing import or_nan
from equipoise.errors import InvalidDataError
from equipoise.pools.amended_log import amendments_of
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.match_history import LoggedMatch
from equipoise.pools.posting.rated_rows import day_of, days_idle, display
from equipoise.pools.replay.checkpointing import RunningPool
from equipoise.pools.replay.findings import Findings
from equipoise.pools.replay.partial_filling import RunningPartial
from equipoise.rating.player_state import pack_players
from equipoise.rating.state import State
from equipoise.store import ratings, replays
from equipoise.store.derived import partial_checkpoints
from equipoise.store.derived.partial_checkpoints import End, PartialRow
from equipoise.store.pools import START, PoolRecord, Position
from equipoise.store.ratings import RatingRow, StateRow

#: Columns that must be the same, and how a sentence calls them.
_COLUMNS = {
    "rating": "rating",
    "deviation": "deviation",
    "matches": "number of matches",
    "last_time": "time of the last match",
}
_POSITION_OF = attrgetter("position")


def check_ratings(
    connection: Connection,
    pool: PoolRecord,
    running: RunningPool,
    versions: Sequence[PoolRules],
    found: Findings,
) -> None:
    """Compare everything that is stored of every player with the end of a replay.

    versions : the settings of the pool from the first to the current ones
    """
    running.board_day = pool.board_day
    eligible = amendments_of(connection, pool).eligibility
    seen = 0
    states = ratings.all_states(connection, pool.id, pool.generation)
    shown = ratings.all_ratings(connection, pool.id, pool.generation)
    for packed, rows in zip(states, shown, strict=True):
        at = [running.row_of.get(row.player) for row in rows]
        kept, listed = packed, rows
        if None in at:
            for player in (one.player for one in packed if one.player not in running.row_of):
                found.add(f"player {player}: a rating is stored that the log does not give")
            known = [place is not None for place in at]
            at = list(compress(at, known))
            kept, listed = list(compress(packed, known)), list(compress(rows, known))
        seen += len(listed)
        if not listed:
            continue
        _compare_columns(running, np.array(at, np.int64), kept, listed, found)
        _compare_places(pool, versions, listed, found)
        players = [row.player for row in listed]
        marks = eligible.flags(players) if eligible else [False] * len(players)
        for row, mark in zip(listed, marks, strict=True):
            if row.disqualified != mark:
                found.add(f"player {row.player}: the mark 'disqualified' disagrees with the log")
    if seen != len(running.players):
        stored = {
            row.player
            for rows in ratings.all_states(connection, pool.id, pool.generation)
            for row in rows
        }
        for player in sorted(set(running.players) - stored):
            found.add(f"player {player}: no rating is stored")
    if not _same_shared(running.state, pool.shared):
        found.add("the state that all players share differs")


def _compare_columns(
    running: RunningPool,
    at: Ints,
    states: Sequence[StateRow],
    rows: Sequence[RatingRow],
    found: Findings,
) -> None:
    """Compare ratings, states and last changes of some players; at : their rows in the replay."""
    replayed = running.ratings(at)
    for name, what in _COLUMNS.items():
        if list(map(attrgetter(name), rows)) == replayed[name]:
            continue
        for row, value in zip(rows, replayed[name], strict=True):
            stored = getattr(row, name)
            if stored != value:
                found.add(f"player {row.player}: the stored {what} is {stored!r}, not {value!r}")
    changes = zip(replayed["change_time"], replayed["change_seq"], strict=True)
    for one, state, change in zip(states, replayed["state"], changes, strict=True):
        if bytes(one.state) != state:
            found.add(f"player {one.player}: the stored state differs from the replayed one")
        if (one.change_time, one.change_seq) != change:
            found.add(f"player {one.player}: the last change is not the one of the log")


@dataclass(slots=True)
class _Places:
    """Where players belong on a leaderboard: `ordering` from low to high, and who is provisional.

    The two bounds differ only while ratings shown decay, which is done in small steps.
    """

    low: Floats
    high: Floats
    provisional: Flags

    @classmethod
    def of(cls, rules: PoolRules, pool: PoolRecord, rows: Sequence[RatingRow]) -> _Places:
        """Return the places under some settings."""
        rating = np.array([row.rating for row in rows], np.float64)
        deviation = or_nan(row.deviation for row in rows)
        last = or_nan(row.last_time for row in rows) / MICROSECONDS_PER_DAY
        begin = START[0] if pool.board_day is None else pool.board_day
        end = begin
        if pool.board_day is not None and pool.last_time is not None:
            end = max(begin, day_of(pool.last_time))
        low, high = (
            -display(rules, rating, deviation, days_idle(last, day)) for day in (begin, end)
        )
        if pool.board_day is not None and pool.board_from is not None:
            # Ratings shown may have decayed to a later day, up to a match that no longer counts.
            high = np.full(len(rows), np.inf)
        placing = rules.placement_matches
        return cls(low, high, np.array([row.matches for row in rows], np.int64) < placing)

    def right(self, rows: Sequence[RatingRow]) -> tuple[Flags, Flags]:
        """Return whether the places of rows, and whether their marks, are right."""
        ordering = np.array([row.ordering for row in rows], np.float64)
        marked = np.array([row.provisional for row in rows], np.bool_)
        return (self.low <= ordering) & (ordering <= self.high), marked == self.provisional


def _compare_places(
    pool: PoolRecord, versions: Sequence[PoolRules], rows: Sequence[RatingRow], found: Findings
) -> None:
    """Compare the leaderboard with the ratings and the settings."""
    ordered, marked = _Places.of(versions[-1], pool, rows).right(rows)
    if pool.board_from is not None and not (ordered.all() and marked.all()):
        # Changed settings are being written, and these players have those before.
        later = np.array([row.player > pool.board_from for row in rows], np.bool_)
        for rules in versions[:-1]:
            placed, shown = _Places.of(rules, pool, rows).right(rows)
            ordered |= placed & later
            marked |= shown & later
    for at in np.flatnonzero(~(ordered & marked)).tolist():
        if not ordered[at]:
            found.add(f"player {rows[at].player}: the leaderboard shows a different rating")
        if not marked[at]:
            found.add(
                f"player {rows[at].player}: the mark 'provisional' disagrees with the settings"
            )


def _same_shared(state: State, shared: dict[str, Floats]) -> bool:
    """Return whether numbers of a pool are those of a state."""
    return state.shared.keys() == shared.keys() and all(
        np.array_equal(values, shared[name], equal_nan=True)
        for name, values in state.shared.items()
    )


class CheckpointChecks:
    """Compares checkpoints, and partial ones, with a replay as it passes them."""

    def __init__(self, connection: Connection, pool: PoolRecord) -> None:
        self._whole = set(replays.positions(connection, pool.id))
        self._partial: dict[Position, list[End]] = {}
        for end in partial_checkpoints.ends(connection, pool):
            self._partial.setdefault(end.position, []).append(end)
        self._waiting = sorted(self._whole | self._partial.keys())

    def rate(
        self,
        connection: Connection,
        pool: PoolRecord,
        running: RunningPool,
        matches: Sequence[LoggedMatch],
        found: Findings,
    ) -> dict[str, Sequence[Any]]:
        """Rate matches, and compare the checkpoints between them; return their changes.

        matches : at least one
        """
        parts = []
        for part, checkpoint in self._parts(matches):
            if part:
                parts.append(running.rate(part)[0])
            if checkpoint is not None:
                self._compare(connection, pool, checkpoint, running, found)
        if len(parts) == 1:
            return parts[0]
        return {name: list(chain(*(part[name] for part in parts))) for name in parts[0]}

    def finish(
        self, connection: Connection, pool: PoolRecord, running: RunningPool, found: Findings
    ) -> None:
        """Compare the checkpoints after the last match."""
        for position in self._waiting:
            self._compare(connection, pool, position, running, found)
        self._waiting = []

    def _compare(
        self,
        connection: Connection,
        pool: PoolRecord,
        position: Position,
        running: RunningPool,
        found: Findings,
    ) -> None:
        """Compare the checkpoints at a position with the replay there."""
        if position in self._whole:
            _compare_checkpoint(connection, pool, position, running, found)
        for end in self._partial.get(position, []):
            _compare_partial(connection, pool, end, running, found)

    def _parts(
        self, matches: Sequence[LoggedMatch]
    ) -> Iterator[tuple[Sequence[LoggedMatch], Position | None]]:
        """Give matches up to the next checkpoint, and its position; at the end the others."""
        begin = 0
        while self._waiting:
            at = bisect_right(matches, self._waiting[0], lo=begin, key=_POSITION_OF)
            if at == len(matches):
                break
            yield matches[begin:at], self._waiting.pop(0)
            begin = at
        yield matches[begin:], None


def _compare_checkpoint(
    connection: Connection,
    pool: PoolRecord,
    position: Position,
    running: RunningPool,
    found: Findings,
) -> None:
    """Compare the checkpoint at a position with the replay there."""
    saved = replays.last_before(connection, pool.id, (position[0], position[1] + 1))
    if saved is None or saved.position != position:
        return  # A replay has deleted it in the meantime.
    named = f"the checkpoint after record {position[1]}"
    try:
        stored = RunningPool.resume(running.rules, saved, pool.draws_from)
    except InvalidDataError as error:
        found.add(f"{named} cannot be read: {error}")
        return
    if not _is_same(stored, running):
        found.add(f"{named} differs from the replayed state")


def _compare_partial(
    connection: Connection, pool: PoolRecord, end: End, running: RunningPool, found: Findings
) -> None:
    """Compare a partial checkpoint with the replay at its end."""
    named = f"the partial checkpoint after record {end.position[1]}"
    try:
        rows = partial_checkpoints.rows_of(connection, pool.id, end)
    except (TypeError, ValueError) as error:
        found.add(f"{named} cannot be read: {error}")
        return
    if not rows:
        return  # It was deleted in the meantime.
    changed = RunningPartial.after(running, end.begins).rows
    if not _same_states(_found_states(rows), running, changed) or not all(
        _same_shared(running.state, row.shared) for row in rows
    ):
        found.add(f"{named} differs from the replayed state")


def _found_states(rows: Sequence[PartialRow]) -> dict[str, bytes]:
    """Return the states that readers find in the rows of a partial checkpoint.

    A reader finds a player in the last row that does not begin after the player.
    """
    firsts = [row.first for row in rows]
    found: dict[str, bytes] = {}
    for number, row in enumerate(rows):
        states = row.states
        end = firsts[number + 1] if number + 1 < len(rows) else None
        if states and (min(states) < row.first or (end is not None and max(states) >= end)):
            states = {
                player: state
                for player, state in states.items()
                if bisect_right(firsts, player) == number + 1
            }
        found |= states
    return found


def _same_states(stored: Mapping[str, bytes], running: RunningPool, changed: Ints) -> bool:
    """Return whether packed states are those of a replay.

    changed : rows of the players who must be there. Others of the pool may be there too: those of a
        match that changed nothing
    """
    rows = list(map(running.row_of.get, stored))
    if None in rows:
        return False
    at = np.array(rows, np.int64)
    there = np.zeros(len(running.players), bool)
    there[at] = True
    return bool(there[changed].all()) and (
        list(stored.values()) == pack_players(running.state.take(at))
    )


def _is_same(stored: RunningPool, running: RunningPool) -> bool:
    """Return whether two pools have the same players with the same states, in any order."""
    rows = list(map(running.row_of.get, stored.players))
    if len(rows) != len(running.players) or None in rows:
        return False
    at, every = np.array(rows, np.int64), np.arange(len(rows))
    if not np.bincount(at, minlength=len(rows)).all():
        return False  # One is there twice.
    one, other = stored.state.take(every), running.state.take(at)
    last = running.last_changes.take(at)
    return (
        one.table.tobytes() == other.table.tobytes()
        and _same_runs(one, other)
        and _same_shared(one, other.shared)
        and np.array_equal(stored.last_changes.time, last.time)
        and np.array_equal(stored.last_changes.seq, last.seq)
    )


def _same_runs(one: State, other: State) -> bool:
    """Return whether the ragged columns of two states are the same."""
    if one.runs is None or other.runs is None:
        return one.runs is other.runs
    return np.array_equal(one.runs.spans[:, 3], other.runs.spans[:, 3]) and all(
        one.runs.records(field).tobytes() == other.runs.records(field).tobytes()
        for field in range(one.runs.fields)
    )
