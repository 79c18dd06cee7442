"""Why a Codeforces rating changed: the way to the performance, opponent by opponent.

Source: [CF]_. The performance x solves S(x) = sqrt(r s) - 1/2 where the rating solves
S(mu) = s - 1/2 (`codeforces_performance`), and s - r is the sum over the opponents of (score -
expected score).
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanation import Explanation, Quantity
from equipoise.data.history import History
from equipoise.data.outlook import chance
from equipoise.rating.codeforces import RATING, Codeforces
from equipoise.rating.match_apart import MatchApart, explanation, match_apart
from equipoise.rating.place_explain import (
    changes_at_the_ends,
    contributions_by_result,
    effects_of_opponents,
    strongest_opponents,
)
from equipoise.rating.state import State


def explain(
    system: Codeforces, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    apart = match_apart(system, before, history, match)
    i = row - int(history.offsets[match])
    rating = apart.before.table[:, RATING]
    weight = float(apart.history.weights()[0])
    scale = system.scale / math.sqrt(weight)
    expected = chance((rating[i] - rating) / scale, "logistic")
    # S falls by this a point; a place more or less is half a place in sqrt(r s) where r = s.
    fall = math.fsum(expected * (1.0 - expected)) / scale
    effects = effects_of_opponents(apart, i, expected, 0.5 / fall)
    share = system.weight * weight / (1.0 + system.weight * weight)
    return explanation(
        system,
        apart,
        i,
        contributions=contributions_by_result(apart, i, expected, effects, share),
        quantities=_quantities(apart, i, share),
        opponents=strongest_opponents(apart, i, rating, expected, effects),
        bounds=changes_at_the_ends(system, apart, i),
    )


def _quantities(apart: MatchApart, i: int, share: float) -> list[Quantity]:
    """Return the two places, their mean, and what became of it."""
    others = len(apart.history.rank) - 1
    place = 1.0 + others - float(np.sum(apart.scores(i)) - 0.5)
    expected = 1.0 + (1.0 - float(apart.trace["expected"][i])) * others
    return [
        Quantity(
            name="expected place",
            value=expected,
            unit="places",
            meaning="s: 1 and the chance of every other player to finish ahead",
        ),
        Quantity(
            name="place",
            value=place,
            unit="places",
            meaning="r: as it was; those who tie share the mean of their places",
        ),
        Quantity(
            name="geometric mean",
            value=math.sqrt(place * expected),
            unit="places",
            meaning="of both places; it lies nearer to the better one",
        ),
        Quantity(
            name="performance",
            value=float(apart.trace["performance"][i]),
            unit="points",
            meaning="the rating of which that mean would have been expected",
        ),
        Quantity(
            name="share",
            value=share,
            unit="",
            meaning="of the way from rating to performance, the change: weight/(1 + weight)",
        ),
    ]
