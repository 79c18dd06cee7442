"""Sums with a fixed order, and sums of many sigmoids and of expected scores in linear time.

An interval k covers [k width, (k + 1) width]. Its function is given at `NODES` Chebyshev points
of the first kind and becomes a series sum_m c_m T_m(t), t in [-1, 1].

The tail sum of n logistic curves with centres m_j, slopes b_j = 1/scale_j and weights w_j is

    S(y) = sum_j w_j / (1 + exp((y - m_j) b_j)),

the weighted number of players expected above y. It is analytic in the strip
|Im y| < pi min(scale), so it is interpolated on intervals of half-width `HALF_WIDTH` scales:
the Bernstein ellipse through the nearest pole has parameter rho = r + sqrt(1 + r^2) with
r = pi/1.8, hence 24 points leave rho^-24 = 1.6e-14 of the local maximum.

From one interval to the next exp((y - m_j) b_j) at the same node changes by a factor that
depends on j alone. So a node costs one multiplication a player and one division for four players.

Arguments are distances from a centre. Both sides of the centre are treated in the same way (the
lower side mirrored), so that on each side only the smaller tail is summed: nothing cancels, and the
last places of a contest are as exact as the first.

score_i = sum over j != i of F((x_i - x_j) slope_j) is the expected number of the others that
player i, at x_i, beats; F is the logistic or the normal distribution function. Small fields are
summed directly, large ones by piecewise Chebyshev series, for logistic curves as above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.functions import exp, normal_cdf
from equipoise.numeric.workers import Workers

#: Terms computed as vectors before they are summed.
BLOCK = 256

#: Bits of the sums of whole numbers of `exact_sum`; a sum of int64 may have 63.
_SUM_BITS, _FINE_BITS = 62, 42

#: Points an interval. 24 is three vectors of 8 float64, and enough for 1e-14 (see sigmoid_sum).
NODES = 24

#: Half the length of an interval in units of the smallest scale.
HALF_WIDTH = 1.8

#: Intervals after which exponentials are computed again; in between they grow by at most e^58.
_RESEED = 16

#: Bound of exponents when they are computed, so that a product of four of them stays finite while
#: they grow; the error is below e^-60 of a weight.
_LARGEST_SEED = 60.0

#: Beyond this exponent a sigmoid is 0 or 1 to less than 1e-19.
_SATURATED = 45.0

#: Players summed together before the parts are added up in order. The sum depends on this number
#: and not on threads, and rounding grows with its square root instead of n's.
CHUNK = 1024

#: Fields smaller than this are summed directly.
DIRECT_BELOW = 50

#: Half an interval of the normal series in units of the smallest scale. The coefficients of
#: exp(-x^2/2) there fall below 1e-14 well before the 24th.
_NORMAL_HALF_WIDTH = 1.6


@inner_kernel
def lane_sum(values: Floats, count: int | np.uint64) -> float:
    """Return the sum of values[:count] by eight interleaved running sums."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    count = int(count)
    whole = count // 8 * 8
    for i in range(0, whole, 8):
        s0 += values[i]
        s1 += values[i + 1]
        s2 += values[i + 2]
        s3 += values[i + 3]
        s4 += values[i + 4]
        s5 += values[i + 5]
        s6 += values[i + 6]
        s7 += values[i + 7]
    rest = 0.0
    for i in range(whole, count):
        rest += values[i]
    return (((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))) + rest


@inner_kernel
def exact_sum(values: Floats, count: int) -> float:
    """Return the sum of values[:count], the same bits in any order of the values.

    Every value is cut into two whole numbers of steps, and whole numbers add up without rounding.
    The steps are powers of two: the first is so coarse that no sum overflows, and the second is
    finer than the last digit of all that matters. Fewer than 2^20 values keep their digits.
    """
    largest = 0.0
    for i in range(count):
        largest = max(largest, abs(values[i]))
    if not 1e-200 < largest < 1e200:
        return 0.0 if largest <= 1e-200 else math.nan
    _, exponent = math.frexp(largest * count)
    step = math.ldexp(1.0, exponent - _SUM_BITS)
    fine = math.ldexp(step, -_FINE_BITS)
    coarse_steps, fine_steps = 0, 0
    for i in range(count):
        steps = int(values[i] / step)
        coarse_steps += steps
        fine_steps += int((values[i] - steps * step) / fine)
    return coarse_steps * step + fine_steps * fine


# math.cos, not numpy.cos: the bits of the latter depend on the vector instructions of the CPU.
_ANGLES = [math.pi * (v + 0.5) / NODES for v in range(NODES)]


def chebyshev_points() -> Floats:
    """Return the `NODES` Chebyshev points of the first kind on [-1, 1], ascending."""
    return np.array([-math.cos(angle) for angle in _ANGLES])


