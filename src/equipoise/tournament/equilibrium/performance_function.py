"""The performance function f: from ratings of opponents and a score to a performance rating.

Source: [PRE]_ Lemma 1, equation (1). f_i(x) is the rating at which player i would have been
expected to score what i scored, if the opponents were rated x. With ratings from before the
tournament it is the TPR (its Def. 4); its fixed point is the equilibrium.

(1) is solved for all players side by side, in NumPy; in large tournaments `compiled_roots` does so
player by player, in the same way. Newton's steps stay inside a bracket that the signs found so far
leave. The search bisects if a step leaves the bracket, and in every other step after the first
PATIENCE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.errors import ConvergenceError, require
from equipoise.tournament.curves import Curve
from equipoise.tournament.equilibrium.newton import LIMITS, Limits
from equipoise.tournament.equilibrium.solving import check_scale
from equipoise.tournament.pairs import Pairs

#: A root is found when the next step is at most this long, rating points over the scale.
TOLERANCE = 1e-9
MAX_STEPS = 128
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
            # Small tournaments do not load the compiler.
            from equipoise.tournament.equilibrium.compiled_roots import compiled_roots

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
        require(known, "ratings", "numbers for all players with games", "NaN or infinity")
        middle = float(np.mean(ratings[self._plays])) if np.any(self._plays) else 0.0
        x = np.where(self._plays, ratings - middle, 0.0) / self._scale
        begin = x if start is None else (start - middle) / self._scale
        roots = self._roots(x, np.where(self._defined, begin, 0.0), self._defined, tolerance)
        return np.where(self._defined, self._scale * roots + middle, np.nan)
