"""What explanations of `codeforces` and `topcoder` share: a performance, opponent by opponent.

Both infer the performance from an expected and an actual place, and these differ by the sum over
all opponents of (score - expected score). So every opponent has a part of the way from rating to
performance, in proportion to that, and the parts add up.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Contribution, Opponent
from equipoise.rating.single_match import NAMED_OPPONENTS, MatchApart, places
from equipoise.rating.system import RatingSystem

#: Where the places differ by less, the quotient of two small numbers gives way to its limit.
_SAME_PLACE = 1e-7

_RESULTS = {1.0: "players beaten", 0.5: "players tied with", 0.0: "players lost to"}
_DUEL = {1.0: "the win", 0.5: "the draw", 0.0: "the loss"}


def effects_of_opponents(
    apart: MatchApart,
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
    surplus: Floats = (apart.scores(i) if scores is None else scores) - expected
    surplus[i] = 0.0
    total = math.fsum(surplus)
    if abs(total) < _SAME_PLACE:
        return surplus * points_a_place
    return surplus * (way / total)


def contributions_by_result(
    apart: MatchApart,
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
    results = apart.scores(i)
    scores = results if scores is None else scores
    others = np.arange(len(results)) != i
    parts = []
    for result, name in (_DUEL if len(results) == 2 else _RESULTS).items():
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
    apart: MatchApart, i: int, performance: float, share: float
) -> list[Contribution]:
    """Return what the match's ceiling took, if it did (READINGS B8)."""
    counted = float(apart.trace["performance"][i])
    if counted >= performance:
        return []
    return [
        Contribution(
            name="the performance ceiling",
            change=share * (counted - performance),
            reason=f"a performance of {performance:.0f} counts for {counted:.0f} in this match",
        )
    ]


def strongest_opponents(
    apart: MatchApart, i: int, rating: Floats, expected: Floats, effects: Floats
) -> list[Opponent]:
    """Return those whose results moved the performance most, the largest effect first."""
    place, scores, deviation = places(apart.history), apart.scores(i), apart.trace
    ids = apart.history.player_ids
    strongest: Ints = np.argsort(-np.abs(effects), kind="stable")
    return [
        Opponent(
            player=ids[j : j + 1].tolist()[0],
            rank=int(place[j]),
            rating=float(rating[j]),
            deviation=float(deviation["deviation_before"][j]),
            score=float(scores[j]),
            expected=float(expected[j]),
            effect=float(effects[j]),
        )
        for j in strongest[: 1 + NAMED_OPPONENTS].tolist()
        if j != i
    ]


def changes_at_the_ends(system: RatingSystem, apart: MatchApart, i: int) -> tuple[float, float]:
    """Return what finishing last and first, alone, would have done to the rating."""
    changes = []
    for alone in (np.inf, -np.inf):
        rank = apart.history.rank.astype(np.float64)
        rank[i] = alone
        dense = np.unique(rank, return_inverse=True)[1].reshape(-1).astype(np.int64)
        trace = apart.with_result(system, dense).trace
        changes.append(float(trace["rating"][i] - trace["rating_before"][i]))
    return changes[0], changes[1]
