"""The result of rating matches as rows of the database: changes, and ratings of players.

A player's changes are a chain: each row refers to the position of the player's change before it.
`LastChanges` holds the ends of these chains while matches are rated.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.missing import nullable
from equipoise.errors import InvalidDataError, Problem
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.match_history import LoggedMatch, Participants, history_of_rows
from equipoise.rating.base_system import System
from equipoise.rating.draws import DRAWS, start_counting
from equipoise.rating.entry.entering import SEEDED
from equipoise.rating.player_state import pack_players
from equipoise.rating.replay import TRACE_COLUMNS
from equipoise.rating.state import State
from equipoise.rating.system import RatingColumns, RatingSystem
from equipoise.store.changes import pack_numbers
from equipoise.store.ratings import StateRow

#: A number as arrays have it in their bytes.
_DOUBLE = struct.Struct("=d")

#: zlib's level: positions of one batch share most of their bytes.
_LEVEL = 1


@dataclass(slots=True, eq=False)
class LastChanges:
    """Positions of players' last changes by row: time and number of the record, 0 for none."""

    time: Ints
    seq: Ints

    @classmethod
    def empty(cls, players: int) -> LastChanges:
        """Return the positions of players without a change."""
        return cls(np.zeros(players, np.int64), np.zeros(players, np.int64))

    @classmethod
    def of(cls, stored: Sequence[StateRow]) -> LastChanges:
        """Return the positions of stored players, in their order."""
        return cls(
            np.array([one.change_time for one in stored], np.int64),
            np.array([one.change_seq for one in stored], np.int64),
        )

    @classmethod
    def from_bytes(cls, content: bytes, players: int) -> LastChanges:
        """Return the positions in a checkpoint. Raises : InvalidDataError."""
        if not content:
            return cls.empty(players)
        try:
            both = np.frombuffer(zlib.decompress(content), "<i8").astype(np.int64)
        except (zlib.error, ValueError) as error:
            raise InvalidDataError([], f"a damaged checkpoint: {error}") from error
        if len(both) != 2 * players:
            raise InvalidDataError(
                [], f"a damaged checkpoint: positions of other than {players} players"
            )
        return cls(both[:players], both[players:])

    def to_bytes(self) -> bytes:
        """Return the positions as a checkpoint stores them."""
        both = np.concatenate([self.time, self.seq]).astype("<i8")
        return zlib.compress(both.tobytes(), _LEVEL)

    def grow(self, players: int) -> None:
        """Add rows for players without a change."""
        missing = players - len(self.time)
        if missing > 0:
            self.time = np.concatenate([self.time, np.zeros(missing, np.int64)])
            self.seq = np.concatenate([self.seq, np.zeros(missing, np.int64)])

    def take(self, rows: Ints) -> LastChanges:
        """Return a copy of some rows."""
        return LastChanges(self.time[rows], self.seq[rows])

    def put(self, rows: Ints, part: LastChanges) -> None:
        """Replace some rows by `part`."""
        self.time[rows], self.seq[rows] = part.time, part.seq

    def follow(self, players: Ints, times: Ints, seqs: Ints) -> tuple[Ints, Ints]:
        """Store changes; return the positions of the changes before them: times and numbers.

        players : row of each change; times, seqs : its position; all of shape (changes,), in the
            order of rating
        """
        order = np.argsort(players, kind="stable")
        row, time, seq = players[order], times[order], seqs[order]
        again = np.zeros(len(row), bool)
        again[1:] = row[1:] == row[:-1]
        before_time, before_seq = self.time[row], self.seq[row]
        repeated = np.flatnonzero(again)
        before_time[repeated], before_seq[repeated] = time[repeated - 1], seq[repeated - 1]
        last = np.ones(len(row), bool)
        last[:-1] = ~again[1:]
        self.time[row[last]], self.seq[row[last]] = time[last], seq[last]
        previous_time, previous_seq = np.empty_like(time), np.empty_like(seq)
        previous_time[order], previous_seq[order] = before_time, before_seq
        return previous_time, previous_seq


