"""The performance of every player of a contest, as Codeforces infers it, in linear time.

Source: [CF]_, as the authors of [EM]_ ran it (READINGS B12). With the tail sum

    S(x) = sum over all j of 1/(1 + exp((x - mu_j) b)),    b = pi/(sqrt 3 beta),

a player at mu_i has the expected place s = 1/2 + S(mu_i), the place r, and the performance x with
S(x) = sqrt(r s) - 1/2. S is one function for the contest, and is prepared once
(`numeric/sigmoid_sum`).

Below the centre places are counted from the end: with s' = n + 1 - s, r' = n + 1 - r and the tail
S' = n - S, the equation is S'(x) = q' - 1/2, q' = n + 1 - sqrt(r s), and neither s' nor q' is
computed as a difference of large numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.chebyshev import NODES, evaluate_series
from equipoise.numeric.roots import MAX_ITERATIONS, newton_step
from equipoise.numeric.sigmoid_sum import (
    CHUNK,
    HALF_WIDTH,
    Sigmoids,
    TailScratch,
    empty_scratch,
    series_on_workers,
    tail_series,
    tail_sum,
)
from equipoise.numeric.workers import Workers

#: Terms are summed directly with fewer players, or with more intervals a player, than these.
DIRECT_BELOW, SPARSE_FROM = 50, 32

#: Points in an interval at which S is computed beforehand, to start searches.
_STARTS = 8

#: A Newton correction below this share of an interval is the last: the next would be its square.
_LAST_CORRECTION = 1e-7

#: A bracket this small, in intervals and in the size of the ratings, is at the limit of rounding.
_EXHAUSTED, _ROUNDING = 1e-12, 4e-16

#: A smaller slope counts as 0: far from all players the tail sum does not change.
_FLAT = 1e-280


class Side(NamedTuple):
    """One side of the contest, from the centre outwards.

    field : the players; centres are distances from the centre
    end : no root is further out
    series : of the tail sum, on intervals from 0 to `end` and beyond; empty: sum directly
    starts : the tail sum at `_STARTS` points an interval, falling; empty if `series` is
    """

    field: Sigmoids
    end: float
    series: Floats
    starts: Floats


class Curve(NamedTuple):
    """The tail sum of a contest, ready to be evaluated.

    upper, lower : the two sides
    centre : where they meet
    width : length of an interval
    resolution : smallest distance of two points that differ
    """

    upper: Side
    lower: Side
    centre: float
    width: float
    resolution: float


@kernel
def outline(ratings: Floats, slope: float) -> tuple[Curve, int, int]:
    """Return (the curve without series, intervals of its upper and of its lower side).

    ratings : shape (n,)
    slope : b
    """
    n = len(ratings)
    lowest, highest, total = ratings[0], ratings[0], 0.0
    for rating in ratings:
        lowest, highest = min(lowest, rating), max(highest, rating)
        total += rating
    centre = min(max(total / n, lowest), highest)
    slopes, ones, none = np.full(n, slope), np.ones(n), np.empty(0)
    # sqrt(r s) is at least 1, and S at most n exp(-(x - highest) b): 1/2 before this.
    beyond = math.log(2.0 * n) / slope
    upper = Side(Sigmoids(ratings - centre, slopes, ones), highest - centre + beyond, none, none)
    lower = Side(Sigmoids(centre - ratings, slopes, ones), centre - lowest + beyond, none, none)
    width = 2.0 * HALF_WIDTH / slope
    reach = max(upper.end, lower.end)
    resolution = max(_EXHAUSTED * width, _ROUNDING * (abs(centre) + reach))
    curve = Curve(upper, lower, centre, width, resolution)
    if n < DIRECT_BELOW or reach > SPARSE_FROM * n * width:
        return curve, 0, 0
    return curve, int(upper.end / width) + 1, int(lower.end / width) + 1


@kernel
def _with_series(side: Side, series: Floats, width: float) -> Side:
    """Return the side with its series and the starts of searches."""
    starts = np.empty(len(series) // NODES * _STARTS + 1)
    for k in range(len(starts)):
        starts[k], _ = evaluate_series(series, width, k * width / _STARTS)
    return Side(side.field, side.end, series, starts)


@kernel
def curve_on_one_thread(ratings: Floats, slope: float) -> Curve:
    """Return the tail sum of the contest."""
    bare, above, below = outline(ratings, slope)
    if above == 0:
        return bare
    width = bare.width
    upper = _with_series(bare.upper, tail_series(bare.upper.field, width, above), width)
    lower = _with_series(bare.lower, tail_series(bare.lower.field, width, below), width)
    return Curve(upper, lower, bare.centre, width, bare.resolution)


def curve_on_workers(ratings: Floats, slope: float, workers: Workers) -> Curve:
    """Return what `curve_on_one_thread` returns, the same bits, with many threads."""
    bare, above, below = outline(ratings, slope)
    if above == 0:
        return bare
    width = bare.width
    sides = ((bare.upper.field, above), (bare.lower.field, below))
    upper, lower = series_on_workers(sides, width, workers)
    return Curve(
        _with_series(bare.upper, upper, width),
        _with_series(bare.lower, lower, width),
        bare.centre,
        width,
        bare.resolution,
    )


@inner_kernel
def _tail(y: float, side: Side, width: float, scratch: TailScratch) -> tuple[float, float]:
    """Return (tail sum, derivative) at a distance y from the centre."""
    if len(side.series) > 0:
        return evaluate_series(side.series, width, y)
    return tail_sum(y, side.field, 0, len(side.field.centres), scratch)


@inner_kernel
def _bracket(side: Side, width: float, target: float) -> tuple[float, float, float]:
    """Return (low, high, guess) for the point at which the tail sum is `target`."""
    starts = side.starts
    if len(starts) == 0:
        return 0.0, side.end, 0.5 * side.end
    first, last = 0, len(starts) - 1
    while last - first > 1:
        middle = (first + last) // 2
        if starts[middle] >= target:
            first = middle
        else:
            last = middle
    fall = starts[first] - starts[last]
    share = (starts[first] - target) / fall if fall > 0.0 else 0.5
    step = width / _STARTS
    return first * step, last * step, (first + min(max(share, 0.0), 1.0)) * step


@inner_kernel
def _root(
    side: Side, width: float, resolution: float, target: float, scratch: TailScratch
) -> tuple[float, float]:
    """Return (point at which the tail sum is `target`, residual), below 0 if it converged."""
    low, high, y = _bracket(side, width, target)
    value = 0.0
    for iteration in range(MAX_ITERATIONS):
        tail, slope = _tail(y, side, width, scratch)
        value, rise = target - tail, -slope if slope < -_FLAT else 0.0
        if rise > 0.0 and abs(value) <= _LAST_CORRECTION * width * rise:
            return min(max(y - value / rise, low), high), -1.0
        y, low, high = newton_step(y, value, rise, low, high, iteration)
        if high - low <= resolution:
            return y, -1.0
    return y, abs(value)


@inner_kernel
def perform(
    curve: Curve,
    ratings: Floats,
    places: Floats,
    start: int,
    stop: int,
    expected_places: Floats,
    performances: Floats,
    scratch: TailScratch,
) -> float:
    """Write expected places and performances of players start:stop; return a residual.

    places : shape (n,), from 1, ties at their mean
    The residual is below 0 if all converged.
    """
    n, width = len(ratings), curve.width
    at_centre, _ = _tail(0.0, curve.upper, width, scratch)
    worst = -1.0
    for i in range(start, stop):
        y = ratings[i] - curve.centre
        if y >= 0.0:
            above, _ = _tail(y, curve.upper, width, scratch)
            expected, from_end = 0.5 + above, n + 0.5 - above
        else:
            below, _ = _tail(-y, curve.lower, width, scratch)
            expected, from_end = n + 0.5 - below, 0.5 + below
        expected_places[i] = expected
        target = math.sqrt(places[i] * expected) - 0.5
        if target <= at_centre:
            y, left = _root(curve.upper, width, curve.resolution, target, scratch)
            performances[i] = curve.centre + y
        else:
            # N - sqrt((N - r')(N - s')) = N u/(1 + sqrt(1 - u)), u = (r' + s' - r' s'/N)/N
            most = n + 1.0
            place = most - places[i]
            u = (place + from_end - place * from_end / most) / most
            target = most * u / (1.0 + math.sqrt(1.0 - u)) - 0.5
            y, left = _root(curve.lower, width, curve.resolution, target, scratch)
            performances[i] = curve.centre - y
        worst = max(worst, left)
    return worst


@kernel
def perform_on_one_thread(
    ratings: Floats, places: Floats, slope: float
) -> tuple[Floats, Floats, float]:
    """Return (expected places, performances, each of shape (n,), and a residual).

    The residual is below 0 if all converged.
    """
    n = len(ratings)
    expected, performances = np.empty(n), np.empty(n)
    curve = curve_on_one_thread(ratings, slope)
    residual = perform(curve, ratings, places, 0, n, expected, performances, empty_scratch())
    return expected, performances, residual


def perform_on_workers(
    ratings: Floats, places: Floats, slope: float, workers: Workers
) -> tuple[Floats, Floats, float]:
    """Return what `perform_on_one_thread` returns, the same bits, with many threads."""
    n = len(ratings)
    expected, performances = np.empty(n), np.empty(n)
    curve = curve_on_workers(ratings, slope, workers)
    residuals = np.full((n + CHUNK - 1) // CHUNK, -1.0)

    def work(number: int, start: int, stop: int) -> None:
        residuals[number] = perform(
            curve, ratings, places, start, stop, expected, performances, empty_scratch()
        )

    workers.each_chunk(n, CHUNK, work)
    return expected, performances, float(residuals.max())
