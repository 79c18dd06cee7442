"""How fair a split is: J of two teams, and of more.

Source: [TG2]_ (46)-(48). For more than two teams J is the largest over all pairs of teams. With
m the mean effective rating of a team and u = lambda U/sqrt(n) its weighted uncertainty,
|m - m'| + |u - u'| is the larger of |(m + u) - (m' + u')| and |(m - u) - (m' - u')|, so the
largest over all pairs is the larger of two ranges: linear in the number of teams.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from equipoise.arrays import Floats


class Parts(NamedTuple):
    """J, and its parts for the two teams furthest apart, in rating points."""

    objective: float
    rating_difference: float
    deviation_difference: float


def parts_of(
    strength: Floats, square: Floats, teams: Sequence[Sequence[int]], weight: float
) -> Parts:
    """Return J [TG2]_ (48) and its parts; of two teams, or of the pair of teams furthest apart.

    Sums are rounded once, so neither the order of players nor of teams matters.

    strength, square : shape (N,), effective rating and squared deviation
    teams : rows of the players of every team
    """
    mean = [math.fsum(strength[list(team)].tolist()) / len(team) for team in teams]
    spread = [math.sqrt(math.fsum(square[list(team)].tolist()) / len(team)) for team in teams]
    worst = Parts(0.0, 0.0, 0.0)
    for one, other in _extreme_pairs(mean, spread, weight):
        rating = abs(mean[one] - mean[other])
        deviation = abs(spread[one] - spread[other])
        worst = max(worst, Parts(rating + weight * deviation, rating, deviation))
    return worst


def _extreme_pairs(
    mean: Sequence[float], spread: Sequence[float], weight: float
) -> list[tuple[int, int]]:
    """Return the two pairs of teams of which one is the pair with the largest J."""
    pairs = []
    for sign in (1.0, -1.0):
        key = [m + sign * weight * u for m, u in zip(mean, spread, strict=True)]
        pairs.append((key.index(min(key)), key.index(max(key))))
    return pairs


def sum_difference(strength: Floats, teams: Sequence[Sequence[int]]) -> float:
    """Return the largest difference of the sums of effective ratings over pairs of teams."""
    sums = [math.fsum(strength[list(team)].tolist()) for team in teams]
    return max(sums) - min(sums)
