"""Partial compositions as rows of arrays, and what their completions cannot go below."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints


class Window(NamedTuple):
    """Sizes of the smallest and the largest team."""

    low: int
    high: int


class Rows(NamedTuple):
    """Partial compositions of the first parties: R rows.

    players, total : shape (R, T), players and attributes of every team
    team : shape (R, parties placed), int16
    """

    players: Ints
    total: Floats
    team: Ints

    def take(self, rows: Ints | slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.players[rows], self.total[rows], self.team[rows])


class Left(NamedTuple):
    """What the parties that are still to be placed can add to a team, by number of players.

    players : of all of them; least, greatest : shape (players + 1,)
    """

    players: int
    least: Floats
    greatest: Floats


def left_of(mean: Floats, sizes: Ints) -> Left:
    """Return what parties can add to a team, if they could be torn.

    mean : of every party; sizes : its players
    """
    values = np.sort(np.repeat(mean, sizes))
    zero = np.zeros(1)
    return Left(
        len(values),
        np.concatenate([zero, np.cumsum(values)]),
        np.concatenate([zero, np.cumsum(values[::-1])]),
    )


def lower_bound(rows: Rows, window: Window, left: Left, middle: float) -> Floats:
    """Return a distance that no completion of a row goes below, shape (R,).

    window : sizes that teams will have
    middle : mean of all players
    """
    low, high = window
    if low == 0:
        # An empty team has no mean: nothing can be said.
        return np.zeros(len(rows.players))
    least = np.full(rows.players.shape, np.inf)
    greatest = -least
    for size in range(low, high + 1):
        more = size - rows.players
        may = (more >= 0) & (more <= left.players)
        more = np.where(may, more, 0)
        down = (rows.total + left.least[more]) / size
        up = (rows.total + left.greatest[more]) / size
        least = np.minimum(least, np.where(may, down, np.inf))
        greatest = np.maximum(greatest, np.where(may, up, -np.inf))
    # The two means furthest apart are at least so far.
    bound = np.maximum(least.max(axis=1) - greatest.min(axis=1), 0.0)
    if low == high:
        # Means of equal teams have a known middle, so what is above weighs what is below.
        above = np.maximum(least - middle, 0.0).sum(axis=1)
        below = np.maximum(middle - greatest, 0.0).sum(axis=1)
        bound = np.maximum(bound, 2 * np.maximum(above, below))
    return np.asarray(bound)


def distances(rows: Rows) -> Floats:
    """Return the distance of every row; sorted means, so that equal teams give equal bits."""
    there = rows.players > 0
    means = np.where(there, rows.total / np.maximum(rows.players, 1), np.nan)
    means.sort(axis=1)
    centre = np.nansum(means, axis=1) / there.sum(axis=1)
    return np.asarray(np.nansum(np.abs(means - centre[:, None]), axis=1))
