"""Newton steps of a large tournament by conjugate gradients, without a full matrix.

Rows are computed in chunks of a fixed size, on as many threads as the workers have. Parts of sums
are added in the order of the chunks, so the number of threads never changes a result. Slopes are
kept in float32, which halves the memory that is read in every iteration. A slightly different
matrix only makes a slightly different step towards the same zero of m - E, which is float64
throughout.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.errors import ConvergenceError
from equipoise.numeric.workers import Workers
from equipoise.tournament.curves import ELO_RATE, Curve, DavidsonCurve, EloCurve, NormalCurve
from equipoise.tournament.equilibrium.laplacian import (
    Model,
    Network,
    Solver,
    System,
    count_entries,
    enter_pairs,
    evaluate_rows,
    number_entries,
    spread_slopes,
)
from equipoise.tournament.equilibrium.newton import LEAST_SLOPE, LIMITS, Limits, surplus
from equipoise.tournament.pairs import Pairs

#: Entries computed at once, few enough to stay in the fastest cache.
BLOCK = 512
#: Relative residual of systems that are not steps of Newton's method.
EXACT = 1e-10


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


class _ByPair:
    """Evaluates curves that kernels do not know, pair by pair in NumPy.

    pair_of : the pair of every entry of the network; steep : slopes of the pairs
    """

    def __init__(self, pairs: Pairs, curve: Curve, advantage: float, network: Network) -> None:
        self._pairs, self._curve, self._advantage = pairs, curve, advantage
        self.pair_of = np.empty(len(network.other), dtype=np.int32)
        number_entries(pairs.first, pairs.second, network.start.copy(), self.pair_of)
        self.steep = np.empty(len(pairs.first))

    def evaluate(self, x: Floats, unit: float) -> Floats:
        """Return m - E(x), and keep the pairs' slopes, times unit."""
        pairs = self._pairs
        t = x[pairs.first] - x[pairs.second] + self._advantage
        self.steep = pairs.weight * self._curve.slope(t) * unit
        over = surplus(pairs, self._curve, t)
        return pairs.summed(over, -over, len(x))


class NetworkEngine:
    """An `Engine` that uses a `Network`. advantage : over the scale."""

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
        # Needed only if kernels do not know the curve.
        self._by_pair = None if self._model else _ByPair(pairs, curve, advantage, self._network)
        self.slopes = np.zeros(len(self._network.other), dtype=np.float32)
        self.diagonal = np.zeros(players)
        self._raw = np.zeros(players)
        self._solver = Solver(workers, limits)

    def evaluate(self, x: Floats) -> Floats:
        """Return m - E(x), 0 for players who are held; remember the Hessian at x."""
        residual = np.empty(len(x))
        if self._by_pair is not None:
            residual = self._by_pair.evaluate(x, self._unit)
        self._workers.each_chunk(len(x), self._limits.chunk, partial(self._rows, x, residual))
        self.diagonal = self._raw / self._unit
        residual[self._held] = 0.0
        return residual

    def _rows(self, x: Floats, residual: Floats, number: int, low: int, high: int) -> None:
        """Compute some rows of the Hessian, and of m - E where kernels know the curve."""
        network, sums = self._network, (self._raw, residual)
        if self._model is not None:
            block = np.empty(BLOCK)
            evaluate_rows(low, high, network, self._model, x, self.slopes, sums, block)
        elif self._by_pair is not None:
            pair_of, steep = self._by_pair.pair_of, self._by_pair.steep
            spread_slopes(low, high, network, pair_of, steep, self.slopes, self._raw)

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
        system = System(self._network, self.slopes, np.maximum(self._raw + lift, LEAST_SLOPE))
        system.inverse[self._held] = 0.0
        found, iterations, left = self._solver.solve(system, right, forcing, limit)
        self.inner_iterations += iterations
        if left > forcing:
            self.advice = self._solver.advice
            if forcing <= EXACT:
                raise ConvergenceError(f"a standard error{self.advice}", iterations, left)
        return found
