"""The performance of players in one tournament, as charts and tables show it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.errors import require


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PerformanceSeries:
    """N players of a tournament in any order; every array of shape (N,), NaN where there is none.

    names : as they are shown
    ppr, error : perfect performance rating and the half-width of its interval
    tpr, rating : tournament performance rating, and rating before the tournament
    points, games : that the player took and played
    lower, upper : bounds on one side each, where all or no points were taken of somebody else:
        the player performed at least, at most so well
    group : number of the player's class from 0, whoever is above first; None: all in one
    within_group : whether `ppr` is that among the player's class, and says nothing across classes
    Raises : InvalidParameterError   no player, or columns of other lengths
    """

    names: tuple[str, ...]
    ppr: Floats
    error: Floats
    tpr: Floats
    rating: Floats
    points: Floats
    games: Floats
    lower: Floats
    upper: Floats
    group: Ints | None = None
    within_group: bool = False

    def __post_init__(self) -> None:
        """Check that there is one of everything for each player."""
        require(self.players >= 1, "players", "at least one", self.players)
        for one in fields(self):
            column = getattr(self, one.name)
            if isinstance(column, np.ndarray):
                shape = (self.players,)
                require(column.shape == shape, one.name, f"of shape {shape}", column.shape)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassGraph:
    """Who swept whom: C classes of players, and A arcs from classes to those they swept.

    A class is as many players as possible of whom everybody took points off everybody else,
    directly or through others; arcs therefore never lead back.

    classes : names of the members of each class
    above, below : shape (A,), rows of the class that took every point and of that which took none
    games : shape (A,), number (weight) of the games between the two
    Raises : InvalidParameterError   an arc names no class, leads back, or a class is empty
    """

    classes: tuple[tuple[str, ...], ...]
    above: Ints
    below: Ints
    games: Floats

    def __post_init__(self) -> None:
        """Check that arcs lead downwards between classes."""
        count = len(self.classes)
        require(count >= 1 and all(self.classes), "classes", "at least one, none empty", count)
        for name in ("above", "below"):
            rows: Ints = getattr(self, name)
            require(rows.shape == self.games.shape, name, "one an arc", rows.shape)
            within = not len(rows) or (rows.min() >= 0 and rows.max() < count)
            require(bool(within), name, f"rows of the {count} classes", rows.tolist())
        self.levels()

    def levels(self) -> Ints:
        """Return how many classes stand above one another at most over each, shape (C,).

        Raises : InvalidParameterError   arcs lead back to where they come from
        """
        level = np.zeros(len(self.classes), dtype=np.int64)
        for _ in range(len(self.classes) + 1):
            lower = level.copy()
            np.maximum.at(lower, self.below, level[self.above] + 1)
            if np.array_equal(lower, level):
                return level
            level = lower
        require(False, "arcs", "downwards only, without a way back", "a circle")
        return level
