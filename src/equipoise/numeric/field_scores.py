"""Expected scores of everyone against everyone else, in linear time.

score_i = sum over j != i of logistic((x_i - x_j) slope_j): how many of the others player i, at
x_i, is expected to beat. Small fields are summed directly, large ones by `sigmoid_sum`.
"""

from __future__ import annotations

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.chebyshev import evaluate_series
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


@inner_kernel
def _direct(field: Sigmoids, scores: Floats, scratch: TailScratch) -> None:
    n = len(scores)
    for i in range(n):
        above, _ = tail_sum(field.centres[i], field, 0, n, scratch)
        # One's own curve is one half at its centre.
        scores[i] = n - above - 0.5


@kernel
def scores_against_field(positions: Floats, slopes: Floats) -> Floats:
    """Return every player's expected score against all others, shape (n,), from 0 to n - 1.

    positions, slopes : shape (n,), slopes positive: 1/scale of the curve of that player
    """
    n = len(positions)
    ones, scores = np.ones(n), np.empty(n)
    lowest, highest, steepest = positions[0], positions[0], slopes[0]
    for j in range(n):
        lowest, highest = min(lowest, positions[j]), max(highest, positions[j])
        steepest = max(steepest, slopes[j])
    centre = 0.5 * (lowest + highest)
    width = 2.0 * HALF_WIDTH / steepest
    intervals = int((highest - centre) / width) + 1
    upper_field = Sigmoids(positions - centre, slopes, ones)
    if n < DIRECT_BELOW or intervals > n:
        _direct(upper_field, scores, empty_scratch())
        return scores
    upper = tail_series(upper_field, width, intervals)
    lower = tail_series(Sigmoids(centre - positions, slopes, ones), width, intervals)
    for i in range(n):
        y = positions[i] - centre
        if y >= 0.0:
            above, _ = evaluate_series(upper, width, y)
            scores[i] = n - above - 0.5
        else:
            below, _ = evaluate_series(lower, width, -y)
            scores[i] = below - 0.5
    return scores
