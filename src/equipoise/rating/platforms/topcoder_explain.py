"""Why a TopCoder rating changed: the performance, opponent by opponent, and the cap.

Source: [TC]_. The performance is mu + C (invPhi(e/n) - invPhi(a/n)), and e - a is the sum over the
opponents of (score - expected score).
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Contribution, Explanation, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.numeric.normal import lower_normal_quantile, normal_density
from equipoise.rating.base_system import DEVIATION, MATCHES, RATING
from equipoise.rating.platforms.place_explain import (
    capped_performance,
    changes_at_the_ends,
    contributions_by_result,
    effects_of_opponents,
)
from equipoise.rating.platforms.topcoder import Step, TopCoder, spread_of_field, step_of
from equipoise.rating.single_match import (
    SingleMatch,
    ceiling_quantity,
    explanation,
    single_match,
    strongest_opponents,
    uncapped_performance,
)
from equipoise.rating.state import State


def explain(system: TopCoder, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    i = row - int(history.offsets[match])
    player, rating = single.before.table[i], single.before.table[:, RATING].copy()
    volatility, weight = (
        single.before.table[:, DEVIATION].copy(),
        float(single.history.weights()[0]),
    )
    surplus = float(single.trace["performance"][i] - single.trace["rating_before"][i])
    step = step_of(player, surplus, weight, system.settings())
    spread = spread_of_field(rating, volatility)
    deviation = np.hypot(volatility[i], volatility) / math.sqrt(weight)
    expected = chance((rating[i] - rating) / deviation, "normal")
    performance = uncapped_performance(system, single, i)
    points = _points_a_place(single, i, spread)
    effects = effects_of_opponents(single, i, expected, points, performance - rating[i])
    parts = [
        *contributions_by_result(single, i, expected, effects, step.share),
        *capped_performance(single, i, performance, step.share),
    ]
    return explanation(
        system,
        single,
        i,
        contributions=[*parts, *_capped(step, int(player[MATCHES]) + 1)],
        quantities=_quantities(single, i, spread, step, performance),
        opponents=strongest_opponents(single, i, rating, expected, effects),
        bounds=changes_at_the_ends(system, single, i),
    )


def _expected_above(single: SingleMatch, i: int) -> float:
    """Return e - 1/2, the expected number of other players ahead."""
    return (1.0 - float(single.trace["expected"][i])) * (len(single.history.rank) - 1)


def _points_a_place(single: SingleMatch, i: int, spread: float) -> float:
    """Return C/(n density), the change of the performance by a place, at the expected place."""
    n = len(single.history.rank)
    above = _expected_above(single, i) + 0.5
    z = lower_normal_quantile(min(above, n - above) / n)
    return spread / (n * float(normal_density(z)))


def _capped(step: Step, contest: int) -> list[Contribution]:
    """Return the change by the cap, if it applied."""
    if abs(step.target) <= step.cap:
        return []
    return [
        Contribution(
            name="the cap",
            change=math.copysign(step.cap, step.target) - step.target,
            reason=f"contest {contest} of this player changes the rating "
            f"by at most {step.cap:.0f} points",
        )
    ]


def _quantities(
    single: SingleMatch, i: int, spread: float, step: Step, performance: float
) -> list[Quantity]:
    """Return places, spread, performance and the limits of the change."""
    scores: Floats = single.scores(i)
    return [
        Quantity(
            name="expected place",
            value=1.0 + _expected_above(single, i),
            unit="places",
            meaning="1 plus the probability of every other player to finish ahead",
        ),
        Quantity(
            name="place",
            value=len(scores) - float(np.sum(scores) - 0.5),
            unit="places",
            meaning="the actual place; tied players share the mean of their places",
        ),
        Quantity(
            name="spread of the field",
            value=spread,
            unit="points",
            meaning="C: the standard deviation of performances in this contest",
        ),
        Quantity(
            name="performance",
            value=performance,
            unit="points",
            meaning="the rating plus C times the difference of the places as normal quantiles",
        ),
        *ceiling_quantity(single.history),
        Quantity(
            name="share",
            value=step.share,
            unit="",
            meaning="change before the cap over (performance - rating): w/(1 + w)",
        ),
        Quantity(
            name="cap", value=step.cap, unit="points", meaning="the largest change of this contest"
        ),
        Quantity(
            name="volatility",
            value=step.volatility,
            unit="points",
            meaning="after the contest; surprises raise it, expected results lower it",
        ),
    ]
