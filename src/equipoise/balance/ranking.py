"""Which of several equally fair splits is taken.

Source: [TG2]_ section 13.5 and READINGS A10: among the splits within 1e-9 of the least J those with
the least difference of mean long-term ratings, then of uncertainties U, each within 1e-9, then the
one whose first team has the smallest sorted list of ids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.balance.task import TOLERANCE, Task

if TYPE_CHECKING:
    from equipoise.balance.two_teams import Members


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Splits into two teams, as the first team: the one with the top player.

    objective : J; left, right : ways of both halves; size : players
    mean, spread : differences of the mean long-term ratings and of the uncertainties U
    members : who is in it; splits : how many splits there are in all
    """

    objective: Floats
    left: Ints
    right: Ints
    size: Ints
    mean: Floats
    spread: Floats
    members: Members
    splits: int


def ranked(task: Task, found: Candidates, keep: int) -> list[tuple[int, ...]]:
    """Return the rows of the first teams of the best splits, the best first."""
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
        if len(over):  # a list that ends is smaller than one that goes on
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
    """Return splits into any number of teams, the best first, equals as for two teams.

    For differences between two teams stand the largest ones; lists of ids are compared team by
    team.

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
    spread = [math.sqrt(math.fsum(task.square[list(team)].tolist())) for team in teams]
    listed = [sorted(task.id_rank[list(team)].tolist()) for team in teams]
    return _TieKey((max(mean) - min(mean), max(spread) - min(spread)), listed)
