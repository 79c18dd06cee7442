"""A large tournament as a network: loops over the games, and Laplacian systems on it.

The opponents of a player have consecutive entries. A pair has two entries, one for either player,
so that a row needs no other row: rows can be computed on several threads, and every sum has one
order.

Laplacian systems are solved by conjugate gradients, preconditioned by the diagonal or by multigrid.
Networks in which players meet opponents of all kinds take about ten iterations. Where players meet
similar players only (by skill, by region), an error can be as wide as the network, and iterations
grow with its diameter: then algebraic multigrid (pyamg, an optional library) takes over.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import inlined_kernel, inner_kernel, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.numeric.exponential import exp
from equipoise.numeric.normal import erfcx
from equipoise.numeric.workers import Workers
from equipoise.tournament.equilibrium.newton import LIMITS, Limits

#: Entries by which opponents are fetched ahead.
AHEAD = 24
#: Iterations with multigrid after which it is built again for the current matrix.
_STALE = 40
_SQRT_HALF = 0.7071067811865476
_ONE_OVER_SQRT_2PI = 0.3989422804014327


class Network(NamedTuple):
    """The opponents of N players: 2 K entries for K pairs, those of player i from start[i] on.

    other : the opponent; side : 1 for the first player of the pair, -1 for the second
    weight : number of games; points : of the player
    """

    start: Ints
    other: NDArray[np.int32]
    side: NDArray[np.int8]
    weight: Floats
    points: Floats


class Model(NamedTuple):
    """The curve of expected scores, of one of two families.

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
    norm = 1.0 / (1.0 + drawn + h2)
    strong, weak = (1.0 + 0.5 * drawn) * norm, (h2 + 0.5 * drawn) * norm
    # d psi/d half-logit = 2 win loss + draw (win + loss)/2
    slope = rate * (2.0 * h2 + 0.5 * drawn * (1.0 + h2)) * (norm * norm)
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
    """Write x_i - x_j, with the advantage, of entries low:high; the first belongs to `row`."""
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
def surpluses(
    begin: int,
    size: int,
    network: Network,
    model: Model,
    values: Floats,
    slopes: Floats | NDArray[np.float32],
) -> None:
    """Replace differences t by y - w psi(t), and write w psi'(t) unit, of entries from begin on.

    The former as y psi(-t) - (w - y) psi(t), which does not cancel if a result is nearly certain.

    values, slopes : the first `size` are those of the entries
    """
    weight, points = network.weight, network.points
    if model.normal:
        for k in range(size):
            up, down, slope = normal_chances(values[k], model.rate)
            won = points[begin + k]
            values[k] = won * down - (weight[begin + k] - won) * up
            slopes[k] = weight[begin + k] * slope * model.unit
    else:
        for k in range(size):
            up, down, slope = elo_chances(values[k], model.rate, model.nu)
            won = points[begin + k]
            values[k] = won * down - (weight[begin + k] - won) * up
            slopes[k] = weight[begin + k] * slope * model.unit


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

    Entries are computed in blocks, as vectors, and the sums of a block are added to the rows. So
    long rows are summed in parts, which rounds less.

    x : ratings over the scale
    sums : diagonal of the Hessian, m - E
    block : working memory
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
        surpluses(begin, end - begin, network, model, block, slopes[begin:end])
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
    """Write the slopes of pairs to the rows of both players, and their sums to the diagonal."""
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
    """Advance step and rest along a direction and its product; return rest . inverse rest."""
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
    """Write the starts of rows to start[row + 1]; `enter_pairs` advances them to the ends."""
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
        # Rows of the second players are scattered: fetch their starts, then their entries.
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


class System:
    """The matrix diagonal - slopes, whose diagonal preconditions it.

    inverse : of the diagonal; to be set to 0 for players who are held
    """

    def __init__(self, network: Network, slopes: NDArray[np.float32], diagonal: Floats) -> None:
        self.network, self.slopes, self.diagonal = network, slopes, diagonal
        self.inverse = 1.0 / diagonal


