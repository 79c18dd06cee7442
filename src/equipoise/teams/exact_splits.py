"""The best splits of a lobby, exactly, and a proven bound for all others.

Source: [TG2]_ section 13; READINGS A10 for the tie-breaks.

The search covers all splits by meeting in the middle. It divides the components of avoid pairs
(see `Task`) into two halves and lists all ways to assign each half to the two teams, with their
sums. J is at least the difference of the mean ratings. So for one way of the left half, only those
ways of the right half matter for which this difference is within the best J so far. Sorted by
strength, they are consecutive. For 24 players, the search computes J of a few thousand out of 1.35
million splits, and no other split can be among the best. The same holds for the difference of two
chances, which limits the difference of the centres (`Chances.reach`).

Branch and bound: teams are formed one after the other, each with the best remaining player. A
branch ends if the new team is already further from an earlier team, or from the possible means of
the remaining players, than the best known splits allow. With chances, `Chances.at_least` says so.

A party is a fixed part of a team. Two arguments follow:

- The rest of that team is a choice of other players, whose number is known. For every choice, the
  other teams share the remaining players, and one of these teams is at least as far away as their
  mean.
- Units that are too large for one team are in different teams. Filled up with the best or the worst
  players available, their means lie between two values, and so do the means of other such units.
  If the two ranges do not overlap, two teams differ by at least the distance of the ranges.

The mean of the others' uncertainties is at most the root of their mean square. So J is bounded by m
+ u and m - u of the aggregate of the others, if the team's u is the larger.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.teams.lobby_task import (
    TOLERANCE,
    BipartiteComponents,
    Candidates,
    Members,
    Task,
    Units,
)
from equipoise.teams.split_search import keys_of, separation_matrix, subset_sums

#: Largest number of components that are split exactly: 2^18 ways for either half take a few tenths
#: of a second.
MOST_COMPONENTS = 36
#: Largest number of splits for which J is computed: many equal players give many ties, which all
#: count.
MOST_COMPARED = 5_000_000
#: Number of splits for which J is computed together.
_CHUNK = 1 << 16

#: Largest number of nodes of the search; each takes about a tenth of a millisecond.
MOST_NODES = 3000
#: Largest number of units: then there are 2^17 ways to choose companions for the first.
MOST_UNITS = 18

#: Rounding error of a sum, relative to the sum of its absolute values.
_ROUNDING = 1e-13
#: Number of the largest units whose combinations count.
_LARGEST = 7
#: Largest number of ways to complete a team that are listed; with more, there is no bound.
_LISTED = 50_000


#: Rows of `BipartiteComponents.columns`, and of the ways to assign half of the components. The ways
#: have one more row: the squares of the second team, because a difference would lose the digits of
#: a small sum.
_SIZE, _STRENGTH, _SQUARE, _RATING, _REST_SQUARE = 0, 1, 2, -2, -1


class Group(NamedTuple):
    """Ways of both halves that together give the first team one of its sizes.

    left, right : numbers of ways; the right half is sorted by ascending strength
    size : players of the first team
    """

    left: Ints
    right: Ints
    size: int


def best_splits(
    task: Task, units: Units, components: BipartiteComponents, keep: int
) -> Candidates | None:
    """Return all splits whose J is among the `keep` smallest; None if there are too many.

    The result is empty if no split keeps the constraints.
    """
    count = len(components.sides)
    if count > MOST_COMPONENTS:
        return None
    middle = (count + 1) // 2
    # The first component contains the top player, whose team is the first, so only one way counts.
    left = _ways(components, range(1, middle), base=0)
    right = _ways(components, range(middle, count), base=None)
    groups = list(_half_groups(task, left, right))
    limit = _first_limit(task, left, right, groups, keep)
    compared = sum(int(_runs(task, left, right, group, limit)[1].sum()) for group in groups)
    if compared > MOST_COMPARED:
        return None
    objective, one, two, size = _gather(task, left, right, groups, limit, keep)
    square, rest_square, rating = (
        left[row][one] + right[row][two] for row in (_SQUARE, _REST_SQUARE, _RATING)
    )
    return Candidates(
        objective=objective,
        left=one,
        right=two,
        size=size,
        mean=_mean_differences(task, rating, size),
        spread=np.abs(np.sqrt(square) - np.sqrt(rest_square)),
        members=Members(units, components, middle),
        splits=sum(len(group.left) * len(group.right) for group in groups),
    )


def _ways(components: BipartiteComponents, chosen: range, base: int | None) -> Floats:
    """Return the sums of the first team in all ways to assign some components, (rows, ways).

    Bit j of a way's number is the side of the j-th component; one side of `base` is added to all.
    """
    columns = np.concatenate([components.columns, components.columns[[_SQUARE], :, ::-1]])
    sums = np.zeros((len(columns), 1)) if base is None else columns[:, base, :1]
    for component in chosen:
        sides = [sums + columns[:, component, :1], sums + columns[:, component, 1:]]
        sums = np.concatenate(sides, axis=1)
    return sums


def _half_groups(task: Task, left: Floats, right: Floats) -> Iterator[Group]:
    by_strength = np.argsort(right[_STRENGTH], kind="stable")
    right_sizes = right[_SIZE][by_strength]
    larger = task.larger_teams and not task.uneven  # so the top player may be in a larger team
    for size in (task.smaller, task.largest) if larger else (task.smaller,):
        for part in np.unique(left[_SIZE].astype(np.int64)).tolist():
            fitting = by_strength[right_sizes == size - part]
            if len(fitting):
                yield Group(np.flatnonzero(left[_SIZE] == part), fitting, size)


def _objective(
    task: Task, left: Floats, right: Floats, ways: tuple[Ints, Ints], size: int
) -> Floats:
    """Return J [TG2]_ (48) or the difference of chances, given the ways of both halves."""
    one, two = ways
    rest_square = left[_REST_SQUARE][one] + right[_REST_SQUARE][two]
    if task.chances is not None and task.chances.correct is not None:
        players = task.columns[:-1]
        first = np.array([left[row][one] + right[row][two] for row in range(len(players))])
        second = np.array([[column.sum()] for column in players]) - first
        second[_SQUARE] = rest_square
        return task.chances.spread(np.stack([first, second], axis=1))
    rest = task.players - size
    slope, base = _line(task, size)
    mean = slope * (left[_STRENGTH][one] + right[_STRENGTH][two]) - base
    square = left[_SQUARE][one] + right[_SQUARE][two]
    if task.chances is not None:
        return task.chances.of_two(mean, task.chances.pair_square(size, square, rest_square))
    spread = np.sqrt(square / size) - np.sqrt(rest_square / rest)
    objective: Floats = np.abs(mean) + task.weight * np.abs(spread)
    return objective


def _line(task: Task, size: int) -> tuple[float, float]:
    """Return (a, b): the teams differ by a S - b if the first has this size and strength S."""
    if task.chances is not None:
        return task.chances.line(size)
    # The strengths of all players add up to 0: S_A/n + S_A/m is the difference of the means.
    return 1.0 / size + 1.0 / (task.players - size), 0.0


def _mean_differences(task: Task, rating: Floats, size: Ints) -> Floats:
    """Return the difference of the mean ratings, or of the centres, for sums of first teams."""
    lines = {players: _line(task, players) for players in np.unique(size).tolist()}
    slope, base = (
        np.array([lines[players][part] for players in size.tolist()]) for part in range(2)
    )
    difference: Floats = np.abs(slope * rating - base)
    return difference


def _first_limit(task: Task, left: Floats, right: Floats, groups: list[Group], keep: int) -> float:
    """Return a J that at least `keep` splits do not exceed: those with the nearest means."""
    least = []
    for group in groups:
        slope, base = _line(task, group.size)
        sums = right[_STRENGTH][group.right]
        nearest = base / slope - left[_STRENGTH][group.left]
        at = np.searchsorted(sums, nearest).clip(max=len(sums) - 1)
        ways = (group.left, group.right[at])
        least.append(_objective(task, left, right, ways, group.size))
    return _least(np.concatenate(least), keep) if least else 0.0


def _least(objectives: Floats, keep: int) -> float:
    """Return the `keep`-th smallest objective, plus the tolerance for equal ones."""
    if len(objectives) < keep:
        return np.inf
    return float(np.partition(objectives, keep - 1)[keep - 1]) + 2.0 * TOLERANCE


def _runs(task: Task, left: Floats, right: Floats, group: Group, limit: float) -> tuple[Ints, Ints]:
    """Return start and length of the run of right ways within `limit`, for every left way."""
    slope, base = _line(task, group.size)
    reach = limit if task.chances is None else task.chances.reach(limit, group.size)
    sums, own = right[_STRENGTH][group.right], left[_STRENGTH][group.left]
    start = np.searchsorted(sums, (base - reach) / slope - own, side="left")
    stop = np.searchsorted(sums, (base + reach) / slope - own, side="right")
    return start, np.maximum(stop - start, 0)


def _gather(
    task: Task, left: Floats, right: Floats, groups: list[Group], limit: float, keep: int
) -> tuple[Floats, Ints, Ints, Ints]:
    """Return J, left way, right way and size of all splits whose J is among the `keep` smallest."""
    best = np.full(keep, np.inf)
    parts: list[tuple[Floats, Ints, Ints, Ints]] = []
    for group in groups:
        start, length = _runs(task, left, right, group, limit)
        for chunk in _chunks(length):
            ways = _expanded(group, chunk, start[chunk], length[chunk])
            objective = _objective(task, left, right, ways, group.size)
            near = np.flatnonzero(objective <= limit)
            if len(near):
                near_objective = objective[near]
                sizes = np.full(len(near), group.size)
                parts.append((near_objective, ways[0][near], ways[1][near], sizes))
                best = np.sort(np.concatenate([best, near_objective]))[:keep]
                limit = min(limit, float(best[-1]) + 2.0 * TOLERANCE)
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return np.zeros(0), nothing, nothing, nothing
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kept = columns[0] <= limit
    return columns[0][kept], columns[1][kept], columns[2][kept], columns[3][kept]


def _chunks(length: Ints) -> Iterator[slice]:
    """Yield slices of rows whose runs have about ten thousand splits together."""
    ends = np.cumsum(length)
    start = 0
    while start < len(length):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
        if ends[stop - 1] > done:
            yield slice(start, stop)
        start = stop


def _expanded(group: Group, chunk: slice, start: Ints, length: Ints) -> tuple[Ints, Ints]:
    """Return the left and the right way of every split of some runs."""
    left_row = np.repeat(group.left[chunk], length)
    before = np.cumsum(length) - length
    at = np.arange(len(left_row)) - np.repeat(before - start, length)
    return left_row, group.right[at]


class TooManySplitsError(Exception):
    """There are too many splits to compare all."""


def all_best(task: Task, units: Units, limit: float, keep: int) -> list[tuple[float, Ints]] | None:
    """Return the `keep` best splits, J and a team for every unit; None if there are too many.

    limit : a J that at least `keep` splits do not exceed, or infinity
    """
    if len(units.rows) > MOST_UNITS:
        return None
    search = _BranchAndBound(task, units, limit + 2.0 * TOLERANCE, keep)
    nothing = np.zeros((len(search.columns), 0))
    try:
        search.extend(np.arange(len(units.rows)), task.larger_teams, 0, nothing)
    except TooManySplitsError:
        return None
    return sorted(search.found, key=lambda pair: pair[0])


class _BranchAndBound:
    """The teams formed so far, and the best splits found."""

    def __init__(self, task: Task, units: Units, limit: float, keep: int) -> None:
        self.task = task
        self.columns = units.columns[:-1]
        self.separated = separation_matrix(units)
        self.team = np.zeros(len(units.rows), dtype=np.int64)
        self.limit = limit
        self.keep = keep
        self.nodes = 0
        self.found: list[tuple[float, Ints]] = []

    def extend(self, left: Ints, larger: int, number: int, formed: Floats) -> None:
        """Form team `number` of the units left, and all that follow.

        larger : number of teams with one more player that must still be formed
        formed : sums of the teams formed, shape (rows, number)
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
            values = sorted(objective for objective, _ in self.found)
            self.limit = min(self.limit, values[self.keep - 1] + 2.0 * TOLERANCE)
            self.found = [split for split in self.found if split[0] <= self.limit]


