"""The chances of teams to win, as the system of the players predicts them, for many splits at once.

A system describes players by an outlook (`data.outlook`): the centre and the squared scale of a
team are sums or means over its players. With c and s of both teams, A beats B with probability
P(A, B) = F((c_A - c_B)/sqrt(s_A^2 + s_B^2)), and the chance of a team is the mean over the others.
For two teams, differences of at most the margin m of a system with draws are draws, and half a win.

The objective of a split is its highest chance minus its lowest. For a lower bound, let t and b be
the teams with the highest and the lowest centre of T teams, and G = F - 1/2. Then

    (T - 1) (chance of t - chance of b) = sum over all teams k of G(t over k) + G(k over b).

No term is negative. G is concave above 0, so G(x) + G(y) >= G(x + y), and a larger scale makes
every term smaller. So a team k whose centre is not known adds at least G of c_t - c_b at the
largest scale, and if no centre is known, the objective is at least T/(T - 1) times this G.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.outlook import Outlook, chance

#: Halvings of an interval, after which it is as short as rounding allows.
_HALVINGS = 80
#: A range of differences is this much wider than computed, so that rounding excludes no split.
_SLACK = 1e-9


class Chances:
    """What a system says of N players who are split into teams.

    outlook : of the players, the top player first
    teams : number of teams
    margin : for two teams, the largest difference that is a draw
    adds : whether the players of a team add up; else it plays at their mean
    strength : centres of the players minus their mean, which is rounded once
    own : the part of every squared scale that is a player's own

    Sums of teams have the rows players, strength and own.
    """

    def __init__(self, outlook: Outlook, teams: int, margin: float) -> None:
        self.outlook = outlook
        self.teams = teams
        self.margin = margin
        self.adds = outlook.team == "sum"
        self.own: Floats = np.maximum(outlook.scale**2 - outlook.shared, 0.0)
        self._players = len(outlook.centre)
        self._middle = math.fsum(outlook.centre.tolist()) / self._players
        self.strength: Floats = outlook.centre - self._middle
        self._largest_own = np.sort(self.own)[::-1]
        self.widest = self._widest()

    def centre(self, sums: Floats, teams: int = 1) -> Floats:
        """Return the centres of teams minus the mean of all, from sums of shape (3, ...).

        teams : each entry is the sum of this many teams, of which the mean is returned
        """
        if not self.adds:
            mean: Floats = sums[1] / sums[0]
            return mean
        usual = teams * self._players / self.teams
        total: Floats = (sums[1] + self._middle * (sums[0] - usual)) / teams
        return total

    def square(self, sums: Floats) -> Floats:
        """Return the squared scales of teams."""
        own = sums[2] if self.adds else sums[2] / sums[0] ** 2
        square: Floats = self.outlook.shared + own
        return square

    def line(self, size: int) -> tuple[float, float]:
        """Return (a, b): two teams differ by a S - b if the first has this size and strength S."""
        if self.adds:
            return 2.0, self._middle * (self._players - 2 * size)
        return 1.0 / size + 1.0 / (self._players - size), 0.0

    def of_two(self, difference: Floats, square: Floats) -> Floats:
        """Return the difference of the chances of two teams.

        difference : of the centres; square : sum of the squared scales
        """
        scale = np.sqrt(square)
        far = np.abs(difference)
        wins = chance((far - self.margin) / scale, self.outlook.curve)
        losses = chance((-far - self.margin) / scale, self.outlook.curve)
        found: Floats = wins - losses
        return found

    def pair_square(self, size: int, own: Floats, rest: Floats) -> Floats:
        """Return the sum of the squared scales of two teams.

        size : players of the first team; own, rest : sums of own parts in the first and the second
        """
        if self.adds:
            return 2.0 * self.outlook.shared + own + rest
        return 2.0 * self.outlook.shared + own / size**2 + rest / (self._players - size) ** 2

    def spread(self, sums: Floats) -> Floats:
        """Return the highest minus the lowest chance of splits, from sums of shape (3, T, ...)."""
        centre, square = self.centre(sums), self.square(sums)
        if self.teams == 2:
            return self.of_two(centre[0] - centre[1], square[0] + square[1])
        if centre.ndim == 1:
            scale = np.sqrt(square[:, None] + square)
            total = chance((centre[:, None] - centre) / scale, self.outlook.curve).sum(axis=1)
            return np.asarray((total.max() - total.min()) / (self.teams - 1))
        total = np.empty_like(centre)
        for one in range(self.teams):
            z = (centre[one] - centre) / np.sqrt(square[one] + square)
            total[one] = chance(z, self.outlook.curve).sum(axis=0)
        found: Floats = (total.max(axis=0) - total.min(axis=0)) / (self.teams - 1)
        return found

    def of_split(self, teams: Sequence[Sequence[int]]) -> float:
        """Return the highest minus the lowest chance, as a prediction has them."""
        rows = np.array([row for team in teams for row in team])
        number = np.empty(len(rows), dtype=np.int64)
        number[rows] = np.repeat(np.arange(len(teams)), [len(team) for team in teams])
        found = self.outlook.of_teams(number, len(teams))
        if len(teams) == 2:
            return float(self.of_two(found.centre[0] - found.centre[1], (found.scale**2).sum()))
        expected = found.expected()
        return float(expected.max() - expected.min())

    def at_least(self, formed: Floats, rest: Floats) -> Floats:
        """Return a lower bound of the objective for all splits with some teams, shape (ways,).

        formed : sums of the teams formed, shape (3, count, ways); rest : of all other players
        """
        left = self.teams - formed.shape[1]
        centre, square = self.centre(formed), self.square(formed)
        # Of the other teams, one is at or above their mean, and one at or below.
        others = self.centre(rest, left)
        top = np.maximum(centre.max(axis=0), others)
        bottom = np.minimum(centre.min(axis=0), others)
        scale = np.sqrt(square + self.widest)
        total = self._above_half((top - centre) / scale)
        total += self._above_half((centre - bottom) / scale)
        unknown = self._above_half((top - bottom) / math.sqrt(2.0 * self.widest))
        found: Floats = (total.sum(axis=0) + left * unknown) / (self.teams - 1)
        return found

    def bound_of(self, span: float) -> float:
        """Return a lower bound of the objective if the centres of two teams differ by `span`."""
        if span <= 0.0 or (self.margin > 0.0 and not self.adds):
            return 0.0
        if self.teams == 2:
            return float(
                self.of_two(np.array(span), np.array(self._widest_pair(self._players // 2)))
            )
        half = float(self._above_half(np.array(span / math.sqrt(2.0 * self.widest))))
        return half * self.teams / (self.teams - 1)

    def uneven_span(self) -> float:
        """Return a span of the centres that the sizes of teams force, if their players add up."""
        small, larger = divmod(self._players, self.teams)
        smaller = self.teams - larger
        values = np.sort(self.outlook.centre)
        total, count = float(values.sum()), small * smaller
        found = []
        # The smaller teams together have at least the weakest players, and at most the strongest.
        for held, sign in ((values[:count], 1.0), (values[::-1][:count], -1.0)):
            own = float(held.sum())
            found.append(sign * (own / smaller - (total - own) / larger))
        return max(found)

    def _above_half(self, z: Floats) -> Floats:
        """Return G(z)."""
        found: Floats = chance(z, self.outlook.curve) - 0.5
        return found

    def _widest(self) -> float:
        """Return the largest squared scale that a team can have."""
        own, largest = self._largest_own, -(-self._players // self.teams)
        if self.adds:
            return float(self.outlook.shared + own[:largest].sum())
        sizes = {self._players // self.teams, largest}
        return float(self.outlook.shared + max(own[:size].sum() / size**2 for size in sizes))

    def _widest_pair(self, size: int) -> float:
        """Return the largest sum of the squared scales of two teams, one of this size."""
        own = self._largest_own
        if self.adds:
            return float(2.0 * self.outlook.shared + own.sum())
        small = min(size, len(own) - size)
        rest = own[small:].sum() / (len(own) - small) ** 2
        return float(2.0 * self.outlook.shared + own[:small].sum() / small**2 + rest)

    def reach(self, limit: float, size: int) -> float:
        """Return a difference of centres that no split within an objective exceeds.

        size : players of one of the two teams
        """
        if self.margin > 0.0 and not self.adds:
            # A team with a smaller scale may draw more, so its difference has no such limit.
            return math.inf
        square = np.array(self._widest_pair(size))

        def within(difference: float) -> bool:
            return bool(self.of_two(np.array(difference), square) <= limit)

        high = math.sqrt(float(square)) + self.margin
        for _ in range(_HALVINGS):
            if not within(high):
                break
            high *= 2.0
        else:
            return math.inf
        low = 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if within(middle) else (low, middle)
        return high * (1.0 + _SLACK) + _SLACK
