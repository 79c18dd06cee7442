"""How the performances of players or teams in a coming match vary around what is expected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ints

Curve: TypeAlias = Literal["logistic", "normal"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outlook:
    """Centres and scales of performances, and the curve that turns them into chances.

    A beats B with probability F((centre_A - centre_B)/sqrt(scale_A^2 + scale_B^2)), F the
    standard logistic or normal distribution function.

    centre, scale : shape (n,), rating points; one entry a player, or a team
    curve : which F
    team : whether a team plays at its members' mean or at their sum
    shared : part of every squared scale that a team has once, however many its members; the rest
        is each member's own
    """

    centre: Floats
    scale: Floats
    curve: Curve
    team: Literal["mean", "sum"] = "mean"
    shared: float = 0.0

    def of_teams(self, team: Ints, teams: int) -> Outlook:
        """Return the outlook of teams, shape (teams,); team[i] is the team of entry i.

        Centres are averaged or summed; members' own squared scales are those of independent
        parts of that mean or sum.
        """
        members = np.bincount(team, minlength=teams) if self.team == "mean" else np.ones(teams)
        centre = np.bincount(team, self.centre, minlength=teams) / members
        own = np.bincount(team, self.scale**2 - self.shared, minlength=teams) / members**2
        return replace(self, centre=centre, scale=np.sqrt(self.shared + own))

    def beats(self, first: Ints, second: Ints) -> Floats:
        """Return the probability that first[k] beats second[k], shape (k,)."""
        scale = np.hypot(self.scale[first], self.scale[second])
        return chance((self.centre[first] - self.centre[second]) / scale, self.curve)

    def pairs(self) -> Floats:
        """Return the probability that i beats j, shape (n, n); 1/2 on the diagonal."""
        scale = np.hypot(self.scale[:, None], self.scale[None, :])
        return chance((self.centre[:, None] - self.centre[None, :]) / scale, self.curve)

    def expected(self) -> Floats:
        """Return everyone's mean chance of beating another, shape (n,), n at least 2."""
        n = len(self.centre)
        every = np.arange(n)
        # Row after row: all pairs at once would take n^2 of memory.
        sums = [self.beats(np.full(n, i), every).sum() for i in range(n)]
        # Whether one beats oneself is one half, and does not count.
        return (np.array(sums) - 0.5) / (n - 1)


def chance(z: Floats, curve: Curve) -> Floats:
    """Return the standard logistic or normal distribution function at z, of any shape."""
    if curve == "logistic":
        # exp of a negative number only: it does not overflow.
        tail = np.exp(-np.abs(z))
        return np.where(z >= 0, 1.0, tail) / (1.0 + tail)
    from equipoise.numeric.normal import normal_cdf_of

    return normal_cdf_of(z)
