"""A lobby as numbers: strengths and squares in a fixed order, and who goes together or apart.

Rows are in the order of `Lobby.order`, the top player first, so that the order in which players
came changes nothing. Strengths are taken from their mean, which J does not see and which keeps
sums small.
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
