"""Why a Lichess rating changed: the numbers of [G2]_ steps 2-7, and the limits of Lichess."""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.classical.glicko2 import GLICKO2_SCALE, game, opponent_weight
from equipoise.rating.platforms.lichess import PROVISIONAL_DEVIATION, Lichess, Settings, present
from equipoise.rating.single_match import DUEL_BY_RESULT, explanation, single_match
from equipoise.rating.state import State

#: A smaller part of a change is rounding.
_LEAST_PART = 1e-9


def explain(system: Lichess, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    j = 1 - i
    settings, day = system.settings(), float(isolated.days()[0])
    table = single.before.table
    me, other = (present(table[isolated.player[k]], day, settings) for k in (i, j))
    score = float(single.scores(i)[j])
    starts = system.own(single.before, isolated, 0, 1)
    difference = me[0] - other[0] + (float(starts[i] - starts[j]) if len(starts) else 0.0)
    expected, information, surprise = game(difference / GLICKO2_SCALE, 0.0, other[1], score)
    weight = float(isolated.weights()[0])
    information, surprise = weight * information, weight * surprise
    variance = me[1] ** 2 / (1.0 + information * me[1] ** 2)
    effect = GLICKO2_SCALE * variance * surprise
    change = float(single.trace["rating"][i] - single.trace["rating_before"][i])
    parts = [
        Contribution(
            name=DUEL_BY_RESULT[score],
            change=effect,
            reason=f"scored {score:g} where {expected:.2f} was expected",
        )
    ]
    if abs(change - effect) > _LEAST_PART:
        reason = (
            f"a match changes a rating by at most {settings.max_change:g}, and no rating is below "
            f"{settings.min_rating:g}"
        )
        parts.append(Contribution(name="limits", change=change - effect, reason=reason))
    opponent = Opponent(
        player=isolated.player_ids[isolated.player].tolist()[j],
        rank=2 if score == 1.0 else 1,
        rating=other[0],
        deviation=GLICKO2_SCALE * other[1],
        score=score,
        expected=expected,
        effect=effect,
    )
    lost, won = (single.with_result(system, np.abs(np.arange(2) - one)) for one in (j, i))
    bounds = [one.trace["rating"][i] - one.trace["rating_before"][i] for one in (lost, won)]
    volatilities = me[2], float(single.trace["volatility"][i])
    return explanation(
        system,
        single,
        i,
        contributions=parts,
        quantities=_quantities(other[1], variance, volatilities, information, settings),
        opponents=[opponent],
        bounds=(float(bounds[0]), float(bounds[1])),
    )


def _quantities(
    phi_other: float,
    variance: float,
    volatilities: tuple[float, float],
    information: float,
    settings: Settings,
) -> list[Quantity]:
    """Return the numbers of [G2] steps 3 to 7, and the limits of a deviation."""
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
            name="volatility before",
            value=volatilities[0],
            unit="",
            meaning="how much the deviation grows while the player is away",
        ),
        Quantity(
            name="volatility",
            value=volatilities[1],
            unit="",
            meaning="rises when results differ more than the deviations explain",
        ),
        Quantity(
            name="share of the surprise",
            value=GLICKO2_SCALE * variance,
            unit="points",
            meaning="points for one unit of g (score - expected score)",
        ),
        Quantity(
            name="least deviation",
            value=GLICKO2_SCALE * settings.min_phi,
            unit="points",
            meaning="no deviation is smaller, so ratings never stop moving",
        ),
        Quantity(
            name="provisional from",
            value=PROVISIONAL_DEVIATION,
            unit="points",
            meaning="Lichess shows a rating with this deviation or a larger one as provisional",
        ),
    ]
