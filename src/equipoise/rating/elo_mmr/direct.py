"""Phase one of Elo-MMR by the definition: the sum of all opponents' terms.

Source: [EM]_ Theorem 3.2 and section 3.1. It is used for few players.

Logistic model: with F_j the distribution function of opponent j's performance, Q(x) is a sum of
-F_j over those who did better, 1 - F_j over those who did worse, and both over those who tied.
If players form groups with very different ratings, the root is between the groups, where all F_j
are 0 or 1 except for tails of, say, 1e-9. So whole numbers and tails are summed separately, and the
tails, which keep all their digits, determine the root.

Gaussian model: with z = (x - mu_j)/delta_j a loss is -hazard(z), a win hazard(-z) and a tie -z,
each over delta_j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._jit import Option, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.functions import (
    LAST_CORRECTION,
    MAX_ITERATIONS,
    exp,
    newton_step,
    normal_hazard,
)
from equipoise.numeric.sums import lane_sum

#: With fewer players the terms are summed directly.
DIRECT_BELOW = 50

#: A bracket this small, in scales, is at the limit of rounding.
_EXHAUSTED = 1e-13


class Results(NamedTuple):
    """One player's results, each array of shape (n,); the last three are working memory.

    rating, slope : prior mu and 1/delta_bar (Gaussian: 1/delta) of all opponents and the player
    lost, won : slope times 1 if the opponent did better, or worse; both for a tie (also for the
        player), half of both if ties are split, or the weights of a tie
    tied : slope if a tie is a term of its own: Gaussian ties that are not split
    """

    rating: Floats
    slope: Floats
    lost: Floats
    won: Floats
    tied: Floats
    whole: Floats
    tails: Floats
    rise: Floats


@kernel
def _room_for(n: int) -> Results:
    """Return empty results for n opponents."""
    m = np.empty((8, n))
    return Results(m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7])


class Ties(NamedTuple):
    """The term of a tie: so much of a loss and of a win, and `own` times a term of its own."""

    lost: float
    won: float
    own: float


@inner_kernel
def ties_of(split_ties: bool, gaussian: Option) -> Ties:
    """Return the term of a tie in this model (READINGS B3)."""
    if split_ties:
        return Ties(0.5, 0.5, 0.0)
    # f'/f of the logistic density is F's loss plus its win; that of the normal density is not.
    return Ties(1.0, 1.0, 0.0) if gaussian is None else Ties(0.0, 0.0, 1.0)


@inner_kernel
def _meet(met: Results, k: int, rating: float, slope: float, result: int, ties: Ties) -> None:
    """Fill in opponent k; result: 1 beaten by the player, 0 tied, -1 did better."""
    met.rating[k], met.slope[k] = rating, slope
    met.lost[k] = slope * (ties.lost if result == 0 else 1.0 if result < 0 else 0.0)
    met.won[k] = slope * (ties.won if result == 0 else 1.0 if result > 0 else 0.0)
    met.tied[k] = slope * (ties.own if result == 0 else 0.0)


@inner_kernel
def _equation(x: float, met: Results, gaussian: Option) -> tuple[float, float]:
    """Return (-Q(x), -Q'(x)), which rises with x."""
    if gaussian is None:
        return _logistic_equation(x, met)
    return _normal_equation(x, met)


@inner_kernel
def _normal_equation(x: float, met: Results) -> tuple[float, float]:
    """Return (-Q(x), -Q'(x)) of the Gaussian model."""
    n = len(met.rating)
    for j in range(n):
        slope, lost, won, tied = met.slope[j], met.lost[j], met.won[j], met.tied[j]
        z = (x - met.rating[j]) * slope
        # The hazard h has the derivative h (h - z).
        losing, winning = normal_hazard(z), normal_hazard(-z)
        met.tails[j] = lost * losing - won * winning + tied * z
        rise = lost * losing * (losing - z) + won * winning * (winning + z) + tied
        met.rise[j] = rise * slope
    return lane_sum(met.tails, n), lane_sum(met.rise, n)


@inner_kernel
def _logistic_equation(x: float, met: Results) -> tuple[float, float]:
    """Return (-Q(x), -Q'(x)) of the logistic model."""
    n = len(met.rating)
    for j in range(n):
        slope, lost, won = met.slope[j], met.lost[j], met.won[j]
        distance = (x - met.rating[j]) * slope
        # F_j is 1 - tail if x is above the opponent, and tail below.
        tail = 1.0 / (1.0 + exp(abs(distance)))
        met.whole[j] = lost if distance >= 0.0 else -won
        met.tails[j] = (lost + won) * (-tail if distance >= 0.0 else tail)
        met.rise[j] = (lost + won) * slope * tail * (1.0 - tail)
    return lane_sum(met.whole, n) + lane_sum(met.tails, n), lane_sum(met.rise, n)


@inner_kernel
def performance_against(met: Results, own_rating: float, gaussian: Option) -> tuple[float, float]:
    """Return (zero of Q, residual); a residual below 0 says converged."""
    gentlest = met.slope[0]
    for slope in met.slope:
        gentlest = min(gentlest, slope)
    scale = 1.0 / gentlest
    low = high = own_rating
    step = scale
    while _equation(low, met, gaussian)[0] > 0.0:
        low, high = low - step, low
        step *= 2.0
    step = scale
    while _equation(high, met, gaussian)[0] < 0.0:
        low, high = high, high + step
        step *= 2.0
    x, value = 0.5 * (low + high), 0.0
    for iteration in range(MAX_ITERATIONS):
        value, rise = _equation(x, met, gaussian)
        if abs(value) <= LAST_CORRECTION * scale * rise:
            return min(max(x - value / rise, low), high), -1.0
        x, low, high = newton_step(x, value, rise, low, high, iteration)
        if high - low <= _EXHAUSTED * scale:
            return x, -1.0
    return x, abs(value)


@kernel
def solve_directly(
    rating: Floats, slope: Floats, places: Ints, ties: Ties, gaussian: Option
) -> tuple[Floats, float]:
    """Return (performances, shape (places,), and a residual, below 0 if all converged).

    rating, slope : shape (n,), in the order of the places
    """
    met = _room_for(len(rating))
    performances = np.empty(len(places) - 1)
    worst = -1.0
    for g in range(len(performances)):
        for j in range(len(rating)):
            result = -1 if j < places[g] else 0 if j < places[g + 1] else 1
            _meet(met, j, rating[j], slope[j], result, ties)
        performances[g], residual = performance_against(met, rating[places[g]], gaussian)
        worst = max(worst, residual)
    return performances, worst
