"""Glicko as [G1] prints it: a rating period of games against (rating, deviation, score)."""

from __future__ import annotations

import math
from collections.abc import Sequence

Q = math.log(10.0) / 400.0


def g(deviation: float) -> float:
    return 1.0 / math.sqrt(1.0 + 3.0 * Q * Q * deviation * deviation / math.pi**2)


def expected(rating: float, other: float, deviation: float) -> float:
    return 1.0 / (1.0 + 10.0 ** (-g(deviation) * (rating - other) / 400.0))


def updated(
    rating: float,
    deviation: float,
    games: Sequence[tuple[float, float, float]],
    weight: float = 1.0,
) -> tuple[float, float]:
    """Return (rating, deviation) after games against (rating, deviation, score)."""
    information = (
        Q
        * Q
        * math.fsum(
            weight * g(d) ** 2 * expected(rating, r, d) * (1.0 - expected(rating, r, d))
            for r, d, _ in games
        )
    )
    surprise = math.fsum(weight * g(d) * (s - expected(rating, r, d)) for r, d, s in games)
    precision = 1.0 / deviation**2 + information
    return rating + Q / precision * surprise, math.sqrt(1.0 / precision)
