"""Agreement of the predicted order of a match with its result.

Source: [EM]_ section 6.2, for every participant of a match; pairs are counted in O(n log n).
Departures (READINGS B9): a pair predicted equal but not tied counts one half, and equal
predictions share the mean of their places; `as_authors` counts such a pair as correct and takes
places in the order of the result. The third metric is the normalised discounted cumulative gain:
a team's gain is the fraction of the other teams that it beat, a tie one half, and the discount of
place p (from 1) is 1/log2(1 + p), averaged over the places that equal predictions share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints

#: Runs of this length are sorted by insertion before they are merged.
_RUN = 16


class MatchTeams(NamedTuple):
    """The teams of one match that are scored: the first `count` entries, best result first.

    Teams that tie are in the order of the history.

    centre, variance : of their performances, as predicted (see `Outlook`)
    rank : as in the history, with gaps where teams were left out
    team : row of `PredictedTeams`
    """

    centre: Floats
    variance: Floats
    rank: Ints
    team: Ints


class OrderScores(NamedTuple):
    """Metrics of every predicted team, in percent [EM]_ sec. 6.2."""

    pair_inversion: Floats
    rank_deviation: Floats


class Places(NamedTuple):
    """Buffers for the places of the teams of one match.

    order, spare : shape (n,), teams with the best prediction first, and space for merging
    better : shape (n + 1,); better[r] teams have a rank below r
    seen : shape (n + 1,), a binary indexed tree that counts teams by rank
    discount : shape (n + 1,); discount[p] is the sum of the discounts of the first p places
    """

    order: Ints
    spare: Ints
    better: Ints
    seen: Ints
    discount: Floats


@kernel
def room_for(teams: int) -> tuple[MatchTeams, Places]:
    """Return buffers for matches of up to `teams` teams, with all discounts."""
    discount = np.zeros(teams + 1)
    for place in range(1, teams + 1):
        discount[place] = discount[place - 1] + 1.0 / np.log2(1.0 + place)
    ranked = MatchTeams(
        np.empty(teams), np.empty(teams), np.empty(teams, np.int64), np.empty(teams, np.int64)
    )
    places = Places(
        np.empty(teams, np.int64),
        np.empty(teams, np.int64),
        np.empty(teams + 1, np.int64),
        np.empty(teams + 1, np.int64),
        discount,
    )
    return ranked, places


@inner_kernel
def _goes_before(ranked: MatchTeams, one: int, other: int) -> bool:
    """Return whether one team is predicted above another; ties are in the order of the result."""
    first, second = ranked.centre[one], ranked.centre[other]
    before: bool = first > second or (first == second and ranked.rank[one] < ranked.rank[other])
    return before


@inner_kernel
def sort_by_prediction(ranked: MatchTeams, count: int, places: Places) -> None:
    """Fill order[:count], best first: a merge sort, so that equal teams keep their order."""
    order, spare = places.order, places.spare
    sorted_already = True
    for i in range(count):
        order[i] = i
        sorted_already &= i == 0 or not _goes_before(ranked, i, i - 1)
    if sorted_already:
        return
    for start in range(0, count, _RUN):
        for i in range(start + 1, min(start + _RUN, count)):
            at = i
            while at > start and _goes_before(ranked, i, order[at - 1]):
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    width = _RUN
    while width < count:
        for start in range(0, count, 2 * width):
            middle, stop = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for at in range(start, stop):
                from_right = left >= middle
                if not from_right and right < stop:
                    from_right = _goes_before(ranked, order[right], order[left])
                if from_right:
                    spare[at] = order[right]
                    right += 1
                else:
                    spare[at] = order[left]
                    left += 1
        for at in range(count):
            order[at] = spare[at]
        width *= 2


@inner_kernel
def _count_below(seen: Ints, rank: int) -> int:
    """Return how many of the teams seen have a rank below this one."""
    total = 0
    at = rank
    while at > 0:
        total += seen[at]
        at -= at & -at
    return total


@inner_kernel
def _see(seen: Ints, rank: int, ranks: int) -> None:
    at = rank + 1
    while at <= ranks:
        seen[at] += 1
        at += at & -at


@inner_kernel
def score_order(
    ranked: MatchTeams, count: int, places: Places, as_authors: bool, scores: OrderScores
) -> float:
    """Fill both metrics of every team and return the cumulative gain, 1 if it is perfect.

    `places` must hold the teams in the order of prediction, and the counts of better ones.
    """
    ranks = 0
    while places.better[ranks] < count:
        ranks += 1
    places.seen[: ranks + 1] = 0
    gained, ideal = 0.0, 0.0
    start = 0
    while start < count:
        centre = ranked.centre[places.order[start]]
        stop = start + 1
        while stop < count and ranked.centre[places.order[stop]] == centre:
            stop += 1
        for at in range(start, stop):
            i = places.order[at]
            # These were correctly predicted above.
            above = _count_below(places.seen, ranked.rank[i])
            scores.pair_inversion[ranked.team[i]] = above
        for at in range(start, stop):
            _see(places.seen, ranked.rank[places.order[at]], ranks)
        more, best = _score_equals(ranked, count, places, (start, stop), as_authors, scores)
        gained += more
        ideal += best
        start = stop
    return gained / ideal


@inner_kernel
def _score_equals(
    ranked: MatchTeams,
    count: int,
    places: Places,
    span: tuple[int, int],
    as_authors: bool,
    scores: OrderScores,
) -> tuple[float, float]:
    """Score the teams order[span], which are predicted equal; return (gained, gained at best)."""
    start, stop = span
    others = count - 1.0
    gained, ideal = 0.0, 0.0
    for at in range(start, stop):
        i = places.order[at]
        rank, team = ranked.rank[i], ranked.team[i]
        above, below = places.better[rank], places.better[rank + 1]
        tied, worse = below - above, count - below
        # Of the worse teams, those not yet seen were correctly predicted below.
        seen_worse = stop - _count_below(places.seen, rank + 1)
        right = scores.pair_inversion[team] + worse - seen_worse + tied - 1
        undecided = stop - start - 1
        if undecided > 0:
            undecided += 1 - _tied_among(ranked, places.order, span, rank)
        right += undecided if as_authors else 0.5 * undecided
        scores.pair_inversion[team] = 100.0 * right / others
        first, last = (at, at + 1) if as_authors else (start, stop)
        place = 0.5 * (first + last - 1)
        distance = max(above - place, place - (below - 1), 0.0)
        scores.rank_deviation[team] = 100.0 * distance / others
        gain = worse + 0.5 * (tied - 1)
        gained += gain * _mean_discount(places.discount, first, last)
        ideal += gain * _mean_discount(places.discount, above, below)
    return gained, ideal


@inner_kernel
def _mean_discount(discount: Floats, first: int, stop: int) -> float:
    """Return the mean discount of places first:stop, counted from 0."""
    mean: float = (discount[stop] - discount[first]) / (stop - first)
    return mean


@inner_kernel
def _tied_among(ranked: MatchTeams, order: Ints, span: tuple[int, int], rank: int) -> int:
    """Return how many of the teams order[span], which are sorted by rank, have this rank."""
    first = _first_from(ranked, order, span, rank)
    return _first_from(ranked, order, span, rank + 1) - first


@inner_kernel
def _first_from(ranked: MatchTeams, order: Ints, span: tuple[int, int], rank: int) -> int:
    """Return the first position in the span of a team of this rank or a worse one."""
    low, high = span
    while low < high:
        middle = (low + high) // 2
        if ranked.rank[order[middle]] < rank:
            low = middle + 1
        else:
            high = middle
    return low
