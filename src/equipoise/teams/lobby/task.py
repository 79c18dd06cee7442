"""A lobby as arrays, and its constraints as units and as components of avoid pairs.

Rows are in the order of `Lobby.order`, with the top player first, so the order of players in the
lobby has no effect. Strengths are differences from their mean: J does not depend on the mean, and
sums stay small.

Players who must stay together form one unit. For two teams, an avoid pair says "opposite sides", as
do locks to different teams and the rule for the top two. Units connected by such pairs form a
component, which can be assigned to the two teams in only two ways. So with any constraints, every
split is a choice between two ways for each component.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.numeric.graph import components
from equipoise.teams.lobby.chances import Chances

#: Objectives this close are equal, as are differences that break ties (READINGS A10).
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """The players to split into teams, and the constraints.

    strength : shape (N,), effective rating minus its mean
    rating : shape (N,), long-term rating minus its mean
    square : shape (N,), squared deviation
    chances : if the objective is the chance to win; then the three columns above are the centres
      minus their mean, the same again, and the players' own squared scales
    id_rank : shape (N,), position of the player's id among the sorted ids
    teams : number of teams
    weight : of the uncertainty in the objective, lambda of [TG2]_ (48)
    parties, locks : rows that stay in one team; different locks are in different teams
    avoid : pairs of rows in different teams
    top : the best players, as many as there are teams, must be in different teams
    uneven : the top player must be in a team of the smaller size
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
    chances: Chances | None = None

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
    """K units; each is a set of players who must stay together.

    of_player : shape (N,), unit of every player; units are numbered by their best player
    rows : the players of every unit
    size : shape (K,)
    strength, square, rating : shape (K,), sums over the players
    separated : pairs of units in different teams, the lower number first
    """

    of_player: Ints
    rows: tuple[tuple[int, ...], ...]
    size: Ints
    strength: Floats
    square: Floats
    rating: Floats
    separated: tuple[tuple[int, int], ...]


def centred(values: Floats) -> Floats:
    """Return values minus their mean, which is rounded once."""
    return values - math.fsum(values.tolist()) / len(values)


def units_of(task: Task) -> Units | None:
    """Return the units of a task; None if two players of one unit must be separated."""
    together = [(group[0], row) for group in (*task.parties, *task.locks) for row in group[1:]]
    first, second = np.array(together, dtype=np.int64).reshape(-1, 2).T
    of_player = components(first, second, task.players, plain=True)
    units = range(int(of_player.max()) + 1)
    rows = tuple(tuple(np.flatnonzero(of_player == unit).tolist()) for unit in units)
    separated = set()
    for one, other in _separated_rows(task):
        pair = sorted((int(of_player[one]), int(of_player[other])))
        if pair[0] == pair[1]:
            return None
        separated.add((pair[0], pair[1]))
    if task.top:
        separated |= _top_pairs(task, of_player)
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
        separated=tuple(sorted(separated)),
    )


def _top_pairs(task: Task, of_player: Ints) -> set[tuple[int, int]]:
    """Return the pairs of units that contain the best players; a unit may contain several."""
    units = sorted(set(of_player[: task.teams].tolist()))
    return {(one, other) for at, one in enumerate(units) for other in units[at + 1 :]}


def _separated_rows(task: Task) -> list[tuple[int, int]]:
    """Return pairs of players in different teams: avoid pairs, and one player of each lock."""
    leads = [rows[0] for rows in task.locks]
    locked = [(one, other) for at, one in enumerate(leads) for other in leads[at + 1 :]]
    return [*task.avoid, *locked]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BipartiteComponents:
    """K components of separated units; column 0 is the side of the best player of a component.

    sides : the units on either side of every component
    size, strength, square, rating : shape (K, 2), sums over the players of a side
    """

    sides: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    size: Ints
    strength: Floats
    square: Floats
    rating: Floats


class ContradictionError(Exception):
    """Two teams cannot separate all these units: their pairs form an odd cycle."""

    def __init__(self, units: list[int]) -> None:
        super().__init__(f"two teams cannot separate all of the units {units}")
        self.units = units


def bipartite_components(units: Units) -> BipartiteComponents:
    """Return the components of units, the one with the top player first.

    Raises : ContradictionError
    """
    neighbours: list[list[int]] = [[] for _ in units.rows]
    for one, other in units.separated:
        neighbours[one].append(other)
        neighbours[other].append(one)
    side = [-1] * len(units.rows)
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for start in range(len(side)):
        if side[start] < 0:
            found = _assign_sides(start, neighbours, side)
            sides.append(
                (
                    tuple(one for one in found if side[one] == 0),
                    tuple(one for one in found if side[one] == 1),
                )
            )

    def sums(column: Floats | Ints) -> list[list[float]]:
        return [[float(column[list(one)].sum()) for one in pair] for pair in sides]

    return BipartiteComponents(
        sides=tuple(sides),
        size=np.array(sums(units.size), dtype=np.int64).reshape(-1, 2),
        strength=np.array(sums(units.strength)).reshape(-1, 2),
        square=np.array(sums(units.square)).reshape(-1, 2),
        rating=np.array(sums(units.rating)).reshape(-1, 2),
    )


def _assign_sides(start: int, neighbours: list[list[int]], side: list[int]) -> list[int]:
    """Assign a side to every unit connected to `start`, and return these units in order."""
    side[start] = 0
    came_from = {start: -1}
    waiting = [start]
    for one in waiting:  # grows during the loop
        for other in neighbours[one]:
            if side[other] < 0:
                side[other] = 1 - side[one]
                came_from[other] = one
                waiting.append(other)
            elif side[other] == side[one]:
                raise ContradictionError(_cycle(one, other, came_from))
    return sorted(waiting)


def _cycle(one: int, other: int, came_from: dict[int, int]) -> list[int]:
    """Return the units of the odd cycle that the pair (one, other) closes."""
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
