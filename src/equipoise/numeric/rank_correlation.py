"""How alike two columns of numbers order their rows: pairs, Kendall's tau and Spearman's rho.

Pairs are counted in n log n steps by Knight's method: rows are sorted by one column, and the
inversions of the other are the pairs in reverse order. Inversions are counted bit by bit, which
needs no compiled code.

Source: W. R. Knight, A computer method for calculating Kendall's tau with ungrouped data, Journal
of the American Statistical Association 61 (1966), 436-439. Tau is the one that is called b, which
is corrected for ties: M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33
(1945), 239-251.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints


class PairOrder(NamedTuple):
    """All pairs of rows, by how two columns order them.

    same, reverse : pairs that differ in both columns, in the same order or in reverse order
    tied_first, tied_second : pairs that are equal in the first, or in the second column only
    tied_both : pairs that are equal in both columns
    """

    same: int
    reverse: int
    tied_first: int
    tied_second: int
    tied_both: int

    @property
    def pairs(self) -> int:
        """Return the number of all pairs."""
        return sum(self)

    @property
    def tau(self) -> float:
        """Return Kendall's tau-b, NaN if a column has only equal numbers."""
        ordered = self.same + self.reverse
        # One root of the product, so that equal orders give exactly 1.
        below = math.sqrt((ordered + self.tied_second) * (ordered + self.tied_first))
        return (self.same - self.reverse) / below if below else math.nan


def pair_order(first: Floats, second: Floats) -> PairOrder:
    """Return how two columns order their pairs of rows; both have shape (n,), without NaN."""
    _, one = np.unique(first, return_inverse=True)
    _, other = np.unique(second, return_inverse=True)
    one, other = one.astype(np.int64), other.astype(np.int64)
    pairs = _pairs(np.array([len(one)]))
    both = _pairs(np.unique(one * (len(one) + 1) + other, return_counts=True)[1])
    tied_first = _pairs(np.bincount(one)) - both
    tied_second = _pairs(np.bincount(other)) - both
    # Rows that are equal in the first column are sorted by the second, so they have no inversion.
    reverse = inversions(other[np.lexsort((other, one))])
    same = pairs - reverse - tied_first - tied_second - both
    return PairOrder(same, reverse, tied_first, tied_second, both)


def inversions(ranks: Ints) -> int:
    """Return the number of pairs i < j with ranks[i] > ranks[j]; ranks are whole numbers from 0.

    Beginning with the highest bit, rows are grouped by the bits seen so far. A pair is counted at
    the first bit in which its ranks differ.
    """
    rows = np.asarray(ranks, dtype=np.int64)
    count = len(rows)
    found = 0
    for bit in range(int(rows.max(initial=0)).bit_length() - 1, -1, -1):
        one = (rows >> bit) & 1
        group = rows >> (bit + 1)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        sizes = np.diff(starts, append=count)
        before = np.cumsum(one) - one
        before -= np.repeat(before[starts], sizes)
        found += int(before[one == 0].sum())
        # Within each group, rows without this bit come first; the order stays the same otherwise.
        first = np.repeat(starts, sizes)
        zeros = np.repeat(sizes - np.add.reduceat(one, starts), sizes)
        place = np.where(one == 1, first + zeros + before, np.arange(count) - before)
        sorted_rows = np.empty_like(rows)
        sorted_rows[place] = rows
        rows = sorted_rows
    return found


def mean_ranks(values: Floats) -> Floats:
    """Return the rank of every number from 1, the lowest first; equal numbers share their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def pearson(first: Floats, second: Floats) -> float:
    """Return the correlation of two columns, NaN if one has only equal numbers."""
    # Compared before the mean is subtracted, which rounds.
    if len(first) < 2 or np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return math.nan
    one, other = first - first.mean(), second - second.mean()
    # Scaled, so that no square leaves the range of numbers.
    one, other = one / np.abs(one).max(), other / np.abs(other).max()
    below = math.sqrt(float(one @ one) * float(other @ other))
    return min(max(float(one @ other) / below, -1.0), 1.0)


def spearman(first: Floats, second: Floats) -> float:
    """Return the correlation of the ranks of two columns, NaN if one has only equal numbers."""
    return pearson(mean_ranks(first), mean_ranks(second))


def _pairs(sizes: Ints) -> int:
    """Return the number of pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())
