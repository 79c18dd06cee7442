"""Which of several equally fair splits is taken.

Source: [TG2]_ section 13.5 and READINGS A10: among the splits within 1e-9 of the least J those with
the least difference of mean long-term ratings, then of uncertainties U, each within 1e-9, then the
one whose first team has the smallest sorted list of ids.

The best splits into two teams, exactly.

Source: [TG2]_ section 13; READINGS A10 for the tie-breaks.

All splits are covered by meeting in the middle. The knots (`two_sides`) are dealt into two halves,
and all ways to lay each half are listed with their sums. J is at least the difference of the mean
ratings, so for one way of the left half only those ways of the right half matter that come within
J of the best splits found so far; sorted by strength they are a run. Of 1.35 million splits of 24
players some thousands are looked at, and no other can be among the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Flags, Floats, Ints
from equipoise.teams.lobby.task import TOLERANCE, Knots, Task, Units


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


#: Knots that are split exactly: 2^18 ways for either half, some tenths of a second.
MOST_KNOTS = 36
#: Splits looked at, at most: many equal players tie, and ties cannot be passed over.
MOST_LOOKED_AT = 5_000_000
#: Splits looked at together.
_CHUNK = 1 << 16


_Number = TypeVar("_Number", np.int64, np.float64)


class Half(NamedTuple):
    """All ways to lay half of the knots: sums over the players that come to the first team.

    Bit j of a way's number says which side of knot j that is. Of squares there are also the sums
    over those who do not: a difference would lose what little one team may have.
    """

    size: Ints
    strength: Floats
    square: Floats
    rest_square: Floats
    rating: Floats


class Group(NamedTuple):
    """Ways of both halves that together give the first team its size.

    left, right : numbers of ways; those of the right half by ascending strength
    size : players of the first team
    """

    left: Ints
    right: Ints
    size: int


def best_splits(task: Task, units: Units, knots: Knots, keep: int) -> Candidates | None:
    """Return all splits whose J is among the `keep` least; None where there are too many.

    No split at all gives an empty result.
    """
    count = len(knots.sides)
    if count > MOST_KNOTS:
        return None
    middle = (count + 1) // 2
    # The first knot holds the top player, whose team is the first: it is laid one way only.
    left = _ways(knots, range(1, middle), base=0)
    right = _ways(knots, range(middle, count), base=None)
    groups = list(_groups(task, left, right))
    limit = _first_limit(task, left, right, groups, keep)
    if sum(_run_lengths(task, left, right, group, limit) for group in groups) > MOST_LOOKED_AT:
        return None
    objective, one, two, size = _gather(task, left, right, groups, limit, keep)
    rest = task.players - size
    square = left.square[one] + right.square[two]
    rest_square = left.rest_square[one] + right.rest_square[two]
    return Candidates(
        objective=objective,
        left=one,
        right=two,
        size=size,
        # The ratings of all players add up to 0, as the strengths do.
        mean=np.abs(left.rating[one] + right.rating[two]) * (1.0 / size + 1.0 / rest),
        spread=np.abs(np.sqrt(square) - np.sqrt(rest_square)),
        members=Members(units, knots, middle),
        splits=sum(len(group.left) * len(group.right) for group in groups),
    )


class Members:
    """Who is in the first team of a split, told from the ways of both halves."""

    def __init__(self, units: Units, knots: Knots, middle: int) -> None:
        self._middle = middle
        self._place = np.zeros((len(units.of_player), 2), dtype=np.int64)
        for knot, sides in enumerate(knots.sides):
            for side, found in enumerate(sides):
                for unit in found:
                    self._place[list(units.rows[unit])] = knot, side

    def has(self, player: int, left: Ints, right: Ints) -> Flags:
        """Return in which splits a player is in the first team."""
        knot, side = self._place[player].tolist()
        if knot == 0:
            return np.full(len(left), side == 0)
        ways, bit = (left, knot - 1) if knot < self._middle else (right, knot - self._middle)
        inside: Flags = (ways >> bit) & 1 == side
        return inside


def _ways(knots: Knots, chosen: range, base: int | None) -> Half:
    """Return the sums of all ways to lay some knots, with one side of a knot as their base."""
    return Half(
        _sums(knots.size, chosen, base),
        _sums(knots.strength, chosen, base),
        _sums(knots.square, chosen, base),
        _sums(knots.square[:, ::-1], chosen, base),
        _sums(knots.rating, chosen, base),
    )


def _sums(column: NDArray[_Number], chosen: range, base: int | None) -> NDArray[_Number]:
    """Return the sums of one column: bit j of a way's number is the side of the j-th knot."""
    sums = np.zeros(1, column.dtype) if base is None else column[base, :1]
    for knot in chosen:
        sums = np.concatenate([sums + column[knot, 0], sums + column[knot, 1]])
    return sums


