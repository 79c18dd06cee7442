"""Performances within a team: what they are compared with, and what that does to factors.

Source: [TG2]_ section 5; numbers in brackets are its equations.
Departures: z is 0 in a team of equals and for a player without a performance (READINGS A2, A4);
roles (A14) and `conserve` (A11) are additions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.arrays import Floats, Ints

#: Columns of the running statistics of a role: of the performances in it, their squares being
#: those of the differences from the mean.
COUNT, MEAN, SQUARES = range(3)

_GRID = 2.0**40


class Sides(NamedTuple):
    """The two teams of a match; every array of shape (2,).

    mu, g : the opponent that each is to the other [11], and how much it tells [12], [13]
    known, mean, lowest, highest, spread : of the performances that there are [6], [7]
    """

    members: Floats
    rank: Floats
    mu: Floats
    g: Floats
    known: Floats
    mean: Floats
    lowest: Floats
    highest: Floats
    spread: Floats


@inner_kernel
def relative_to_role(performance: float, role: Floats) -> float:
    """Return a performance in deviations from its role's mean (READINGS A14), to 2^-40.

    role : its running statistics, shape (3,)
    0 while the role has fewer than two performances, or all are the same: nothing is known yet.
    """
    if math.isnan(performance):
        return performance
    if role[COUNT] < 2.0 or not role[SQUARES] > 0.0:
        return 0.0
    relative = (performance - role[MEAN]) / math.sqrt(role[SQUARES] / role[COUNT])
    # Two roles' equally good performances must be equal: z magnifies whatever tells them apart.
    steps: float = np.rint(relative * _GRID)
    return steps / _GRID


@inner_kernel
def learn_roles(roles: Floats, role: Ints, performance: Floats) -> None:
    """Add a match's performances to the statistics of their roles, by Welford's recurrence.

    roles : shape (roles, 3); role, performance : shape (n,)
    """
    for i in range(len(performance)):
        if math.isnan(performance[i]):
            continue
        learned = roles[role[i]]
        learned[COUNT] += 1.0
        away = performance[i] - learned[MEAN]
        learned[MEAN] += away / learned[COUNT]
        learned[SQUARES] += away * (performance[i] - learned[MEAN])


@inner_kernel
def standardise(team: Ints, performance: Floats, z: Floats, sides: Sides) -> None:
    """Write everyone's z [6]-[8]; 0 among equals and without a performance.

    team : shape (n,); performance, z : the first n are those of the match
    """
    sides.known[:] = 0.0
    sides.mean[:] = 0.0
    sides.spread[:] = 0.0
    sides.lowest[:] = math.inf
    sides.highest[:] = -math.inf
    for k in range(len(team)):
        t, value = team[k], performance[k]
        if not math.isnan(value):
            sides.known[t] += 1.0
            sides.mean[t] += value
            sides.lowest[t] = min(sides.lowest[t], value)
            sides.highest[t] = max(sides.highest[t], value)
    for t in range(2):
        sides.mean[t] /= max(sides.known[t], 1.0)
    for k in range(len(team)):
        t, value = team[k], performance[k]
        if not math.isnan(value):
            sides.spread[t] += (value - sides.mean[t]) * (value - sides.mean[t])
    for t in range(2):
        sides.spread[t] = math.sqrt(sides.spread[t] / max(sides.known[t], 1.0))
    for k in range(len(team)):
        t, value = team[k], performance[k]
        # Asked of the performances themselves: rounding may give equals a spread, and take that
        # of others.
        differ = sides.lowest[t] < sides.highest[t] and sides.spread[t] > 0.0
        known = differ and not math.isnan(value)
        z[k] = (value - sides.mean[t]) / sides.spread[t] if known else 0.0


@inner_kernel
def conserve(team: Ints, change: Floats, factor: Floats) -> None:
    """Rescale the factors so that they move no rating into or out of a team (READINGS A11).

    Separately for the gains and the losses of each team: sum(f change) = sum(change). Factors
    that are all 0 cannot be rescaled, and become 1.

    team : shape (n,); change, factor : the first n are those of the match
    """
    for side in range(2):
        for gains in (True, False):
            plain, scaled = 0.0, 0.0
            for k in range(len(team)):
                if team[k] == side and (change[k] >= 0.0) == gains:
                    plain += change[k]
                    scaled += factor[k] * change[k]
            for k in range(len(team)):
                if team[k] == side and (change[k] >= 0.0) == gains:
                    factor[k] = factor[k] * (plain / scaled) if scaled != 0.0 else 1.0
