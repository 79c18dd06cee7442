"""Win, draw and loss in matches of two teams: their chances before each match, and their metrics.

The chances are those of `rating.predicting`: a system that models draws has a margin, and for all
others the draw probability of equals follows from the matches before, from the fiftieth on. Here
the sums run along the history, so a match is predicted from earlier matches only.

The logarithmic loss is -ln of the probability of the outcome, in nats. The ranked probability score
is ((w - W)^2 + (l - L)^2)/2, with the probabilities w of a win and l of a loss, and W and L 1 if
that happened and 0 otherwise: the mean square of the cumulative differences over the two steps of
win, draw and loss (E. S. Epstein, A scoring system for probability forecasts of ranked categories,
1969). Both are scored where the history has draws, as without them the losses of pairs say it all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.rating.state import LEAST_MATCHES
from equipoise.rating.system import ModelsDraws, models_draws

#: An outcome with a smaller probability is scored as if it had this one.
_LEAST = 1e-6


class Outcomes(NamedTuple):
    """Predictions of K matches of two teams, from the side of the team whose row comes first.

    match : shape (K,), number in the history
    expected : shape (K,), win probability + draw/2
    draw : shape (K,), NaN if unknown
    score : shape (K,), what happened: 1, 1/2 or 0
    """

    match: Ints
    expected: Floats
    draw: Floats
    score: Floats

    def some(self, rows: Flags) -> Outcomes:
        """Return those of some matches, shape (K,)."""
        return Outcomes._make(column[rows] for column in self)

    def win(self) -> Floats:
        """Return the probability that the first team wins, shape (K,)."""
        return np.asarray(np.maximum(self.expected - 0.5 * self.draw, 0.0))

    def loss(self) -> Floats:
        """Return the probability that the second team wins, shape (K,)."""
        return np.asarray(np.maximum(1.0 - self.expected - 0.5 * self.draw, 0.0))

    def scores(self) -> tuple[Floats, Floats]:
        """Return log loss and ranked probability score, shape (K,); NaN without draws."""
        win, loss = self.win(), self.loss()
        happened = np.select([self.score == 1.0, self.score == 0.0], [win, loss], self.draw)
        squares = (win - (self.score == 1.0)) ** 2 + (loss - (self.score == 0.0)) ** 2
        return -np.log(np.maximum(happened, _LEAST)), 0.5 * squares


class OutcomePredictor:
    """The chances of win, draw and loss of one predictor, along a history.

    system : whose margin of a draw counts; None, or one without, for the estimate from the past
    """

    def __init__(self, history: History, system: object) -> None:
        self._history = history
        self._two = history.teams() == 2
        self._tied = history.distinct_ranks() == 1
        self._margin = _margin_of(system) if models_draws(system) else None
        # Matches counted, draws, sum of 4 E (1 - E): the sums of `rating.state`.
        self._sums = np.zeros(3)
        #: whether two teams draw anywhere in the history
        self.has_draws = bool((self._two & self._tied).any())

    def predict(self, start: int, stop: int, players: Outlook, teams: Outlook) -> Outcomes:
        """Return the outcomes of the matches of two teams in start:stop, the next ones.

        players, teams : outlook of the participations, and of the teams of all these matches
        """
        two = self._two[start:stop]
        match = start + np.flatnonzero(two)
        counts = self._history.teams()[start:stop]
        first = (np.cumsum(counts) - counts)[two]
        lead = teams.centre[first] - teams.centre[first + 1]
        scale = np.hypot(teams.scale[first], teams.scale[first + 1])
        rank = self._history.rank[self._history.offsets[match]]
        score = np.where(self._tied[match], 0.5, np.where(rank == 0, 1.0, 0.0))
        if self._margin is None:
            expected = chance(lead / scale, teams.curve)
            draw = self._estimated(expected, chance(-lead / scale, teams.curve), score)
        else:
            margin = self._margins(match, start, players)
            win = chance((lead - margin) / scale, teams.curve)
            lost = chance((-lead - margin) / scale, teams.curve)
            draw = np.where(margin > 0.0, np.maximum(1.0 - win - lost, 0.0), 0.0)
            expected = win + 0.5 * draw
        if not self.has_draws:
            draw = np.zeros(len(match))
        return Outcomes(match, expected, draw, score)

    def _estimated(self, expected: Floats, other: Floats, score: Floats) -> Floats:
        """Return min(4 r E (1 - E), 2 E, 2 (1 - E)), with r from the matches before each."""
        known = ~np.isnan(expected)
        terms = np.array([known, known & (score == 0.5), 4.0 * expected * other])
        terms = np.where(known, terms, 0.0).T
        # In the order of matches, so that the sums do not depend on the pieces.
        after = np.cumsum(np.vstack([self._sums, terms]), axis=0)
        matches, draws, spread = after[:-1].T
        self._sums = after[-1]
        enough = (matches >= LEAST_MATCHES) & (spread > 0.0)
        rate = np.minimum(draws / np.where(enough, spread, np.nan), 1.0)
        at_most = 2.0 * np.minimum(expected, other)
        return np.asarray(np.minimum(4.0 * rate * expected * other, at_most))

    def _margins(self, match: Ints, start: int, players: Outlook) -> Floats:
        """Return the margin of a draw in each match, shape (K,)."""
        offsets = self._history.offsets
        begin, sizes = offsets[match] - offsets[start], offsets[match + 1] - offsets[match]
        sums = np.concatenate([[0.0], np.cumsum(players.centre)])
        mean = (sums[begin + sizes] - sums[begin]) / sizes
        assert self._margin is not None
        pairs = zip(sizes.tolist(), mean.tolist(), strict=True)
        return np.array([self._margin(*pair) for pair in pairs], dtype=np.float64)


def _margin_of(system: ModelsDraws) -> Callable[[int, float], float]:
    """Return the margin as a function of the number of players and the mean of their ratings."""
    if getattr(system, "draw_rule", "constant") != "constant":
        return system.draw_margin
    of_size = cache(system.draw_margin)
    return lambda players, rating: of_size(players)
