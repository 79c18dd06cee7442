"""The chances of teams by long-term rating.

Source: [TG2]_ (11)-(13) for the strength of a team; READINGS A15 for the chance, in which the
uncertainty of both teams counts, so that the two chances add up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Floats

#: Rating points in one unit of the internal scale [TG2]_ (1).
GLICKO2_SCALE = 173.7178


def win_probability(
    rating: Floats, deviation: Floats, teams: Sequence[Sequence[int]]
) -> list[float]:
    """Return each team's chance to beat another, the mean over the others; two add up to 1.

    rating, deviation : shape (players,), rating points; the long-term rating
    teams : rows of the players of every team, two teams or more
    """
    mu = [float(np.mean(rating[list(team)])) / GLICKO2_SCALE for team in teams]
    variance = [
        float(np.sum(deviation[list(team)] ** 2)) / (len(team) * GLICKO2_SCALE) ** 2
        for team in teams
    ]
    chances = []
    for own in range(len(teams)):
        against = [
            _chance(mu[own] - mu[other], variance[own] + variance[other])
            for other in range(len(teams))
            if other != own
        ]
        chances.append(math.fsum(against) / len(against))
    return chances


def _chance(difference: float, variance: float) -> float:
    """Return logistic(g difference); with tanh it does not overflow and p + q is 1."""
    g = 1.0 / math.sqrt(1.0 + 3.0 * variance / math.pi**2)  # [TG2] (13)
    return 0.5 + 0.5 * math.tanh(0.5 * g * difference)
