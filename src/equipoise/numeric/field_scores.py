"""Expected scores of all players against all others, in linear time.

score_i = sum over j != i of F((x_i - x_j) slope_j) is the expected number of the others that
player i, at x_i, beats; F is the logistic or the normal distribution function. Small fields are
summed directly, large ones by piecewise Chebyshev series, for logistic curves as in `sigmoid_sum`.
"""

from __future__ import annotations

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.chebyshev import NODES, evaluate_series, interval_points, to_series
from equipoise.numeric.normal import normal_cdf
from equipoise.numeric.sigmoid_sum import (
    HALF_WIDTH,
    Sigmoids,
    TailScratch,
    empty_scratch,
    tail_series,
    tail_sum,
)

#: Fields smaller than this are summed directly.
DIRECT_BELOW = 50

#: Half an interval of the normal series in units of the smallest scale. The coefficients of
#: exp(-x^2/2) there fall below 1e-14 well before the 24th.
_NORMAL_HALF_WIDTH = 1.6


@inner_kernel
def _direct(field: Sigmoids, scores: Floats, slopes: Floats, scratch: TailScratch) -> None:
    n, total = len(scores), field.weights.sum()
    for i in range(n):
        above, fall = tail_sum(field.centres[i], field, 0, n, scratch)
        scores[i], slopes[i] = total - above, -fall


@kernel
def weighted_scores(positions: Floats, slopes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return sum over j != i of weight_j F((x_i - x_j) slope_j), and its derivative by x_i.

    positions, slopes, weights : shape (n,), slopes and weights positive
    """
    n, total = len(positions), weights.sum()
    scores, falls = np.empty(n), np.empty(n)
    lowest, highest, steepest = positions[0], positions[0], slopes[0]
    for j in range(n):
        lowest, highest = min(lowest, positions[j]), max(highest, positions[j])
        steepest = max(steepest, slopes[j])
    centre = 0.5 * (lowest + highest)
    width = 2.0 * HALF_WIDTH / steepest
    intervals = int((highest - centre) / width) + 1
    upper_field = Sigmoids(positions - centre, slopes, weights)
    if n < DIRECT_BELOW or intervals > n:
        _direct(upper_field, scores, falls, empty_scratch())
    else:
        upper = tail_series(upper_field, width, intervals)
        lower = tail_series(Sigmoids(centre - positions, slopes, weights), width, intervals)
        for i in range(n):
            y = positions[i] - centre
            if y >= 0.0:
                above, fall = evaluate_series(upper, width, y)
                scores[i], falls[i] = total - above, -fall
            else:
                below, fall = evaluate_series(lower, width, -y)
                scores[i], falls[i] = below, -fall
    for i in range(n):
        # The player's own curve at its centre.
        scores[i] -= 0.5 * weights[i]
        falls[i] -= 0.25 * weights[i] * slopes[i]
    return scores, falls


@kernel
def scores_against_field(positions: Floats, slopes: Floats) -> Floats:
    """Return every player's expected score against all others, shape (n,), from 0 to n - 1.

    positions, slopes : shape (n,), slopes positive: 1/scale of the curve of that player
    """
    scores, _ = weighted_scores(positions, slopes, np.ones(len(positions)))
    return scores


@inner_kernel
def _add_normal(centre: float, slope: float, low: float, points: Floats, sums: Floats) -> None:
    """Add F of one player at the nodes of an interval to `sums`, shape (NODES,)."""
    for v in range(np.uint64(NODES)):
        sums[v] += normal_cdf((low + points[v] - centre) * slope)


@inner_kernel
def _normal_directly(positions: Floats, slopes: Floats, scores: Floats) -> None:
    for i in range(len(scores)):
        total = -0.5  # the player's own curve at its centre
        for j in range(len(scores)):
            total += normal_cdf((positions[i] - positions[j]) * slopes[j])
        scores[i] = total


@kernel
def normal_scores_against_field(positions: Floats, slopes: Floats) -> Floats:
    """Return what `scores_against_field` does, for normal curves; slopes are 1/deviation."""
    n, lowest, steepest = len(positions), positions.min(), slopes.max()
    scores = np.empty(n)
    width = 2.0 * _NORMAL_HALF_WIDTH / steepest
    intervals = int((positions.max() - lowest) / width) + 1
    if n < DIRECT_BELOW or intervals * NODES > n:
        _normal_directly(positions, slopes, scores)
        return scores
    points, sums = np.empty(NODES), np.zeros(intervals * NODES)
    interval_points(width, points)
    for k in range(intervals):
        part = sums[k * NODES : (k + 1) * NODES]
        for j in range(n):
            _add_normal(positions[j] - lowest, slopes[j], k * width, points, part)
    to_series(sums)
    for i in range(n):
        value, _ = evaluate_series(sums, width, positions[i] - lowest)
        scores[i] = value - 0.5
    return scores
