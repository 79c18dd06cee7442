"""What is reached without ratings: a constant rate, learned as the history goes.

Nobody is stronger than anybody, so every pair is even and every order is one tie. Only where two
teams meet and one of them is at home (`at_home` is true or `side` is "home", as `elo` reads them)
is the expected score of that team the mean score of those at home so far: (1 + their points)/(2 +
their matches), which begins at one half. In which order the teams of a match are listed plays no
part, since many files list the winner first.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.data.history import History
from equipoise.data.outlook import Outlook


class ConstantRate:
    """The rates of a history, and what follows from them for each of its matches."""

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
        # Two of these make the scale of a difference 1.
        scale = np.full(len(centre), math.sqrt(0.5))
        return Outlook(centre=centre, scale=scale, curve="logistic")


def _leads(history: History, home: Flags) -> Floats:
    """Return ln(p/(1 - p)) of the rate p before every match; 0 but where one of two is at home.

    All members of a team are at home or none, else the match is one on neutral ground.
    """
    starts = history.offsets[:-1]
    at_home = np.add.reduceat(home, starts, dtype=np.int64)
    in_first = np.add.reduceat(home & (history.team == 0), starts, dtype=np.int64)
    first = np.add.reduceat(history.team == 0, starts, dtype=np.int64)
    others = history.sizes() - first
    two = history.teams() == 2
    first_home = two & (at_home == first) & (in_first == first)
    second_home = two & (at_home == others) & (in_first == 0)
    # Of two teams the one in row 0 of the match is team 0.
    best = history.rank[starts]
    score = np.where(history.distinct_ranks() == 1, 0.5, np.where(best == 0, 1.0, 0.0))
    points = np.where(first_home, score, np.where(second_home, 1.0 - score, 0.0))
    counts = first_home | second_home
    before = np.cumsum(counts) - counts
    earned = np.cumsum(points) - points
    rate = (1.0 + earned) / (2.0 + before)
    return np.where(counts, np.log(rate / (1.0 - rate)), 0.0)
