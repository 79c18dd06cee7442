"""FIDE's table of expected scores, and the change of a rating by the games of a tournament.

Source: FIDE Handbook B.02, Rating Regulations [FIDE]_, 8.1 (table 8.1b in the editions before 2022,
8.1.2 after) for the expected score of a difference of ratings, and 8.3 for the change: K times the
sum of points minus expected scores. Dated rules differ in the differences above 400 points (8.3.1):
"2022-01", from 1 January 2022: they count as 400, but for the stronger player only in the one game
with the largest difference. "2024-03", from 1 March 2024: they count as 400 in every game.
"2025-10", from 1 October 2025: the same, but players rated 2650 or more use the true difference.

Departures: K is given. The cap of K for many games in one period (8.3.3) is not applied, nor is the
result rounded, because both depend on all tournaments of a period. Fractional ratings, which FIDE
does not have, are rounded first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.tournaments.games import Games
from equipoise.errors import NotFoundError, require

RatingRules: TypeAlias = Literal["2022-01", "2024-03", "2025-10"]

#: Smallest difference of ratings at which the table expects 51, 52, ... 100 per cent.
_STEPS = np.array(
    [
        *(4, 11, 18, 26, 33, 40, 47, 54, 62, 69),
        *(77, 84, 92, 99, 107, 114, 122, 130, 138, 146),
        *(154, 163, 171, 180, 189, 198, 207, 216, 226, 236),
        *(246, 257, 268, 279, 291, 303, 316, 329, 345, 358),
        *(375, 392, 412, 433, 457, 485, 518, 560, 620, 736),
    ],
    dtype=np.float64,
)
#: Largest difference that counts, for players below `_TRUE_FROM`.
_LARGEST = 400.0
_TRUE_FROM = 2650.0
#: Largest K that is accepted; FIDE's are 40, 20 and 10.
_MOST_K = 1_000.0


def half_up(values: Floats) -> Floats:
    """Return the nearest whole numbers, 0.5 rounded upwards."""
    return np.asarray(np.floor(values + 0.5))


def percent_expected(difference: Floats) -> Floats:
    """Return FIDE's expected score in per cent, of whole differences of ratings, any shape."""
    above = 50.0 + np.searchsorted(_STEPS, np.abs(difference), side="right")
    return np.asarray(np.where(difference < 0, 100.0 - above, above))


@checks_arguments("k_factor")
def fide_rating_change(
    games: Games, k_factor: float | Mapping[Any, float], *, rules: RatingRules = "2025-10"
) -> Floats:
    """Return the change of every player's rating by FIDE's table, shape (N,), not rounded.

    Only games against rated opponents count. NaN for players without a rating or without such a
    game, and for players without a K.

    k_factor : K of all players, above 0; or id -> K
    rules : date from which the rules of differences above 400 points hold: "2022-01", "2024-03" or
        "2025-10"
    Raises : InvalidParameterError, NotFoundError

    Examples
    --------
    >>> ratings = {"ann": 2000, "ben": 1900}
    >>> games = eq.Games.from_arrays(["ann"], ["ben"], [1], rating=ratings)
    >>> eq.fide_rating_change(games, 20).round(1).tolist()
    [7.2, -7.2]
    """
    factor = _factors(games, k_factor)
    weight = games.weights
    of_white, of_black = games.ratings_of_sides()
    player = np.concatenate([games.white, games.black])
    own = half_up(np.concatenate([of_white, of_black]))
    other = half_up(np.concatenate([of_black, of_white]))
    points = np.concatenate([games.points, weight - games.points])
    number = np.concatenate([weight, weight])
    known = ~np.isnan(own) & ~np.isnan(other)
    player, own, other = player[known], own[known], other[known]
    points, number = points[known], number[known]
    gap = own - other
    expected = number * percent_expected(np.clip(gap, -_LARGEST, _LARGEST))
    if rules == "2022-01":
        # Of the games of a stronger player, the one with the largest difference is cut.
        large = gap > _LARGEST
        true = percent_expected(gap)
        cut = np.zeros(len(gap))
        order = np.lexsort((-gap, player))
        first = np.ones(len(gap), dtype=np.bool_)
        first[1:] = np.diff(player[order]) != 0
        cut[order[first]] = np.minimum(1.0, number[order[first]])
        single = cut * percent_expected(np.full(len(gap), _LARGEST))
        expected = np.where(large, single + (number - cut) * true, expected)
    elif rules == "2025-10":
        expected = np.where(own >= _TRUE_FROM, number * percent_expected(gap), expected)
    total = np.bincount(player, points - expected / 100.0, games.players)
    rated = np.bincount(player, number, games.players) > 0
    return np.asarray(np.where(rated, factor * total, np.nan), np.float64)


def _factors(games: Games, given: float | Mapping[Any, float]) -> Floats:
    """Return K of every player, NaN if unknown. Raises : InvalidParameterError, NotFoundError."""
    rule = f"above 0 and at most {_MOST_K:g}"
    if not isinstance(given, Mapping):
        require(0 < given <= _MOST_K, "k_factor", rule, given)
        return np.full(games.players, float(given))
    row_of = {one: row for row, one in enumerate(games.player_ids.tolist())}
    factor = np.full(games.players, np.nan)
    for name, value in given.items():
        if name not in row_of:
            raise NotFoundError(f"k_factor names {name!r}, who is not a player of the tournament")
        require(0 < value <= _MOST_K, "k_factor", rule, value)
        factor[row_of[name]] = value
    return factor
