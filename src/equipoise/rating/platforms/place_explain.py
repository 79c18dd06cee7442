"""What explanations of `codeforces` and `topcoder` share: a performance, opponent by opponent.

Both infer the performance from an expected and an actual place, and these differ by the sum over
all opponents of (score - expected score). So every opponent has a part of the way from rating to
performance, in proportion to that, and the parts add up.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanation import Contribution
from equipoise.rating.single_match import DUEL_BY_RESULT, PLAYERS_BY_RESULT, SingleMatch
from equipoise.rating.system import RatingSystem

#: Where the places differ by less, the quotient of two small numbers gives way to its limit.
_SAME_PLACE = 1e-7


def effects_of_opponents(
    single: SingleMatch,
    i: int,
    expected: Floats,
    points_a_place: float,
    way: float,
    *,
    scores: Floats | None = None,
) -> Floats:
    """Return what every participation's result moved the performance of `i` by, shape (n,).

    expected : shape (n,), chance of `i` to beat each
    points_a_place : what one place would move the performance by, at the expected place
    way : of `i`, from the rating before to the performance before the match's ceiling
    scores : shape (n,), as the place counts them; None: 1, 1/2 or 0
    """
    surplus: Floats = (single.scores(i) if scores is None else scores) - expected
    surplus[i] = 0.0
    total = math.fsum(surplus)
    if abs(total) < _SAME_PLACE:
        return surplus * points_a_place
    return surplus * (way / total)


def contributions_by_result(
    single: SingleMatch,
    i: int,
    expected: Floats,
    effects: Floats,
    share: float,
    *,
    scores: Floats | None = None,
) -> list[Contribution]:
    """Return the change by result: what was won, tied and lost, each `share` of its effect.

    scores : shape (n,), as the place counts them; None: 1, 1/2 or 0
    """
    results = single.scores(i)
    scores = results if scores is None else scores
    others = np.arange(len(results)) != i
    parts = []
    for result, name in (DUEL_BY_RESULT if len(results) == 2 else PLAYERS_BY_RESULT).items():
        met = np.flatnonzero(others & (results == result))
        if len(met):
            parts.append(
                Contribution(
                    name=name,
                    change=share * math.fsum(effects[met]),
                    reason=f"scored {math.fsum(scores[met]):g} "
                    f"where {math.fsum(expected[met]):.2f} was expected",
                )
            )
    return parts


def capped_performance(
    single: SingleMatch, i: int, performance: float, share: float
) -> list[Contribution]:
    """Return what the match's ceiling took, if it did (READINGS B8)."""
    counted = float(single.trace["performance"][i])
    if counted >= performance:
        return []
    return [
        Contribution(
            name="the performance ceiling",
            change=share * (counted - performance),
            reason=f"a performance of {performance:.0f} counts for {counted:.0f} in this match",
        )
    ]


def changes_at_the_ends(system: RatingSystem, single: SingleMatch, i: int) -> tuple[float, float]:
    """Return what finishing last and first, alone, would have done to the rating."""
    changes = []
    for alone in (np.inf, -np.inf):
        rank = single.history.rank.astype(np.float64)
        rank[i] = alone
        dense = np.unique(rank, return_inverse=True)[1].reshape(-1).astype(np.int64)
        trace = single.with_result(system, dense).trace
        changes.append(float(trace["rating"][i] - trace["rating_before"][i]))
    return changes[0], changes[1]
