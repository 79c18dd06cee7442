"""Why a Glicko rating changed: the games, with more weight if an opponent's rating is certain.

Source: [G1]_ step 2; the change is a sum over games, so its parts add up exactly. Within a rating
period a later match reduces the deviation after it, and so the weight of the earlier matches.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.base_system import DEVIATION, RATING
from equipoise.rating.classical.glicko import (
    INFORMATION,
    SURPRISE,
    Glicko,
    Q,
    opponent_weight,
    widened,
)
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
    me = isolated.player[i]
    settled = single.before.copy()
    system.begin_period(settled, isolated.player, float(isolated.days()[0]))
    ratings = settled.table[isolated.player, RATING]
    earlier: list[Contribution] = []
    if system.period_days is None:
        widths = [
            widened(float(one), system.settings()) for one in single.trace["deviation_before"]
        ]
        precision = 1.0 / float(single.after.table[me, DEVIATION]) ** 2
        information = precision - 1.0 / widths[i] ** 2
    else:
        widths = settled.table[isolated.player, DEVIATION].tolist()
        precision = 1.0 / widths[i] ** 2 + float(single.after.table[me, INFORMATION])
        information = float(single.after.table[me, INFORMATION] - settled.table[me, INFORMATION])
        earlier = _earlier(widths[i], precision, settled.table[me])
    g = np.array([opponent_weight(one) for one in widths])
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
        contributions=[*sum_by_result(opponents, PLAYERS_BY_RESULT), *earlier],
        quantities=_quantities(system, widths[i], information, precision),
        opponents=opponents,
    )


def _earlier(deviation: float, precision: float, player: Floats) -> list[Contribution]:
    """Return what a later match changes of the earlier matches of a rating period.

    deviation, player : before the match, the deviation at the beginning of the period
    precision : after the match
    """
    if player[INFORMATION] <= 0.0:
        return []
    before = 1.0 / deviation**2 + float(player[INFORMATION])
    return [
        Contribution(
            name="earlier matches of the period",
            change=Q * (1.0 / precision - 1.0 / before) * float(player[SURPRISE]),
            reason="another match reduces the deviation, and with it the weight of each match",
        )
    ]


def _quantities(
    system: Glicko, deviation: float, information: float, precision: float
) -> list[Quantity]:
    """Return the numbers of steps 1 and 2.

    information : in this match; precision : of the rating after it
    """
    meaning = "the deviation before the match plus the drift of a match"
    if system.period_days is not None:
        meaning = "the deviation at the beginning of the rating period"
    return [
        Quantity(
            name="widened deviation",
            value=deviation,
            unit="points",
            meaning=meaning,
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