def _values_to_series() -> Floats:
    """Return the matrix that takes values at `chebyshev_points` to coefficients."""
    cosines = [[math.cos(m * (math.pi - angle)) for angle in _ANGLES] for m in range(NODES)]
    matrix = 2.0 / NODES * np.array(cosines)
    matrix[0] /= 2.0
    return matrix


_POINTS = chebyshev_points()
_TO_SERIES = _values_to_series()


@inner_kernel
def interval_points(width: float, points: Floats) -> None:
    """Write the nodes of the interval [0, width] to `points`, shape (NODES,)."""
    for v in range(NODES):
        points[v] = 0.5 * width * (1.0 + _POINTS[v])


@kernel
def to_series(values: Floats) -> None:
    """Replace node values by series coefficients in place; shape (intervals * NODES,)."""
    column = np.empty(NODES)
    for base in range(0, len(values), NODES):
        for v in range(NODES):
            column[v] = values[base + v]
        for m in range(NODES):
            total = 0.0
            for v in range(NODES):
                total += _TO_SERIES[m, v] * column[v]
            values[base + m] = total


@inner_kernel
def evaluate_series(series: Floats, width: float, y: float) -> tuple[float, float]:
    """Return (value, derivative) at y of the piecewise series; y beyond the ends extrapolates."""
    last = len(series) // NODES - 1
    k = min(max(int(y / width), 0), last)
    t = 2.0 * (y / width - k) - 1.0
    base = k * NODES
    # Clenshaw for the value, and the same recurrence differentiated by t.
    b1, b2, d1, d2 = 0.0, 0.0, 0.0, 0.0
    for m in range(NODES - 1, 0, -1):
        d1, d2 = 2.0 * b1 + 2.0 * t * d1 - d2, d1
        b1, b2 = series[base + m] + 2.0 * t * b1 - b2, b1
    value = series[base] + t * b1 - b2
    slope = b1 + t * d1 - d2
    return value, slope * (2.0 / width)


class Sigmoids(NamedTuple):
    """n logistic curves; every array of shape (n,), slopes and weights positive.

    centres : where each curve is one half
    slopes : 1/scale
    weights : height
    """

    centres: Floats
    slopes: Floats
    weights: Floats


class TailScratch(NamedTuple):
    """Working memory of `tail_sum`, each of shape (BLOCK,)."""

    terms: Floats
    falls: Floats


@inner_kernel
def tail_sum(
    y: float, sigmoids: Sigmoids, start: int, stop: int, scratch: TailScratch
) -> tuple[float, float]:
    """Return (S(y), S'(y)) of players start:stop, directly."""
    centres, slopes, weights = sigmoids.centres, sigmoids.slopes, sigmoids.weights
    total, fall = 0.0, 0.0
    for base in range(start, stop, BLOCK):
        # Unsigned, so that Numba leaves out the test for negative indices.
        first, count = np.uint64(base), np.uint64(min(BLOCK, stop - base))
        for i in range(count):
            slope, weight = slopes[first + i], weights[first + i]
            above = 1.0 / (1.0 + exp((y - centres[first + i]) * slope))
            scratch.terms[i] = weight * above
            scratch.falls[i] = weight * above * slope * (1.0 - above)
        total += lane_sum(scratch.terms, count)
        fall += lane_sum(scratch.falls, count)
    return total, -fall


