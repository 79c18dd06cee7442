"""Win probability curves: the expected score at a difference of ratings.

psi of [PRE]_ Def. 1: smooth, increasing, psi(-t) = 1 - psi(t), from 0 to 1. `t` is a difference
of ratings divided by the scale beta. All curves are computed from the small tail, such as
exp(-|t|), so that it keeps its digits and nothing overflows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from equipoise.arrays import Floats
from equipoise.errors import InvalidParameterError, require

#: Curves with a name. All but the normal one rise like Elo's between equal players; they differ in
#: how surely a much stronger player wins: normal, elo, laplace, cauchy, from the surest on.
CurveName: TypeAlias = Literal["elo", "normal", "laplace", "cauchy"]

#: Rate of the Elo curve, 1/rating points: ln 10/400.
ELO_RATE = math.log(10.0) / 400.0
#: Standard deviation of a difference in the normal curve: 200 sqrt 2 points, as in Elo (1978).
NORMAL_DEVIATION = 200.0 * math.sqrt(2.0)

#: Slope of the Elo curve between equals, 1/rating points; the two curves below have it too.
EQUAL_SLOPE = ELO_RATE / 4.0

# One call for each number, which is fast enough for tables; kernels have a compiled function.
erfc = np.frompyfunc(math.erfc, 1, 1)


@runtime_checkable
class Curve(Protocol):
    """A win probability curve; functions work elementwise on arrays of any shape.

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> found = eq.performance(games, curve="normal", anchor=2557)
    >>> found
    <TournamentPerformance: 24 players, the best Fischer>
    """

    @property
    def name(self) -> str:
        """Name of the curve in tables and messages."""

    def expected(self, t: Floats) -> Floats:
        """Return psi(t), the expected score of one game, in [0, 1]."""

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t), above 0 unless it underflows."""

    def variance(self, t: Floats) -> Floats:
        """Return the variance of the score of one game in the curve's model."""


@dataclass(frozen=True, slots=True)
class EloCurve:
    """1/(1 + 10^(-t/400)): [PRE]_ (2). Draws are not modelled."""

    name: str = "elo"

    def expected(self, t: Floats) -> Floats:
        """Return psi(t), accurate in both tails."""
        e = np.exp(-ELO_RATE * np.abs(t))
        return np.asarray(np.where(t >= 0, 1.0, e) / (1.0 + e))

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t) = rate psi(t) psi(-t)."""
        return ELO_RATE * self.variance(t)

    def variance(self, t: Floats) -> Floats:
        """Return psi(t) psi(-t)."""
        e = np.exp(-ELO_RATE * np.abs(t))
        return np.asarray(e / (1.0 + e) ** 2)


@dataclass(frozen=True, slots=True)
class NormalCurve:
    """P(Z <= t/deviation): performances are normal. Draws are not modelled.

    deviation : standard deviation of the difference of two performances, rating points
    """

    deviation: float = NORMAL_DEVIATION
    name: str = "normal"

    def expected(self, t: Floats) -> Floats:
        """Return psi(t), accurate in both tails."""
        return self._tail(-np.asarray(t))

    def slope(self, t: Floats) -> Floats:
        """Return the normal density."""
        z = np.clip(np.asarray(t) / self.deviation, -1e3, 1e3)  # at least 0 in any case
        return np.asarray(np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * self.deviation))

    def variance(self, t: Floats) -> Floats:
        """Return psi(t) psi(-t)."""
        return self._tail(np.asarray(t)) * self._tail(-np.asarray(t))

    def _tail(self, t: Floats) -> Floats:
        """Return P(Z > t/deviation)."""
        z = np.asarray(t, dtype=np.float64) / (self.deviation * math.sqrt(2.0))
        return np.asarray(0.5 * np.asarray(erfc(z), dtype=np.float64))


class _TailCurve(ABC):
    """A curve given by its lower half: the other one is its mirror image. No draws."""

    __slots__ = ()

    def expected(self, t: Floats) -> Floats:
        """Return psi(t), accurate in both tails."""
        tail = self._tail(t)
        return np.asarray(np.where(np.asarray(t) > 0, 1.0 - tail, tail))

    def variance(self, t: Floats) -> Floats:
        """Return psi(t) psi(-t)."""
        tail = self._tail(t)
        return tail * (1.0 - tail)

    @abstractmethod
    def _tail(self, t: Floats) -> Floats:
        """Return psi(-|t|)."""


@dataclass(frozen=True, slots=True)
class LaplaceCurve(_TailCurve):
    """1 - exp(-t/width)/2 for t >= 0: the difference of performances has Laplace's distribution.

    Differences of some hundred points decide less than with Elo's curve. Draws are not modelled.

    width : mean absolute difference, rating points; by default the slope at 0 is that of Elo
    """

    width: float = 0.5 / EQUAL_SLOPE
    name: str = "laplace"

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t)."""
        return self._tail(t) / self.width

    def _tail(self, t: Floats) -> Floats:
        return np.asarray(0.5 * np.exp(-np.abs(t) / self.width))