class Range(NamedTuple):
    """The smallest and the largest mean that several teams together may have."""

    low: float
    high: float


_NOTHING = Range(math.inf, -math.inf)
_ANYTHING = Range(-math.inf, math.inf)


def lower_bound(task: Task, units: Units) -> float:
    """Return a lower bound of J over all splits, at least 0."""
    largest = np.argsort(-units.size, kind="stable")[:_LARGEST].tolist()
    strength = _Forced(task, units, units.strength, largest)
    bounds = [0.0, strength.distance(root=False)]
    bounds += [_completion_bound(task, units, unit, strength) for unit in largest]
    if task.weight > 0:
        square = _Forced(task, units, units.square, largest)
        bounds.append(task.weight * square.distance(root=True))
    # Sums are rounded, so the bound stays below by more than the error. A root near 0 magnifies it.
    slack = _ROUNDING * float(np.abs(units.strength).sum())
    slack += task.weight * math.sqrt(_ROUNDING * float(units.square.sum()))
    return max(0.0, max(bounds) - slack)


def _completion_bound(task: Task, units: Units, unit: int, forced: _Forced) -> float:
    """Return a lower bound of J from all ways to fill up the team of a unit."""
    least = math.inf
    for size in {task.smaller, task.largest}:
        sums = _completions(units, unit, size)
        if sums is None:
            return 0.0
        if not sums.size:
            continue
        others = task.players - size
        mean = sums[0] / size - (float(units.strength.sum()) - sums[0]) / others
        rest = np.maximum(units.square.sum() - sums[1], 0.0)
        spread = task.weight * (np.sqrt(sums[1] / size) - np.sqrt(rest / others))
        far = np.maximum(np.abs(mean) + np.maximum(spread, 0.0), np.abs(spread))
        for group in forced.groups:
            if unit not in group and tuple(sorted((unit, *group))) in forced.known:
                far = np.maximum(far, forced.beside(group, sums[0], size))
        least = min(least, float(far.min()))
    return 0.0 if math.isinf(least) else least


