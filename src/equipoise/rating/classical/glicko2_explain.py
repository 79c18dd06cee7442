"""Why a Glicko-2 rating changed: the numbers of [G2]_ steps 2-7.

Within a rating period all games are compared with the ratings before it. A later game changes the
deviation after the period, and so the weight of the earlier games of the period.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.classical.glicko2 import (
    DEVIATION,
    GLICKO2_SCALE,
    INFORMATION,
    RATING,
    SURPRISE,
    VOLATILITY,
    Glicko2,
    game,
    opponent_weight,
    settle,
    updated,
)
from equipoise.rating.single_match import explanation, single_match
from equipoise.rating.state import State


def explain(system: Glicko2, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    j = 1 - i
    settled = single.before.copy()
    if system.period_days is not None:
        period = math.floor(float(isolated.days()[0]) / system.period_days)
        for player in settled.table:
            settle(player, float(period), system.settings())
    me, other = settled.table[i], settled.table[j]
    score = float(single.scores(i)[j])
    mu, phi_other = (me[RATING] - other[RATING]) / GLICKO2_SCALE, other[DEVIATION] / GLICKO2_SCALE
    expected, information, surprise = game(mu, 0.0, phi_other, score)
    weight = float(isolated.weights()[0])
    information, surprise = weight * information, weight * surprise
    phi, sigma = me[DEVIATION] / GLICKO2_SCALE, me[VOLATILITY]
    tau, most = float(system.tau), system.settings().max_volatility
    earlier = (float(me[INFORMATION]), float(me[SURPRISE]))
    phi_1 = updated(phi, sigma, *earlier, tau, most)[1] if earlier[0] > 0 else 0.0
    total = (earlier[0] + information, earlier[1] + surprise)
    _, phi_2, sigma_2, _ = updated(phi, sigma, *total, tau, most)
    parts = [
        Contribution(
            name="this match",
            change=GLICKO2_SCALE * phi_2**2 * surprise,
            reason=f"scored {score:g} where {expected:.2f} was expected",
        )
    ]
    if earlier[0] > 0:
        parts.append(
            Contribution(
                name="earlier matches of the period",
                change=GLICKO2_SCALE * (phi_2**2 - phi_1**2) * earlier[1],
                reason="another match reduces the deviation, and with it the weight of each match",
            )
        )
    effect = parts[0].change
    opponent = Opponent(
        player=isolated.player_ids[isolated.player].tolist()[j],
        rank=2 if score == 1.0 else 1,
        rating=float(other[RATING]),
        deviation=float(other[DEVIATION]),
        score=score,
        expected=expected,
        effect=effect,
    )
    lost, won = (single.with_result(system, np.abs(np.arange(2) - one)) for one in (j, i))
    changes = [one.trace["rating"][i] - one.trace["rating_before"][i] for one in (lost, won)]
    return explanation(
        system,
        single,
        i,
        contributions=parts,
        quantities=_quantities(phi_other, phi, phi_2, (sigma, sigma_2), information, surprise),
        opponents=[opponent],
        bounds=(float(changes[0]), float(changes[1])),
    )


def _quantities(
    phi_other: float,
    phi: float,
    phi_2: float,
    sigmas: tuple[float, float],
    information: float,
    surprise: float,
) -> list[Quantity]:
    """Return the numbers of [G2] steps 3 to 7."""
    starred = math.hypot(phi, sigmas[1])
    return [
        Quantity(
            name="g",
            value=opponent_weight(phi_other),
            unit="",
            meaning="weight of the match: 1 against an opponent whose rating is certain",
        ),
        Quantity(
            name="v",
            value=GLICKO2_SCALE**2 / information if information > 0 else math.inf,
            unit="points^2",
            meaning="variance of a rating estimated from this match alone",
        ),
        Quantity(
            name="Delta",
            value=GLICKO2_SCALE * surprise / information if information > 0 else 0.0,
            unit="points",
            meaning="correction of the rating by this match alone",
        ),
        Quantity(
            name="volatility before",
            value=sigmas[0],
            unit="",
            meaning="how much the player's rating is expected to vary",
        ),
        Quantity(
            name="volatility",
            value=sigmas[1],
            unit="",
            meaning="rises when results differ more than the deviations explain",
        ),
        Quantity(
            name="deviation with volatility",
            value=GLICKO2_SCALE * starred,
            unit="points",
            meaning="the deviation before, widened by the volatility",
        ),
        Quantity(
            name="share of the surprise",
            value=GLICKO2_SCALE * phi_2 * phi_2,
            unit="points",
            meaning="points for one unit of g (score - expected score)",
        ),
    ]
