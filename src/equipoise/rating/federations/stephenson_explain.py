"""Why a Stephenson rating changed: the result, the bonus and the pull towards the opponents.

Source: the update of [Steph]_. Within a rating period a later game changes the variance after the
period, and so the weight of the earlier games, and the mean rating of the opponents.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.classical.glicko import Q, opponent_weight
from equipoise.rating.federations.stephenson import (
    DEVIATION,
    GAMES,
    INFORMATION,
    MET,
    RATING,
    SURPRISE,
    Stephenson,
    game,
    new_variance,
    settle,
)
from equipoise.rating.single_match import explanation, single_match
from equipoise.rating.state import State


def explain(
    system: Stephenson, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    j, settings = 1 - i, system.settings()
    settled = single.before.copy()
    for player in settled.table:
        settle(player, float(isolated.days()[0]), settings)
    me, other = settled.table[i], settled.table[j]
    difference = float(me[RATING] - other[RATING])
    head_start = system.own(settled, isolated, 0, 1)
    if len(head_start):
        difference += float(head_start[i] - head_start[j])
    score, weight = float(single.scores(i)[j]), float(isolated.weights()[0])
    expected, information, surprise = game(difference, float(other[DEVIATION]), score, settings.b)
    after = me.copy()
    after[INFORMATION] += weight * information
    after[SURPRISE] += weight * surprise
    after[MET] += weight * other[RATING]
    after[GAMES] += weight
    variance, k = new_variance(after, settings), opponent_weight(float(other[DEVIATION]))
    unit = Q * variance * weight * k
    parts = [
        Contribution(
            name="this match",
            change=unit * (score - expected),
            reason=f"scored {score:g} where {expected:.2f} was expected",
        )
    ]
    if settings.b > 0.0:
        reason = f"every match counts {settings.b:g} more than its score"
        parts.append(Contribution(name="the bonus", change=unit * settings.b, reason=reason))
    earlier = float(me[GAMES])
    if earlier > 0.0:
        narrowed = Q * (variance - new_variance(me, settings)) * float(me[SURPRISE])
        reason = "another match reduces the deviation, and with it the weight of each match"
        parts.append(
            Contribution(name="earlier matches of the period", change=narrowed, reason=reason)
        )
    if settings.pull > 0.0:
        mean = float(after[MET] / after[GAMES])
        from_here = float(me[MET] / me[GAMES]) if earlier > 0.0 else float(me[RATING])
        parts.append(
            Contribution(
                name="the opponents' ratings",
                change=settings.pull * (mean - from_here),
                reason=f"a period moves a rating {system.neighbourhood:g} % towards their mean",
            )
        )
    opponent = Opponent(
        player=isolated.player_ids[isolated.player].tolist()[j],
        rank=2 if score == 1.0 else 1,
        rating=float(other[RATING]),
        deviation=float(other[DEVIATION]),
        score=score,
        expected=expected,
        effect=parts[0].change,
    )
    lost, won = (single.with_result(system, np.abs(np.arange(2) - one)) for one in (j, i))
    changes = [one.trace["rating"][i] - one.trace["rating_before"][i] for one in (lost, won)]
    return explanation(
        system,
        single,
        i,
        contributions=parts,
        quantities=_quantities(float(me[DEVIATION]), k, weight * information, unit),
        opponents=[opponent],
        bounds=(float(changes[0]), float(changes[1])),
    )


def _quantities(deviation: float, k: float, information: float, unit: float) -> list[Quantity]:
    """Return the numbers of the update."""
    return [
        Quantity(
            name="widened deviation",
            value=deviation,
            unit="points",
            meaning="the deviation at the beginning of the rating period",
        ),
        Quantity(
            name="k",
            value=k,
            unit="",
            meaning="weight of the match: 1 against an opponent whose rating is certain",
        ),
        Quantity(
            name="deviation of this match",
            value=math.inf if information <= 0 else math.sqrt(1.0 / information),
            unit="points",
            meaning="deviation of a rating estimated from this match alone",
        ),
        Quantity(
            name="share of the surprise",
            value=unit,
            unit="points",
            meaning="points for one unit of score - expected score",
        ),
    ]
