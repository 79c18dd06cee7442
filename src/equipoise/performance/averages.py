"""Performance ratings made of the average opponent and the score alone.

Source: [CPR]_ for the complete performance rating; the linear one is the "algorithm of 400" of
chess organisers, (sum of opponents' ratings + 400 (wins - losses))/games.
Departures: `scale` is beta of [PRE]_ Def. 3; with it a difference of ratings counts for what
difference/beta counts for otherwise, so that every distance from the average is beta times as long.
"""

from __future__ import annotations

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.errors import require
from equipoise.performance.results import Results, as_results, tally_of

#: Rating points of a tenfold in the odds of a game, and of a game won in the linear formula.
POINTS = 400.0


def average_opponent(results: Results | Games) -> Floats:
    """Return the mean rating of every player's rated opponents, shape (N,).

    Every game counts, by its weight: who is met twice counts twice. NaN without such a game.
    """
    return tally_of(as_results(results)).average


@checks_arguments("scale")
def complete_performance(results: Results | Games, *, scale: float = 1.0) -> Floats:
    """Return the complete performance rating (CPR) [CPR]_, shape (N,), finite at 0 % and 100 %.

    It is the rating that stays what it is after the player's games and one more: a draw against
    somebody of the same rating. NaN without a game against a rated opponent.

    scale : beta, above 0
    Raises : InvalidParameterError   `scale` is out of range
    """
    _check(scale)
    average, games, points, lost = tally_of(as_results(results))
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = (games + 1) / games
        # log10((k + 1/2 - m)/(m + 1/2)), and k - m is what was lost.
        distance = factor * POINTS * np.log10((lost + 0.5) / (points + 0.5))
        return np.asarray(average - scale * distance)


@checks_arguments("scale")
def linear_performance(results: Results | Games, *, scale: float = 1.0) -> Floats:
    """Return average + 400 (2 m - k)/k, shape (N,); NaN without a game against a rated opponent.

    scale : beta, above 0
    Raises : InvalidParameterError   `scale` is out of range
    """
    _check(scale)
    average, games, points, lost = tally_of(as_results(results))
    with np.errstate(invalid="ignore"):
        return np.asarray(average + scale * POINTS * (points - lost) / games)


def _check(scale: float) -> None:
    require(0 < scale < np.inf, "scale", "a number above 0", scale)
