"""Contests of single players: places, work shared among threads, explanations by opponents.

`codeforces`, `topcoder` and Elo-MMR use it, which infer a performance from the place.

Both infer the performance from an expected and an actual place, which differ by the sum over all
opponents of (score - expected score). So performance minus rating is divided among the opponents in
proportion to (score - expected score), and the parts add up.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, lent
from equipoise.arrays import Floats
from equipoise.data.explanation import Contribution
from equipoise.numeric.sums import CHUNK
from equipoise.numeric.workers import Workers
from equipoise.rating.loop import all_tie, close_match, open_match
from equipoise.rating.newcomers import enter
from equipoise.rating.rated_system import RatedSystem
from equipoise.rating.single_match import (
    DUEL_BY_RESULT,
    PLAYERS_BY_RESULT,
    SingleMatch,
    contribution,
    surprise_of,
)
from equipoise.rating.system import Capabilities

#: Contests from this size on are shared among threads.
PARALLEL_FROM = 2 * CHUNK

#: If the places differ by less, the quotient of two small numbers is replaced by its limit.
_SAME_PLACE = 1e-7


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
    lent_job = lent(job)
    return _open(lent_job, lent_job.entry, m, read)


@inlined_kernel
def close_contest(job: Any, m: int, evidence: Any, move: Any, read: Any) -> None:
    """End contest m, which was rated, as `rate_teams` does."""
    lent_job = lent(job)
    start, stop = lent_job.matches.offsets[m], lent_job.matches.offsets[m + 1]
    close_match(lent_job, lent_job.entry, m, start, stop, evidence, move, read)


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


def effects_of_opponents(
    single: SingleMatch,
    expected: Floats,
    points_a_place: float,
    way: float,
    *,
    scores: Floats | None = None,
) -> Floats:
    """Return how much every participation's result changed the performance, shape (n,).

    expected : shape (n,), expected score against each
    points_a_place : change of the performance by one place, at the expected place
    way : performance before the match's ceiling minus rating
    scores : shape (n,), as the place counts them; None: 1, 1/2 or 0
    """
    surplus: Floats = (single.scores() if scores is None else scores) - expected
    surplus[single.row] = 0.0
    total = math.fsum(surplus)
    if abs(total) < _SAME_PLACE:
        return surplus * points_a_place
    return surplus * (way / total)


def contributions_by_result(
    single: SingleMatch,
    expected: Floats,
    effects: Floats,
    share: float,
    *,
    scores: Floats | None = None,
) -> list[Contribution]:
    """Return the change by wins, by ties and by losses, each `share` of their effect.

    scores : shape (n,), as the place counts them; None: 1, 1/2 or 0
    """
    results = single.scores()
    scores = results if scores is None else scores
    others = np.arange(len(results)) != single.row
    parts = []
    for result, name in (DUEL_BY_RESULT if len(results) == 2 else PLAYERS_BY_RESULT).items():
        met = np.flatnonzero(others & (results == result))
        if len(met):
            reason = surprise_of(math.fsum(scores[met]), math.fsum(expected[met]))
            parts.append(contribution(name, share * math.fsum(effects[met]), reason))
    return parts


def capped_performance(single: SingleMatch, performance: float, share: float) -> list[Contribution]:
    """Return the change by the match's ceiling, if it capped the performance (READINGS B8)."""
    counted = float(single.trace["performance"][single.row])
    if counted >= performance:
        return []
    reason = f"a performance of {performance:.0f} counts for {counted:.0f} in this match"
    return [contribution("the performance ceiling", share * (counted - performance), reason)]


def changes_at_the_ends(single: SingleMatch) -> tuple[float, float]:
    """Return the changes of rating for finishing last and first, without ties."""
    changes = []
    for extreme in (np.inf, -np.inf):
        rank = single.history.rank.astype(np.float64)
        rank[single.row] = extreme
        dense = np.unique(rank, return_inverse=True)[1].reshape(-1).astype(np.int64)
        changes.append(single.change_by(dense))
    return changes[0], changes[1]
