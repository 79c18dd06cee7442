"""Predictors of the matches of a backtest, piece by piece: a rating system, or a baseline.

`SystemPredictor` replays a history with a system. `ConstantRate` predicts without ratings, from a
constant rate that is learned as the history goes on. No player is stronger than another, so every
pair is even and every order is one tie. Only where two teams meet and one of them plays at home
(`at_home` is true or `side` is "home" or "white", as systems read them) is the expected score of
that team the mean score of teams at home so far: (1 + their points)/(2 + their matches), which
starts at one half. The order in which a match lists its teams has no effect, because many files
list the winner first.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import HEAD_START
from equipoise.rating.base_system import System
from equipoise.rating.replay import starting_pool
from equipoise.rating.resuming import with_known_rows
from equipoise.rating.system import RatingSystem

#: Columns of a trace with the ratings before a match.
_KNOWN_BEFORE = ("rating_before", "deviation_before")
#: Bytes of a float64.
_ITEM = 8


class Predictor(Protocol):
    """Predicts how the participants of matches will perform, one piece after the other."""

    name: str

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        ...


class _PassingTrace:
    """Columns of a trace, of which only the rows of the newest matches take memory.

    A system writes rows where they are in the history, so a column is as long as the history. Rows
    that were handed out go back to the operating system; where it cannot take them they stay.
    """

    def __init__(self, names: Sequence[str], rows: int) -> None:
        self._memory = {name: _private(rows * _ITEM) for name in names}
        #: float64; what is not written is not defined
        self.columns = {
            name: np.frombuffer(memory, np.float64, rows) for name, memory in self._memory.items()
        }

    def clear(self, rows: slice) -> None:
        """Fill rows with NaN, as matches that are not rated leave them."""
        for column in self.columns.values():
            column[rows] = np.nan

    def take(self, rows: slice) -> dict[str, Floats]:
        """Return a copy of rows, which are not kept."""
        found = {name: column[rows].copy() for name, column in self.columns.items()}
        first, last = (
            edge * _ITEM // mmap.PAGESIZE * mmap.PAGESIZE for edge in (rows.start, rows.stop)
        )
        if sys.platform != "win32" and first < last:
            for memory in self._memory.values():
                memory.madvise(mmap.MADV_DONTNEED, first, last - first)
        return found


def _private(size: int) -> mmap.mmap:
    """Return memory of this process, of which pages exist once they are written."""
    if sys.platform == "win32":
        return mmap.mmap(-1, max(size, 1))
    return mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE)


class SystemPredictor:
    """A system that replays a history, and its ratings before each match.

    initial : known ratings with which players begin
    """

    def __init__(
        self,
        system: RatingSystem,
        history: History,
        workers: Workers,
        initial: InitialRatings | Ratings | None = None,
    ) -> None:
        self.name = system.name
        self._system, self._history, self._workers = system, history, workers
        known = starting_pool(system, initial, history)
        if known is None:
            self._state = system.initial(history.players)
        else:
            # Players with known ratings come first, whether they play or not.
            self._history, ids = with_known_rows(history, known.player_ids)
            self._state = known.state
            self._state.grow(len(ids))
        # What playing at home is worth changes from match to match where it is learned.
        self._learns = isinstance(system, System) and system.learns_advantage
        names = (*_KNOWN_BEFORE, HEAD_START) if self._learns else _KNOWN_BEFORE
        self._trace = _PassingTrace(names, history.participations)

    def predict(self, start: int, stop: int) -> Outlook:
        """Rate matches start:stop, and return the outlook that was expected before each."""
        history = self._history
        rows = slice(int(history.offsets[start]), int(history.offsets[stop]))
        self._trace.clear(rows)
        self._system.run(self._state, history, start, stop, self._trace.columns, self._workers)
        trace = self._trace.take(rows)
        if self._learns:
            rating = trace["rating_before"] + trace[HEAD_START]
            return self._system.outlook(rating, trace["deviation_before"])
        return self._system.outlook(
            trace["rating_before"], trace["deviation_before"], history.slice(start, stop)
        )


class ConstantRate:
    """The baseline: the rates of a history, and the outlook that follows for each match."""

    name = "constant-rate"

    def __init__(self, history: History) -> None:
        self._history = history
        self._home = history.at_home()
        self._lead = None if self._home is None else _leads(history, self._home)

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        offsets = self._history.offsets[start : stop + 1]
        centre = np.zeros(int(offsets[-1] - offsets[0]))
        if self._home is not None and self._lead is not None:
            lead = np.repeat(self._lead[start:stop], np.diff(offsets))
            centre = np.where(self._home[offsets[0] : offsets[-1]], lead, 0.0)
        # Two of these give a difference of scale 1.
        scale = np.full(len(centre), math.sqrt(0.5))
        return Outlook(centre=centre, scale=scale, curve="logistic")


def _leads(history: History, home: Flags) -> Floats:
    """Return ln(p/(1 - p)) of the rate p before every match; 0 unless one of two teams is at home.

    If only some members of a team are at home, the match counts as on neutral ground.
    """
    starts = history.offsets[:-1]
    at_home = np.add.reduceat(home, starts, dtype=np.int64)
    in_first = np.add.reduceat(home & (history.team == 0), starts, dtype=np.int64)
    first = np.add.reduceat(history.team == 0, starts, dtype=np.int64)
    others = history.sizes() - first
    two = history.teams() == 2
    first_home = two & (at_home == first) & (in_first == first)
    second_home = two & (at_home == others) & (in_first == 0)
    # Team 0 of a match is the team of its first row.
    best = history.rank[starts]
    score = np.where(history.distinct_ranks() == 1, 0.5, np.where(best == 0, 1.0, 0.0))
    points = np.where(first_home, score, np.where(second_home, 1.0 - score, 0.0))
    counts = first_home | second_home
    before = np.cumsum(counts) - counts
    earned = np.cumsum(points) - points
    rate = (1.0 + earned) / (2.0 + before)
    return np.where(counts, np.log(rate / (1.0 - rate)), 0.0)
