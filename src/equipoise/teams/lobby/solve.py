"""Solving a task: exactly where two teams or few players allow it, else by search with a bound.

A value that no split can go below, proved by what parties force.

Somebody who comes in a party brings along a fixed part of a team. Two arguments follow:

- The rest of that team is some choice of others, of exactly the missing size. Whatever it is, the
  other teams share what is left, and one of them is at least as far away as their mean is.
- Several units that are too large for one team are in different teams. Filled up with the best, or
  the worst, there is, their means lie between two values; so do those of other such units. Where
  the two ranges do not meet, some two teams are as far apart as the ranges are.

The mean of the others' uncertainties is at most the root of their mean square, which is why J may
be bounded by m + u and m - u of the aggregate of the others, where the team's u is the larger.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.teams.lobby.feasibility import NoPlacementError
from equipoise.teams.lobby.many_teams import MOST_UNITS, Found, all_best, search
from equipoise.teams.lobby.task import ContradictionError, Task, Units, knots_of, units_of
from equipoise.teams.lobby.two_teams import best_splits, ranked, ranked_teams

#: Of a sum, relative.
_ROUNDING = 1e-13
#: Units whose combinations are looked at: the largest.
_LOOKED_AT = 7
#: Choices of others that are listed, at most; of more it is known only that they are many.
_LISTED = 50_000


class Range(NamedTuple):
    """The least and the greatest mean that some teams together may have."""

    low: float
    high: float


_NOTHING = Range(math.inf, -math.inf)
_ANYTHING = Range(-math.inf, math.inf)


def lower_bound(task: Task, units: Units) -> float:
    """Return a lower bound of J over all splits, at least 0."""
    largest = np.argsort(-units.size, kind="stable")[:_LOOKED_AT].tolist()
    strength = _Forced(task, units, units.strength, largest)
    bounds = [0.0, strength.distance(root=False)]
    bounds += [_completion_bound(task, units, unit, strength) for unit in largest]
    if task.weight > 0:
        square = _Forced(task, units, units.square, largest)
        bounds.append(task.weight * square.distance(root=True))
    # Sums were rounded: stay below by more than that. A root of nothing magnifies it.
    slack = _ROUNDING * float(np.abs(units.strength).sum())
    slack += task.weight * math.sqrt(_ROUNDING * float(units.square.sum()))
    return max(0.0, max(bounds) - slack)


def _completion_bound(task: Task, units: Units, unit: int, forced: _Forced) -> float:
    """Return how far apart some teams are, whoever fills up the team of a unit."""
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
    """Return strength and square of all teams of some size with a unit; None: too many to list."""
    missing = size - int(units.size[unit])
    if missing < 0:
        return np.zeros((2, 0))
    columns = np.stack([units.strength, units.square])
    # of_size[s]: sums of all choices of s players among the units seen so far.
    of_size = [columns[:, [unit]] if s == 0 else np.zeros((2, 0)) for s in range(missing + 1)]
    for other in range(len(units.size)):
        own = int(units.size[other])
        if other == unit or own > missing or (min(unit, other), max(unit, other)) in units.apart:
            continue
        for s in range(missing, own - 1, -1):
            more = of_size[s - own] + columns[:, [other]]
            of_size[s] = np.concatenate([of_size[s], more], axis=1)
        if sum(one.shape[1] for one in of_size) > _LISTED:
            return None
    return of_size[missing]


class _Forced:
    """What units in different teams for certain force upon one column of values.

    groups : units in different teams, the smaller groups first; known : the same, sorted
    ends : for every group and number of players the least and the greatest sum
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
        """Return how far apart the ranges of groups in different teams, or of the rest, are.

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
        """Return how far the teams of a group are from all others but one, whose sum is given.

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
    """Return the least distance between values of two ranges."""
    if root:
        one = Range(*(math.sqrt(max(end, 0.0)) for end in one))
        other = Range(*(math.sqrt(max(end, 0.0)) for end in other))
    return max(one.low - other.high, other.low - one.high, 0.0)


