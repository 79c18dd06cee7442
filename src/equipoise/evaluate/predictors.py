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
from typing import Protocol

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import HEAD_START
from equipoise.rating.base_system import System
from equipoise.rating.replay import starting_pool
from equipoise.rating.resuming import with_known_rows
from equipoise.rating.system import RatingSystem

#: Columns of a trace with the ratings before a match.
_KNOWN_BEFORE = ("rating_before", "deviation_before")


class Predictor(Protocol):
    """Predicts how the participants of matches will perform, one piece after the other."""

    name: str

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        ...


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
        self._trace = {name: np.full(history.participations, np.nan) for name in names}

    def predict(self, start: int, stop: int) -> Outlook:
        """Rate matches start:stop, and return the outlook that was expected before each."""
        history = self._history
        self._system.run(self._state, history, start, stop, self._trace, self._workers)
        rows = slice(int(history.offsets[start]), int(history.offsets[stop]))
        if self._learns:
            rating = self._trace["rating_before"][rows] + self._trace[HEAD_START][rows]
            return self._system.outlook(rating, self._trace["deviation_before"][rows])
        return self._system.outlook(
            self._trace["rating_before"][rows],
            self._trace["deviation_before"][rows],
            history.slice(start, stop),
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
