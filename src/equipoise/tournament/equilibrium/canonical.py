"""The performance function f: from ratings of opponents and a score to a performance rating.

Source: [PRE]_ Lemma 1, equation (1). f_i(x) is the rating at which player i would have been
expected to score what i scored, if the opponents were rated x. With ratings from before the
tournament it is the TPR (its Def. 4); its fixed point is the equilibrium.

`PlainRoots` and `CompiledRoots` solve (1) in the same way, in NumPy side by side for all players,
and compiled player by player: by Newton's steps inside a bracket that the signs found so far leave.
They bisect where a step leaves the bracket, and in every other step after the first PATIENCE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from equipoise._jit import inner_kernel, prefetch
from equipoise.arrays import Flags, Floats
from equipoise.errors import ConvergenceError, require
from equipoise.numeric.workers import Workers
from equipoise.tournament.curves import Curve
from equipoise.tournament.equilibrium.laplacian import (
    AHEAD,
    Model,
    Network,
    surpluses,
)
from equipoise.tournament.equilibrium.network import BLOCK, model_of, network_of
from equipoise.tournament.equilibrium.newton import LIMITS, Limits
from equipoise.tournament.equilibrium.solving import check_scale
from equipoise.tournament.pairs import Pairs

MAX_STEPS = 128
#: A root is found when the next step is at most this long, rating points over the scale.
TOLERANCE = 1e-9
#: Longest first step of Newton's method; it doubles with every step, to reach distant roots.
REACH = 500.0
#: Steps before every other one bisects.
PATIENCE = 12


class Roots(Protocol):
    """Solves (1) for every player; ratings are over the scale."""

    def __call__(self, x: Floats, begin: Floats, defined: Flags, tolerance: float) -> Floats:
        """Return z with m_i = sum w psi(z_i - x_j) where defined.

        begin : start of the search
        tolerance : length of the last step
        """


@dataclass(frozen=True, slots=True)
class PlainRoots:
    """Finds the roots of all players' equations side by side, in NumPy."""

    pairs: Pairs
    curve: Curve
    advantage: float

    def __call__(self, x: Floats, begin: Floats, defined: Flags, tolerance: float) -> Floats:
        """Return z with m_i = sum w psi(z_i - x_j) where defined; see `Roots`."""
        z = begin.copy()
        low, high = np.full(len(z), -np.inf), np.full(len(z), np.inf)
        unsolved = defined.copy()
        for number in range(MAX_STEPS):
            over, slope = _equations(self.pairs, x, z, self.curve, self.advantage)
            low, high = np.where(over > 0, z, low), np.where(over < 0, z, high)
            there = _next(z, over, slope, low, high, number)
            z, moved = np.where(unsolved, there, z), np.abs(there - z)
            unsolved &= moved > tolerance
            if not np.any(unsolved):
                return z
        worst = float(np.max(np.abs(np.where(unsolved, over, 0.0))))
        raise ConvergenceError("a performance rating", MAX_STEPS, worst)


def _next(z: Floats, over: Floats, slope: Floats, low: Floats, high: Floats, number: int) -> Floats:
    """Return z after step `number`, elementwise."""
    reach = REACH * 2.0**number
    with np.errstate(divide="ignore", invalid="ignore"):
        there = z + np.clip(np.where(over == 0, 0.0, over / slope), -reach, reach)
        bracketed = np.isfinite(low) & np.isfinite(high)
        patient = number <= PATIENCE or number % 2 == 1
        kept = (there >= low) & (there <= high) & patient
        return np.where(bracketed & ~kept, 0.5 * (low + high), there)


def _equations(
    pairs: Pairs, x: Floats, z: Floats, curve: Curve, advantage: float
) -> tuple[Floats, Floats]:
    """Return m_i minus the score expected at z_i, and the slope of that score, of every player."""
    players = len(x)
    first, second, won = pairs.first, pairs.second, pairs.points
    lost = pairs.weight - won
    here = z[first] - x[second] + advantage
    there = z[second] - x[first] - advantage
    over = pairs.summed(
        won * curve.expected(-here) - lost * curve.expected(here),
        lost * curve.expected(-there) - won * curve.expected(there),
        players,
    )
    weight = pairs.weight
    slope = pairs.summed(weight * curve.slope(here), weight * curve.slope(there), players)
    return over, slope


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


class PerformanceFunction:
    """The function f of one tournament, to be evaluated many times.

    advantage : rating points added to the first of every pair
    """

    def __init__(
        self,
        pairs: Pairs,
        players: int,
        *,
        curve: Curve,
        scale: float = 1.0,
        advantage: float = 0.0,
        threads: int = 1,
        limits: Limits = LIMITS,
    ) -> None:
        check_scale(scale)
        self._scale = scale
        self._plays = pairs.played(players) > 0
        scored = pairs.scored(players)
        lost = pairs.summed(pairs.weight - pairs.points, pairs.points, players)
        self._defined = (scored > 0) & (lost > 0)
        self._roots: Roots = PlainRoots(pairs, curve, advantage / scale)
        if np.count_nonzero(self._plays) > limits.dense_players:
            compiled = compiled_roots(
                pairs, players, curve, advantage / scale, threads, limits.chunk
            )
            self._roots = compiled or self._roots

    def __call__(
        self, ratings: Floats, tolerance: float = TOLERANCE, start: Floats | None = None
    ) -> Floats:
        """Return f(ratings), shape (N,); NaN for players without games, and with 0 % or 100 %.

        ratings : shape (N,), finite for all players with games
        tolerance : length of the last step, rating points over the scale
        start : start of the search; None: `ratings`
        Raises : ConvergenceError
        """
        known = bool(np.all(np.isfinite(ratings[self._plays])))
        require(known, "ratings", "numbers for all who played", "NaN or infinity")
        middle = float(np.mean(ratings[self._plays])) if np.any(self._plays) else 0.0
        x = np.where(self._plays, ratings - middle, 0.0) / self._scale
        begin = x if start is None else (start - middle) / self._scale
        roots = self._roots(x, np.where(self._defined, begin, 0.0), self._defined, tolerance)
        return np.where(self._defined, self._scale * roots + middle, np.nan)
