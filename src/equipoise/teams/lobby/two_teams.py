"""The best splits into two teams, exactly.

Source: [TG2]_ section 13; READINGS A10 for the tie-breaks.

The search covers all splits by meeting in the middle. It divides the components of avoid pairs
(see `task`) into two halves and lists all ways to assign each half to the two teams, with their
sums. J is at least the difference of the mean ratings. So for one way of the left half, only those
ways of the right half matter for which this difference is within the best J so far. Sorted by
strength, they are consecutive. For 24 players, the search computes J of a few thousand out of 1.35
million splits, and no other split can be among the best. The same holds for the difference of two
chances, which limits the difference of the centres (`Chances.reach`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Floats, Ints
from equipoise.teams.lobby.fairness import Candidates, Members
from equipoise.teams.lobby.task import TOLERANCE, BipartiteComponents, Task, Units

#: Largest number of components that are split exactly: 2^18 ways for either half take a few tenths
#: of a second.
MOST_COMPONENTS = 36
#: Largest number of splits for which J is computed: many equal players give many ties, which all
#: count.
MOST_COMPARED = 5_000_000
#: Number of splits for which J is computed together.
_CHUNK = 1 << 16
_Number = TypeVar("_Number", np.int64, np.float64)


class Half(NamedTuple):
    """All ways to assign half of the components: sums over the players of the first team.

    Bit j of a way's number is the side of component j in the first team. For squares there are also
    the sums over the second team, because a difference would lose the digits of a small sum.
    """

    size: Ints
    strength: Floats
    square: Floats
    rest_square: Floats
    rating: Floats


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
    groups = list(_groups(task, left, right))
    limit = _first_limit(task, left, right, groups, keep)
    if sum(_run_lengths(task, left, right, group, limit) for group in groups) > MOST_COMPARED:
        return None
    objective, one, two, size = _gather(task, left, right, groups, limit, keep)
    square = left.square[one] + right.square[two]
    rest_square = left.rest_square[one] + right.rest_square[two]
    return Candidates(
        objective=objective,
        left=one,
        right=two,
        size=size,
        mean=_mean_differences(task, left.rating[one] + right.rating[two], size),
        spread=np.abs(np.sqrt(square) - np.sqrt(rest_square)),
        members=Members(units, components, middle),
        splits=sum(len(group.left) * len(group.right) for group in groups),
    )


def _ways(components: BipartiteComponents, chosen: range, base: int | None) -> Half:
    """Return the sums of all ways to assign some components, added to one side of `base`."""
    return Half(
        _sums(components.size, chosen, base),
        _sums(components.strength, chosen, base),
        _sums(components.square, chosen, base),
        _sums(components.square[:, ::-1], chosen, base),
        _sums(components.rating, chosen, base),
    )


def _sums(column: NDArray[_Number], chosen: range, base: int | None) -> NDArray[_Number]:
    """Return the sums of one column: bit j of a way's number is the side of the j-th component."""
    sums = np.zeros(1, column.dtype) if base is None else column[base, :1]
    for component in chosen:
        sums = np.concatenate([sums + column[component, 0], sums + column[component, 1]])
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
    """Return J [TG2]_ (48) or the difference of chances, given the ways of both halves."""
    one, two = ways
    rest = task.players - size
    slope, base = _line(task, size)
    mean = slope * (half.strength[one] + other.strength[two]) - base
    square = half.square[one] + other.square[two]
    rest_square = half.rest_square[one] + other.rest_square[two]
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
    lines = {one: _line(task, one) for one in np.unique(size).tolist()}
    slope, base = (np.array([lines[one][part] for one in size.tolist()]) for part in range(2))
    difference: Floats = np.abs(slope * rating - base)
    return difference


def _first_limit(task: Task, left: Half, right: Half, groups: list[Group], keep: int) -> float:
    """Return a J that at least `keep` splits do not exceed: those with the nearest means."""
    found = []
    for group in groups:
        slope, base = _line(task, group.size)
        sums = right.strength[group.right]
        nearest = base / slope - left.strength[group.left]
        at = np.searchsorted(sums, nearest).clip(max=len(sums) - 1)
        ways = (group.left, group.right[at])
        found.append(_objective(task, left, right, ways, group.size))
    return _least(np.concatenate(found), keep) if found else 0.0


def _least(objectives: Floats, keep: int) -> float:
    """Return the `keep`-th smallest objective, plus the tolerance for equal ones."""
    if len(objectives) < keep:
        return np.inf
    return float(np.partition(objectives, keep - 1)[keep - 1]) + 2.0 * TOLERANCE


def _runs(task: Task, left: Half, right: Half, group: Group, limit: float) -> tuple[Ints, Ints]:
    """Return start and length of the run of right ways within `limit`, for every left way."""
    slope, base = _line(task, group.size)
    reach = limit if task.chances is None else task.chances.reach(limit, group.size)
    sums, own = right.strength[group.right], left.strength[group.left]
    start = np.searchsorted(sums, (base - reach) / slope - own, side="left")
    stop = np.searchsorted(sums, (base + reach) / slope - own, side="right")
    return start, np.maximum(stop - start, 0)


def _run_lengths(task: Task, left: Half, right: Half, group: Group, limit: float) -> int:
    return int(_runs(task, left, right, group, limit)[1].sum())


def _gather(
    task: Task, left: Half, right: Half, groups: list[Group], limit: float, keep: int
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
    one = np.repeat(group.left[chunk], length)
    before = np.cumsum(length) - length
    at = np.arange(len(one)) - np.repeat(before - start, length)
    return one, group.right[at]
