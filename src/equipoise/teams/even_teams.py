"""The most even teams, by branch and bound, and a proven bound for all others.

Source: [MR]_ and READINGS D1, D4, D8 for the objective; the method is our own. The search places
parties one by one, the largest first. Partial compositions are rows of arrays, a few thousand at a
time. For the least member-count difference the sizes of teams lie in a window, and the remaining
parties must fill it. A lower bound of the distance follows from the least and the greatest mean
that every team can still reach, if it is filled with the most suitable of all remaining players.

Teams without members are alike, so only the first of the empty teams is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.teams.party_placing import Evenness, Placing


class Window(NamedTuple):
    """Sizes of the smallest and the largest team."""

    low: int
    high: int


class Compositions(NamedTuple):
    """R partial compositions, in which the same first parties are placed.

    players, total : shape (R, T), players and attributes of every team
    team : shape (R, parties placed), int16
    """

    players: Ints
    total: Floats
    team: Ints

    def take(self, rows: Ints | slice) -> Compositions:
        """Return some of the rows."""
        return Compositions(self.players[rows], self.total[rows], self.team[rows])


class Remaining(NamedTuple):
    """The smallest and largest sums that remaining parties can add to a team, by players.

    players : of all remaining parties; least, greatest : shape (players + 1,)
    """

    players: int
    least: Floats
    greatest: Floats


def remaining_of(mean: Floats, sizes: Ints) -> Remaining:
    """Return the sums that parties could add to a team if they could be divided.

    mean : of every party; sizes : its players
    """
    values = np.sort(np.repeat(mean, sizes))
    zero = np.zeros(1)
    return Remaining(
        len(values),
        np.concatenate([zero, np.cumsum(values)]),
        np.concatenate([zero, np.cumsum(values[::-1])]),
    )


def lower_bound(rows: Compositions, window: Window, remaining: Remaining, middle: float) -> Floats:
    """Return a lower bound of the distance of every completion of a row, shape (R,).

    window : sizes that teams will have
    middle : mean of all players
    """
    low, high = window
    if low == 0:
        # An empty team has no mean, so there is no bound.
        return np.zeros(len(rows.players))
    least = np.full(rows.players.shape, np.inf)
    greatest = -least
    for size in range(low, high + 1):
        more = size - rows.players
        may = (more >= 0) & (more <= remaining.players)
        more = np.where(may, more, 0)
        down = (rows.total + remaining.least[more]) / size
        up = (rows.total + remaining.greatest[more]) / size
        least = np.minimum(least, np.where(may, down, np.inf))
        greatest = np.maximum(greatest, np.where(may, up, -np.inf))
    # The largest difference of two means is at least this.
    bound = np.maximum(least.max(axis=1) - greatest.min(axis=1), 0.0)
    if low == high:
        # The mean of the means of equal teams is known, so deviations above and below are equal.
        above = np.maximum(least - middle, 0.0).sum(axis=1)
        below = np.maximum(middle - greatest, 0.0).sum(axis=1)
        bound = np.maximum(bound, 2 * np.maximum(above, below))
    return np.asarray(bound)


def distances(rows: Compositions) -> Floats:
    """Return the distance of every row; sorted means, so that equal teams give equal bits."""
    filled = rows.players > 0
    means = np.where(filled, rows.total / np.maximum(rows.players, 1), np.nan)
    means.sort(axis=1)
    centre = np.nansum(means, axis=1) / filled.sum(axis=1)
    return np.asarray(np.nansum(np.abs(means - centre[:, None]), axis=1))


#: Partial compositions expanded together, and memory for all that wait, in bytes.
_CHUNK, _MEMORY = 4096, 1 << 27
#: Parties times players, up to which the tables of `Remaining` are computed.
_MOST_LEFT = 4_000_000
#: Largest number of compositions, equal to the best within tolerance, that are kept.
MOST_TIES = 4000
#: Rounding error of a distance, relative to the largest mean.
_ROUNDING = 1e-12
_NONE = Evenness(-1, 0.0)


@dataclass(slots=True, kw_only=True)
class Solution:
    """The best compositions, as the team of every party.

    evenness : of the best, None if none was found
    ties : compositions that are as even within tolerance, best first; of empty teams the first is
      used
    all_ties : `ties` has all of them
    bound : no composition is more even
    proved : the best composition reaches the bound
    looked_at : number of partial compositions expanded
    """

    evenness: Evenness | None
    ties: list[tuple[int, ...]]
    all_ties: bool
    bound: Evenness
    proved: bool
    looked_at: int


def windows(placing: Placing, difference: int) -> Iterator[Window]:
    """Yield the windows of team sizes for a difference of member counts."""
    players, teams = placing.players, placing.teams
    for low in range(max(placing.minimum, 0), players // teams + 1):
        high = low + difference
        if high > placing.capacity:
            return
        # At least one team has the smallest size, and one the largest.
        if high * (teams - 1) + low >= players >= low * (teams - 1) + high:
            yield Window(low, high)


def optimum(
    placing: Placing,
    most: int,
    *,
    start: Sequence[int] | None = None,
    above: Evenness = _NONE,
    in_time: Callable[[], bool] = lambda: True,
) -> Solution:
    """Return the most even of the compositions that are less even than `above`.

    most : largest number of partial compositions to expand
    start : a first composition, the team of every party
    in_time : called before every chunk; False ends the search
    """
    search = _Search(placing, most, above, in_time)
    if start is not None:
        search.offer([tuple(start)])
    last = placing.capacity - placing.minimum
    if search.best is not None:
        last = min(last, search.best.difference)
    for difference in range(max(above.difference, 0), last + 1):
        possible = list(windows(placing, difference))
        for window in possible:
            search.run(window)
        if search.over and possible:
            return search.solution(Evenness(difference, 0.0), proved=False)
        if search.best is not None and search.best.difference == difference:
            return search.solution(search.best, proved=True)
    bound = Evenness(placing.capacity, 0.0) if search.best is None else search.best
    return search.solution(bound, proved=True)


class _Search:
    """The state of a search through the windows of team sizes."""

    def __init__(
        self, placing: Placing, most: int, above: Evenness, in_time: Callable[[], bool]
    ) -> None:
        self.placing = placing
        self.most = most
        self.above = above
        self.in_time = in_time
        # At every depth the children of a chunk wait, minus the chunk itself. If not even a chunk
        # of one fits into memory, the search does not start, because it would prove no bound.
        parties, teams = placing.parties, placing.teams
        self.chunk = min(_CHUNK, _MEMORY // (parties * teams * (2 * parties + 16 * teams)))
        self.over = self.chunk < 1 or parties * placing.players > _MOST_LEFT
        self.best: Evenness | None = None
        self.ties: list[tuple[Evenness, tuple[int, ...]]] = []
        self.all_ties = True
        self.looked_at = 0
        self.sizes = np.array(placing.sizes, dtype=np.int64)
        self.value = np.array([placing.number(total) for total in placing.totals])
        everything = sum(placing.totals) + sum(placing.sums)
        self.middle = placing.number(everything) / placing.players
        # The parties that are hardest to place come first: the largest, then those furthest from
        # the mean.
        far = np.abs(self.value - self.middle * self.sizes)
        self.order = np.lexsort((np.arange(len(far)), -far, -self.sizes))
        self.start = Compositions(
            np.array([placing.counts], dtype=np.int64),
            np.array([[placing.number(total) for total in placing.sums]]),
            np.zeros((1, 0), dtype=np.int16),
        )
        self.rounding = _ROUNDING * self._largest() * teams
        self.slack = placing.tolerance + self.rounding
        self.remaining = [] if self.over else self._remaining()

    def _largest(self) -> float:
        """Return the largest mean of a party or of members of a team."""
        players, total = self.start.players[0], self.start.total[0]
        members = np.abs(total[players > 0] / players[players > 0])
        return float(np.abs(self.value / self.sizes).max(initial=members.max(initial=0.0)))

    def _remaining(self) -> list[Remaining]:
        """Return, for every depth, the sums that the following parties can add."""
        mean = self.value / self.sizes
        rest = [self.order[depth:] for depth in range(len(mean) + 1)]
        return [remaining_of(mean[parties], self.sizes[parties]) for parties in rest]

    def run(self, window: Window) -> None:
        """Search all compositions with the sizes of a window."""
        if max(self.placing.counts) > window.high:
            return
        stack = [self.start]
        parties = len(self.order)
        while stack and not self.over:
            self.over = self.looked_at >= self.most or not self.in_time()
            rows = stack.pop()
            if len(rows.players) > self.chunk:
                stack.append(rows.take(slice(self.chunk, None)))
                rows = rows.take(slice(0, self.chunk))
            rows = self._worth(rows, window)
            depth = rows.team.shape[1]
            self.looked_at += len(rows.players)
            if not len(rows.players):
                continue
            if depth == parties:
                self._leaves(rows, window)
                continue
            stack.append(self._worth(self._children(rows, window, depth), window))

    def _children(self, rows: Compositions, window: Window, depth: int) -> Compositions:
        """Return the rows with one more party, in every team that may have it."""
        party = self.order[depth]
        size = self.sizes[party]
        empty = rows.players == 0
        # Only the first of the empty teams.
        first = empty & (np.cumsum(empty, axis=1) == 1)
        may = (rows.players + size <= window.high) & (~empty | first)
        row, team = np.nonzero(may)
        players, total = rows.players[row], rows.total[row]
        at = np.arange(len(row))
        players[at, team] += size
        total[at, team] += self.value[party]
        # There are at most 1,000 teams.
        placed = np.concatenate([rows.team[row], team[:, None].astype(np.int16)], axis=1)
        return Compositions(players, total, placed)

    def _worth(self, rows: Compositions, window: Window) -> Compositions:
        """Return the rows that may lead to a composition as even as the best."""
        remaining = self.remaining[rows.team.shape[1]]
        low, high = window
        missing = np.maximum(low - rows.players, 0)
        room = high - rows.players
        good = (missing.sum(axis=1) <= remaining.players) & (room.sum(axis=1) >= remaining.players)
        rows, missing = rows.take(np.flatnonzero(good)), missing[good]
        if not len(rows.players):
            return rows
        bound = lower_bound(rows, window, remaining, self.middle)
        if self.best is not None and self.best.difference == high - low:
            rows = rows.take(np.flatnonzero(bound <= self._limit()))
        return rows

    def _limit(self) -> float:
        """Return the largest bound of a row that is still worth expanding."""
        if self.best is None:
            return np.inf
        if self.all_ties:
            return self.best.distance + self.slack
        # There are more ties than are kept, so only better compositions count from now on.
        return self.best.distance - self.placing.tolerance + self.rounding

    def _leaves(self, rows: Compositions, window: Window) -> None:
        """Keep complete compositions that are as even as the best."""
        low, high = window
        good = (rows.players.min(axis=1) == low) & (rows.players.max(axis=1) == high)
        rows = rows.take(np.flatnonzero(good))
        if not len(rows.players):
            return
        far = distances(rows)
        # Distances too close to the excluded one for floats are decided by exact sums in `offer`.
        excluded = self._beyond(high - low) + self.placing.tolerance
        limit = float(np.min(far, where=far > excluded + self.rounding, initial=np.inf))
        # The distance of the best matters only if the difference is the same.
        if self.best is not None and self.best.difference == high - low:
            limit = min(limit, self.best.distance)
        at = np.flatnonzero((far <= limit + self.slack) & (far > excluded - self.rounding))
        at = at[np.argsort(far[at], kind="stable")]
        teams = np.empty((len(at), len(self.order)), dtype=np.int64)
        teams[:, self.order] = rows.team[at]
        self.offer([tuple(team_of) for team_of in teams.tolist()])

    def _beyond(self, difference: int) -> float:
        """Return the distance that must be exceeded at a difference."""
        return self.above.distance if difference == self.above.difference else -np.inf

    def offer(self, compositions: Sequence[tuple[int, ...]]) -> None:
        """Keep compositions that are among the best."""
        placing = self.placing
        tolerance = placing.tolerance
        for composition in compositions:
            team_of = placing.named(composition)
            evenness = placing.evenness_of(team_of)
            if evenness.distance <= self._beyond(evenness.difference) + tolerance:
                continue
            if self.best is None or evenness < self.best:
                self.best = evenness
                self.ties = [tie for tie in self.ties if self._is_tie(tie[0])]
            if self._is_tie(evenness):
                if len(self.ties) < MOST_TIES:
                    self.ties.append((evenness, team_of))
                else:
                    self.all_ties = False

    def _is_tie(self, evenness: Evenness) -> bool:
        return self.best is not None and evenness.matches(self.best, self.placing.tolerance)

    def solution(self, bound: Evenness, *, proved: bool) -> Solution:
        """Return the compositions found, each once."""
        ties = dict.fromkeys(team_of for _, team_of in sorted(self.ties))
        return Solution(
            evenness=self.best,
            ties=list(ties),
            all_ties=self.all_ties and proved,
            bound=bound,
            proved=proved,
            looked_at=self.looked_at,
        )


#: Largest number of parties whose divisions into two teams are listed.
LISTED_PARTIES = 12


@lru_cache(maxsize=256)
def two_team_divisions(sizes: tuple[int, ...], minimum: int, capacity: int) -> Floats:
    """Return the divisions of parties into two teams of the least difference of member counts.

    Returns : shape (R, parties), 1 in the first team and 0 in the second; the first party is in
        the first team. R is 0 if no division is allowed
    """
    parties = len(sizes)
    codes = np.arange(1 << (parties - 1))
    first = np.ones((len(codes), parties))
    first[:, 1:] = (codes[:, None] >> np.arange(parties - 1)) & 1
    count = first @ np.array(sizes, dtype=np.float64)
    rest = sum(sizes) - count
    good = (np.minimum(count, rest) >= minimum) & (np.maximum(count, rest) <= capacity)
    far = np.where(good, np.abs(count - rest), np.inf)
    return first[good & (far == far.min())] if good.any() else first[:0]


def two_team_ties(placing: Placing) -> list[tuple[int, ...]]:
    """Return the most even compositions of two empty teams, by looking at every division."""
    first = two_team_divisions(placing.sizes, placing.minimum, placing.capacity)
    if not len(first):
        return []
    value = np.array([placing.number(total) for total in placing.totals])
    sizes = np.array(placing.sizes, dtype=np.float64)
    count, sums = first @ sizes, first @ value
    rest, other = sizes.sum() - count, value.sum() - sums
    # A team without members has no mean and no distance.
    both = np.minimum(count, rest) > 0
    means = sums / np.maximum(count, 1) - other / np.maximum(rest, 1)
    far = np.where(both, np.abs(means), 0.0)
    rounding = _ROUNDING * 2 * float(np.abs(value / sizes).max())
    near = first[far <= far.min() + placing.tolerance + 2 * rounding]
    # Exact sums decide between distances that are too close for floats.
    rows = [tuple(row) for row in (1 - near).astype(np.int64).tolist()]
    exact = [placing.evenness_of(row).distance for row in rows]
    limit = min(exact) + placing.tolerance
    return [row for row, distance in zip(rows, exact, strict=True) if distance <= limit]
