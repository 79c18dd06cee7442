"""Weng and Lin's updates by pairs of teams: Bradley-Terry, Thurstone-Mosteller, full and partial.

Source: [WL]_ Algorithms 1 and 2 (Bradley-Terry, full and partial pair) and 3 (Thurstone-Mosteller).
With partial pairing a team is compared with its neighbours in the order of the ranks. Departures:
there may be more than one neighbour on each side, and a change may be the mean over the pairs; both
are from openskill 6.2. Thurstone-Mosteller doubles c with partial pairing, as openskill does in
all its versions; the text of the paper was not at hand to compare.

v and w of the paper are moments of truncated normal variables, as in TrueSkill.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.exponential import logistic
from equipoise.numeric.normal import above_zero, within
from equipoise.rating.bayes.trueskill_match import by_rank

if TYPE_CHECKING:
    from equipoise.rating.bayes.weng_lin import Settings, Teams


@inner_kernel
def margin_factor(score: Floats | None, margin: float, t: int, q: int) -> float:
    """Return what openskill divides a difference of strengths by: ln(1 + difference/margin).

    1 if the scores differ by the margin or less, or are unknown, or are not used.
    """
    if score is None:
        return 1.0
    difference = abs(score[t] - score[q])
    return math.log1p(difference / margin) if difference > margin else 1.0


@kernel
def strengths_by_margin(strength: Floats, score: Floats | None, margin: float) -> Floats:
    """Return the strengths that openskill gives to Plackett-Luce for the teams' scores.

    From the strength of a team, the mean over all teams with another score of the difference
    times (factor - 1) is taken. Without scores they are as they were.
    """
    if score is None:
        return strength
    n = len(strength)
    moved = np.empty(n)
    for t in range(n):
        total, others = 0.0, 0.0
        for q in range(n):
            if abs(score[t] - score[q]) > 0.0:
                factor = margin_factor(score, margin, t, q)
                total += (strength[t] - strength[q]) * (factor - 1.0)
                others += 1.0
        moved[t] = strength[t] - (total / others if others > 0.0 else 0.0)
    return moved


@inner_kernel
def of_pair(teams: Teams, settings: Settings, t: int, q: int) -> tuple[float, float]:
    """Return what team q adds to (omega, delta) of team t."""
    variance = teams.variance[t]
    c2 = variance + teams.variance[q] + 2.0 * settings.beta * settings.beta
    if settings.normal and settings.window > 0:
        c2 *= 4.0
    c = math.sqrt(c2)
    z = (teams.strength[t] - teams.strength[q]) / c
    z /= margin_factor(teams.score, settings.margin, t, q)
    gamma = math.sqrt(variance) / c
    own, other = teams.rank[t], teams.rank[q]
    if settings.normal:
        eps = settings.eps / c
        if own == other:
            v, left = within(z, eps)
        elif own < other:
            v, left = above_zero(z - eps)
        else:
            v, left = above_zero(-z - eps)
            v = -v
        return variance / c * v, gamma * variance / c2 * (1.0 - left)
    score = 0.5 if own == other else 1.0 if own < other else 0.0
    p = logistic(z)
    return variance / c * (score - p), gamma * variance / c2 * p * (1.0 - p)


@kernel
def by_pairs(teams: Teams, settings: Settings) -> tuple[Floats, Floats]:
    """Return (omega, delta) of every team."""
    n = len(teams.rank)
    order = by_rank(teams.rank)
    reach = settings.window if settings.window > 0 else n
    omega, delta = np.zeros(n), np.zeros(n)
    for place in range(n):
        t = order[place]
        low, high = max(0, place - reach), min(n, place + reach + 1)
        for at in range(low, high):
            if at != place:
                more_omega, more_delta = of_pair(teams, settings, t, order[at])
                omega[t] += more_omega
                delta[t] += more_delta
        if settings.average:
            omega[t] /= high - low - 1.0
            delta[t] /= high - low - 1.0
    return omega, delta