def _empty_trace(system: RatingSystem, history: History) -> dict[str, Floats]:
    """Return a trace of NaN, for a system to fill."""
    names = (*TRACE_COLUMNS, *system.trace_columns)
    return {name: np.full(history.participations, np.nan) for name in names}


def extra_columns(system: RatingSystem) -> list[str]:
    """Return the columns of the system's trace that the table of changes packs together."""
    return [name for name in system.trace_columns if name != "performance"]


def numbers_of(system: RatingSystem, state: State, rows: Ints) -> RatingColumns:
    """Return players' ratings as of their last match, as the table of ratings has them.

    With a learned entry, every match moves the rating of all players who have not played, and some
    of these have a row: those whose matches were all skipped. They have the entry of the last one.
    """
    columns = system.at(state, rows, None)
    if not isinstance(system, System) or not system.learns_entry:
        return columns
    new = (columns["matches"] == 0) & (state.column(SEEDED)[rows] == 0)
    rating = np.where(new, state.column("rating")[rows], columns["rating"])
    return {**columns, "rating": rating}


def rating_rows(
    rules: PoolRules,
    state: State,
    rows: Ints,
    players: Sequence[str],
    last_changes: LastChanges,
    day: int | None = None,
) -> dict[str, Sequence[Any]]:
    """Return the ratings of players at `rows` of a state as columns of the table.

    last_changes : of all players of the state
    day : day to which the ratings shown have decayed; None for players who have just played
    Raises : InvalidDataError where the system has no rating for a player
    """
    columns = numbers_of(rules.system, state, rows)
    rating, deviation = columns["rating"], columns["deviation"]
    lost = ~np.isfinite(rating)
    if lost.any():
        player = players[int(np.flatnonzero(lost)[0])]
        rule = f"must leave every player a rating under {rules.settings.system}"
        raise InvalidDataError([Problem("", None, "teams", rule, f"none for {player}")])
    last = columns["last_time"]
    shown = display(rules, rating, deviation, days_idle(last, day))
    matches = columns["matches"].astype(np.int64)
    known = np.isfinite(last) if rules.timed else np.zeros(len(rows), bool)
    micros = np.rint(np.where(known, last, 0.0) * MICROSECONDS_PER_DAY).astype(np.int64)
    return {
        "player": players,
        "ordering": (-shown).tolist(),
        "rating": rating.tolist(),
        "deviation": nullable(deviation + 0.0),
        "matches": matches.tolist(),
        "last_time": [
            time if has else None for time, has in zip(micros.tolist(), known.tolist(), strict=True)
        ],
        "provisional": (matches < rules.placement_matches).tolist(),
        "state": pack_players(state.take(rows)),
        "change_time": last_changes.time[rows].tolist(),
        "change_seq": last_changes.seq[rows].tolist(),
    }


def display(
    rules: PoolRules, rating: Floats, deviation: Floats, idle: Floats | None = None
) -> Floats:
    """Return the ratings shown: rating - k x deviation, decayed, not below the floor.

    deviation : NaN for none
    idle : days since each player's last match, NaN for no match; None for no decay
    """
    settings, shown = rules.settings, rating
    if settings.display_deviations != 0.0:
        shown = shown - settings.display_deviations * np.nan_to_num(deviation, nan=0.0)
    if settings.display_decay_per_day > 0.0 and idle is not None:
        away = np.maximum(idle - settings.display_decay_after_days, 0.0)
        shown = shown - settings.display_decay_per_day * np.nan_to_num(away, nan=0.0)
    return shown if settings.display_floor is None else np.maximum(shown, settings.display_floor)


def day_of(time: int) -> int:
    """Return the beginning of the day of a time, microseconds since 1970."""
    return time - time % MICROSECONDS_PER_DAY


def days_idle(last: Floats, day: int | None) -> Floats | None:
    """Return the days from last matches, in days since 1970, to the beginning of a day."""
    return None if day is None else day / MICROSECONDS_PER_DAY - last


