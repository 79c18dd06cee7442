"""The fairness of a split, and the order of equally fair splits.

Source: [TG2]_ (46)-(48) for the objective J, section 13.5 and READINGS A10 for the tie-breaks.

J of two teams is the difference of their mean effective ratings plus the weighted difference of
their uncertainties. For more teams J is the largest over all pairs of teams. With m the mean of a
team and u = lambda U/sqrt(n) its weighted uncertainty, |m - m'| + |u - u'| is the larger of
|(m + u) - (m' + u')| and |(m - u) - (m' - u')|. So the largest J over all pairs is the larger of
two ranges, and takes time linear in the number of teams.

Among the splits within 1e-9 of the least J, the ones with the least difference of mean long-term
ratings are taken; among these, the ones with the least difference of the uncertainties U, each
within 1e-9; among these, the one whose first team has the smallest sorted list of ids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.teams.lobby.task import TOLERANCE, BipartiteComponents, Task, Units


class Parts(NamedTuple):
    """J, and its parts for the two teams that differ most, in rating points."""

    objective: float
    rating_difference: float
    deviation_difference: float


def parts_of(
    strength: Floats, square: Floats, teams: Sequence[Sequence[int]], weight: float
) -> Parts:
    """Return J [TG2]_ (48) and its parts for the pair of teams that differ most.

    Sums are rounded once, so neither the order of players nor of teams matters.

    strength, square : shape (N,), effective rating and squared deviation
    teams : rows of the players of every team
    """
    mean = [math.fsum(strength[list(team)].tolist()) / len(team) for team in teams]
    spread = [math.sqrt(math.fsum(square[list(team)].tolist()) / len(team)) for team in teams]
    worst = Parts(0.0, 0.0, 0.0)
    for one, other in _extreme_pairs(mean, spread, weight):
        rating = abs(mean[one] - mean[other])
        deviation = abs(spread[one] - spread[other])
        worst = max(worst, Parts(rating + weight * deviation, rating, deviation))
    return worst


def _extreme_pairs(
    mean: Sequence[float], spread: Sequence[float], weight: float
) -> list[tuple[int, int]]:
    """Return two pairs of teams, one of which has the largest J."""
    pairs = []
    for sign in (1.0, -1.0):
        key = [m + sign * weight * u for m, u in zip(mean, spread, strict=True)]
        pairs.append((key.index(min(key)), key.index(max(key))))
    return pairs


def sum_difference(strength: Floats, teams: Sequence[Sequence[int]]) -> float:
    """Return the largest difference of the sums of effective ratings over pairs of teams."""
    sums = [math.fsum(strength[list(team)].tolist()) for team in teams]
    return max(sums) - min(sums)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Splits into two teams, each given by the first team, which has the top player.

    objective : J; left, right : ways of both halves; size : players
    mean, spread : differences of the mean long-term ratings and of the uncertainties U
    members : the players of the first team; splits : total number of splits
    """

    objective: Floats
    left: Ints
    right: Ints
    size: Ints
    mean: Floats
    spread: Floats
    members: Members
    splits: int


class Members:
    """The players in the first team of a split, from the ways of both halves."""

    def __init__(self, units: Units, components: BipartiteComponents, middle: int) -> None:
        self._middle = middle
        self._place = np.zeros((len(units.of_player), 2), dtype=np.int64)
        for component, sides in enumerate(components.sides):
            for side, found in enumerate(sides):
                for unit in found:
                    self._place[list(units.rows[unit])] = component, side

    def has(self, player: int, left: Ints, right: Ints) -> Flags:
        """Return in which splits a player is in the first team."""
        component, side = self._place[player].tolist()
        if component == 0:
            return np.full(len(left), side == 0)
        ways, bit = (
            (left, component - 1) if component < self._middle else (right, component - self._middle)
        )
        inside: Flags = (ways >> bit) & 1 == side
        return inside


def ranked(task: Task, found: Candidates, keep: int) -> list[tuple[int, ...]]:
    """Return the rows of the first teams of the best splits, best first."""
    order = np.argsort(found.objective, kind="stable")
    sorted_ = found.objective[order]
    chosen: list[int] = []
    while len(order) and len(chosen) < keep:
        near = order[: np.searchsorted(sorted_, sorted_[0] + TOLERANCE, side="right")]
        for column in (found.mean, found.spread):
            values = column[near]
            near = near[values <= values.min() + TOLERANCE]
        best = _smallest_ids(task, found, near)
        chosen.append(best)
        left = order != best
        order, sorted_ = order[left], sorted_[left]
    return [_rows(task, found, best) for best in chosen]


def _smallest_ids(task: Task, found: Candidates, at: Ints) -> int:
    """Return which of some splits has the smallest sorted list of ids in its first team."""
    listed = 0
    for player in np.argsort(task.id_rank).tolist():
        if len(at) == 1:
            break
        over = at[found.size[at] == listed]
        if len(over):  # a list is smaller than its continuation
            return int(over[0])
        has = found.members.has(player, found.left[at], found.right[at])
        if has.any():
            at = at[has]
            listed += 1
    return int(at[0])


def _rows(task: Task, found: Candidates, best: int) -> tuple[int, ...]:
    """Return the players of the first team of a split."""
    at = np.array([best])
    left, right = found.left[at], found.right[at]
    return tuple(row for row in range(task.players) if found.members.has(row, left, right)[0])


def ranked_teams(
    task: Task, splits: Sequence[Sequence[tuple[int, ...]]], objective: Sequence[float]
) -> list[tuple[tuple[int, ...], ...]]:
    """Return splits into any number of teams, best first, with the tie-breaks of two teams.

    Differences are the largest between any two teams; lists of ids are compared team by team.

    splits : rows of the players of every team; objective : J of each
    """
    left = sorted(range(len(splits)), key=lambda at: objective[at])
    keys = [_tie_key(task, one) for one in splits]
    order = []
    while left:
        near = [at for at in left if objective[at] <= objective[left[0]] + TOLERANCE]
        for part in range(2):
            least = min(keys[at].differences[part] for at in near)
            near = [at for at in near if keys[at].differences[part] <= least + TOLERANCE]
        best = min(near, key=lambda at: keys[at].listed)
        order.append(best)
        left.remove(best)
    return [tuple(splits[at]) for at in order]


class _TieKey(NamedTuple):
    """Differences of mean ratings and of uncertainties, and the sorted ids of every team."""

    differences: tuple[float, float]
    listed: list[list[int]]


def _tie_key(task: Task, teams: Sequence[tuple[int, ...]]) -> _TieKey:
    mean = [math.fsum(task.rating[list(team)].tolist()) / len(team) for team in teams]
    if task.chances is not None:
        sums = [[len(team), task.strength[list(team)].sum(), 0.0] for team in teams]
        mean = task.chances.centre(np.array(sums).T).tolist()
    spread = [math.sqrt(math.fsum(task.square[list(team)].tolist())) for team in teams]
    listed = [sorted(task.id_rank[list(team)].tolist()) for team in teams]
    return _TieKey((max(mean) - min(mean), max(spread) - min(spread)), listed)
