"""Good teams if there are too many to compare all: a start, and exchanges between two teams.

These heuristics are our own. They give branch and bound a first solution. If that search ends
early, they are the answer, with the proved gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.teams.parties.combination import Fillings
from equipoise.teams.parties.placing import Placing

#: Largest number of parties of a team whose exchanges are compared.
MOST_LOOKED_AT = 300
#: Parties times teams up to which every team is considered for every party.
_MOST_WORK = 300_000
#: Largest number of teams that form pairs.
_MOST_TEAMS = 64
#: Largest number of placements of the search for a first filling.
_MOST_TRIED = 20_000
#: A change of distance below this, relative to the largest, is rounding.
_ROUNDING = 1e-12


def good_start(placing: Placing, most_pairs: int) -> tuple[int, ...] | None:
    """Return teams made even by a simple heuristic, or None if no teams were found.

    most_pairs : pairs of teams between which exchanges are tried
    """
    team_of = _smallest_first(placing)
    if team_of is None:
        team_of = next(iter(Fillings(placing, _MOST_TRIED)), None)
    return None if team_of is None else improved(placing, team_of, most_pairs)


def _smallest_first(placing: Placing) -> tuple[int, ...] | None:
    """Return teams after placing each party, largest first, in the smallest team it balances."""
    players = placing.players
    total = sum(placing.totals) + sum(placing.sums)
    # Excess of a party or team over the mean of all, times the number of players, which is exact.
    above = [
        one * players - total * size
        for one, size in zip(placing.totals, placing.sizes, strict=True)
    ]
    balance = [
        one * players - total * count
        for one, count in zip(placing.sums, placing.counts, strict=True)
    ]
    counts = list(placing.counts)
    team_of = [-1] * placing.parties
    careful = placing.parties * placing.teams <= _MOST_WORK
    order = sorted(
        range(placing.parties), key=lambda party: (-placing.sizes[party], -abs(above[party]), party)
    )
    for party in order:
        size = placing.sizes[party]
        sign = 1 if above[party] > 0 else -1
        least = min(counts)
        teams = (one for one, count in enumerate(counts) if count == least)
        team = min(teams, key=lambda one: (sign * balance[one], one)) if careful else next(teams)
        if counts[team] + size > placing.capacity:
            return None
        counts[team] += size
        balance[team] += above[party]
        team_of[party] = team
    return tuple(team_of) if placing.allowed(counts) else None


class _Exchange(NamedTuple):
    """The best exchange between two teams: the resulting evenness, and the parties (-1: none)."""

    difference: int
    distance: float
    gives: int
    takes: int


def improved(placing: Placing, team_of: Sequence[int], most_pairs: int) -> tuple[int, ...]:
    """Return teams that no exchange of two parties, or move of one, makes more even.

    Teams furthest from the mean come first. The search ends after `most_pairs` pairs of teams.
    """
    state = _TeamArrays(placing, team_of)
    pairs = 0
    better = True
    while better and pairs < most_pairs:
        better = False
        for one, other in state.pairs(most_pairs):
            pairs += 1
            exchange = state.best_exchange(one, other)
            if exchange is not None and state.is_better(exchange):
                state.make(exchange, one, other)
                better = True
                break
            if pairs >= most_pairs:
                break
    return tuple(state.team_of.tolist())


class _TeamArrays:
    """Teams as arrays."""

    def __init__(self, placing: Placing, team_of: Sequence[int]) -> None:
        self.placing = placing
        self.team_of = np.array(team_of, dtype=np.int64)
        self.sizes = np.array(placing.sizes, dtype=np.int64)
        self.values = np.array([placing.number(total) for total in placing.totals])
        self.counts = np.array(placing.counts, dtype=np.int64)
        self.totals = np.array([placing.number(total) for total in placing.sums])
        np.add.at(self.counts, self.team_of, self.sizes)
        np.add.at(self.totals, self.team_of, self.values)
        self.players = placing.players
        self.rounding = _ROUNDING * max(1.0, float(np.abs(self.values / self.sizes).max()))

    def pairs(self, most: int) -> list[tuple[int, int]]:
        """Return pairs of teams that have players, those that differ most first.

        With very many teams, only those furthest from the mean count.
        """
        there = np.flatnonzero(self.counts)
        means = self.totals[there] / self.counts[there]
        far = np.abs(means - means.mean()) + 1e3 * self._spread() * np.abs(
            self.counts[there] - self.counts.mean()
        )
        at = np.sort(np.argsort(-far, kind="stable")[:_MOST_TEAMS])
        there, means = there[at], means[at]
        difference = np.abs(np.subtract.outer(means, means)) + 1e3 * self._spread() * np.abs(
            np.subtract.outer(self.counts[there], self.counts[there])
        )
        one, other = np.triu_indices(len(there), 1)
        order = np.argsort(-difference[one, other], kind="stable")[:most]
        return list(zip(there[one[order]].tolist(), there[other[order]].tolist(), strict=True))

    def _spread(self) -> float:
        """Return whether member counts still differ by more than one, as 0 or 1."""
        return float(self.counts.max() - self.counts.min() > 1)

    def is_better(self, exchange: _Exchange) -> bool:
        """Return whether an exchange makes teams more even."""
        difference = int(self.counts.max() - self.counts.min())
        if exchange.difference != difference:
            return exchange.difference < difference
        there = self.counts > 0
        means = self.totals[there] / self.counts[there]
        now = float(np.abs(means - means.mean()).sum())
        return exchange.distance < now - self.rounding * len(means)

    def best_exchange(self, one: int, other: int) -> _Exchange | None:
        """Return the best of all exchanges between two teams; None if none is allowed."""
        mine, theirs = self._members(one), self._members(other)
        # One more entry for no party, so that a move is an exchange too.
        size = [np.append(self.sizes[parties], 0) for parties in (mine, theirs)]
        value = [np.append(self.values[parties], 0.0) for parties in (mine, theirs)]
        players = np.subtract.outer(size[0], size[1])
        moved = np.subtract.outer(value[0], value[1])
        counts = np.stack([self.counts[one] - players, self.counts[other] + players])
        least = max(self.placing.minimum, 1)
        good = (counts.min(axis=0) >= least) & (counts.max(axis=0) <= self.placing.capacity)
        good[-1, -1] = False
        if not good.any():
            return None
        rest = np.delete(self.counts, [one, other])
        high = np.maximum(counts.max(axis=0), rest.max(initial=0))
        low = np.minimum(counts.min(axis=0), rest.min(initial=self.players))
        difference = np.where(good, high - low, self.players + 1)
        totals = np.stack([self.totals[one] - moved, self.totals[other] + moved])
        far = self._distances(one, other, totals / np.maximum(counts, 1))
        far = np.where(difference == difference.min(), far, np.inf)
        at = np.unravel_index(int(np.argmin(far)), far.shape)
        return _Exchange(
            int(difference[at]),
            float(far[at]),
            int(mine[at[0]]) if at[0] < len(mine) else -1,
            int(theirs[at[1]]) if at[1] < len(theirs) else -1,
        )

    def _members(self, team: int) -> Ints:
        """Return the parties of a team that may be exchanged; of very many, an even sample."""
        members = np.flatnonzero(self.team_of == team)
        if len(members) <= MOST_LOOKED_AT:
            return members
        members = members[np.argsort(self.values[members], kind="stable")]
        at = np.linspace(0, len(members) - 1, MOST_LOOKED_AT).astype(np.int64)
        return members[at]

    def _distances(self, one: int, other: int, pair: Floats) -> Floats:
        """Return the distance of all teams, for means of two of them of shape (2, ...)."""
        there = self.counts > 0
        there[[one, other]] = False
        means = np.sort(self.totals[there] / self.counts[there])
        centre = (means.sum() + pair.sum(axis=0)) / (len(means) + 2)
        below = np.concatenate([[0.0], np.cumsum(means)])
        at = np.searchsorted(means, centre)
        # Sum of |mean - centre| over sorted means, from sums of those below and above.
        rest = centre * (2 * at - len(means)) - 2 * below[at] + below[-1]
        return np.asarray(rest + np.abs(pair - centre).sum(axis=0))

    def make(self, exchange: _Exchange, one: int, other: int) -> None:
        """Make an exchange."""
        for party, source, target in (
            (exchange.gives, one, other),
            (exchange.takes, other, one),
        ):
            if party >= 0:
                self.team_of[party] = target
                for team, sign in ((source, -1), (target, 1)):
                    self.counts[team] += sign * self.sizes[party]
                    self.totals[team] += sign * self.values[party]
