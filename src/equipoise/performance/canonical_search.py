"""The search for the roots of (1) [PRE]_, Lemma 1: how far, how long, and in NumPy.

`canonical_kernels` searches in the same way, compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from equipoise.arrays import Flags, Floats
from equipoise.errors import ConvergenceError
from equipoise.performance.curves import Curve
from equipoise.performance.pairs import Pairs

MAX_STEPS = 128
#: Of Newton's first step; it doubles, so that far roots are reached too.
REACH = 500.0
#: Steps before every other one is a bisection.
PATIENCE = 12


class Roots(Protocol):
    """Solves (1) for every player."""

    def __call__(self, x: Floats, begin: Floats, defined: Flags, tolerance: float) -> Floats:
        """Return z with m_i = sum w psi(z_i - x_j) where defined; begin : of the search."""


@dataclass(frozen=True, slots=True)
class PlainRoots:
    """The roots of all players' equations, found side by side in NumPy; over the scale.

    Newton's steps inside a bracket that the signs found so far leave; bisection where they leave
    it, and every other step once Newton had its chance.
    """

    pairs: Pairs
    curve: Curve
    advantage: float

    def __call__(self, x: Floats, begin: Floats, defined: Flags, tolerance: float) -> Floats:
        """Return z with m_i = sum w psi(z_i - x_j) where defined; begin : of the search."""
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
    """Return where step `number` leads, elementwise."""
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
    """Return, of every player, m_i minus the score expected at z_i, and that score's slope."""
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
