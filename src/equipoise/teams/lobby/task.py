"""A lobby as numbers: strengths and squares in a fixed order, and who goes together or apart.

Rows are in the order of `Lobby.order`, the top player first, so that the order in which players
came changes nothing. Strengths are taken from their mean, which J does not see and which keeps
sums small.

Two teams: whoever must be apart is on opposite sides, so constraints become one choice each.

With two teams an avoid pair says "opposite sides", as do locks to different teams and the rule for
the top two. Units tied by such pairs form a knot, which can only be laid one way or the other.
Splits are then choices between two ways for every knot, whatever the constraints are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.numeric.graph import components

#: Objectives this close are equal, as are differences that break ties (READINGS A10).
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """What is to be split, and under which constraints.

    strength : shape (N,), effective rating less its mean
    rating : shape (N,), long-term rating less its mean
    square : shape (N,), squared deviation
    id_rank : shape (N,), place of the player's id among all ids
    teams : number of teams
    weight : of the uncertainty in the objective, lambda of [TG2]_ (48)
    parties, locks : rows that stay in one team; players of different locks are against each other
    avoid : pairs of rows in different teams
    top : the best players, as many as there are teams, are in different teams
    uneven : the top player is in a team of the smaller size
    """

    strength: Floats
    rating: Floats
    square: Floats
    id_rank: Ints
    teams: int
    weight: float
    parties: tuple[tuple[int, ...], ...] = ()
    locks: tuple[tuple[int, ...], ...] = ()
    avoid: tuple[tuple[int, int], ...] = ()
    top: bool = True
    uneven: bool = True

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.strength)

    @property
    def smaller(self) -> int:
        """Size of the smaller teams."""
        return self.players // self.teams

    @property
    def larger_teams(self) -> int:
        """Number of teams that have one player more."""
        return self.players % self.teams

    @property
    def largest(self) -> int:
        """Size of the largest team."""
        return self.smaller + (self.larger_teams > 0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Units:
    """Players who must stay together, as one: K units.

    of_player : shape (N,), unit of every player; units are numbered by their best player
    rows : the players of every unit
    size : shape (K,)
    strength, square, rating : shape (K,), sums over the players
    apart : pairs of units in different teams, the lower number first
    """

    of_player: Ints
    rows: tuple[tuple[int, ...], ...]
    size: Ints
    strength: Floats
    square: Floats
    rating: Floats
    apart: tuple[tuple[int, int], ...]


def centred(values: Floats) -> Floats:
    """Return values less their mean, which is rounded once."""
    return values - math.fsum(values.tolist()) / len(values)


def units_of(task: Task) -> Units | None:
    """Return the units of a task; None where two who are kept together must be apart."""
    tied = [(group[0], row) for group in (*task.parties, *task.locks) for row in group[1:]]
    first, second = np.array(tied, dtype=np.int64).reshape(-1, 2).T
    of_player = components(first, second, task.players, plain=True)
    units = range(int(of_player.max()) + 1)
    rows = tuple(tuple(np.flatnonzero(of_player == unit).tolist()) for unit in units)
    apart = set()
    for one, other in _apart_rows(task):
        pair = sorted((int(of_player[one]), int(of_player[other])))
        if pair[0] == pair[1]:
            return None
        apart.add((pair[0], pair[1]))
    if task.top:
        apart |= _top_pairs(task, of_player)
    sums = [
        np.array([math.fsum(column[list(one)].tolist()) for one in rows])
        for column in (task.strength, task.square, task.rating)
    ]
    return Units(
        of_player=of_player,
        rows=rows,
        size=np.array([len(one) for one in rows], dtype=np.int64),
        strength=sums[0],
        square=sums[1],
        rating=sums[2],
        apart=tuple(sorted(apart)),
    )


def _top_pairs(task: Task, of_player: Ints) -> set[tuple[int, int]]:
    """Return the pairs of units that hold the best players; a unit with two of them is one."""
    units = sorted(set(of_player[: task.teams].tolist()))
    return {(one, other) for at, one in enumerate(units) for other in units[at + 1 :]}


def _apart_rows(task: Task) -> list[tuple[int, int]]:
    """Return pairs of players in different teams: who avoid each other, and one of each lock."""
    leads = [rows[0] for rows in task.locks]
    locked = [(one, other) for at, one in enumerate(leads) for other in leads[at + 1 :]]
    return [*task.avoid, *locked]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Knots:
    """K knots; column 0 is the side of the knot's best player, column 1 the other side.

    sides : of every knot the units of its two sides
    size, strength, square, rating : shape (K, 2), sums over the players of a side
    """

    sides: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    size: Ints
    strength: Floats
    square: Floats
    rating: Floats


class ContradictionError(Exception):
    """Units that cannot be kept apart in two teams: an odd ring of pairs; the units of it."""

    def __init__(self, units: list[int]) -> None:
        super().__init__(f"units {units} cannot be apart in two teams")
        self.units = units


def knots_of(units: Units) -> Knots:
    """Return the knots of units, the one with the top player first. Raises : ContradictionError."""
    neighbours: list[list[int]] = [[] for _ in units.rows]
    for one, other in units.apart:
        neighbours[one].append(other)
        neighbours[other].append(one)
    side = [-1] * len(units.rows)
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for start in range(len(side)):
        if side[start] < 0:
            found = _laid_out(start, neighbours, side)
            sides.append(
                (
                    tuple(one for one in found if side[one] == 0),
                    tuple(one for one in found if side[one] == 1),
                )
            )

    def sums(column: Floats | Ints) -> list[list[float]]:
        return [[float(column[list(one)].sum()) for one in pair] for pair in sides]

    return Knots(
        sides=tuple(sides),
        size=np.array(sums(units.size), dtype=np.int64).reshape(-1, 2),
        strength=np.array(sums(units.strength)).reshape(-1, 2),
        square=np.array(sums(units.square)).reshape(-1, 2),
        rating=np.array(sums(units.rating)).reshape(-1, 2),
    )


def _laid_out(start: int, neighbours: list[list[int]], side: list[int]) -> list[int]:
    """Give a side to every unit tied to `start`, and return these units in order."""
    side[start] = 0
    came_from = {start: -1}
    waiting = [start]
    for one in waiting:  # grows while we go
        for other in neighbours[one]:
            if side[other] < 0:
                side[other] = 1 - side[one]
                came_from[other] = one
                waiting.append(other)
            elif side[other] == side[one]:
                raise ContradictionError(_ring(one, other, came_from))
    return sorted(waiting)


def _ring(one: int, other: int, came_from: dict[int, int]) -> list[int]:
    """Return the units of the ring that the pair (one, other) closes."""
    paths = []
    for start in (one, other):
        path = [start]
        while came_from[path[-1]] >= 0:
            path.append(came_from[path[-1]])
        paths.append(path)
    while len(paths[0]) > 1 and len(paths[1]) > 1 and paths[0][-2] == paths[1][-2]:
        paths[0].pop()
        paths[1].pop()
    return sorted({*paths[0], *paths[1]})