def rated_changes(
    rules: PoolRules,
    state: State,
    last_changes: LastChanges,
    matches: Sequence[LoggedMatch],
    participants: Participants,
    rows: Ints,
    player_ids: Ids,
    draws_from: int,
) -> tuple[dict[str, Sequence[Any]], History]:
    """Rate matches in the order of rating; return their changes as columns, and their history.

    state, last_changes : of the players at the rows of `player_ids`; both are updated
    participants : of the matches; rows : theirs in `player_ids`
    draws_from : number of the first record whose match counts for the draw probability
    Raises : ConvergenceError, InvalidDataError; state and last_changes are then of no further use
    """
    history = history_of_rows(matches, participants, rows, player_ids, rules)
    trace = _empty_trace(rules.system, history)
    _run(rules.system, state, history, trace, [match.seq >= draws_from for match in matches])
    return _change_rows(
        rules, history, trace, [match.seq for match in matches], last_changes
    ), history


def _run(
    system: RatingSystem,
    state: State,
    history: History,
    trace: dict[str, Floats],
    counts: Sequence[bool],
) -> None:
    """Rate a history.

    counts : whether each match counts for the draw probability
    """
    # Only pools from before schema 0004 have matches that do not count.
    edges = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    for start, stop in pairwise(edges):
        if start == stop:
            continue
        sums = None if counts[start] else state.shared.pop(DRAWS, None)
        if counts[start]:
            start_counting(state)
        system.run(state, history, start, stop, trace)
        if sums is not None:
            state.shared[DRAWS] = sums


def _change_rows(
    rules: PoolRules,
    history: History,
    trace: dict[str, Floats],
    seqs: Sequence[int],
    last_changes: LastChanges,
) -> dict[str, Sequence[Any]]:
    """Return the changes of rated participations as columns of the table, in the order of rating.

    seqs : of every match of the history
    last_changes : of the history's players; updated
    """
    rated = np.flatnonzero(np.isfinite(trace["rating"]))
    match = history.match_rows()[rated]
    times = np.zeros(history.matches, np.int64) if history.time is None else history.time
    time, seq = times[match], np.asarray(seqs, np.int64)[match]
    player = history.player[rated]
    previous_time, previous_seq = last_changes.follow(player, time, seq)
    performance = trace.get("performance", history.performance)
    if performance is None:
        performance = np.full(history.participations, np.nan)
    values = [
        trace["rating_before"],
        trace["deviation_before"],
        trace["deviation"],
        trace["expected"],
        performance,
        *(trace[name] for name in extra_columns(rules.system)),
    ]
    return {
        "player": history.player_ids[player].tolist(),
        "time": time.tolist(),
        "seq": seq.tolist(),
        "previous_time": previous_time.tolist(),
        "previous_seq": previous_seq.tolist(),
        "rating": (trace["rating"][rated] + 0.0).tolist(),
        "numbers": pack_numbers(
            places_of(history)[rated],
            history.teams()[match],
            [column[rated] for column in values],
        ),
    }


def places_of(history: History) -> Ints:
    """Return how many teams of the match came before each participation's team, shape (N,)."""
    match = history.match_rows()
    first = np.ones(len(match), bool)
    first[1:] = (np.diff(match) != 0) | (np.diff(history.team) != 0)
    teams = np.flatnonzero(first)
    order = np.lexsort((history.rank[teams], match[teams]))
    sorted_match, sorted_rank = match[teams][order], history.rank[teams][order]
    begins = np.searchsorted(sorted_match, np.arange(history.matches))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(sorted_match) != 0) | (np.diff(sorted_rank) != 0)
    # The row of the first team of a rank is the number of teams before that rank.
    before = np.flatnonzero(new)[np.cumsum(new) - 1] - begins[sorted_match]
    of_team = np.empty(len(order), np.int64)
    of_team[order] = before
    places: Ints = of_team[np.cumsum(first) - 1]
    return places


def unpack_extra(rules: PoolRules, extra: bytes) -> dict[str, float | None]:
    """Return the further numbers of a change by name, None for NaN.

    Only the system knows the names: without its package there are none.
    """
    if rules.fault:
        return {}
    # Every match that is posted comes here: arrays of so few numbers take longer. NaN is not equal
    # to itself.
    values = [None if one != one else one for (one,) in _DOUBLE.iter_unpack(extra)]
    return dict(zip(extra_columns(rules.system), values, strict=True))
