"""Phase one of Elo-MMR: the performance of every place of a contest, in linear time.

Source: [EM]_ Theorem 3.2 with the logistic model.

With a_j = 1/delta_bar_j and the tail sum S(x) = sum_j a_j/(1 + exp((x - mu_j) a_j)) over all
players, the zero of Q_i for a player of a place with tied players T, beaten by players B, solves

    S(x) + sum_{j in T} a_j/(1 + exp((x - mu_j) a_j)) = sum_{j in B} a_j + sum_{j in T} a_j

(tanh = 1 - 2/(1 + E) in Algorithm 3). S is one function for the contest, and tied players share
one root. Below the centre the equation is mirrored (x -> -x, wins for losses), so that no large
numbers cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.functions import EXHAUSTED, LAST_CORRECTION, MAX_ITERATIONS, exp, newton_step
from equipoise.numeric.sums import (
    HALF_WIDTH,
    Sigmoids,
    TailScratch,
    empty_scratch,
    evaluate_series,
    series_on_workers,
    tail_series,
    tail_sum,
)
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.direct import DIRECT_BELOW, solve_directly, ties_of

#: Places solved together; each except the first starts from its neighbour's root.
PLACES = 256


class Side(NamedTuple):
    """One side of the contest, from the centre outwards.

    field : the players; centres are distances from the centre
    beaten_by : shape (places,); sum of a_j of all better players, for the lower side of all worse
    intervals : number of intervals up to the last root of this side
    """

    field: Sigmoids
    beaten_by: Floats
    intervals: int


class Contest(NamedTuple):
    """The equations of one contest, players in the order of their places.

    upper, lower : the two sides
    places : shape (places + 1,); players of a place are places[g]:places[g + 1]
    tied : shape (places,); sum of a_j of the players of a place
    centre : where the sides meet
    width : length of an interval
    tie_terms, tie_share : 1 and 1, or 0 and 1/2 if a tie counts half a win and half a loss
    """

    upper: Side
    lower: Side
    places: Ints
    tied: Floats
    centre: float
    width: float
    tie_terms: float
    tie_share: float


class TailAt(NamedTuple):
    """The tail sum of the field at a distance y from the centre, and its derivative."""

    y: float
    value: float
    slope: float


@kernel
def order_by_place(rank: Ints) -> tuple[Ints, Ints]:
    """Return (order, places): row numbers by rank, stable, and the offsets of every rank.

    rank : shape (n,), dense from 0
    """
    highest = 0
    for r in rank:
        highest = max(highest, r)
    places = np.zeros(highest + 2, np.int64)
    for r in rank:
        places[r + 1] += 1
    for g in range(highest + 1):
        places[g + 1] += places[g]
    following = places[:-1].copy()
    order = np.empty(len(rank), np.int64)
    for i in range(len(rank)):
        order[following[rank[i]]] = i
        following[rank[i]] += 1
    return order, places


@kernel
def set_up(ratings: Floats, slopes: Floats, places: Ints, split_ties: bool) -> Contest:
    """Return the `Contest` of players in the order of their places.

    ratings, slopes : shape (n,); prior ratings mu and 1/delta_bar
    """
    total, weighted, steepest = 0.0, 0.0, 0.0
    for j in range(len(ratings)):
        total += slopes[j]
        weighted += slopes[j] * ratings[j]
        steepest = max(steepest, slopes[j])
    centre = weighted / total
    width = 2.0 * HALF_WIDTH / steepest
    above, below = ratings - centre, centre - ratings
    count = len(places) - 1
    tied, better, worse = np.zeros(count), np.zeros(count), np.zeros(count)
    for g in range(count):
        for j in range(places[g], places[g + 1]):
            tied[g] += slopes[j]
    for g in range(1, count):
        better[g] = better[g - 1] + tied[g - 1]
    for g in range(count - 2, -1, -1):
        worse[g] = worse[g + 1] + tied[g + 1]
    terms, share = (0.0, 0.5) if split_ties else (1.0, 1.0)
    upper_field, lower_field = Sigmoids(above, slopes, slopes), Sigmoids(below, slopes, slopes)
    scratch = empty_scratch()
    best, worst = (places[0], places[1]), (places[count - 1], places[count])
    upper_reach = _reach(upper_field, best, width, terms, share * tied[0], scratch)
    lower_reach = _reach(lower_field, worst, width, terms, share * tied[count - 1], scratch)
    upper = Side(upper_field, better, upper_reach)
    lower = Side(lower_field, worse, lower_reach)
    return Contest(upper, lower, places, tied, centre, width, terms, share)


@inner_kernel
def _reach(
    field: Sigmoids,
    place: tuple[int, int],
    width: float,
    tie_terms: float,
    target: float,
    scratch: TailScratch,
) -> int:
    """Return the number of intervals up to the root of the outermost place, or up to 1/4 more."""
    covered, missed = 1, 0
    # S falls to 0 and the target is positive, so the doubling ends.
    while _excess(covered * width, field, place, tie_terms, target, scratch) > 0.0:
        missed, covered = covered, 2 * covered
    while covered - missed > 1 + missed // 4:
        middle = (covered + missed) // 2
        if _excess(middle * width, field, place, tie_terms, target, scratch) > 0.0:
            missed = middle
        else:
            covered = middle
    return covered


@inner_kernel
def _excess(
    y: float,
    field: Sigmoids,
    place: tuple[int, int],
    tie_terms: float,
    target: float,
    scratch: TailScratch,
) -> float:
    """Return the left minus the right side of the equation at y; it falls with y."""
    total, _ = tail_sum(y, field, 0, len(field.centres), scratch)
    if tie_terms > 0.0:
        own, _ = tail_sum(y, field, place[0], place[1], scratch)
        total += own
    return total - target


@inner_kernel
def _tail(y: float, contest: Contest, series: Floats) -> TailAt:
    """Return the field's tail sum at y."""
    value, slope = evaluate_series(series, contest.width, y)
    return TailAt(y, value, slope)


