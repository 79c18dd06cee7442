"""The roots of [PRE]_ Lemma 1 (1) for all players side by side, in NumPy; rules of every search.

Newton's steps stay inside a bracket that the signs found so far leave. The search bisects if a step
leaves the bracket, and in every other step after the first PATIENCE. `compiled_roots` searches in
the same way, player by player.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.errors import ConvergenceError
from equipoise.tournament.curves import Curve
from equipoise.tournament.pairs import Pairs

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
