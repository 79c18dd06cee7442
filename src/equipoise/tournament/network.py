"""A large tournament as a network: loops, roots and Newton steps without a full matrix.

The opponents of a player have consecutive entries. A pair has two entries, one for either player,
so that a row needs no other row: rows can be computed on several threads, and every sum has one
order.

Laplacian systems are solved by conjugate gradients, preconditioned by the diagonal or by multigrid.
Networks in which players meet opponents of all kinds take about ten iterations. Where players meet
similar players only (by skill, by region), an error can be as wide as the network, and iterations
grow with its diameter: then algebraic multigrid (pyamg, an optional library) takes over.

Rows are computed in chunks of a fixed size, on as many threads as the workers have. Parts of sums
are added in the order of the chunks, so the number of threads never changes a result. Slopes are
kept in float32, which halves the memory that is read in every iteration. A slightly different
matrix only makes a slightly different step towards the same zero of m - E, which is float64
throughout.

Roots are searched as `newton` does, for curves that kernels know.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import inlined_kernel, inner_kernel, prefetch
from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import ConvergenceError
from equipoise.numeric.functions import erfcx, exp
from equipoise.numeric.workers import Workers
from equipoise.tournament.curves import ELO_RATE, Curve, DavidsonCurve, EloCurve, NormalCurve
from equipoise.tournament.newton import (
    FIRST_REACH,
    LEAST_SLOPE,
    LIMITS,
    MAX_STEPS,
    PATIENCE,
    Limits,
    Roots,
    surplus,
)
from equipoise.tournament.pairs import Pairs

#: Entries by which opponents are fetched ahead.
AHEAD = 24
#: Iterations with multigrid after which it is built again for the current matrix.
_STALE = 40
_SQRT_HALF = 0.7071067811865476
_ONE_OVER_SQRT_2PI = 0.3989422804014327

#: Entries computed at once, few enough to stay in the fastest cache.
BLOCK = 512
#: Relative residual of systems that are not steps of Newton's method.
EXACT = 1e-10


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
def multiply_rows(
    network: Network,
    slopes: NDArray[np.float32],
    diagonal: Floats,
    v: Floats,
    out: Floats,
    low: int,
    high: int,
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
    length: float,
    along: tuple[Floats, Floats],
    inverse: Floats,
    step: Floats,
    rest: Floats,
    low: int,
    high: int,
) -> float:
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
    share: float,
    inverse: Floats,
    rest: Floats,
    direction: Floats,
    number: int,
    low: int,
    high: int,
) -> None:
    """Set direction = inverse rest + share direction; number : of the chunk."""
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


class System(NamedTuple):
    """The matrix diagonal - slopes, whose diagonal preconditions it.

    inverse : of the diagonal, 0 for players who are held
    """

    network: Network
    slopes: NDArray[np.float32]
    diagonal: Floats
    inverse: Floats


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
        solution, rest = np.zeros(len(right)), right.copy()
        initial = _size(rest, system)
        if initial == 0.0:
            return solution, 0, 0.0
        goal, taken, left = forcing * initial, 0, initial
        if self._multigrid is None:
            first = min(limit, self._patience) if self._has_multigrid else limit
            taken, left = self._by_diagonal(system, solution, rest, goal, first)
        if left > goal and taken < limit and self._has_multigrid:
            more, left = self._by_multigrid(system, solution, rest, goal, limit - taken)
            taken += more
        return solution, taken, left / initial

    def _by_diagonal(
        self, system: System, solution: Floats, rest: Floats, goal: float, limit: int
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
            advance = partial(advance_rows, length, along, inverse, solution, rest)
            before, size = size, self._summed(len(rest), advance)
            turn = partial(turn_rows, size / before, inverse, rest, direction)
            self._workers.each_chunk(len(rest), self._chunk, turn)
        return limit, math.sqrt(size)

    def _by_multigrid(
        self, system: System, solution: Floats, rest: Floats, goal: float, limit: int
    ) -> tuple[int, float]:
        """Do the same as `_by_diagonal` with multigrid."""
        if self._multigrid is None:
            self._multigrid = _multigrid(system)
        taken, left = self._preconditioned(system, solution, rest, goal, min(limit, _STALE))
        if left > goal and taken < limit:
            self._multigrid = _multigrid(system)
            more, left = self._preconditioned(system, solution, rest, goal, limit - taken)
            taken += more
        return taken, left

    def _preconditioned(
        self, system: System, solution: Floats, rest: Floats, goal: float, limit: int
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
            solution += size / curvature * direction
            rest -= size / curvature * product
            left = _size(rest, system)
            better = self._multigrid(rest)
            before, size = size, float(np.sum(rest * better))
            direction = better + size / before * direction
        return limit, left

    def _multiply(self, system: System, direction: Floats, product: Floats) -> float:
        """Write matrix times direction, and return direction . product."""
        network, slopes, diagonal = system.network, system.slopes, system.diagonal
        multiply = partial(multiply_rows, network, slopes, diagonal, direction, product)
        return self._summed(len(product), multiply)

    def _summed(self, players: int, work: Callable[[int, int], float]) -> float:
        """Return the sum over chunks, in their order."""
        parts = [0.0] * -(-players // self._chunk)

        def one(number: int, low: int, high: int) -> None:
            parts[number] = work(low, high)

        self._workers.each_chunk(players, self._chunk, one)
        return math.fsum(parts)


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


def model_of(curve: Curve, advantage: float, unit: float = 1.0) -> Model | None:
    """Return a curve as kernels take it; None for other curves. advantage : over the scale."""
    if isinstance(curve, NormalCurve):
        return Model(True, 1.0 / curve.deviation, 0.0, advantage, unit)
    if isinstance(curve, EloCurve | DavidsonCurve):
        nu = curve.nu if isinstance(curve, DavidsonCurve) else 0.0
        return Model(False, 0.5 * ELO_RATE, float(nu), advantage, unit)
    return None


def network_of(pairs: Pairs, players: int) -> Network:
    """Return the pairs by player, opponents in the order of the pairs."""
    start = np.zeros(players + 2, dtype=np.int64)
    count_entries(pairs.first, pairs.second, start)
    size = 2 * len(pairs.first)
    network = Network(
        start=start,
        other=np.empty(size, dtype=np.int32),
        side=np.empty(size, dtype=np.int8),
        weight=np.empty(size),
        points=np.empty(size),
    )
    for as_first in (False, True):
        enter_pairs(pairs.first, pairs.second, pairs.weight, pairs.points, network, as_first)
    return network._replace(start=start[:-1])


class NetworkEngine:
    """An `Engine` that uses a `Network`. advantage : over the scale.

    Curves that kernels do not know are evaluated pair by pair in NumPy.
    """

    def __init__(
        self,
        pairs: Pairs,
        curve: Curve,
        advantage: float,
        held: Flags,
        workers: Workers,
        limits: Limits = LIMITS,
    ) -> None:
        self.inner_iterations = 0
        self.advice = ""
        players = len(held)
        self._held, self._workers, self._limits = held, workers, limits
        largest = float(np.max(pairs.weight, initial=1.0))
        self._unit = 2.0 ** -math.frexp(largest)[1]
        self._network = network_of(pairs, players)
        self._model = model_of(curve, advantage, self._unit)
        self._pairs, self._curve, self._advantage = pairs, curve, advantage
        self.slopes = np.zeros(len(self._network.other), dtype=np.float32)
        self.diagonal = np.zeros(players)
        self._raw = np.zeros(players)
        self._solver = Solver(workers, limits)

    def evaluate(self, x: Floats) -> Floats:
        """Return m - E(x), 0 for players who are held; remember the Hessian at x."""
        network, model, slopes = self._network, self._model, self.slopes
        if model is None:
            residual = self._evaluate_pairs(x)
        else:
            residual = np.empty(len(x))

            def rows(number: int, low: int, high: int) -> None:
                sums, block = (self._raw, residual), np.empty(BLOCK)
                evaluate_rows(low, high, network, model, x, slopes, sums, block)

            self._workers.each_chunk(len(x), self._limits.chunk, rows)
        self.diagonal = self._raw / self._unit
        residual[self._held] = 0.0
        return residual

    @cached_property
    def _entries(self) -> tuple[Ints, Ints]:
        """The player of every entry, and its pair, counted twice: of second, then first players.

        So `enter_pairs` writes them.
        """
        player = np.concatenate([self._pairs.second, self._pairs.first])
        order = np.argsort(player, kind="stable")
        return player[order], order

    def _evaluate_pairs(self, x: Floats) -> Floats:
        """Return m - E(x), and write the slopes of pairs to the rows of both players."""
        pairs, curve = self._pairs, self._curve
        t = x[pairs.first] - x[pairs.second] + self._advantage
        steep = pairs.weight * curve.slope(t) * self._unit
        player, order = self._entries
        self.slopes[:] = np.concatenate([steep, steep])[order]
        self._raw[:] = np.bincount(player, self.slopes, len(x))
        over = surplus(pairs, curve, t)
        return pairs.summed(over, -over, len(x))

    def step(self, residual: Floats, lift: Floats, forcing: float) -> Floats:
        """Return about (H + lift)^-1 residual, 0 for players who are held."""
        # A solution that stops at the limit is a usable step.
        most = self._limits.iterations
        return self._solve(self._unit * residual, self._unit * lift, forcing, most)

    def solve(self, right: Floats) -> Floats:
        """Return H^+ right up to a constant for each component; H is that of the last `evaluate`.

        right : shape (N,), of sum 0 in every component without held players
        Raises : ConvergenceError
        """
        most = 10 * self._limits.iterations
        return self._solve(self._unit * right, np.zeros(len(right)), EXACT, most)

    def _solve(self, right: Floats, lift: Floats, forcing: float, limit: int) -> Floats:
        diagonal = np.maximum(self._raw + lift, LEAST_SLOPE)
        inverse = np.where(self._held, 0.0, 1.0 / diagonal)
        system = System(self._network, self.slopes, diagonal, inverse)
        solution, iterations, left = self._solver.solve(system, right, forcing, limit)
        self.inner_iterations += iterations
        if left > forcing:
            self.advice = self._solver.advice
            if forcing <= EXACT:
                raise ConvergenceError(f"a standard error{self.advice}", iterations, left)
        return solution


class Search(NamedTuple):
    """The search for the roots of N equations.

    root : current values; low, high : brackets; moved : length of the last step, 0 where solved
    over : residual of the equation; slope : its slope
    """

    root: Floats
    low: Floats
    high: Floats
    moved: Floats
    over: Floats
    slope: Floats


@inner_kernel
def _evaluate(
    low: int,
    high: int,
    network: Network,
    model: Model,
    x: Floats,
    search: Search,
    block: tuple[Floats, Floats],
) -> None:
    """Compute m_i minus the score expected of player i at root[i], and its slope.

    Entries are computed in blocks, as vectors; solved rows are left out.
    """
    start, (over, steep) = network.start, block
    last = len(network.other) - 1
    for i in range(low, high):
        search.over[i] = search.slope[i] = 0.0
        if search.moved[i] == 0.0:
            continue
        for begin in range(start[i], start[i + 1], len(over)):
            size = min(begin + len(over), start[i + 1]) - begin
            for k in range(size):
                e = begin + k
                prefetch(x, network.other[min(e + AHEAD, last)])
                t = search.root[i] - x[network.other[e]]
                over[k] = t + model.advantage * network.side[e]
            surpluses(begin, size, network, model, over, steep)
            for k in range(size):
                search.over[i] += over[k]
                search.slope[i] += steep[k]


@inner_kernel
def _step(low: int, high: int, number: int, tolerance: float, search: Search) -> int:
    """Take a step in every row; return the number of rows that are not solved yet."""
    reach, unsolved = FIRST_REACH * 2.0**number, 0
    patient = number <= PATIENCE or number % 2 == 1
    for i in range(low, high):
        if search.moved[i] == 0.0:
            continue
        z, over = search.root[i], search.over[i]
        search.low[i] = z if over > 0.0 else search.low[i]
        search.high[i] = z if over < 0.0 else search.high[i]
        newton = 0.0 if over == 0.0 else min(max(over / search.slope[i], -reach), reach)
        ahead = z + newton
        bracketed = search.low[i] > -math.inf and search.high[i] < math.inf
        if bracketed and not (patient and search.low[i] <= ahead <= search.high[i]):
            ahead = 0.5 * (search.low[i] + search.high[i])
        search.root[i] = ahead
        moved = abs(ahead - z)
        search.moved[i] = moved if moved > tolerance else 0.0
        unsolved += search.moved[i] > 0.0
    return unsolved


def compiled_roots(
    pairs: Pairs, players: int, curve: Curve, advantage: float, threads: int, chunk: int
) -> Roots | None:
    """Return compiled `Roots`, found player by player; None if kernels do not know the curve."""
    model = model_of(curve, advantage)
    if model is None:
        return None
    network = network_of(pairs, players)

    def roots(x: Floats, begin: Floats, defined: Flags, tolerance: float) -> Floats:
        size = len(x)
        search = Search(
            root=begin.copy(),
            low=np.full(size, -np.inf),
            high=np.full(size, np.inf),
            moved=np.where(defined, np.inf, 0.0),
            over=np.zeros(size),
            slope=np.zeros(size),
        )

        def rows(number: int, low: int, high: int) -> None:
            block = np.empty(BLOCK), np.empty(BLOCK)
            for step in range(MAX_STEPS):
                _evaluate(low, high, network, model, x, search, block)
                if not _step(low, high, step, tolerance, search):
                    break

        with Workers(threads) as workers:
            workers.each_chunk(size, chunk, rows)
        if np.any(search.moved):
            left = float(np.max(np.abs(search.over[search.moved > 0])))
            raise ConvergenceError("a performance rating", MAX_STEPS, left)
        return search.root

    return roots
