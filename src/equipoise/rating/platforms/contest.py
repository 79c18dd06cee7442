"""Contests of single players: which are rated, mean places, and rating many of them in order.

`codeforces`, `topcoder` and Elo-MMR use it, which infer a performance from the place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.sigmoid_sum import CHUNK
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import Job, Matches
from equipoise.rating.entry.entering import begin_match

#: Contests from this size on are shared among threads.
PARALLEL_FROM = 2 * CHUNK

_Job = TypeVar("_Job", bound=Job[Any, Any, Any])


@inner_kernel
def is_rated(matches: Matches, m: int, rate_all_ties: bool) -> bool:
    """Return whether contest m changes anything (READINGS B7)."""
    start, stop = matches.offsets[m], matches.offsets[m + 1]
    if stop - start < 2:
        return False
    if stop - start == 2 or rate_all_ties:
        return True
    for i in range(start, stop):  # noqa: SIM110  # Numba knows no generator expressions
        if matches.rank[i] != matches.rank[start]:
            return True
    return False


@kernel
def mean_places(rank: Ints) -> Floats:
    """Return the place of every player, from 1; tied players share the mean of their places.

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
    job: _Job,
    rate: Callable[[_Job, int, int], tuple[int, float]],
    rate_shared: Callable[[_Job, int, Workers], float],
    learn_from: Callable[[_Job, int, float], None],
    workers: Workers,
) -> tuple[int, float]:
    """Rate all contests in order; return (contest, residual) of a failure, or (-1, -1).

    rate : rates contests start:stop on one thread and returns the same
    rate_shared : rates one large contest on all threads and returns a residual, below 0 if it
        converged
    learn_from : learns from a contest that `rate_shared` rated, where newcomers do not all enter
        at the initial rating
    """
    sizes = np.diff(job.matches.offsets)
    if workers.threads == 1:
        # The same bits, as fast, by a kernel that small contests use too. To compile others at the
        # first large contest would keep whoever posts it waiting for minutes.
        return rate(job, 0, len(sizes))
    first = 0
    for m in [*np.flatnonzero(sizes >= PARALLEL_FROM).tolist(), len(sizes)]:
        failed, residual = rate(job, first, m)
        if failed >= 0:
            return failed, residual
        if m < len(sizes):
            played = 0.0 if job.entry is None else begin_match(job, m)
            residual = rate_shared(job, m, workers)
            if residual >= 0.0:
                return m, residual
            if job.entry is not None:
                learn_from(job, m, played)
        first = m + 1
    return -1, -1.0
