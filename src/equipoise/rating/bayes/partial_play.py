"""Partial play: what a share does to the rating of a player, in all systems whose ratings add up.

Source: partial play of the package trueskill 0.4.5, in which a share (there: weight) multiplies the
player's performance in the team's sum, and is at least 0.0001. It works the same in the updates of
[WL]_: the team is stronger by the share of a rating, and the player's part of the change follows
from the chain rule. The rule `contribution` is that of openskill 6.2: the shares of a team are
scaled to 1 to 2, a gain is multiplied by them and a loss divided.
Departure: a match in which all shares are 1 is not scaled; openskill scales a team of one to 2.
"""

from __future__ import annotations

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints

#: The smallest share; a smaller one counts as this, as in trueskill.
LEAST_PLAYED = 1e-4


@inner_kernel
def part_played(share: Floats | None, i: int) -> float:
    """Return the share with which a player's performance counts in the team's sum."""
    if share is None:
        return 1.0
    return float(max(share[i], LEAST_PLAYED))


@inner_kernel
def factor_of_gain(factors: Floats | None, i: int, gains: bool) -> float:
    """Return by what the change of row i is multiplied; `factors` are those of gains."""
    if factors is None:
        return 1.0
    return float(factors[i] if gains else 1.0 / factors[i])


@kernel
def contributions(
    share: Floats | None, team: Ints, start: int, stop: int, contribution: bool
) -> Floats | None:
    """Return the factors of gains in rows start:stop, from 1 to 2 within each team.

    None without shares; without `contribution` all factors are 1
    """
    if share is None:
        return None
    factors = np.ones(stop - start)
    if not contribution:
        return factors
    count, whole = 0, True
    for i in range(start, stop):
        count = max(count, team[i] + 1)
        whole = whole and share[i] == 1.0
    if whole:
        return factors
    least, most, members = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    for i in range(start, stop):
        t = team[i]
        least[t] = min(least[t], share[i])
        most[t] = max(most[t], share[i])
        members[t] += 1.0
    for i in range(start, stop):
        t = team[i]
        if members[t] == 1.0:
            factors[i - start] = 2.0
        elif most[t] > least[t]:
            factors[i - start] = 1.0 + (share[i] - least[t]) / (most[t] - least[t])
    return factors