class Solver:
    """Solves systems one after the other, and keeps multigrid once it was needed.

    advice : added to the message if a system was not solved; may be empty
    """

    def __init__(self, workers: Workers, limits: Limits = LIMITS) -> None:
        self._workers = workers
        self._chunk, self._patience = limits.chunk, limits.before_multigrid
        self._has_multigrid = importlib.util.find_spec("pyamg") is not None
        self._multigrid: Callable[[Floats], Floats] | None = None
        self.advice = "" if self._has_multigrid else " (the extra 'amg' would help)"

    def solve(
        self, system: System, right: Floats, forcing: float, limit: int
    ) -> tuple[Floats, int, float]:
        """Return the solution, the number of iterations, and the residual over the right side.

        Residuals are measured as sqrt(r . r/diagonal).
        """
        found, rest = np.zeros(len(right)), right.copy()
        initial = _size(rest, system)
        if initial == 0.0:
            return found, 0, 0.0
        goal, taken, left = forcing * initial, 0, initial
        if self._multigrid is None:
            first = min(limit, self._patience) if self._has_multigrid else limit
            taken, left = self._by_diagonal(system, found, rest, goal, first)
        if left > goal and taken < limit and self._has_multigrid:
            more, left = self._by_multigrid(system, found, rest, goal, limit - taken)
            taken += more
        return found, taken, left / initial

    def _by_diagonal(
        self, system: System, found: Floats, rest: Floats, goal: float, limit: int
    ) -> tuple[int, float]:
        """Advance found and rest towards the solution; return iterations and the residual."""
        inverse = system.inverse
        direction = inverse * rest
        product = np.empty(len(rest))
        size = float(np.sum(rest * direction))
        for taken in range(limit):
            if math.sqrt(size) <= goal:
                return taken, math.sqrt(size)
            curvature = self._multiply(system, direction, product)
            if not curvature > 0.0:
                return taken, math.sqrt(size)
            length, along = size / curvature, (direction, product)
            advance = partial(_advance, length, along, inverse, found, rest)
            before, size = size, self._summed(len(rest), advance)
            turn = partial(_turn, size / before, inverse, rest, direction)
            self._workers.each_chunk(len(rest), self._chunk, turn)
        return limit, math.sqrt(size)

    def _by_multigrid(
        self, system: System, found: Floats, rest: Floats, goal: float, limit: int
    ) -> tuple[int, float]:
        """Do the same as `_by_diagonal` with multigrid."""
        if self._multigrid is None:
            self._multigrid = _multigrid(system)
        taken, left = self._preconditioned(system, found, rest, goal, min(limit, _STALE))
        if left > goal and taken < limit:
            self._multigrid = _multigrid(system)
            more, left = self._preconditioned(system, found, rest, goal, limit - taken)
            taken += more
        return taken, left

    def _preconditioned(
        self, system: System, found: Floats, rest: Floats, goal: float, limit: int
    ) -> tuple[int, float]:
        assert self._multigrid is not None
        product = np.empty(len(rest))
        better = self._multigrid(rest)
        direction, size = better, float(np.sum(rest * better))
        left = _size(rest, system)
        for taken in range(limit):
            if left <= goal:
                return taken, left
            curvature = self._multiply(system, direction, product)
            if not (curvature > 0.0 and size > 0.0):
                return taken, left
            found += size / curvature * direction
            rest -= size / curvature * product
            left = _size(rest, system)
            better = self._multigrid(rest)
            before, size = size, float(np.sum(rest * better))
            direction = better + size / before * direction
        return limit, left

    def _multiply(self, system: System, direction: Floats, product: Floats) -> float:
        """Write matrix times direction, and return direction . product."""
        return self._summed(len(product), partial(_multiply, system, direction, product))

    def _summed(self, players: int, work: Callable[[int, int], float]) -> float:
        """Return the sum over chunks, in their order."""
        parts = [0.0] * -(-players // self._chunk)

        def one(number: int, low: int, high: int) -> None:
            parts[number] = work(low, high)

        self._workers.each_chunk(players, self._chunk, one)
        return math.fsum(parts)


def _multiply(system: System, direction: Floats, product: Floats, low: int, high: int) -> float:
    network, slopes, diagonal = system.network, system.slopes, system.diagonal
    return multiply_rows(low, high, network, slopes, diagonal, direction, product)


def _advance(
    length: float,
    along: tuple[Floats, Floats],
    inverse: Floats,
    found: Floats,
    rest: Floats,
    low: int,
    high: int,
) -> float:
    return advance_rows(low, high, length, along, inverse, found, rest)


def _turn(
    share: float,
    inverse: Floats,
    rest: Floats,
    direction: Floats,
    number: int,
    low: int,
    high: int,
) -> None:
    turn_rows(low, high, share, inverse, rest, direction)


def _size(rest: Floats, system: System) -> float:
    return math.sqrt(float(np.sum(rest * rest * system.inverse)))


def _multigrid(system: System) -> Callable[[Floats], Floats]:
    """Return a multigrid cycle: about matrix^-1 times a vector, 0 for players who are held.

    Local weights and symmetric sweeps need no random vectors: same input, same bits.
    """
    import pyamg
    from scipy import sparse

    network = system.network
    players = len(system.diagonal)
    free = np.flatnonzero(system.inverse > 0)
    entries = (-system.slopes.astype(np.float64), network.other, network.start)
    matrix: Any = sparse.csr_matrix(entries, shape=(players, players))
    matrix = (matrix + sparse.diags(system.diagonal)).tocsr()[free][:, free]
    levels: Any = pyamg.smoothed_aggregation_solver(
        matrix,
        strength="symmetric",
        smooth=("jacobi", {"omega": 4.0 / 3.0, "weighting": "local"}),
        improve_candidates=None,
        max_coarse=100,
        coarse_solver="pinv",
    )
    cycle: Any = levels.aspreconditioner(cycle="V")

    def precondition(rest: Floats) -> Floats:
        better = np.zeros(players)
        better[free] = cycle @ rest[free]
        return better

    return precondition
