"""The performance rating as FIDE publishes it: average opponent plus a number from a table.

Source: [FIDE]_ B.02 for the table of fractional score and rating difference, C.07 for the
tie-break called TPR there: average rating of opponents, rounded, plus dp.
Departures: none by default; `rounded` = False keeps the average as it is.
"""

from __future__ import annotations

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.performance.results import Results, as_results, tally_of

#: dp for a score of 100, 99, ... 50 per cent; below, dp(p) = -dp(1 - p).
_UPPER_HALF = (
    *(800, 677, 589, 538, 501, 470, 444, 422, 401, 383),
    *(366, 351, 336, 322, 309, 296, 284, 273, 262, 251),
    *(240, 230, 220, 211, 202, 193, 184, 175, 166, 158),
    *(149, 141, 133, 125, 117, 110, 102, 95, 87, 80),
    *(72, 65, 57, 50, 43, 36, 29, 21, 14, 7),
    0,
)
#: The same for 0, 1, ... 100 per cent.
RATING_DIFFERENCE: Floats = np.array(
    [-dp for dp in _UPPER_HALF[:-1]] + list(reversed(_UPPER_HALF)), dtype=np.float64
)
RATING_DIFFERENCE.setflags(write=False)


def rating_difference(points: Floats, games: Floats) -> Floats:
    """Return FIDE's dp of scores, rounded to whole per cent, of which 0.5 goes up.

    points, games : any shape; NaN where there are no games
    """
    with np.errstate(invalid="ignore"):
        # 100 m/k, not 100 (m/k): of whole and half points a half comes out exact.
        percent = _half_up(100.0 * points / games)
    known = np.isfinite(percent)
    found = RATING_DIFFERENCE[np.where(known, percent, 0.0).astype(np.int64)]
    return np.asarray(np.where(known, found, np.nan))


@checks_arguments()
def fide_performance(results: Results | Games, *, rounded: bool = True) -> Floats:
    """Return the performance rating by FIDE's table, shape (N,).

    NaN without a game against a rated opponent; 800 points from the average at 0 % and 100 %.

    rounded : the average opponent to a whole number, as FIDE has it, of which 0.5 goes up
    """
    average, games, points, _ = tally_of(as_results(results))
    base = _half_up(average) if rounded else average
    return np.asarray(base + rating_difference(points, games))


def _half_up(values: Floats) -> Floats:
    """Return values to the nearest whole number, of two equally near the greater."""
    return np.asarray(np.floor(values + 0.5))
