"""Two teams: whoever must be apart is on opposite sides, so constraints become one choice each.

With two teams an avoid pair says "opposite sides", as do locks to different teams and the rule for
the top two. Units tied by such pairs form a knot, which can only be laid one way or the other.
Splits are then choices between two ways for every knot, whatever the constraints are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.balance.task import Units


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
