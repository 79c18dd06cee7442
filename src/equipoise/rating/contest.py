"""What systems read of a contest in which every player has a place, and how they go through many.

Used by `codeforces` and `topcoder`, which infer a performance from the place and move the rating
towards it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.errors import ConvergenceError
from equipoise.numeric.roots import MAX_ITERATIONS
from equipoise.numeric.sigmoid_sum import CHUNK

#: Contests from this size on are shared among threads.
PARALLEL_FROM = 2 * CHUNK


class Contests(NamedTuple):
    """The columns of a history that these systems read.

    offsets : shape (M + 1,), from 0; all others belong to these participations alone
    ceiling : shape (M,), of the inferred performances (READINGS B8), inf for none
    """

    offsets: Ints
    player: Ints
    rank: Ints
    time: Floats
    weight: Floats
    ceiling: Floats


class TraceArrays(NamedTuple):
    """Columns of a trace, of shape (N,), or all of shape (0,) where none is wanted."""

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats
    performance: Floats


def contests_of(history: History, start: int, stop: int) -> Contests:
    """Return matches start:stop as arrays of their own."""
    low, high = int(history.offsets[start]), int(history.offsets[stop])
    ceiling = np.full(stop - start, np.inf)
    if history.performance_ceiling is not None:
        found = history.performance_ceiling[start:stop]
        ceiling = np.where(np.isnan(found), np.inf, found)
    return Contests(
        offsets=history.offsets[start : stop + 1] - low,
        player=history.player[low:high],
        rank=history.rank[low:high],
        time=history.days(start, stop),
        weight=history.weights(start, stop),
        ceiling=ceiling,
    )


@inner_kernel
def is_rated(contests: Contests, m: int, rate_all_ties: bool) -> bool:
    """Return whether contest m changes anything (READINGS B7)."""
    start, stop = contests.offsets[m], contests.offsets[m + 1]
    if stop - start < 2:
        return False
    if stop - start == 2 or rate_all_ties:
        return True
    for i in range(start, stop):  # noqa: SIM110  # Numba knows no generator expressions
        if contests.rank[i] != contests.rank[start]:
            return True
    return False


@kernel
def mean_places(rank: Ints) -> Floats:
    """Return the place of everyone, from 1, those who tie sharing the mean of theirs.

    rank : shape (n,), dense from 0
    """
    highest = 0
    for r in rank:
        highest = max(highest, r)
    first = np.zeros(highest + 2)
    for r in rank:
        first[r + 1] += 1.0
    for r in range(highest + 1):
        first[r + 1] += first[r]
    places = np.empty(len(rank))
    for i in range(len(rank)):
        # From first + 1 to the next rank's first.
        places[i] = 0.5 * (first[rank[i]] + 1.0 + first[rank[i] + 1])
    return places


def rate_in_turn(
    contests: Contests,
    rate: Callable[[int, int], tuple[int, float]],
    rate_shared: Callable[[int], float],
) -> tuple[int, float]:
    """Rate all contests in order; return (contest, residual) of a failure, or (-1, -1).

    rate : of contests start:stop on one thread; returns the same
    rate_shared : of one large contest on all threads; returns a residual, below 0 if all is well
    """
    sizes = np.diff(contests.offsets)
    first = 0
    for m in [*np.flatnonzero(sizes >= PARALLEL_FROM).tolist(), len(sizes)]:
        failed, residual = rate(first, m)
        if failed >= 0:
            return failed, residual
        if m < len(sizes):
            residual = rate_shared(m)
            if residual >= 0.0:
                return m, residual
        first = m + 1
    return -1, -1.0


def no_convergence(system: str, history: History, match: int, residual: float) -> ConvergenceError:
    """Return the error that says which match a solver gave up at."""
    return ConvergenceError(
        f"{system}, match {history.match_ids[match]},", MAX_ITERATIONS, residual
    )
