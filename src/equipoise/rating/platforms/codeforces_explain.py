"""Why a Codeforces rating changed: the performance, opponent by opponent.

Source: [CF]_. The performance x solves S(x) = sqrt(r s) - 1/2 where the rating solves
S(mu) = s - 1/2 (`codeforces_performance`), and s - r is the sum over the opponents of (score -
expected score).

By the platform's rules (`codeforces_platform`) a tie counts as a loss in that sum, and the
performance is the needed rating before it is cut to a whole number. Rounding and the points taken
from all players are separate parts.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanations.explanation import Contribution, Explanation, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.platforms.codeforces import RATING, Codeforces
from equipoise.rating.platforms.codeforces_platform import (
    LOWEST_NEEDED,
    SEARCH_END,
    PlatformRound,
    best_players,
    platform_round,
)
from equipoise.rating.platforms.place_explain import (
    capped_performance,
    changes_at_the_ends,
    contributions_by_result,
    effects_of_opponents,
)
from equipoise.rating.single_match import (
    SingleMatch,
    ceiling_quantity,
    explanation,
    single_match,
    strongest_opponents,
    uncapped_performance,
)
from equipoise.rating.state import State


def explain(
    system: Codeforces, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    if system.rules == "platform":
        return _explained_by_platform_rules(system, single, row - int(history.offsets[match]))
    i = row - int(history.offsets[match])
    rating = single.before.table[:, RATING]
    weight = float(single.history.weights()[0])
    scale = system.scale / math.sqrt(weight)
    expected = chance((rating[i] - rating) / scale, "logistic")
    # Slope of S; at r = s a change of a place is half a place in sqrt(r s).
    fall = math.fsum(expected * (1.0 - expected)) / scale
    performance = uncapped_performance(system, single, i)
    effects = effects_of_opponents(single, i, expected, 0.5 / fall, performance - rating[i])
    share = system.weight * weight / (1.0 + system.weight * weight)
    return explanation(
        system,
        single,
        i,
        contributions=[
            *contributions_by_result(single, i, expected, effects, share),
            *capped_performance(single, i, performance, share),
        ],
        quantities=_quantities(single, i, share, performance),
        opponents=strongest_opponents(single, i, rating, expected, effects),
        bounds=changes_at_the_ends(system, single, i),
    )


def _quantities(single: SingleMatch, i: int, share: float, performance: float) -> list[Quantity]:
    """Return the two places, their mean, the performance and its share."""
    others = len(single.history.rank) - 1
    return [
        *_places_and_performance(
            place=1.0 + others - float(np.sum(single.scores(i)) - 0.5),
            expected=1.0 + (1.0 - float(single.trace["expected"][i])) * others,
            performance=performance,
            tied="tied players share the mean of their places",
            needed="the rating at which that mean is the expected place",
        ),
        *ceiling_quantity(single.history),
        Quantity(
            name="share",
            value=share,
            unit="",
            meaning="change over (performance - rating): weight/(1 + weight)",
        ),
    ]


def _places_and_performance(
    *, place: float, expected: float, performance: float, tied: str, needed: str
) -> list[Quantity]:
    """Return both places, their mean and the performance, for both sets of rules.

    tied, needed : how the rules place tied players, and which rating they search for
    """
    return [
        Quantity(
            name="expected place",
            value=expected,
            unit="places",
            meaning="s: 1 plus the probability of every other player to finish ahead",
        ),
        Quantity(name="place", value=place, unit="places", meaning=f"r: the actual place; {tied}"),
        Quantity(
            name="geometric mean",
            value=math.sqrt(place * expected),
            unit="places",
            meaning="of both places; it is nearer to the better one",
        ),
        Quantity(name="performance", value=performance, unit="points", meaning=needed),
    ]


def _explained_by_platform_rules(system: Codeforces, single: SingleMatch, i: int) -> Explanation:
    """Return why a participation changed its player's rating by the platform's rules."""
    weight = float(single.history.weights()[0])
    scale = system.scale / math.sqrt(weight)
    share = system.weight * weight / (1.0 + system.weight * weight)
    before = single.before.table[:, RATING]
    done = platform_round(before, single.history.rank, 1.0 / scale, share)
    rating = done.ratings
    expected = chance((rating[i] - rating) / scale, "logistic")
    others = np.delete(expected, i)
    fall = math.fsum(others * (1.0 - others)) / scale
    # Tied players take the last of their places, so a tie counts as a loss.
    scores = np.where(single.scores(i) == 1.0, 1.0, 0.0)
    way = _needed_unrounded(done, i, scale) - float(rating[i])
    # If all other ratings are too different to matter, no place changes the rating.
    points_a_place = 0.5 / fall if fall > 0.0 else 0.0
    effects = effects_of_opponents(single, i, expected, points_a_place, way, scores=scores)
    return explanation(
        system,
        single,
        i,
        contributions=[
            *_whole_number(float(before[i]), float(rating[i])),
            *contributions_by_result(single, i, expected, effects, share, scores=scores),
            *_cuts_and_points(done, i, share * math.fsum(effects)),
        ],
        quantities=_platform_quantities(done, i, share),
        opponents=strongest_opponents(single, i, rating, expected, effects),
        bounds=changes_at_the_ends(system, single, i),
    )


def _needed_unrounded(done: PlatformRound, i: int, scale: float) -> float:
    """Return the needed rating before it is cut to a whole number, within the search."""
    target = math.sqrt(done.places[i] * done.expected[i])
    rivals = np.delete(done.ratings, i)
    low, high = float(LOWEST_NEEDED), float(SEARCH_END)
    while low < (middle := 0.5 * (low + high)) < high:
        if 1.0 + math.fsum(chance((rivals - middle) / scale, "logistic")) < target:
            high = middle
        else:
            low = middle
    return low


def _whole_number(before: float, rounded: float) -> list[Contribution]:
    """Return the change by rounding the rating before the contest, if there was one."""
    if before == rounded:
        return []
    return [
        Contribution(
            name="rounding before",
            change=rounded - before,
            reason=f"these rules use whole numbers: {before:.2f} counts as {rounded:.0f}",
        )
    ]


def _cuts_and_points(done: PlatformRound, i: int, exact: float) -> list[Contribution]:
    """Return the change by rounding, and the points taken from all players."""
    n = len(done.ratings)
    return [
        Contribution(
            name="rounding",
            change=float(done.changes[i]) - exact,
            reason="the needed rating and the change are truncated to whole numbers",
        ),
        Contribution(
            name="against inflation: points taken from all players",
            change=float(done.from_everyone),
            reason=f"brings the sum of the changes of all {n} players just below 0",
        ),
        Contribution(
            name="against inflation: points taken because of the best",
            change=float(done.for_the_best),
            reason=f"stops the {best_players(n)} highest rated from gaining points together;"
            " at most 10 points, taken from all players",
        ),
    ]


def _platform_quantities(done: PlatformRound, i: int, share: float) -> list[Quantity]:
    """Return the two places, their mean, the performance and its share."""
    return [
        *_places_and_performance(
            place=float(done.places[i]),
            expected=float(done.expected[i]),
            performance=float(done.needed[i]),
            tied="tied players all take the last of their places",
            needed="the rating needed for that mean, truncated to a whole number from 1 to 7999",
        ),
        Quantity(
            name="share",
            value=share,
            unit="",
            meaning="change over (performance - rating): weight/(1 + weight), truncated towards "
            "zero",
        ),
    ]