def _completions(units: Units, unit: int, size: int) -> Floats | None:
    """Return strength and square of all teams of a size with a unit; None if there are too many."""
    missing = size - int(units.size[unit])
    if missing < 0:
        return np.zeros((2, 0))
    columns = np.stack([units.strength, units.square])
    # of_size[s]: sums of all choices of s players among the units so far.
    of_size = [columns[:, [unit]] if s == 0 else np.zeros((2, 0)) for s in range(missing + 1)]
    for other in range(len(units.size)):
        own = int(units.size[other])
        if (
            other == unit
            or own > missing
            or (min(unit, other), max(unit, other)) in units.separated
        ):
            continue
        for s in range(missing, own - 1, -1):
            more = of_size[s - own] + columns[:, [other]]
            of_size[s] = np.concatenate([of_size[s], more], axis=1)
        if sum(columns.shape[1] for columns in of_size) > _LISTED:
            return None
    return of_size[missing]


class _Forced:
    """The ranges of one column of values, for units that must be in different teams.

    groups : units in different teams, the smaller groups first; known : the same, as sorted tuples
    ends : for every group and number of players, the smallest and the largest sum
    """

    def __init__(self, task: Task, units: Units, values: Floats, largest: Sequence[int]) -> None:
        self.task = task
        self.groups = list(_separated_units(task, units, largest))
        self.known = {tuple(sorted(group)) for group in self.groups}
        self.total = float(values.sum())
        self.ends = {
            group: {
                players: ends
                for players in _sizes(task, len(group))
                if (ends := _completed(units, values, group, players)) is not None
            }
            for group in self.groups
        }

    def distance(self, *, root: bool) -> float:
        """Return the largest distance between the ranges of groups, or of a group and the rest.

        root : means are squares, of which the roots are compared
        """
        ranges: dict[tuple[int, ...], Range] = {}
        best = 0.0
        for group in self.groups:
            ranges[group], rest = self._ranges(group)
            best = max(best, _distance(ranges[group], rest, root))
        for group in ranges:
            for count in range(1, len(group) // 2 + 1):
                for part in itertools.combinations(group, count):
                    others = tuple(unit for unit in group if unit not in part)
                    best = max(best, _distance(ranges[part], ranges[others], root))
        return best

    def beside(self, group: tuple[int, ...], taken: Floats, size: int) -> Floats:
        """Return the distance of a group's teams from all others except one, whose sum is given.

        taken : sums of that team; size : its players
        """
        far = np.full(len(taken), np.inf)
        for players, (low, high) in self.ends[group].items():
            others = self.task.players - players - size
            if others <= 0:
                return np.zeros(len(taken))
            below = (self.total - taken - high) / others - high / players
            above = low / players - (self.total - taken - low) / others
            beside = np.maximum(taken / size - high / players, low / players - taken / size)
            far = np.minimum(far, np.maximum(np.maximum(below, above), beside))
        return np.where(np.isinf(far), 0.0, np.maximum(far, 0.0))

    def _ranges(self, group: tuple[int, ...]) -> tuple[Range, Range]:
        """Return the range of the mean of a group's teams, and of the mean of all other teams."""
        own = rest = _NOTHING
        for players, (low, high) in self.ends[group].items():
            others = self.task.players - players
            own = Range(min(own.low, low / players), max(own.high, high / players))
            if others == 0:
                return own, _ANYTHING
            ends = (self.total - high) / others, (self.total - low) / others
            rest = Range(min(rest.low, ends[0]), max(rest.high, ends[1]))
        return (own, rest) if self.ends[group] else (_ANYTHING, _ANYTHING)


def _distance(one: Range, other: Range, root: bool) -> float:
    """Return the smallest distance between values of two ranges."""
    if root:
        one = Range(*(math.sqrt(max(end, 0.0)) for end in one))
        other = Range(*(math.sqrt(max(end, 0.0)) for end in other))
    return max(one.low - other.high, other.low - one.high, 0.0)


def _separated_units(task: Task, units: Units, largest: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield groups of units that must be in different teams, the smaller groups first."""
    separated = set(units.separated)

    def different(one: int, other: int) -> bool:
        too_large = int(units.size[one] + units.size[other]) > task.largest
        return too_large or (min(one, other), max(one, other)) in separated

    for count in range(1, min(len(largest), task.teams) + 1):
        for group in itertools.combinations(largest, count):
            if all(different(a, b) for a, b in itertools.combinations(group, 2)):
                yield group


def _sizes(task: Task, count: int) -> Iterator[int]:
    """Yield how many players `count` different teams may have together."""
    for larger in range(min(count, task.larger_teams) + 1):
        if count - larger <= task.teams - task.larger_teams:
            yield task.smaller * count + larger


def _completed(
    units: Units, values: Floats, group: tuple[int, ...], players: int
) -> tuple[float, float] | None:
    """Return the smallest and the largest sum of a group filled up to a number of players.

    The group is filled with complete units, as a knapsack that must be full. None if no units fit.
    """
    missing = players - int(units.size[list(group)].sum())
    if missing < 0:
        return None
    base = math.fsum(values[list(group)].tolist())
    least = np.full(missing + 1, np.inf)
    greatest = np.full(missing + 1, -np.inf)
    least[0] = greatest[0] = 0.0
    for unit in range(len(units.size)):
        size = int(units.size[unit])
        if unit in group or size > missing:
            continue
        value = values[unit]
        least[size:] = np.minimum(least[size:], least[: missing + 1 - size] + value)
        greatest[size:] = np.maximum(greatest[size:], greatest[: missing + 1 - size] + value)
    if math.isinf(least[missing]):
        return None
    return base + float(least[missing]), base + float(greatest[missing])
