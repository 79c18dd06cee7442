"""Loops over the games of a large tournament, every player's opponents in one run of memory.

A pair stands in two rows, one for either player, so that a row needs nothing but itself: rows can
be computed on several threads, and every sum has one order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import inlined_kernel, inner_kernel, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.numeric.exponential import exp
from equipoise.numeric.normal import erfcx

#: Rows whose opponents are fetched ahead.
AHEAD = 24
_SQRT_HALF = 0.7071067811865476
_ONE_OVER_SQRT_2PI = 0.3989422804014327


class Network(NamedTuple):
    """Opponents of N players: 2 K entries for K pairs, those of player i from start[i] on.

    other : int32, the opponent; side : int8, 1 for the first of the pair, -1 for the second
    weight : games; points : of the row's player
    """

    start: Ints
    other: NDArray[np.int32]
    side: NDArray[np.int8]
    weight: Floats
    points: Floats


class Model(NamedTuple):
    """What is expected of a game: two families of curves.

    normal : False for Elo and Davidson; True for the normal curve
    rate : half the logit, or the normal z, of one rating point
    nu : Davidson's draw parameter; 0 for Elo
    advantage : rating points of the first of a pair
    unit : power of two that brings the slopes into the range of float32
    """

    normal: bool
    rate: float
    nu: float
    advantage: float
    unit: float


@inlined_kernel
def elo_chances(t: float, rate: float, nu: float) -> tuple[float, float, float]:
    """Return psi(t), psi(-t) and psi'(t) of Davidson's model; nu = 0 is Elo's."""
    h = exp(-abs(rate * t))
    drawn = nu * h
    h2 = h * h
    whole = 1.0 / (1.0 + drawn + h2)
    strong, weak = (1.0 + 0.5 * drawn) * whole, (h2 + 0.5 * drawn) * whole
    # d psi/d half-logit = 2 win loss + draw (win + loss)/2
    slope = rate * (2.0 * h2 + 0.5 * drawn * (1.0 + h2)) * (whole * whole)
    up = t >= 0.0
    return strong if up else weak, weak if up else strong, slope


@inlined_kernel
def normal_chances(t: float, rate: float) -> tuple[float, float, float]:
    """Return psi(t), psi(-t) and psi'(t) of the normal curve."""
    z = abs(rate * t)
    e = exp(-0.5 * z * z)
    weak = 0.5 * e * erfcx(z * _SQRT_HALF)
    up = t >= 0.0
    slope = rate * _ONE_OVER_SQRT_2PI * e
    return 1.0 - weak if up else weak, weak if up else 1.0 - weak, slope


@inner_kernel
def _differences(
    low: int, high: int, row: int, network: Network, model: Model, x: Floats, out: Floats
) -> None:
    """Write x_i - x_j, with the advantage, of entries low to high, which begin in a row."""
    other, side = network.other, network.side
    last = len(other) - 1
    e = low
    while e < high:
        end = min(network.start[row + 1], high)
        for k in range(e, end):
            prefetch(x, other[min(k + AHEAD, last)])
            out[k - low] = (x[row] - x[other[k]]) + model.advantage * side[k]
        e = end
        row += 1


@inner_kernel
def _surpluses(
    low: int,
    high: int,
    network: Network,
    model: Model,
    values: Floats,
    slopes: NDArray[np.float32],
) -> None:
    """Replace differences by y - w psi(t), and write w psi'(t).

    The former as y psi(-t) - (w - y) psi(t): no cancellation where one of both is nearly certain.
    """
    weight, points = network.weight, network.points
    if model.normal:
        for k in range(high - low):
            up, down, slope = normal_chances(values[k], model.rate)
            won = points[low + k]
            values[k] = won * down - (weight[low + k] - won) * up
            slopes[low + k] = weight[low + k] * slope * model.unit
    else:
        for k in range(high - low):
            up, down, slope = elo_chances(values[k], model.rate, model.nu)
            won = points[low + k]
            values[k] = won * down - (weight[low + k] - won) * up
            slopes[low + k] = weight[low + k] * slope * model.unit