@kernel
def add_tail_nodes(sigmoids: Sigmoids, start: int, stop: int, width: float, sums: Floats) -> None:
    """Add S of players start:stop at every node to `sums`, shape (intervals * NODES,).

    width : of an interval, at most 2 HALF_WIDTH / (the largest slope)
    """
    centres, slopes, weights = sigmoids.centres, sigmoids.slopes, sigmoids.weights
    intervals = len(sums) // NODES
    points = np.empty(NODES)
    interval_points(width, points)
    # Four players' exponentials in one array: the compiler then sees that they do not overlap.
    grown = np.empty(4 * NODES)
    whole = np.zeros((intervals + _RESEED - 1) // _RESEED)
    for j in range(start, stop, 4):
        m0, b0, w0 = centres[j], slopes[j], weights[j]
        m1, b1, w1 = m0, b0, 0.0
        m2, b2, w2 = m0, b0, 0.0
        m3, b3, w3 = m0, b0, 0.0
        if j + 1 < stop:
            m1, b1, w1 = centres[j + 1], slopes[j + 1], weights[j + 1]
        if j + 2 < stop:
            m2, b2, w2 = centres[j + 2], slopes[j + 2], weights[j + 2]
        if j + 3 < stop:
            m3, b3, w3 = centres[j + 3], slopes[j + 3], weights[j + 3]
        f0, f1, f2, f3 = exp(width * b0), exp(width * b1), exp(width * b2), exp(width * b3)
        for block in range(len(whole)):
            first = block * _RESEED
            end = min(first + _RESEED, intervals)
            low, high = first * width, end * width
            least = min((low - m0) * b0, (low - m1) * b1, (low - m2) * b2, (low - m3) * b3)
            if least > _SATURATED:
                break
            most = max((high - m0) * b0, (high - m1) * b1, (high - m2) * b2, (high - m3) * b3)
            if most < -_SATURATED:
                whole[block] += (w0 + w1) + (w2 + w3)
                continue
            for v in range(NODES):
                y = low + points[v]
                grown[v] = exp(min((y - m0) * b0, _LARGEST_SEED))
                grown[v + NODES] = exp(min((y - m1) * b1, _LARGEST_SEED))
                grown[v + 2 * NODES] = exp(min((y - m2) * b2, _LARGEST_SEED))
                grown[v + 3 * NODES] = exp(min((y - m3) * b3, _LARGEST_SEED))
            for k in range(first, end):
                base = k * NODES
                for v in range(NODES):
                    e0, e1 = grown[v], grown[v + NODES]
                    e2, e3 = grown[v + 2 * NODES], grown[v + 3 * NODES]
                    d0, d1, d2, d3 = 1.0 + e0, 1.0 + e1, 1.0 + e2, 1.0 + e3
                    d01, d23 = d0 * d1, d2 * d3
                    # w0/d0 + w1/d1 + w2/d2 + w3/d3 over their common denominator.
                    n01, n23 = w0 * d1 + w1 * d0, w2 * d3 + w3 * d2
                    sums[base + v] += (n01 * d23 + n23 * d01) / (d01 * d23)
                    grown[v], grown[v + NODES] = e0 * f0, e1 * f1
                    grown[v + 2 * NODES], grown[v + 3 * NODES] = e2 * f2, e3 * f3
    for block in range(len(whole)):
        for i in range(block * _RESEED * NODES, min((block + 1) * _RESEED, intervals) * NODES):
            sums[i] += whole[block]


@kernel
def sum_of_chunks(parts: Floats, sums: Floats) -> None:
    """Add the rows of `parts`, shape (chunks, nodes), to `sums` in order, with compensation."""
    lost = np.zeros(len(sums))
    for c in range(len(parts)):
        for i in range(len(sums)):
            # Neumaier's sum: all terms are positive, so the larger is known.
            total = sums[i] + parts[c, i]
            if sums[i] >= parts[c, i]:
                lost[i] += (sums[i] - total) + parts[c, i]
            else:
                lost[i] += (parts[c, i] - total) + sums[i]
            sums[i] = total
    for i in range(len(sums)):
        sums[i] += lost[i]


@kernel
def tail_series(sigmoids: Sigmoids, width: float, intervals: int) -> Floats:
    """Return the piecewise series of S on [0, intervals * width], on one thread.

    width : of an interval, at most 2 HALF_WIDTH / (the largest slope)
    """
    n = len(sigmoids.centres)
    sums = np.zeros(intervals * NODES)
    if n <= CHUNK:
        add_tail_nodes(sigmoids, 0, n, width, sums)
    else:
        parts = np.zeros(((n + CHUNK - 1) // CHUNK, intervals * NODES))
        for c in range(len(parts)):
            add_tail_nodes(sigmoids, c * CHUNK, min((c + 1) * CHUNK, n), width, parts[c])
        sum_of_chunks(parts, sums)
    to_series(sums)
    return sums


@kernel
def empty_scratch() -> TailScratch:
    """Return working memory of `tail_sum`."""
    return TailScratch(np.empty(BLOCK), np.empty(BLOCK))


def series_on_workers(
    sides: Sequence[tuple[Sigmoids, int]], width: float, workers: Workers
) -> list[Floats]:
    """Return what `tail_series` returns for each of the sides, computed by many threads.

    The chunks are the same as on one thread, and so are the bits.

    sides : (sigmoids, intervals) of each, all with the same number of players
    width : of an interval
    """
    n = len(sides[0][0].centres)
    parts = [np.zeros(((n + CHUNK - 1) // CHUNK, intervals * NODES)) for _, intervals in sides]

    def add(number: int, start: int, stop: int) -> None:
        for (sigmoids, _), part in zip(sides, parts, strict=True):
            add_tail_nodes(sigmoids, start, stop, width, part[number])

    workers.each_chunk(n, CHUNK, add)
    series = [np.zeros(intervals * NODES) for _, intervals in sides]
    for sums, part in zip(series, parts, strict=True):
        sum_of_chunks(part, sums)
        to_series(sums)
    return series


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


@kernel
def mean_places(rank: Ints) -> Floats:
    """Return the place of every player, from 1; tied players share the mean of their places.

    rank : shape (n,), dense from 0
    """
    highest = 0
    for r in rank:
        highest = max(highest, r)
    first = np.zeros(highest + 2)
    for r in rank:
        first[r + 1] += 1.0
    for r in range(highest + 1):
        first[r + 1] += first[r]
    places = np.empty(len(rank))
    for i in range(len(rank)):
        # From first + 1 to the next rank's first.
        places[i] = 0.5 * (first[rank[i]] + 1.0 + first[rank[i] + 1])
    return places


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
