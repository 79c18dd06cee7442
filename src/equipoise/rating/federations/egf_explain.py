"""Why a GoR of the European Go Federation changed: the result, and the bonus of every game.

Source: the formulas of [EGF]_. All games of a tournament are compared with the ratings before it,
so their changes add up; only the lowest rating can cut the sum.
"""

from __future__ import annotations

from equipoise.data.explanations.explanation import Contribution, Explanation, Quantity
from equipoise.data.history import History
from equipoise.rating.federations.egf import EGF, bonus, head_start
from equipoise.rating.federations.explain import only_opponent
from equipoise.rating.federations.facts import facts_of
from equipoise.rating.federations.together import RATING
from equipoise.rating.single_match import explanation, single_match
from equipoise.rating.state import State


def explain(system: EGF, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    j, weight = 1 - i, float(isolated.weights()[0])
    # The ratings before the tournament stay in the table until the next one begins.
    published = single.after.table[:, RATING]
    score, expected = float(single.scores(i)[j]), float(single.trace["expected"][i])
    factor = weight * system.factor(single.after.table[i])
    gift = weight * bonus(float(published[i]))
    change = float(single.trace["rating"][i] - single.trace["rating_before"][i])
    own = factor * (score - expected)
    parts = [
        Contribution(
            name="this match",
            change=own,
            reason=f"scored {score:g} where {expected:.2f} was expected",
        ),
        Contribution(name="the bonus", change=gift, reason="every game adds it, against deflation"),
    ]
    rest = change - own - gift
    if abs(rest) > 1e-9 * (1.0 + abs(published[i])):
        reason = f"no rating falls below {system.floor:g}"
        parts.append(Contribution(name="the lowest rating", change=rest, reason=reason))
    stones = facts_of(isolated, system.capabilities.uses).handicap
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
                meaning="the rating before the tournament, which the match is compared with",
            ),
            Quantity(
                name="handicap",
                value=head_start(float(stones[i])) - head_start(float(stones[j])),
                unit="points",
                meaning="what the player's stones are worth, minus the opponent's",
            ),
            Quantity(
                name="con",
                value=factor,
                unit="points",
                meaning="con times the weight of the match: points for a whole point of surprise",
            ),
        ],
        opponents=[opponent],
    )