@inner_kernel
def evaluate_rows(
    low: int,
    high: int,
    network: Network,
    model: Model,
    x: Floats,
    slopes: NDArray[np.float32],
    sums: tuple[Floats, Floats],
    block: Floats,
) -> None:
    """Compute m - E and the Hessian of -P [PRE]_ (4), times model.unit, for some rows.

    x : ratings over the scale; sums : diagonal of the Hessian, m - E; block : scratch
    Entries are computed in blocks, as vectors, and a block's sums are added to the rows': so long
    rows are summed in parts, which rounds less.
    """
    start, (diagonal, residual) = network.start, sums
    for i in range(low, high):
        diagonal[i] = residual[i] = 0.0
    row = low
    for begin in range(start[low], start[high], len(block)):
        end = min(begin + len(block), start[high])
        while start[row + 1] <= begin:
            row += 1
        _differences(begin, end, row, network, model, x, block)
        _surpluses(begin, end, network, model, block, slopes)
        e, i = begin, row
        while e < end:
            stop, total, steepness = min(start[i + 1], end), 0.0, 0.0
            for k in range(e, stop):
                total += block[k - begin]
                # As rounded, so that the rows of the matrix sum to 0 exactly.
                steepness += np.float64(slopes[k])
            residual[i] += total
            diagonal[i] += steepness
            e = stop
            i += 1


@inner_kernel
def spread_slopes(
    low: int,
    high: int,
    network: Network,
    pair_of: NDArray[np.int32],
    steep: Floats,
    slopes: NDArray[np.float32],
    diagonal: Floats,
) -> None:
    """Take the slopes of pairs, computed elsewhere, to both players' rows."""
    for i in range(low, high):
        steepness = 0.0
        for e in range(network.start[i], network.start[i + 1]):
            slopes[e] = np.float32(steep[pair_of[e]])
            steepness += np.float64(slopes[e])
        diagonal[i] = steepness


@inner_kernel
def multiply_rows(
    low: int,
    high: int,
    network: Network,
    slopes: NDArray[np.float32],
    diagonal: Floats,
    v: Floats,
    out: Floats,
) -> float:
    """Write the rows of (diagonal - slopes) v, and return their part of v . out."""
    start, other = network.start, network.other
    last = len(other) - 1
    product = 0.0
    for i in range(low, high):
        total = 0.0
        for e in range(start[i], start[i + 1]):
            prefetch(v, other[min(e + AHEAD, last)])
            total += np.float64(slopes[e]) * v[other[e]]
        out[i] = diagonal[i] * v[i] - total
        product += out[i] * v[i]
    return product


@inner_kernel
def advance_rows(
    low: int, high: int, length: float, along: tuple[Floats, Floats], inverse: Floats, step: Floats,
    rest: Floats,
) -> float:  # fmt: skip
    """Move step and rest along a direction and its product; return rest . inverse rest."""
    direction, product = along
    total = 0.0
    for i in range(low, high):
        step[i] += length * direction[i]
        rest[i] -= length * product[i]
        total += rest[i] * rest[i] * inverse[i]
    return total


@inner_kernel
def turn_rows(
    low: int, high: int, share: float, inverse: Floats, rest: Floats, direction: Floats
) -> None:
    """Set direction = inverse rest + share direction."""
    for i in range(low, high):
        direction[i] = inverse[i] * rest[i] + share * direction[i]


@inner_kernel
def count_entries(first: Ints, second: Ints, start: Ints) -> None:
    """Write where rows start, into start[row + 1]; to be moved on by `enter_pairs`."""
    for p in range(len(first)):
        start[first[p] + 2] += 1
        start[second[p] + 2] += 1
    for i in range(2, len(start)):
        start[i] += start[i - 1]


@inner_kernel
def enter_pairs(
    first: Ints, second: Ints, weight: Floats, points: Floats, network: Network, as_first: bool
) -> None:
    """Enter pairs into the rows of their first or second players."""
    start, last = network.start, len(first) - 1
    rows = first if as_first else second
    for p in range(len(first)):
        # Rows of the second players lie anywhere: where they stand, then what is there.
        prefetch(start, rows[min(p + AHEAD, last)] + 1)
        soon = min(start[rows[min(p + AHEAD // 2, last)] + 1], 2 * last + 1)
        prefetch(network.other, soon)
        prefetch(network.weight, soon)
        prefetch(network.points, soon)
        row, opponent = (first[p], second[p]) if as_first else (second[p], first[p])
        e = start[row + 1]
        start[row + 1] += 1
        network.other[e] = opponent
        network.side[e] = 1 if as_first else -1
        network.weight[e] = weight[p]
        network.points[e] = points[p] if as_first else weight[p] - points[p]


@inner_kernel
def number_entries(first: Ints, second: Ints, start: Ints, pair_of: NDArray[np.int32]) -> None:
    """Write the pair of every entry, in the order of `enter_pairs`: seconds, then firsts."""
    for p in range(len(first)):
        pair_of[start[second[p]]] = p
        start[second[p]] += 1
    for p in range(len(first)):
        pair_of[start[first[p]]] = p
        start[first[p]] += 1
