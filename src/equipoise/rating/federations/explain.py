"""Why the rating of a federation changed: by this match, and by what it does to earlier ones.

All matches of an event or month change a rating together. So a match is told as its points above
the expected score times what such a point is worth after it; the rest is its effect on what the
earlier matches of the event are worth, and rounding.
"""

from __future__ import annotations

import math

from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.federations.facts import UNRATED
from equipoise.rating.federations.together import Federation
from equipoise.rating.single_match import explanation, single_match
from equipoise.rating.state import State


def explain(
    system: Federation, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    j = 1 - i
    rating = single.trace["rating_before"]
    change = float(single.trace["rating"][i] - rating[i])
    score, expected = float(single.scores(i)[j]), float(single.trace["expected"][i])
    published, rated = single.after.column("rating"), single.after.column("rated") != UNRATED
    counts = bool(rated[i] and rated[j])
    factor = system.factor(single.after.table[i]) if counts else 0.0
    own = factor * (score - expected)
    parts = []
    if counts:
        reason = f"scored {score:g} where {expected:.2f} was expected"
        parts.append(Contribution(name="this match", change=own, reason=reason))
    if own != change or not counts:
        name = "earlier matches and rounding" if counts else "not rated"
        if rated[i]:
            reason = f"all matches of {system.together} change the rating together"
            if not counts:
                reason = "the opponent has no rating"
        else:
            name, reason = "first rating", "it follows from the matches against rated players"
        parts.append(Contribution(name=name, change=change - own, reason=reason))
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
                name="expected score",
                value=expected,
                unit="",
                meaning="by both published ratings",
            ),
            Quantity(
                name="factor",
                value=factor,
                unit="points",
                meaning="what a whole point above the expected score is worth now",
            ),
        ],
        opponents=[opponent],
    )


def only_opponent(
    isolated: History, j: int, rating: float, score: float, expected: float, effect: float
) -> Opponent:
    """Return the opponent of a duel, for its explanation.

    isolated : the match alone; j : row of the opponent in it
    rating : published rating of the opponent
    score, expected, effect : of the player whose change is explained; effect in rating points
    """
    return Opponent(
        player=isolated.player_ids[isolated.player].tolist()[j],
        rank=2 if score == 1.0 else 1,
        rating=rating,
        deviation=math.nan,
        score=score,
        expected=expected,
        effect=effect,
    )
