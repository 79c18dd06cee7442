"""Phase one of Elo-MMR against the nearest-rated opponents only (READINGS B6).

Source: [EM]_ section 5.3, adaptive subsampling: a fixed number of participants whose ratings are
closest. An approximation; exact performances (`elo_mmr_performance`) cost less in large fields.
"""

from __future__ import annotations

import numpy as np

from equipoise._jit import kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.roots import MAX_ITERATIONS, newton_step
from equipoise.numeric.sigmoid_sum import Sigmoids, TailScratch, empty_scratch, tail_sum

_LAST_CORRECTION = 1e-7


@kernel
def solve_nearest(
    ratings: Floats, slopes: Floats, places: Ints, split_ties: bool, opponents: int
) -> tuple[Floats, float]:
    """Return (performances, shape (n,), and a residual, below 0 if all converged).

    ratings, slopes : shape (n,), in the order of the places; opponents : below n - 1.
    """
    n = len(ratings)
    place = np.empty(n, np.int64)
    for g in range(len(places) - 1):
        place[places[g] : places[g + 1]] = g
    by_rating = np.argsort(ratings, kind="mergesort")
    sorted_ratings = ratings[by_rating]
    scratch = empty_scratch()
    performances = np.empty(n)
    worst = -1.0
    low = 0
    for position in range(n):
        # The window of the nearest slides upwards with the rating.
        while low + opponents + 1 < n and (
            sorted_ratings[low + opponents + 1] - sorted_ratings[position]
            < sorted_ratings[position] - sorted_ratings[low]
        ):
            low += 1
        low = min(max(low, position - opponents), position)
        window = by_rating[low : min(low + opponents + 1, n)]
        i = by_rating[position]
        performances[i], residual = _solve_against(
            i, window, ratings, slopes, place, split_ties, scratch
        )
        worst = max(worst, residual)
    return performances, worst


@kernel
def _solve_against(
    i: int,
    window: Ints,
    ratings: Floats,
    slopes: Floats,
    place: Ints,
    split_ties: bool,
    scratch: TailScratch,
) -> tuple[float, float]:
    """Return (performance of player i against the players of `window`, residual).

    Solves sum_j a_j (1 + [j ties i])/(1 + e^..) = sum of a_j of those who beat or tie i.
    """
    count = len(window)
    centres, steepness, weights = np.empty(count), np.empty(count), np.empty(count)
    target, gentlest = 0.0, np.inf
    for k in range(count):
        j = window[k]
        centres[k], steepness[k], weights[k] = ratings[j], slopes[j], slopes[j]
        gentlest = min(gentlest, slopes[j])
        if place[j] < place[i]:
            target += slopes[j]
        elif place[j] == place[i]:
            target += 0.5 * slopes[j] if split_ties else slopes[j]
            weights[k] *= 1.0 if split_ties else 2.0
    field = Sigmoids(centres, steepness, weights)
    step = 1.0 / gentlest
    low = high = ratings[i]
    while tail_sum(low, field, 0, count, scratch)[0] < target:
        low -= step
        step *= 2.0
    step = 1.0 / gentlest
    while tail_sum(high, field, 0, count, scratch)[0] > target:
        high += step
        step *= 2.0
    x, value = 0.5 * (low + high), 0.0
    for iteration in range(MAX_ITERATIONS):
        total, slope = tail_sum(x, field, 0, count, scratch)
        value, slope = target - total, -slope
        if abs(value) <= _LAST_CORRECTION * slope / gentlest:
            return x - value / slope, -1.0
        x, low, high = newton_step(x, value, slope, low, high, iteration)
        if high - low <= 1e-12 / gentlest:
            return x, -1.0
    return x, abs(value)
