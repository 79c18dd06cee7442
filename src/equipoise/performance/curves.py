"""Win probability curves: what score a difference of ratings leads one to expect.

psi of [PRE]_ Def. 1: smooth, increasing, psi(-t) = 1 - psi(t), from 0 to 1. `t` is a difference
of ratings already divided by the scale beta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from equipoise.arrays import Floats
from equipoise.errors import InvalidParameterError

CurveName: TypeAlias = Literal["elo", "normal"]

#: Of the Elo curve, 1/rating points: ln 10/400.
ELO_RATE = math.log(10.0) / 400.0
#: Standard deviation of a difference in the normal curve: 200 sqrt 2 points, as Elo (1978) has it.
NORMAL_DEVIATION = 200.0 * math.sqrt(2.0)


class Curve(Protocol):
    """What a win probability curve can tell; arrays of any shape, elementwise."""

    @property
    def name(self) -> str:
        """What the curve is called in tables and messages."""

    def expected(self, t: Floats) -> Floats:
        """Return psi(t), the expected score of one game, in [0, 1]."""

    def slope(self, t: Floats) -> Floats:
        """Return psi'(t), above 0 wherever float64 can say so."""

    def variance(self, t: Floats) -> Floats:
        """Return the variance of the score of one game, as the curve's model has it."""


@dataclass(frozen=True, slots=True)
class EloCurve:
    """1/(1 + 10^(-t/400)): [PRE]_ (2). A game is a coin: draws are not modelled."""

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


def curve_of(curve: CurveName | Curve | Callable[[Floats], Floats]) -> Curve:
    """Return the curve that is meant. Raises : InvalidParameterError."""
    if curve == "elo":
        return EloCurve()
    raise InvalidParameterError(f"curve must be elo or normal, or a function; got {curve!r}")
