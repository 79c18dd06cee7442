"""A proven lower bound: no split of the lobby has a smaller objective.

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

from equipoise.arrays import Floats
from equipoise.teams.lobby.task import Task, Units

#: Rounding error of a sum, relative to the sum of its absolute values.
_ROUNDING = 1e-13
#: Number of the largest units whose combinations count.
_LARGEST = 7
#: Largest number of ways to complete a team that are listed; with more, there is no bound.
_LISTED = 50_000


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
        if sum(one.shape[1] for one in of_size) > _LISTED:
            return None
    return of_size[missing]


class _Forced:
    """The ranges of one column of values, for units that must be in different teams.

    groups : units in different teams, the smaller groups first; known : the same, as sorted tuples
    ends : for every group and number of players, the smallest and the largest sum
    """

    def __init__(self, task: Task, units: Units, values: Floats, largest: Sequence[int]) -> None:
        self.task = task
        self.groups = list(_groups(task, units, largest))
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
                    others = tuple(one for one in group if one not in part)
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


def _groups(task: Task, units: Units, largest: Sequence[int]) -> Iterator[tuple[int, ...]]:
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
