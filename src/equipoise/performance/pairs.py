"""Games gathered to pairs: all the equilibrium needs to know of a tournament.

W and Y of [PRE]_ sec. 2 are sparse: a pair that met is one row here. Which games it was, and in
which order, plays no part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.games import Games


class Pairs(NamedTuple):
    """K pairs of players who met, in the order of (first, second).

    first, second : shape (K,), rows; first < second, unless colours are kept apart: then first
        had white, and a pair that met with both colours has two rows
    weight : shape (K,), w_ij, the number of games
    points : shape (K,), y_ij, points of the first
    draws : shape (K,), drawn games; NaN where not known
    """

    first: Ints
    second: Ints
    weight: Floats
    points: Floats
    draws: Floats


def gather_pairs(games: Games, *, coloured: bool = False) -> Pairs:
    """Return the pairs of a tournament; with `coloured` the two colours are kept apart."""
    weight, points = games.weights, games.points
    first, second = games.white, games.black
    if not coloured:
        turned = first > second
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        points = np.where(turned, weight - points, points)
    keys, place = np.unique(first * np.int64(games.players) + second, return_inverse=True)
    draws = np.full(games.rows, np.nan) if games.draws is None else games.draws
    size = len(keys)
    return Pairs(
        first=keys // max(games.players, 1),
        second=keys % max(games.players, 1),
        weight=np.bincount(place, weight, size).astype(np.float64),
        points=np.bincount(place, points, size).astype(np.float64),
        draws=np.bincount(place, draws, size).astype(np.float64),
    )