@inner_kernel
def _place_equation(
    tail: TailAt, contest: Contest, side: Side, g: int, scratch: TailScratch
) -> tuple[float, float]:
    """Return (value, derivative) of the equation of place g, which rises with y."""
    value, slope = tail.value, tail.slope
    if contest.tie_terms > 0.0:
        first, last = contest.places[g], contest.places[g + 1]
        if last - first == 1:
            steepness = side.field.slopes[first]
            above = 1.0 / (1.0 + exp((tail.y - side.field.centres[first]) * steepness))
            own = steepness * above
            own_slope = -own * steepness * (1.0 - above)
        else:
            own, own_slope = tail_sum(tail.y, side.field, first, last, scratch)
        value += own
        slope += own_slope
    return side.beaten_by[g] + contest.tie_share * contest.tied[g] - value, -slope


@inner_kernel
def _root(
    contest: Contest,
    side: Side,
    series: Floats,
    g: int,
    start: TailAt,
    low: float,
    high: float,
    scratch: TailScratch,
) -> tuple[TailAt, float]:
    """Return (tail at the root of place g, residual); a residual below 0 says converged.

    start : the tail at the neighbour's root, or at any point; only the first step uses it
    """
    tail, value = start, 0.0
    for iteration in range(MAX_ITERATIONS):
        value, slope = _place_equation(tail, contest, side, g, scratch)
        if iteration > 0 and abs(value) <= LAST_CORRECTION * contest.width * slope:
            y = min(max(tail.y - value / slope, low), high)
            return TailAt(y, tail.value + tail.slope * (y - tail.y), tail.slope), -1.0
        y, low, high = newton_step(tail.y, value, slope, low, high, iteration)
        tail = _tail(y, contest, series)
        if high - low <= EXHAUSTED * contest.width:
            return tail, -1.0
    return tail, abs(value)


