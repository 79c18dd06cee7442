"""The best splits into more than two teams, exactly, for lobbies of about a dozen players.

Branch and bound: teams are formed one after the other, each with the best remaining player. A
branch ends if the new team is already further from an earlier team, or from the possible means of
the remaining players, than the best known splits allow. With chances, `Chances.at_least` says so.
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.teams.lobby.local_search import keys_of, separation_matrix, subset_sums
from equipoise.teams.lobby.task import TOLERANCE, Task, Units

#: Largest number of nodes of the search; each takes about a tenth of a millisecond.
MOST_NODES = 3000
#: Largest number of units: then there are 2^17 ways to choose companions for the first.
MOST_UNITS = 18


class TooManySplitsError(Exception):
    """There are too many splits to compare all."""


def all_best(task: Task, units: Units, limit: float, keep: int) -> list[tuple[float, Ints]] | None:
    """Return the `keep` best splits, J and a team for every unit; None if there are too many.

    limit : a J that at least `keep` splits do not exceed, or infinity
    """
    if len(units.rows) > MOST_UNITS:
        return None
    search = _BranchAndBound(task, units, limit + 2.0 * TOLERANCE, keep)
    try:
        search.extend(np.arange(len(units.rows)), task.larger_teams, 0, np.zeros((3, 0)))
    except TooManySplitsError:
        return None
    return sorted(search.found, key=lambda one: one[0])


class _BranchAndBound:
    """The teams formed so far, and the best splits found."""

    def __init__(self, task: Task, units: Units, limit: float, keep: int) -> None:
        self.task = task
        self.columns = np.stack([units.size.astype(np.float64), units.strength, units.square])
        self.separated = separation_matrix(units)
        self.team = np.zeros(len(units.rows), dtype=np.int64)
        self.limit = limit
        self.keep = keep
        self.nodes = 0
        self.found: list[tuple[float, Ints]] = []

    def extend(self, left: Ints, larger: int, number: int, formed: Floats) -> None:
        """Form team `number` of the units left, and all that follow.

        larger : number of teams with one more player that must still be formed
        formed : sums of the teams formed, shape (3, number)
        Raises : TooManySplitsError
        """
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise TooManySplitsError
        ways, sums, rest = self._ways(left, larger, number)
        is_last = number == self.task.teams - 2
        reach = self._reach(formed, sums, rest, exact=is_last)
        near = np.flatnonzero(reach <= self.limit)
        for at in near[np.argsort(reach[near], kind="stable")].tolist():
            if reach[at] > self.limit:  # the limit has fallen since
                break
            inside = np.append(True, (ways[at] >> np.arange(len(left) - 1)) & 1 == 1)
            self.team[left[inside]] = number
            others = left[~inside]
            if is_last:
                self._keep(others, float(reach[at]))
                continue
            spare = larger - int(sums[0, at] > self.task.smaller)
            more = np.concatenate([formed, sums[:, [at]]], axis=1)
            self.extend(others, spare, number + 1, more)

    def _ways(self, left: Ints, larger: int, number: int) -> tuple[Ints, Floats, Floats]:
        """Return the ways to give the first unit companions, and sums of its team and the rest."""
        companions = subset_sums(self.columns[:, left[1:]])
        # The complement of a subset has the inverted bits, so it is counted from the end.
        sums, rest = self.columns[:, left[:1]] + companions, companions[:, ::-1]
        small, teams_left = self.task.smaller, self.task.teams - number
        good = (sums[0] == small) & (larger < teams_left)
        if larger and not (self.task.uneven and number == 0):
            good |= sums[0] == small + 1
        ways = np.flatnonzero(good)
        ways = ways[self._separates(left, ways)]
        return ways, sums[:, ways], rest[:, ways]

    def _separates(self, left: Ints, ways: Ints) -> Flags:
        """Return the ways that put no two units into one team that must be separated."""
        good = np.ones(len(ways), dtype=bool)
        among = self.separated[np.ix_(left, left)]
        for one, other in np.argwhere(np.triu(among)).tolist():
            # The first unit is in the team anyway; the others are counted from it.
            with_one = True if one == 0 else (ways >> (one - 1)) & 1 == 1
            good &= ~(with_one & ((ways >> (other - 1)) & 1 == 1))
        return good

    def _reach(self, formed: Floats, sums: Floats, rest: Floats, *, exact: bool) -> Floats:
        """Return a lower bound of the objective for all splits with the teams formed and the next.

        exact : the rest is one team, so the bound is the objective itself
        """
        if self.task.chances is not None:
            before = np.broadcast_to(formed[:, :, None], (*formed.shape, sums.shape[1]))
            teams = np.concatenate([before, sums[:, None]], axis=1)
            if not exact:
                return self.task.chances.at_least(teams, rest)
            return self.task.chances.spread(np.concatenate([teams, rest[:, None]], axis=1))
        keys, own = keys_of(self.task, formed), keys_of(self.task, sums)
        low = np.minimum(own, keys.min(axis=1, initial=np.inf)[:, None])
        high = np.maximum(own, keys.max(axis=1, initial=-np.inf)[:, None])
        others = keys_of(self.task, rest)
        if exact:
            whole: Floats = (np.maximum(high, others) - np.minimum(low, others)).max(axis=0)
            return whole
        # Of the remaining teams, one has at most the m + u of all together, and one at least the m
        # - u.
        beside = np.maximum(high[0] - others[0], others[1] - low[1])
        least: Floats = np.maximum((high - low).max(axis=0), beside)
        return least

    def _keep(self, last: Ints, objective: float) -> None:
        """Keep a split whose last team has these units, unless two of them must be separated."""
        if self.separated[np.ix_(last, last)].any():
            return
        self.team[last] = self.task.teams - 1
        self.found.append((objective, self.team.copy()))
        if len(self.found) >= self.keep:
            values = sorted(one for one, _ in self.found)
            self.limit = min(self.limit, values[self.keep - 1] + 2.0 * TOLERANCE)
            self.found = [one for one in self.found if one[0] <= self.limit]
