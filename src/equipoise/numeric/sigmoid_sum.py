"""Sums of many sigmoids at many points, in linear time.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.chebyshev import NODES, interval_points, to_series
from equipoise.numeric.exponential import exp
from equipoise.numeric.summation import BLOCK, lane_sum
from equipoise.numeric.workers import Workers

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
