"""Gathering millions of results to pairs, compiled and in linear time; see `pairs`.

Results are distributed to the rows of their first players, and each row, which is short, is sorted
by opponent and number of the result. So the results of a pair are summed in the order of the games,
as in `pairs.gather_pairs`, with the same bits.
"""

from __future__ import annotations

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.games import Games

#: Rows up to this length are sorted by insertion.
SHORT = 24
#: The high bits of a key hold the opponent, the low bits the number of the result.
_RESULT_BITS = 32
_RESULT = (1 << _RESULT_BITS) - 1


@inner_kernel
def _count_rows(white: Ints, black: Ints, coloured: bool, start: Ints) -> None:
    """Count each first player's results into start[row + 2]."""
    for g in range(len(white)):
        first = white[g] if coloured else min(white[g], black[g])
        start[first + 2] += 1
    for i in range(2, len(start)):
        start[i] += start[i - 1]


@inner_kernel
def _deal(white: Ints, black: Ints, coloured: bool, start: Ints, keys: Ints) -> None:
    """Write keys row by row; start[row + 1] runs from the row's start to its end."""
    for g in range(len(white)):
        first, second = white[g], black[g]
        if not coloured and first > second:
            first, second = second, first
        keys[start[first + 1]] = (second << _RESULT_BITS) | g
        start[first + 1] += 1


@inner_kernel
def _sort_short(keys: Ints, low: int, high: int) -> None:
    for i in range(low + 1, high):
        key, j = keys[i], i - 1
        while j >= low and keys[j] > key:
            keys[j + 1] = keys[j]
            j -= 1
        keys[j + 1] = key


@kernel
def _sort_rows(start: Ints, keys: Ints, pairs: Ints) -> None:
    """Sort every row, and count its distinct opponents into pairs[row + 1], running."""
    for i in range(len(pairs) - 1):
        low, high = start[i], start[i + 1]
        if high - low <= SHORT:
            _sort_short(keys, low, high)
        else:
            keys[low:high].sort()
        distinct = 0
        for k in range(low, high):
            if k == low or (keys[k] >> _RESULT_BITS) != (keys[k - 1] >> _RESULT_BITS):
                distinct += 1
        pairs[i + 1] = pairs[i] + distinct


@inner_kernel
def _fill(start: Ints, keys: Ints, first: Ints, second: Ints) -> None:
    """Write the pairs' players."""
    at = -1
    for i in range(len(start) - 1):
        for k in range(start[i], start[i + 1]):
            opponent = keys[k] >> _RESULT_BITS
            if k == start[i] or opponent != (keys[k - 1] >> _RESULT_BITS):
                at += 1
                first[at], second[at] = i, opponent


@inner_kernel
def _sum(
    start: Ints, keys: Ints, white: Ints, values: Floats, of_other: Floats, out: Floats
) -> None:
    """Sum values of the results of every pair; of_other where white is not the first player.

    Either may be empty: then every result counts 1.
    """
    at = -1
    for i in range(len(start) - 1):
        for k in range(start[i], start[i + 1]):
            if k == start[i] or (keys[k] >> _RESULT_BITS) != (keys[k - 1] >> _RESULT_BITS):
                at += 1
                out[at] = 0.0
            g = keys[k] & _RESULT
            if len(values) == 0:
                out[at] += 1.0
            elif white[g] == i:
                out[at] += values[g]
            else:
                out[at] += (of_other[g] if len(of_other) > 0 else 1.0) - values[g]


def gather_many(games: Games, coloured: bool) -> tuple[Ints, Ints, list[Floats]]:
    """Return first, second, and the sums of weight, points (of first) and draws where known."""
    white, black, none = games.white, games.black, np.empty(0)
    start = np.zeros(games.players + 2, dtype=np.int64)
    keys = np.empty(games.rows, dtype=np.int64)
    _count_rows(white, black, coloured, start)
    _deal(white, black, coloured, start, keys)
    start = start[:-1]
    rows = np.zeros(games.players + 1, dtype=np.int64)
    _sort_rows(start, keys, rows)
    first, second, weight, points = (
        np.empty(rows[-1], dtype=kind) for kind in (np.int64, np.int64, np.float64, np.float64)
    )
    _fill(start, keys, first, second)
    # A weight is the same from either side.
    weights = none if games.weight is None else games.weight
    _sum(start, keys, white, weights, 2.0 * weights, weight)
    _sum(start, keys, white, games.points, weights, points)
    sums = [weight, points]
    if games.draws is not None:
        draws = np.empty(rows[-1])
        _sum(start, keys, white, games.draws, 2.0 * games.draws, draws)
        sums.append(draws)
    return first, second, sums
