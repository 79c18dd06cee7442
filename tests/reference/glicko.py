"""Glicko as [G1] prints it: a rating period of games against (rating, deviation, score).

Deviations are capped at 350, as there.
"""

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


def rate_periods(
    contests: Sequence[tuple[float, list[int], list[int], float]],
    players: int,
    period: float,
    c: float,
    end: float,
) -> list[tuple[float, float]]:
    """Return (rating, deviation) of all players in the period of `end`, a period at a time.

    contests : (day, players, ranks, weight); all pairs are games, and a player exists from the
        period of the first one on
    """
    pool = [(1500.0, 350.0)] * players
    born: set[int] = set()
    numbers = [math.floor(day / period) for day, *_ in contests]
    for number in range(min(numbers), math.floor(end / period) + 1):
        # Step 1, at the beginning of every period.
        pool = [
            (rating, min(math.hypot(deviation, c), 350.0)) if row in born else (rating, deviation)
            for row, (rating, deviation) in enumerate(pool)
        ]
        precision = [1.0 / deviation**2 for _, deviation in pool]
        surprise = [0.0] * players
        for n, (_, field, ranks, weight) in zip(numbers, contests, strict=True):
            if n != number:
                continue
            born |= set(field)
            for i, me in enumerate(field):
                for j, other in enumerate(field):
                    if i != j:
                        (mine, _), (theirs, width) = pool[me], pool[other]
                        e = expected(mine, theirs, width)
                        score = 0.5 if ranks[i] == ranks[j] else float(ranks[i] < ranks[j])
                        precision[me] += weight * Q * Q * g(width) ** 2 * e * (1.0 - e)
                        surprise[me] += weight * Q * g(width) * (score - e)
        # Step 2. Who has not played keeps the rating and the deviation.
        pool = [
            (rating + surprise[row] / precision[row], math.sqrt(1.0 / precision[row]))
            for row, (rating, _) in enumerate(pool)
        ]
    return pool
