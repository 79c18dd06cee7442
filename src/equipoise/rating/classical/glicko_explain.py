"""Why a Glicko rating changed: every opponent's game, weighed by how certain the opponent is.

Source: [G1]_ step 2; the change is a sum over games, so it splits exactly.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.base_system import DEVIATION, RATING
from equipoise.rating.classical.glicko import Glicko, Q, opponent_weight, widened
from equipoise.rating.single_match import explanation, match_apart, places
from equipoise.rating.state import State

_RESULTS = {1.0: "players beaten", 0.5: "players tied with", 0.0: "players lost to"}


def explain(system: Glicko, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    apart = match_apart(system, before, history, match)
    alone, i = apart.history, row - int(history.offsets[match])
    # Participations of a match apart are its players, in order.
    ratings = apart.before.table[alone.player, RATING]
    widths = [widened(float(one), system.settings()) for one in apart.trace["deviation_before"]]
    g = np.array([opponent_weight(one) for one in widths])
    precision = 1.0 / float(apart.after.table[alone.player[i], DEVIATION]) ** 2
    expected = chance(Q * g * (ratings[i] - ratings), "logistic")
    unit = float(alone.weights()[0]) * Q / precision
    place, scores = places(alone), apart.scores(i)
    ids = alone.player_ids[alone.player].tolist()
    opponents = [
        Opponent(
            player=ids[j],
            rank=int(place[j]),
            rating=float(ratings[j]),
            deviation=widths[j],
            score=float(scores[j]),
            expected=float(expected[j]),
            effect=unit * float(g[j]) * float(scores[j] - expected[j]),
        )
        for j in range(len(ids))
        if j != i
    ]
    return explanation(
        system,
        apart,
        i,
        contributions=_contributions(opponents),
        quantities=_quantities(widths[i], precision),
        opponents=opponents,
    )


def _contributions(opponents: list[Opponent]) -> list[Contribution]:
    """Return the change by result."""
    parts = []
    for score, name in _RESULTS.items():
        met = [one for one in opponents if one.score == score]
        if met:
            expected = math.fsum(one.expected for one in met)
            reason = f"scored {score * len(met):g} where {expected:.2f} was expected"
            change = math.fsum(one.effect for one in met)
            parts.append(Contribution(name=name, change=change, reason=reason))
    return parts


def _quantities(deviation: float, precision: float) -> list[Quantity]:
    told = precision - 1.0 / deviation**2
    return [
        Quantity(
            name="widened deviation",
            value=deviation,
            unit="points",
            meaning="the deviation with what the match adds beforehand",
        ),
        Quantity(
            name="d",
            value=math.inf if told <= 0 else math.sqrt(1.0 / told),
            unit="points",
            meaning="deviation of a rating that were known from this match alone",
        ),
        Quantity(
            name="share of the surprise",
            value=Q / precision,
            unit="points",
            meaning="points for one unit of g (score - expected score)",
        ),
    ]
