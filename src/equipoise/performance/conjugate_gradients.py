"""Laplacian systems by conjugate gradients, preconditioned by the diagonal or by multigrid.

Networks in which everybody meets everybody, more or less, take some ten iterations. Where players
meet their like only (by skill, by region), an error can be as wide as the network, and iterations
grow with its diameter: there algebraic multigrid (pyamg, an optional library) takes over.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Floats
from equipoise.numeric.workers import Workers
from equipoise.performance.network_kernels import (
    Network,
    advance_rows,
    multiply_rows,
    turn_rows,
)
from equipoise.performance.newton import LIMITS, Limits

#: Iterations with multigrid after which it is built anew for the matrix as it is now.
_STALE = 40


class System:
    """The matrix diagonal - slopes, whose diagonal preconditions it.

    inverse : of the diagonal; set to 0 for players who are held at 0
    """

    def __init__(self, network: Network, slopes: NDArray[np.float32], diagonal: Floats) -> None:
        self.network, self.slopes, self.diagonal = network, slopes, diagonal
        self.inverse = 1.0 / diagonal


class Solver:
    """Solves systems one after the other, and remembers whether they are hard.

    advice : what would help where one was not solved, "" for nothing
    """

    def __init__(self, workers: Workers, limits: Limits = LIMITS) -> None:
        self._workers = workers
        self._chunk, self._patience = limits.chunk, limits.before_multigrid
        self._has_multigrid = importlib.util.find_spec("pyamg") is not None
        self._multigrid: Callable[[Floats], Floats] | None = None
        self.advice = "" if self._has_multigrid else " (installing equipoise[amg] would help)"

    def solve(
        self, system: System, right: Floats, forcing: float, limit: int
    ) -> tuple[Floats, int, float]:
        """Return the solution, iterations and what is left, relative to the right side.

        Sizes of residuals are measured as sqrt(r . r/diagonal).
        """
        found, rest = np.zeros(len(right)), right.copy()
        whole = math.sqrt(float(np.sum(rest * rest * system.inverse)))
        if whole == 0.0:
            return found, 0, 0.0
        goal, taken, left = forcing * whole, 0, whole
        if self._multigrid is None:
            first = min(limit, self._patience) if self._has_multigrid else limit
            taken, left = self._by_diagonal(system, found, rest, goal, first)
        if left > goal and taken < limit and self._has_multigrid:
            more, left = self._by_multigrid(system, found, rest, goal, limit - taken)
            taken += more
        return found, taken, left / whole

    def _by_diagonal(
        self, system: System, found: Floats, rest: Floats, goal: float, limit: int
    ) -> tuple[int, float]:
        """Move found and rest towards the solution; return iterations and what is left."""
        inverse = system.inverse
        direction = inverse * rest
        product = np.empty(len(rest))
        size = float(np.sum(rest * direction))
        for taken in range(limit):
            if math.sqrt(size) <= goal:
                return taken, math.sqrt(size)
            bend = self._multiply(system, direction, product)
            if not bend > 0.0:
                return taken, math.sqrt(size)
            length, along = size / bend, (direction, product)
            advance = partial(_advance, length, along, inverse, found, rest)
            before, size = size, self._summed(len(rest), advance)
            turn = partial(_turn, size / before, inverse, rest, direction)
            self._workers.each_chunk(len(rest), self._chunk, turn)
        return limit, math.sqrt(size)

    def _by_multigrid(
        self, system: System, found: Floats, rest: Floats, goal: float, limit: int
    ) -> tuple[int, float]:
        """Do the same with multigrid."""
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
            bend = self._multiply(system, direction, product)
            if not (bend > 0.0 and size > 0.0):
                return taken, left
            found += size / bend * direction
            rest -= size / bend * product
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