@inner_kernel
def _first_below_centre(
    contest: Contest, upper: Floats, start: int, stop: int, scratch: TailScratch
) -> int:
    """Return the first of places start:stop whose root is below the centre, or stop."""
    centre = _tail(0.0, contest, upper)
    while start < stop:
        middle = (start + stop) // 2
        value, _ = _place_equation(centre, contest, contest.upper, middle, scratch)
        if value < 0.0:
            start = middle + 1
        else:
            stop = middle
    return start


@inner_kernel
def solve_places(
    contest: Contest,
    upper: Floats,
    lower: Floats,
    start: int,
    stop: int,
    performances: Floats,
    scratch: TailScratch,
) -> float:
    """Write the performances of places start:stop; return a residual, below 0 if all converged.

    upper, lower : series of the two sides
    """
    worst = -1.0
    split = _first_below_centre(contest, upper, start, stop, scratch)
    # Places come best first: roots of the upper side move towards the centre, then away from it.
    end = contest.upper.intervals * contest.width
    tail = _tail(0.5 * end, contest, upper)
    high = end
    for g in range(start, split):
        tail, residual = _root(contest, contest.upper, upper, g, tail, 0.0, high, scratch)
        high = tail.y
        performances[g] = contest.centre + tail.y
        worst = max(worst, residual)
    end = contest.lower.intervals * contest.width
    tail = _tail(0.5 * end, contest, lower)
    low = 0.0
    for g in range(split, stop):
        tail, residual = _root(contest, contest.lower, lower, g, tail, low, end, scratch)
        low = tail.y
        performances[g] = contest.centre - tail.y
        worst = max(worst, residual)
    return worst


@inner_kernel
def is_sparse(contest: Contest) -> bool:
    """Return whether a series costs more than it saves: for few players of different ratings."""
    n = len(contest.upper.field.centres)
    return max(contest.upper.intervals, contest.lower.intervals) > 32 * n


@kernel
def solve_on_one_thread(
    ratings: Floats, slopes: Floats, places: Ints, split_ties: bool
) -> tuple[Floats, float]:
    """Return (performances, shape (places,), and a residual, below 0 if all converged)."""
    if len(ratings) < DIRECT_BELOW:
        return solve_directly(ratings, slopes, places, ties_of(split_ties, None), None)
    contest = set_up(ratings, slopes, places, split_ties)
    if is_sparse(contest):
        return solve_directly(ratings, slopes, places, ties_of(split_ties, None), None)
    count = len(places) - 1
    performances = np.empty(count)
    upper = tail_series(contest.upper.field, contest.width, contest.upper.intervals)
    lower = tail_series(contest.lower.field, contest.width, contest.lower.intervals)
    residual = -1.0
    scratch = empty_scratch()
    for start in range(0, count, PLACES):
        stop = min(start + PLACES, count)
        left = solve_places(contest, upper, lower, start, stop, performances, scratch)
        residual = max(residual, left)
    return performances, residual


def solve_on_workers(
    ratings: Floats, slopes: Floats, places: Ints, split_ties: bool, workers: Workers
) -> tuple[Floats, float]:
    """Return what `solve_on_one_thread` returns, the same bits, with many threads."""
    contest = set_up(ratings, slopes, places, split_ties)
    if len(ratings) < DIRECT_BELOW or is_sparse(contest):
        return solve_directly(ratings, slopes, places, ties_of(split_ties, None), None)
    count = len(places) - 1
    performances = np.empty(count)
    sides = [(side.field, side.intervals) for side in (contest.upper, contest.lower)]
    upper, lower = series_on_workers(sides, contest.width, workers)
    residuals = np.full((count + PLACES - 1) // PLACES, -1.0)

    def solve(number: int, start: int, stop: int) -> None:
        residuals[number] = solve_places(
            contest, upper, lower, start, stop, performances, empty_scratch()
        )

    workers.each_chunk(count, PLACES, solve)
    return performances, float(residuals.max())
