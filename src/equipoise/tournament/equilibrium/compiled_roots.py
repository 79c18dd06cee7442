"""The roots of [PRE]_ Lemma 1 (1) in large tournaments: compiled, player by player.

The search is that of `plain_roots`; `compiled_roots` returns it for curves that kernels know.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, prefetch
from equipoise.arrays import Flags, Floats
from equipoise.errors import ConvergenceError
from equipoise.numeric.workers import Workers
from equipoise.tournament.curves import Curve
from equipoise.tournament.equilibrium.laplacian import AHEAD, Model, Network, surpluses
from equipoise.tournament.equilibrium.network import BLOCK, model_of, network_of
from equipoise.tournament.equilibrium.plain_roots import MAX_STEPS, PATIENCE, REACH
from equipoise.tournament.pairs import Pairs


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
    reach, unsolved = REACH * 2.0**number, 0
    patient = number <= PATIENCE or number % 2 == 1
    for i in range(low, high):
        if search.moved[i] == 0.0:
            continue
        z, over = search.root[i], search.over[i]
        search.low[i] = z if over > 0.0 else search.low[i]
        search.high[i] = z if over < 0.0 else search.high[i]
        newton = 0.0 if over == 0.0 else min(max(over / search.slope[i], -reach), reach)
        there = z + newton
        bracketed = search.low[i] > -math.inf and search.high[i] < math.inf
        if bracketed and not (patient and search.low[i] <= there <= search.high[i]):
            there = 0.5 * (search.low[i] + search.high[i])
        search.root[i] = there
        moved = abs(there - z)
        search.moved[i] = moved if moved > tolerance else 0.0
        unsolved += search.moved[i] > 0.0
    return unsolved


class CompiledRoots:
    """Finds the roots of all players' equations player by player, compiled."""

    def __init__(self, network: Network, model: Model, threads: int, chunk: int) -> None:
        self._network, self._model = network, model
        self._threads, self._chunk = threads, chunk

    def __call__(self, x: Floats, begin: Floats, defined: Flags, tolerance: float) -> Floats:
        """Return z with m_i = sum w psi(z_i - x_j) where defined; see `Roots`."""
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
            network, model = self._network, self._model
            block = np.empty(BLOCK), np.empty(BLOCK)
            for step in range(MAX_STEPS):
                _evaluate(low, high, network, model, x, search, block)
                if not _step(low, high, step, tolerance, search):
                    break

        with Workers(self._threads) as workers:
            workers.each_chunk(size, self._chunk, rows)
        if np.any(search.moved):
            left = float(np.max(np.abs(search.over[search.moved > 0])))
            raise ConvergenceError("a performance rating", MAX_STEPS, left)
        return search.root


def compiled_roots(
    pairs: Pairs, players: int, curve: Curve, advantage: float, threads: int, chunk: int
) -> CompiledRoots | None:
    """Return the compiled `Roots` of a tournament; None if kernels do not know the curve."""
    model = model_of(curve, advantage)
    if model is None:
        return None
    return CompiledRoots(network_of(pairs, players), model, threads, chunk)
