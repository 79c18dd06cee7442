"""Contests of single players: places, and sharing the work on large ones among threads.

`codeforces`, `topcoder` and Elo-MMR use it, which infer a performance from the place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, kernel, lent
from equipoise.arrays import Floats, Ints
from equipoise.numeric.sigmoid_sum import CHUNK
from equipoise.numeric.workers import Workers
from equipoise.rating.entry.entering import enter
from equipoise.rating.loop import all_tie, close_match, open_match
from equipoise.rating.rated_system import RatedSystem
from equipoise.rating.system import Capabilities

#: Contests from this size on are shared among threads.
PARALLEL_FROM = 2 * CHUNK


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


@inlined_kernel
def _open(job: Any, entry: Any, m: int, read: Any) -> bool:
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    if entry is not None:
        enter(job, start, stop)
    if job.skips_ties and all_tie(job.matches, start, stop):
        return False
    open_match(job, m, start, stop, None, read)
    return True


@inlined_kernel
def open_contest(job: Any, m: int, read: Any) -> bool:
    """Begin contest m as `rate_teams` does; return whether it is rated."""
    given = lent(job)
    return _open(given, given.entry, m, read)


@inlined_kernel
def close_contest(job: Any, m: int, evidence: Any, move: Any, read: Any) -> None:
    """End contest m, which was rated, as `rate_teams` does."""
    given = lent(job)
    start, stop = given.matches.offsets[m], given.matches.offsets[m + 1]
    close_match(given, given.entry, m, start, stop, evidence, move, read)


class ContestSystem(RatedSystem):
    """The base class of systems for contests, which threads share if they are large.

    opens, closes : kernels (job, m) with what `rate_teams` does before and after the update of
        contest m, by `open_contest` and `close_contest`
    """

    __slots__ = ()

    max_team_size: ClassVar[int] = 1
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "performance_ceiling": ""}
    more_traced: ClassVar[Sequence[str]] = ("performance",)
    opens: ClassVar[Any]
    closes: ClassVar[Any]
    rate_all_ties: bool

    def able(self, able: Capabilities) -> Capabilities:
        """Return capabilities without matches in which all tie, unless they are rated."""
        return replace(able, skips_all_tied=not self.rate_all_ties)

    @property
    def shares_contests(self) -> bool:
        """Whether threads share large contests with these parameters."""
        return True

    @abstractmethod
    def share(self, job: Any, m: int, workers: Workers) -> float:
        """Update the players of contest m with the bits of `loop`, the work shared among threads.

        Returns a residual, below 0 if all equations were solved.
        """

    def update(self, job: Any, workers: Workers) -> tuple[int, float]:
        """Rate all contests of a job in order."""
        rate, sizes, first = self.kernel(job), np.diff(job.matches.offsets), 0
        if workers.threads == 1 or not self.shares_contests:
            # The same bits, as fast, by a kernel that small contests use too. To compile others at
            # the first large contest would keep whoever posts it waiting for minutes.
            return rate(job, 0, len(sizes))
        for m in [*np.flatnonzero(sizes >= PARALLEL_FROM).tolist(), len(sizes)]:
            failed, residual = rate(job, first, m)
            if failed >= 0:
                return failed, residual
            if m < len(sizes) and type(self).opens(job, m):
                residual = self.share(job, m, workers)
                if residual >= 0.0:
                    return m, residual
                type(self).closes(job, m)
            first = m + 1
        return -1, -1.0
