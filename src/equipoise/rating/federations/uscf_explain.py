"""Why a US Chess rating changed: this match, and what it does to the other matches of the event.

Source: the formulas of [USCF]_. A standard rating is told as K times the surprise of the match and
the bonus; a special rating is the solution of one equation, which has no parts.
"""

from __future__ import annotations

import math

from equipoise.data.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.federations.together import RATING
from equipoise.rating.federations.uscf import (
    EXPECTED,
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
        surplus = factor * float(after[POINTS] - after[EXPECTED])
        bonus = unfloored(after, system.settings()) - float(published[i]) - surplus
        if bonus > 1e-9:
            reason = "the event so far is much better than expected"
            parts.append(Contribution(name="the bonus", change=bonus, reason=reason))
        rest = change - math.fsum(one.change for one in parts)
        if abs(rest) > 1e-9:
            reason = f"all matches of {system.together} change the rating together"
            name = "earlier matches and floors"
            parts.append(Contribution(name=name, change=rest, reason=reason))
    opponent = Opponent(
        player=isolated.player_ids[isolated.player].tolist()[j],
        rank=2 if score == 1.0 else 1,
        rating=float(published[j]),
        deviation=math.nan,
        score=score,
        expected=expected,
        effect=own,
    )
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