@dataclass(frozen=True, slots=True)
class CauchyCurve(_TailCurve):
    """1/2 + atan(t/width)/pi: the difference of performances has Cauchy's distribution.

    Even the weakest player wins now and then: 1,000 points more are an expected score of 0.93, with
    Elo's curve 0.997. Draws are not modelled.

    width : half the games are decided by less, rating points; by default the slope at 0 is Elo's
    """

    width: float = 1.0 / (math.pi * EQUAL_SLOPE)
    name: str = "cauchy"

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t)."""
        z = np.clip(np.asarray(t) / self.width, -1e150, 1e150)  # its square is finite
        return np.asarray(1.0 / (math.pi * self.width * (1.0 + z * z)))

    def _tail(self, t: Floats) -> Floats:
        return np.asarray(np.arctan2(self.width, np.abs(t)) / math.pi)


@dataclass(frozen=True, slots=True)
class DavidsonCurve:
    """Davidson's model of wins, draws and losses [Davidson]_; `nu` 0 is the Elo curve.

    With strengths p, q = 10^(rating/400) the three have the ratios p : nu sqrt(p q) : q.

    nu : from 0; between equals nu/(2 + nu) of the games are drawn
    """

    nu: float
    name: str = "davidson"

    def __post_init__(self) -> None:
        """Check the range."""
        require(0 <= self.nu < math.inf, "nu", "a number from 0", self.nu)

    def probabilities(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities of win, draw and loss at a difference of t points."""
        h = np.exp(-0.5 * ELO_RATE * np.abs(t))  # sqrt(q/p), with q the weaker player's strength
        total = 1.0 + self.nu * h + h * h
        strong, weak = 1.0 / total, h * h / total
        up = np.asarray(t) >= 0
        return np.where(up, strong, weak), self.nu * h / total, np.where(up, weak, strong)

    def expected(self, t: Floats) -> Floats:
        """Return the probability of a win plus half that of a draw."""
        win, draw, _ = self.probabilities(t)
        return win + 0.5 * draw

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t) = rate variance(t): the model is an exponential family in the score."""
        return ELO_RATE * self.variance(t)

    def variance(self, t: Floats) -> Floats:
        """Return the variance of a score of 1, 1/2 or 0."""
        win, draw, loss = self.probabilities(t)
        return win * loss + 0.25 * draw * (win + loss)


@dataclass(frozen=True, slots=True)
class CustomCurve(_TailCurve):
    """A curve given by a function of the difference, checked on a grid, with slopes by differences.

    The function is evaluated for t <= 0 only; the other half is its mirror image, so that
    psi(-t) = 1 - psi(t) to the last bit.
    """

    function: Callable[[Floats], Floats]
    width: float
    name: str = "custom"

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t) by a central difference, in the lower tail, which has more digits."""
        t = -np.abs(np.asarray(t, dtype=np.float64))
        step = 1e-4 * self.width
        # By expected(), because t + step may be above 0.
        rise = self.expected(t + step) - self.expected(t - step)
        return np.maximum(rise / (2.0 * step), 1e-300)

    def _tail(self, t: Floats) -> Floats:
        return _values(self.function, -np.abs(np.asarray(t, dtype=np.float64)))


_CURVES: dict[str, Curve] = {
    curve.name: curve for curve in (EloCurve(), NormalCurve(), LaplaceCurve(), CauchyCurve())
}
_RULE = f"{', '.join(list(_CURVES)[:-1])} or {list(_CURVES)[-1]}, or a function"


def curve_of(curve: CurveName | Curve | Callable[[Floats], Floats]) -> Curve:
    """Return the curve with a name, or of a function; a curve is returned unchanged.

    curve : a function takes an array of differences (rating points over the scale) and returns
        the same number of expected scores
    Raises : InvalidParameterError   an unknown name, or a function that is not a curve
    """
    if isinstance(curve, str):
        require(curve in _CURVES, "curve", _RULE, curve)
        return _CURVES[curve]
    if isinstance(curve, Curve):
        return curve
    if callable(curve):
        return _custom(curve)
    raise InvalidParameterError(f"curve must be {_RULE}; got {curve!r}")


def _custom(function: Callable[[Floats], Floats]) -> CustomCurve:
    """Return a function as a curve, after a check at 4,001 differences."""
    reach = 10.0 ** np.linspace(-3, 6, 2000)
    grid = np.concatenate([-reach[::-1], [0.0], reach])
    psi = _values(function, grid)
    require(bool(np.all((psi >= 0) & (psi <= 1))), "curve", "from 0 to 1", "another value")
    worst = float(np.max(np.abs(psi + psi[::-1] - 1.0)))
    require(worst < 1e-9, "curve", "antisymmetric: psi(-t) = 1 - psi(t)", f"{worst:.3g} difference")
    inside = psi[:-1] > 0
    inside &= psi[1:] < 1 - 1e-6
    rises = np.where(inside, np.diff(psi) > 0, np.diff(psi) >= 0)
    # Within a hundredth of a point of 0 two values may round to the same.
    rises |= (np.abs(grid[1:]) < 1e-2) & (np.diff(psi) >= 0)
    require(bool(np.all(rises)), "curve", "increasing", f"no rise at {grid[:-1][~rises][:1]}")
    ends = psi[-1] > 0.999
    require(bool(ends), "curve", "close to 1 at a million points", psi[-1])
    return CustomCurve(function, float(np.interp(0.75, psi[2000:], grid[2000:])))


def _values(function: Callable[[Floats], Floats], t: Floats) -> Floats:
    """Return a function's values. Raises : InvalidParameterError   wrong shape, or not finite."""
    with np.errstate(all="ignore"):  # 10^-t overflows where 1/(1 + 10^-t) is correctly 0
        values = np.asarray(function(t), dtype=np.float64)
    require(values.shape == t.shape, "curve", "a function of arrays, elementwise", values.shape)
    require(bool(np.all(np.isfinite(values))), "curve", "finite", "NaN or infinity")
    return values