def first_sizes(task: Task) -> tuple[int, ...]:
    """Return the sizes that the team of the top player may have."""
    if task.larger_teams == 0 or task.uneven:
        return (task.smaller,)
    return (task.smaller, task.smaller + 1)


def _groups(task: Task, left: Half, right: Half) -> Iterator[Group]:
    by_strength = np.argsort(right.strength, kind="stable")
    right_sizes = right.size[by_strength]
    for size in first_sizes(task):
        for part in np.unique(left.size).tolist():
            fitting = by_strength[right_sizes == size - part]
            if len(fitting):
                yield Group(np.flatnonzero(left.size == part), fitting, size)


def _objective(task: Task, half: Half, other: Half, ways: tuple[Ints, Ints], size: int) -> Floats:
    """Return J [TG2]_ (48) of splits, given by the ways of both halves."""
    one, two = ways
    rest = task.players - size
    # The strengths of all players add up to 0: S_A/n + S_A/m is the difference of the means.
    mean = (half.strength[one] + other.strength[two]) * (1.0 / size + 1.0 / rest)
    square = half.square[one] + other.square[two]
    rest_square = half.rest_square[one] + other.rest_square[two]
    spread = np.sqrt(square / size) - np.sqrt(rest_square / rest)
    objective: Floats = np.abs(mean) + task.weight * np.abs(spread)
    return objective


def _first_limit(task: Task, left: Half, right: Half, groups: list[Group], keep: int) -> float:
    """Return a J that at least `keep` splits do not exceed: those of the nearest means."""
    found = []
    for group in groups:
        sums = right.strength[group.right]
        at = np.searchsorted(sums, -left.strength[group.left]).clip(max=len(sums) - 1)
        ways = (group.left, group.right[at])
        found.append(_objective(task, left, right, ways, group.size))
    return _least(np.concatenate(found), keep) if found else 0.0


def _least(objectives: Floats, keep: int) -> float:
    """Return the `keep`-th least of some objectives, with room for what counts as equal to it."""
    if len(objectives) < keep:
        return np.inf
    return float(np.partition(objectives, keep - 1)[keep - 1]) + 2.0 * TOLERANCE


def _runs(task: Task, left: Half, right: Half, group: Group, limit: float) -> tuple[Ints, Ints]:
    """Return, for every left way of a group, the run of right ways whose mean part is in reach."""
    rest = task.players - group.size
    reach = limit / (1.0 / group.size + 1.0 / rest)
    sums, own = right.strength[group.right], left.strength[group.left]
    start = np.searchsorted(sums, -reach - own, side="left")
    stop = np.searchsorted(sums, reach - own, side="right")
    return start, np.maximum(stop - start, 0)


def _run_lengths(task: Task, left: Half, right: Half, group: Group, limit: float) -> int:
    return int(_runs(task, left, right, group, limit)[1].sum())


def _gather(
    task: Task, left: Half, right: Half, groups: list[Group], limit: float, keep: int
) -> tuple[Floats, Ints, Ints, Ints]:
    """Return J, left way, right way and size of all splits whose J is among the `keep` least."""
    best = np.full(keep, np.inf)
    parts: list[tuple[Floats, Ints, Ints, Ints]] = []
    for group in groups:
        start, length = _runs(task, left, right, group, limit)
        for chunk in _chunks(length):
            ways = _expanded(group, chunk, start[chunk], length[chunk])
            objective = _objective(task, left, right, ways, group.size)
            near = np.flatnonzero(objective <= limit)
            if len(near):
                found = objective[near]
                sizes = np.full(len(near), group.size)
                parts.append((found, ways[0][near], ways[1][near], sizes))
                best = np.sort(np.concatenate([best, found]))[:keep]
                limit = min(limit, float(best[-1]) + 2.0 * TOLERANCE)
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return np.zeros(0), nothing, nothing, nothing
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kept = columns[0] <= limit
    return columns[0][kept], columns[1][kept], columns[2][kept], columns[3][kept]


def _chunks(length: Ints) -> Iterator[slice]:
    """Yield slices of rows whose runs are some ten thousand splits together."""
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
    one = np.repeat(group.left[chunk], length)
    before = np.cumsum(length) - length
    at = np.arange(len(one)) - np.repeat(before - start, length)
    return one, group.right[at]
