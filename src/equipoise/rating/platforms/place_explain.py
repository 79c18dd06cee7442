"""Explaining a performance of `codeforces` or `topcoder` by opponents.

Both infer the performance from an expected and an actual place, which differ by the sum over all
opponents of (score - expected score). So performance minus rating is divided among the opponents in
proportion to (score - expected score), and the parts add up.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Contribution
from equipoise.rating.single_match import DUEL_BY_RESULT, PLAYERS_BY_RESULT, SingleMatch
from equipoise.rating.system import RatingSystem

#: If the places differ by less, the quotient of two small numbers is replaced by its limit.
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
    """Return how much every participation's result changed the performance of `i`, shape (n,).

    expected : shape (n,), expected score of `i` against each
    points_a_place : change of the performance by one place, at the expected place
    way : performance before the match's ceiling minus rating, of `i`
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
    """Return the change by wins, by ties and by losses, each `share` of their effect.

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
    """Return the change by the match's ceiling, if it capped the performance (READINGS B8)."""
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
    """Return the changes of rating for finishing last and first, without ties."""
    changes = []
    for extreme in (np.inf, -np.inf):
        rank = single.history.rank.astype(np.float64)
        rank[i] = extreme
        dense = np.unique(rank, return_inverse=True)[1].reshape(-1).astype(np.int64)
        trace = single.with_result(system, dense).trace
        changes.append(float(trace["rating"][i] - trace["rating_before"][i]))
    return changes[0], changes[1]
