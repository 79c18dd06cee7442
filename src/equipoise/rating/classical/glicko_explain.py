"""Why a Glicko rating changed: the games, with more weight if an opponent's rating is certain.

Source: [G1]_ step 2; the change is a sum over games, so its parts add up exactly.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanation import Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.base_system import DEVIATION, RATING
from equipoise.rating.classical.glicko import Glicko, Q, opponent_weight, widened
from equipoise.rating.single_match import (
    PLAYERS_BY_RESULT,
    explanation,
    places,
    single_match,
    sum_by_result,
)
from equipoise.rating.state import State


def explain(system: Glicko, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    # The participations of a single match are its players, in order.
    ratings = single.before.table[isolated.player, RATING]
    widths = [widened(float(one), system.settings()) for one in single.trace["deviation_before"]]
    g = np.array([opponent_weight(one) for one in widths])
    precision = 1.0 / float(single.after.table[isolated.player[i], DEVIATION]) ** 2
    expected = chance(Q * g * (ratings[i] - ratings), "logistic")
    unit = float(isolated.weights()[0]) * Q / precision
    place, scores = places(isolated), single.scores(i)
    ids = isolated.player_ids[isolated.player].tolist()
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
        single,
        i,
        contributions=sum_by_result(opponents, PLAYERS_BY_RESULT),
        quantities=_quantities(widths[i], precision),
        opponents=opponents,
    )


def _quantities(deviation: float, precision: float) -> list[Quantity]:
    information = precision - 1.0 / deviation**2
    return [
        Quantity(
            name="widened deviation",
            value=deviation,
            unit="points",
            meaning="the deviation before the match plus the drift of a match",
        ),
        Quantity(
            name="d",
            value=math.inf if information <= 0 else math.sqrt(1.0 / information),
            unit="points",
            meaning="deviation of a rating estimated from this match alone",
        ),
        Quantity(
            name="share of the surprise",
            value=Q / precision,
            unit="points",
            meaning="points for one unit of g (score - expected score)",
        ),
    ]
