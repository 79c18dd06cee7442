"""Why a US Chess rating changed: this match, and what it does to the other matches of the event.

Source: the formulas of [USCF]_. A standard rating is told as K times the surprise of the match and
the bonus; a special rating is the solution of one equation, which has no parts.
"""

from __future__ import annotations

import math

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Contribution, Explanation, Quantity
from equipoise.data.history import History
from equipoise.rating.federations.explain import only_opponent
from equipoise.rating.federations.together import MATCHES, RATING
from equipoise.rating.federations.uscf import (
    EXPECTED,
    GAMES,
    POINTS,
    USCF,
    effective_games,
    floor_of,
    games_before,
    is_special,
    unfloored,
)
from equipoise.rating.single_match import explanation, single_match
from equipoise.rating.state import State

#: A part of a change that is rounding.
_LEAST_PART = 1e-9


def _bonus(system: USCF, player: Floats) -> float:
    """Return the bonus of the event in progress, of which there may be no games yet."""
    if player[GAMES] == 0.0:
        return 0.0
    surplus = system.factor(player) * float(player[POINTS] - player[EXPECTED])
    return float(unfloored(player, system.settings()) - player[RATING] - surplus)


def _rest_of_event(
    system: USCF, after: Floats, score: float, expected: float, change: float
) -> list[Contribution]:
    """Return what a match of a standard rating changes beside its own surprise.

    after : the player after the match
    change : all that is left to explain, rating points
    """
    before = after.copy()
    for column, value in ((POINTS, score), (EXPECTED, expected), (GAMES, 1.0), (MATCHES, 1.0)):
        before[column] -= value
    parts = []
    smaller = 0.0
    if before[GAMES] > 0.0:
        earlier = float(before[POINTS] - before[EXPECTED])
        smaller = (system.factor(after) - system.factor(before)) * earlier
    if abs(smaller) > _LEAST_PART:
        reason = f"K is smaller for each game more, and holds for all of {system.together}"
        parts.append(Contribution(name="earlier matches", change=smaller, reason=reason))
    bonus, bonus_before = _bonus(system, after), _bonus(system, before)
    grown = bonus - bonus_before
    if abs(grown) > _LEAST_PART:
        reason = f"for {system.together} so far it is {bonus:.2f}, and was {bonus_before:.2f}"
        parts.append(Contribution(name="the bonus", change=grown, reason=reason))
    rest = change - math.fsum(one.change for one in parts)
    if abs(rest) > _LEAST_PART:
        reason = "no rating falls below the player's floor"
        parts.append(Contribution(name="floors", change=rest, reason=reason))
    return parts


def explain(system: USCF, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    j = 1 - i
    after = single.after.table[i]
    published = single.after.table[:, RATING]
    score, expected = float(single.scores(i)[j]), float(single.trace["expected"][i])
    change = float(single.trace["rating"][i] - single.trace["rating_before"][i])
    effective = effective_games(float(published[i]), games_before(after))
    if is_special(after):
        factor, own = 0.0, change
        reason = f"scored {score:g}; up to 8 games, or one result only, a special rating solves "
        reason += "an equation of all games of the event"
        parts = [Contribution(name="this match", change=change, reason=reason)]
    else:
        factor = system.factor(after)
        own = factor * (score - expected)
        reason = f"scored {score:g} where {expected:.2f} was expected"
        parts = [Contribution(name="this match", change=own, reason=reason)]
        parts += _rest_of_event(system, after, score, expected, change - own)
    opponent = only_opponent(isolated, j, float(published[j]), score, expected, own)
    return explanation(
        system,
        single,
        i,
        contributions=parts,
        quantities=[
            Quantity(
                name="published rating",
                value=float(published[i]),
                unit="points",
                meaning=f"the rating before {system.together}, which the match is compared with",
            ),
            Quantity(
                name="effective games",
                value=effective,
                unit="",
                meaning="the number of earlier games that the rating before is worth",
            ),
            Quantity(
                name="K",
                value=factor,
                unit="points",
                meaning="800/(effective games + games of the event); 0 for a special rating",
            ),
            Quantity(
                name="floor",
                value=floor_of(after),
                unit="points",
                meaning="the lowest rating that the player can have",
            ),
        ],
        opponents=[opponent],
    )
