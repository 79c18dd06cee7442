"""A contest by the rules that Codeforces publishes, in whole numbers.

Source: [CF]_, "Open Codeforces Rating System". With W(a, b) = 1/(1 + exp(-(a - b) slope)), the
probability of a player rated a to finish ahead of one rated b, a player at mu_i of n has

    the expected place   s = 1 + sum over all j but i of W(mu_j, mu_i),
    the place            r, where tied players all take the last of their places,
    the needed rating    x with 1 + sum over all j but i of W(mu_j, x) = sqrt(r s).

x is searched by bisection among the whole numbers from 1 to 7,999: the largest one at which the sum
is not below sqrt(r s), and 1 if there is none. The change is share (x - mu_i), by default half of
the way, cut towards zero. Then points are taken from all players, twice:

    everyone:   -(sum of all changes)/n, cut towards zero, minus 1
    the best:   -(sum of the changes of the 4 round(sqrt n) highest rated)/their number, cut towards
                zero, from -10 to 0

The published program sums over all pairs. Here equal ratings are counted once, and a sum is
computed once for all searches: O(n log n + d (d + p)) for d different ratings and p whole numbers
that some search visits, at most 7,999. Ratings are whole numbers, so d and p hardly grow with n.

Departures: the published text does not say which of several equals count among the best; here they
are those with the better places. Ratings that are not whole numbers are rounded first (0.5 up).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints

#: Bounds of the search for a needed rating [CF]; the upper one is never the result.
LOWEST_NEEDED, SEARCH_END = 1, 8000
#: The number of the best is the first number times the root of n; at most the second number of
#: points is taken for them [CF].
_BEST, _MOST_TAKEN = 4.0, 10.0

#: exp(x) and exp(-x) are normal numbers up to here.
_SAFE_EXPONENT = 600.0


class PlatformRound(NamedTuple):
    """A contest rated by the platform's rules; changes are whole rating points.

    ratings : shape (n,), before the contest, rounded
    places : shape (n,), from 1; tied players all take the last of their places
    expected, needed : shape (n,), expected places; ratings
    changes : shape (n,), before points are taken
    from_everyone, for_the_best : added to every change; for_the_best is from -10 to 0
    """

    ratings: Floats
    places: Floats
    expected: Floats
    needed: Floats
    changes: Floats
    from_everyone: float
    for_the_best: float


class Field(NamedTuple):
    """The different ratings of a contest, ascending, each with its number of players.

    powers : exp((rating - centre) slope); empty if that leaves the range of numbers
    """

    ratings: Floats
    counts: Floats
    powers: Floats
    centre: float
    slope: float


@kernel
def last_places(rank: Ints) -> Floats:
    """Return the place of every player, from 1; tied players take the last of their places.

    rank : shape (n,), dense from 0
    """
    highest = 0
    for r in rank:
        highest = max(highest, r)
    through = np.zeros(highest + 1)
    for r in rank:
        through[r] += 1.0
    for r in range(highest):
        through[r + 1] += through[r]
    places = np.empty(len(rank))
    for i in range(len(rank)):
        places[i] = through[rank[i]]
    return places


@kernel
def _field(ascending: Floats, slope: float) -> Field:
    """Return the field of these ratings."""
    ratings, counts = np.empty(len(ascending)), np.zeros(len(ascending))
    d = 0
    for rating in ascending:
        if d == 0 or rating != ratings[d - 1]:
            ratings[d] = rating
            d += 1
        counts[d - 1] += 1.0
    ratings, counts = ratings[:d].copy(), counts[:d].copy()
    low, high = min(ratings[0], float(LOWEST_NEEDED)), max(ratings[d - 1], float(SEARCH_END))
    centre = 0.5 * (low + high)
    powers = np.empty(0)
    if 0.5 * (high - low) * slope < _SAFE_EXPONENT:
        powers = np.exp((ratings - centre) * slope)
    return Field(ratings, counts, powers, centre, slope)


@inner_kernel
def _chance(difference: float, slope: float) -> float:
    """Return W for a difference of ratings."""
    tail = math.exp(-abs(difference) * slope)
    return 1.0 / (1.0 + tail) if difference >= 0.0 else tail / (1.0 + tail)


@inner_kernel
def _ahead(field: Field, x: float) -> float:
    """Return the sum over all players of W(mu_j, x)."""
    total = 0.0
    if len(field.powers) > 0:
        power = math.exp((x - field.centre) * field.slope)
        for k in range(len(field.powers)):
            total += field.counts[k] * (field.powers[k] / (field.powers[k] + power))
    else:
        for k in range(len(field.ratings)):
            total += field.counts[k] * _chance(field.ratings[k] - x, field.slope)
    return total


@inner_kernel
def _needed(field: Field, rating: float, target: float, known: Floats) -> float:
    """Return the rating at which a player's expected place would be `target`.

    known : shape (SEARCH_END,), sums of `_ahead` computed so far, else NaN; it is filled
    """
    low, high = LOWEST_NEEDED, SEARCH_END
    while high - low > 1:
        middle = (low + high) // 2
        if math.isnan(known[middle]):
            known[middle] = _ahead(field, float(middle))
        if 1.0 + (known[middle] - _chance(rating - middle, field.slope)) < target:
            high = middle
        else:
            low = middle
    return float(low)


@inner_kernel
def best_players(n: int) -> int:
    """Return how many of n players count as the best, whose changes should sum to at most 0."""
    return min(n, int(_BEST * np.rint(math.sqrt(n))))


@kernel
def _sum_of_best(ratings: Floats, changes: Floats, order: Ints, best: int) -> float:
    """Return the sum of the changes of the `best` highest rated.

    order : players by ascending rating
    """
    n = len(order)
    least = ratings[order[n - best]]
    total, above, at_least = 0.0, 0, np.empty(n)
    equals = 0
    for i in order[::-1]:
        if ratings[i] > least:
            total += changes[i]
            above += 1
        elif ratings[i] == least:
            at_least[equals] = changes[i]
            equals += 1
    # Among equals the better place has the larger change.
    ascending = np.sort(at_least[:equals])
    for k in range(best - above):
        total += ascending[equals - 1 - k]
    return total


@kernel
def platform_round(before: Floats, rank: Ints, slope: float, share: float) -> PlatformRound:
    """Rate a contest of two players or more.

    before : shape (n,), ratings; they are rounded
    rank : shape (n,), dense from 0
    share : change over (needed rating - rating)
    """
    n = len(before)
    ratings = np.floor(before + 0.5)
    places = last_places(rank)
    order = np.argsort(ratings)
    field = _field(ratings[order], slope)
    known = np.full(SEARCH_END, np.nan)
    expected, needed, changes = np.empty(n), np.empty(n), np.empty(n)
    seed, of = 0.0, np.nan
    for i in order:
        if ratings[i] != of:
            of = ratings[i]
            # Without the player's own 1/2, and with places from 1.
            seed = 0.5 + _ahead(field, of)
        expected[i] = seed
        needed[i] = _needed(field, of, math.sqrt(places[i] * seed), known)
        changes[i] = np.trunc(share * (needed[i] - of))
    from_everyone = np.trunc(-changes.sum() / n) - 1.0
    best = best_players(n)
    left = _sum_of_best(ratings, changes, order, best) + best * from_everyone
    for_the_best = min(max(np.trunc(-left / best), -_MOST_TAKEN), 0.0)
    return PlatformRound(ratings, places, expected, needed, changes, from_everyone, for_the_best)
