"""Games summed by pair of players, which is all that the equilibrium needs of a tournament.

W and Y of [PRE]_ sec. 2 are sparse: a pair that met is one row here. The single games and their
order have no effect. Millions of results are gathered by `pair_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import Games

#: Number of results from which compiled code gathers them; it gives the same bits.
MANY_RESULTS = 300_000
#: Largest number of cells of a table of all possible pairs, or ten for every result.
TABLE_CELLS = 1_000_000


class Pairs(NamedTuple):
    """K pairs of players who met, in the order of (first, second).

    first, second : shape (K,), rows; first < second, unless colours are distinguished: then first
        had white, and a pair that met with both colours has two rows
    weight : shape (K,), w_ij, the number of games
    points : shape (K,), y_ij, points of the first
    draws : shape (K,), drawn games; NaN if not known
    """

    first: Ints
    second: Ints
    weight: Floats
    points: Floats
    draws: Floats

    def played(self, players: int) -> Floats:
        """Return the number of games of every player, shape (players,): k."""
        return self.summed(self.weight, self.weight, players)

    def scored(self, players: int) -> Floats:
        """Return the points of every player, shape (players,): m."""
        return self.summed(self.points, self.weight - self.points, players)

    def summed(self, of_first: Floats, of_second: Floats, players: int) -> Floats:
        """Return the sum over every player's pairs of a number of each side, shape (players,)."""
        first = np.bincount(self.first, of_first, players)
        return np.asarray(first + np.bincount(self.second, of_second, players), np.float64)

    def where(self, kept: Flags | Ints) -> Pairs:
        """Return some of the pairs; kept : shape (K,), or their rows."""
        return Pairs._make(column[kept] for column in self)


def gather_pairs(
    games: Games, *, coloured: bool = False, many_results: int = MANY_RESULTS
) -> Pairs:
    """Return the pairs of a tournament; `coloured` distinguishes the two colours.

    Results of a pair are summed in the order of the games.
    many_results : number of results from which compiled code gathers them
    """
    if games.rows >= many_results:
        # Small tournaments do not load the compiler.
        from equipoise.tournament.pair_kernels import gather_many

        first, second, sums = gather_many(games, coloured)
        return _pairs(games, first, second, sums)
    weight, points = games.weights, games.points
    first, second = games.white, games.black
    if not coloured:
        turned = first > second
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        points = np.where(turned, weight - points, points)
    players = np.int64(max(games.players, 1))
    keys, place = _numbered(first * players + second, int(players) ** 2)
    columns = [weight, points] + ([] if games.draws is None else [games.draws])
    sums = [np.bincount(place, column, len(keys)).astype(np.float64) for column in columns]
    return _pairs(games, keys // players, keys % players, sums)


def _numbered(key: Ints, cells: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the number of every row's key among them."""
    if cells > max(TABLE_CELLS, 10 * len(key)):
        keys, place = np.unique(key, return_inverse=True)
        return keys, place.astype(np.int64)
    present = np.zeros(cells, dtype=np.bool_)
    present[key] = True
    keys = np.flatnonzero(present)
    number = np.empty(cells, dtype=np.int64)
    number[keys] = np.arange(len(keys))
    return keys, number[key]


def _pairs(games: Games, first: Ints, second: Ints, sums: list[Floats]) -> Pairs:
    """Return pairs; draws that are not known take no memory."""
    weight, points = sums[0], sums[1]
    draws = np.broadcast_to(np.nan, len(first)) if games.draws is None else sums[2]
    return Pairs(first, second, weight, points, draws)


def with_prior(pairs: Pairs, players: int, games: float, *, coloured: bool = False) -> Pairs:
    """Return the pairs and, for everyone who played, drawn games against one more player.

    That player has row `players` and should be held at the average. With `coloured` half of the
    games are played with either colour. Their number of draws is NaN, because these games do not
    show how often players draw.
    """
    rows = np.flatnonzero(pairs.played(players) > 0)
    other = np.full(len(rows), players, dtype=np.int64)
    sides = [(rows, other), (other, rows)] if coloured else [(rows, other)]
    each = games / len(sides)
    first = np.concatenate([pairs.first, *(side[0] for side in sides)])
    second = np.concatenate([pairs.second, *(side[1] for side in sides)])
    more = len(first) - len(pairs.first)
    order = np.lexsort((second, first))
    return Pairs(
        first=first[order],
        second=second[order],
        weight=np.concatenate([pairs.weight, np.full(more, each)])[order],
        points=np.concatenate([pairs.points, np.full(more, each / 2)])[order],
        draws=np.concatenate([pairs.draws, np.full(more, np.nan)])[order],
    )