def _groups(task: Task, units: Units, largest: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield groups of units that are in different teams for certain, the smaller groups first."""
    apart = set(units.apart)

    def different(one: int, other: int) -> bool:
        too_large = int(units.size[one] + units.size[other]) > task.largest
        return too_large or (min(one, other), max(one, other)) in apart

    for count in range(1, min(len(largest), task.teams) + 1):
        for group in itertools.combinations(largest, count):
            if all(different(a, b) for a, b in itertools.combinations(group, 2)):
                yield group


def _sizes(task: Task, count: int) -> Iterator[int]:
    """Yield how many players so many different teams may have together."""
    for larger in range(min(count, task.larger_teams) + 1):
        if count - larger <= task.teams - task.larger_teams:
            yield task.smaller * count + larger


def _completed(
    units: Units, values: Floats, group: tuple[int, ...], players: int
) -> tuple[float, float] | None:
    """Return the least and the greatest sum of a group filled up to so many players.

    Filled with whole units, whichever fit by size: a knapsack that must be full; None where no
    units fit.
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


#: Steps of the search before all splits are looked at.
_SHORT = 60
#: Rows of the players of every team.
RowTeams = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a search may take.

    steps : pairs of teams laid anew, at most
    seed : of its random choices
    in_time : asked after every step
    whole : strengths are whole numbers, of which `whole` times a J without uncertainty is one
    """

    steps: int
    seed: int
    in_time: Callable[[], bool] = lambda: True
    whole: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best splits, the best first.

    bound : proved for J; None where the first split is proved to be the best
    compared : number of splits there are, where all were looked at or passed over
    """

    splits: tuple[RowTeams, ...]
    bound: float | None = None
    compared: int | None = None
    stopped: bool = False


def solve(task: Task, effort: Effort, keep: int, start: Ints | None = None) -> Solution | None:
    """Return the `keep` best splits of a task; None where there is no split at all.

    start : team of every player, from which a search sets out
    Raises : NoPlacementError   none was found, but that none exists is not proved
    """
    units = units_of(task)
    if units is None:
        return None
    if task.teams == 2:
        try:
            knots = knots_of(units)
        except ContradictionError:
            return None
        found = best_splits(task, units, knots, keep)
        if found is not None:
            first_teams = ranked(task, found, keep)
            if not first_teams:
                return None
            splits = tuple(_with_rest(task, first) for first in first_teams)
            return Solution(splits=splits, compared=found.splits)
    return _searched(task, units, effort, keep, start)


def _with_rest(task: Task, first: tuple[int, ...]) -> RowTeams:
    return first, tuple(sorted(set(range(task.players)) - set(first)))


def _searched(
    task: Task, units: Units, effort: Effort, keep: int, start: Ints | None
) -> Solution | None:
    # What a constraint cost is looked for from a split that is known, and needs no bound.
    bound = lower_bound(task, units) if start is None else 0.0
    if effort.whole:
        # Differences of whole sums are whole; less a little for rounding.
        bound = math.ceil(bound * effort.whole - 1e-6) / effort.whole
    leads = [rows[0] for rows in units.rows]

    def look(steps: int) -> Found:
        return search(
            task,
            units,
            rng=np.random.default_rng(effort.seed),
            keep=keep,
            steps=steps,
            enough=bound,
            start=None if start is None else start[leads],
            in_time=effort.in_time,
        )

    every = None
    try:
        # Where all splits can be looked at, a short search tells which need not be.
        found = look(min(effort.steps, _SHORT) if len(leads) <= MOST_UNITS else effort.steps)
        if len(leads) <= MOST_UNITS:
            limit = found.plans[-1][0] if len(found.plans) == keep else np.inf
            every = all_best(task, units, limit, keep) or None
            found = look(effort.steps) if every is None and not found.stopped else found
    except NoPlacementError as missing:
        if missing.proved:
            return None
        raise
    plans = found.plans if every is None else every
    splits = [_row_teams(units, team) for _, team in plans]
    return Solution(
        splits=tuple(ranked_teams(task, splits, [one for one, _ in plans])[:keep]),
        bound=bound if every is None else None,
        stopped=found.stopped and every is None,
    )


def _row_teams(units: Units, team: Ints) -> RowTeams:
    """Return the rows of every team, the team of the top player first."""
    of_player = team[units.of_player]
    teams = [tuple(np.flatnonzero(of_player == one).tolist()) for one in np.unique(of_player)]
    return tuple(sorted(teams))
