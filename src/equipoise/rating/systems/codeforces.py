"""The rating system of Codeforces: Elo for contests, by the geometric mean of two places.

Source: [CF]_, as the authors of [EM]_ ran it (READINGS B12). With the tail sum

    S(x) = sum over all j of 1/(1 + exp((x - mu_j) b)),    b = pi/(sqrt 3 beta),

a player at mu_i has the expected place s = 1/2 + S(mu_i), the place r, and the performance x with
S(x) = sqrt(r s) - 1/2. S is one function for the contest, and is prepared once
(`numeric/sums`).

Below the centre places are counted from the end: with s' = n + 1 - s, r' = n + 1 - r and the tail
S' = n - S, the equation is S'(x) = q' - 1/2, q' = n + 1 - sqrt(r s), and neither s' nor q' is
computed as a difference of large numbers.

There are two sets of rules. `rules="platform"` are the published rules of the platform [CF]_, in
whole numbers, which `codeforces_platform` implements. `rules="authors"`, the default, is the system
as the authors of [EM]_ ran it beside their own (READINGS B12). With n players and
W(a, b) = 1/(1 + exp(-pi (a - b)/(sqrt 3 beta))),

    r = (better - worse + n + 1)/2            the place; ties share the mean of their places
    s = 1/2 + sum over all j of W(mu_j, mu)   the expected place
    1/2 + sum over all j of W(mu_j, x) = sqrt(r s)
    mu <- (mu + weight x)/(1 + weight)

The authors' rules differ from the platform's: tied players share the mean of their places, ratings
are not whole numbers, and no points are taken to prevent inflation.

With both sets of rules a match of weight m counts as in the authors' program: beta is divided by
sqrt m, and `weight` is multiplied by m. A contest of three or more players in which all tie is
skipped, as in that program (READINGS B7). The platform has no weights, and its published rules rate
such a contest too, as `rate_all_ties` does.

By the authors' rules no performance counts for more than the match's `performance_ceiling`, as in
their program (READINGS B8). The platform's rules have no ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from equipoise._jit import inlined_update, inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.errors import require
from equipoise.numeric.functions import EXHAUSTED, LAST_CORRECTION, MAX_ITERATIONS, newton_step
from equipoise.numeric.sums import (
    CHUNK,
    HALF_WIDTH,
    NODES,
    Sigmoids,
    TailScratch,
    empty_scratch,
    evaluate_series,
    mean_places,
    series_on_workers,
    tail_series,
    tail_sum,
)
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import Rate
from equipoise.rating.loop import move_rating, rate_teams
from equipoise.rating.newcomers import FirstMatch, first_contest
from equipoise.rating.rated_system import rating_system
from equipoise.rating.single_match import (
    MEANINGS,
    SingleMatch,
    ceiling_of,
    contribution,
    explanation,
    single_match,
    strongest_opponents,
    uncapped_performance,
)
from equipoise.rating.state import State
from equipoise.rating.system import (
    Capabilities,
    Span,
    initial_deviation,
    initial_rating,
    param,
    positive,
)
from equipoise.rating.systems.codeforces_platform import (
    LOWEST_NEEDED,
    SEARCH_END,
    PlatformRound,
    best_players,
    platform_round,
)
from equipoise.rating.systems.contest import (
    ContestSystem,
    capped_performance,
    changes_at_the_ends,
    close_contest,
    contributions_by_result,
    effects_of_opponents,
    open_contest,
)

#: Terms are summed directly with fewer players, or with more intervals a player, than these.
DIRECT_BELOW, SPARSE_FROM = 50, 32

#: Points in an interval at which S is computed beforehand, to start searches.
_STARTS = 8

#: A bracket this small, in the size of the ratings, is at the limit of rounding.
_ROUNDING = 4e-16

#: A smaller slope counts as 0: far from all players the tail sum does not change.
_FLAT = 1e-280

#: Unit and meaning of the numbers of an explanation, and of those by the platform's rules.
_MEANINGS = {
    **MEANINGS,
    "expected place": ("places", "s: 1 plus the probability of every other player to finish ahead"),
    "place": ("places", "r: the actual place; tied players share the mean of their places"),
    "geometric mean": ("places", "of both places; it is nearer to the better one"),
    "performance": ("points", "the rating at which that mean is the expected place"),
    "share": ("", "change over (performance - rating): weight/(1 + weight)"),
}
_PLATFORM_MEANINGS = {
    "place": ("places", "r: the actual place; tied players all take the last of their places"),
    "performance": (
        "points",
        "the rating needed for that mean, truncated to a whole number from 1 to 7999",
    ),
    "share": (
        "",
        "change over (performance - rating): weight/(1 + weight), truncated towards zero",
    ),
}
_TRUNCATED = "the needed rating and the change are truncated to whole numbers"


class Side(NamedTuple):
    """One side of the contest, from the centre outwards.

    field : the players; centres are distances from the centre
    end : no root is further out
    series : of the tail sum, on intervals from 0 to `end` and beyond; empty: sum directly
    starts : the tail sum at `_STARTS` points an interval, falling; empty if `series` is
    """

    field: Sigmoids
    end: float
    series: Floats
    starts: Floats


class Curve(NamedTuple):
    """The tail sum of a contest, ready to be evaluated.

    upper, lower : the two sides
    centre : where they meet
    width : length of an interval
    resolution : smallest distance of two points that differ
    """

    upper: Side
    lower: Side
    centre: float
    width: float
    resolution: float


@kernel
def outline(ratings: Floats, slope: float) -> tuple[Curve, int, int]:
    """Return (the curve without series, intervals of its upper and of its lower side).

    ratings : shape (n,)
    slope : b
    """
    n = len(ratings)
    lowest, highest, total = ratings[0], ratings[0], 0.0
    for rating in ratings:
        lowest, highest = min(lowest, rating), max(highest, rating)
        total += rating
    centre = min(max(total / n, lowest), highest)
    slopes, ones, none = np.full(n, slope), np.ones(n), np.empty(0)
    # sqrt(r s) is at least 1, and S at most n exp(-(x - highest) b): 1/2 before this.
    beyond = math.log(2.0 * n) / slope
    upper = Side(Sigmoids(ratings - centre, slopes, ones), highest - centre + beyond, none, none)
    lower = Side(Sigmoids(centre - ratings, slopes, ones), centre - lowest + beyond, none, none)
    width = 2.0 * HALF_WIDTH / slope
    reach = max(upper.end, lower.end)
    resolution = max(EXHAUSTED * width, _ROUNDING * (abs(centre) + reach))
    curve = Curve(upper, lower, centre, width, resolution)
    if n < DIRECT_BELOW or reach > SPARSE_FROM * n * width:
        return curve, 0, 0
    return curve, int(upper.end / width) + 1, int(lower.end / width) + 1


@kernel
def _with_series(side: Side, series: Floats, width: float) -> Side:
    """Return the side with its series and the starts of searches."""
    starts = np.empty(len(series) // NODES * _STARTS + 1)
    for k in range(len(starts)):
        starts[k], _ = evaluate_series(series, width, k * width / _STARTS)
    return Side(side.field, side.end, series, starts)


@kernel
def curve_on_one_thread(ratings: Floats, slope: float) -> Curve:
    """Return the tail sum of the contest."""
    bare, above, below = outline(ratings, slope)
    if above == 0:
        return bare
    width = bare.width
    upper = _with_series(bare.upper, tail_series(bare.upper.field, width, above), width)
    lower = _with_series(bare.lower, tail_series(bare.lower.field, width, below), width)
    return Curve(upper, lower, bare.centre, width, bare.resolution)


def curve_on_workers(ratings: Floats, slope: float, workers: Workers) -> Curve:
    """Return what `curve_on_one_thread` returns, the same bits, with many threads."""
    bare, above, below = outline(ratings, slope)
    if above == 0:
        return bare
    width = bare.width
    sides = ((bare.upper.field, above), (bare.lower.field, below))
    upper, lower = series_on_workers(sides, width, workers)
    return Curve(
        _with_series(bare.upper, upper, width),
        _with_series(bare.lower, lower, width),
        bare.centre,
        width,
        bare.resolution,
    )


@inner_kernel
def _tail(y: float, side: Side, width: float, scratch: TailScratch) -> tuple[float, float]:
    """Return (tail sum, derivative) at a distance y from the centre."""
    if len(side.series) > 0:
        return evaluate_series(side.series, width, y)
    return tail_sum(y, side.field, 0, len(side.field.centres), scratch)


@inner_kernel
def _bracket(side: Side, width: float, target: float) -> tuple[float, float, float]:
    """Return (low, high, guess) for the point at which the tail sum is `target`."""
    starts = side.starts
    if len(starts) == 0:
        return 0.0, side.end, 0.5 * side.end
    first, last = 0, len(starts) - 1
    while last - first > 1:
        middle = (first + last) // 2
        if starts[middle] >= target:
            first = middle
        else:
            last = middle
    fall = starts[first] - starts[last]
    share = (starts[first] - target) / fall if fall > 0.0 else 0.5
    step = width / _STARTS
    return first * step, last * step, (first + min(max(share, 0.0), 1.0)) * step


@inner_kernel
def _root(
    side: Side, width: float, resolution: float, target: float, scratch: TailScratch
) -> tuple[float, float]:
    """Return (point at which the tail sum is `target`, residual), below 0 if it converged."""
    low, high, y = _bracket(side, width, target)
    value = 0.0
    for iteration in range(MAX_ITERATIONS):
        tail, slope = _tail(y, side, width, scratch)
        value, rise = target - tail, -slope if slope < -_FLAT else 0.0
        if rise > 0.0 and abs(value) <= LAST_CORRECTION * width * rise:
            return min(max(y - value / rise, low), high), -1.0
        y, low, high = newton_step(y, value, rise, low, high, iteration)
        if high - low <= resolution:
            return y, -1.0
    return y, abs(value)


@inner_kernel
def perform(
    curve: Curve,
    ratings: Floats,
    places: Floats,
    start: int,
    stop: int,
    expected_places: Floats,
    performances: Floats,
    scratch: TailScratch,
) -> float:
    """Write expected places and performances of players start:stop; return a residual.

    places : shape (n,), from 1, ties at their mean
    The residual is below 0 if all converged.
    """
    n, width = len(ratings), curve.width
    at_centre, _ = _tail(0.0, curve.upper, width, scratch)
    worst = -1.0
    for i in range(start, stop):
        y = ratings[i] - curve.centre
        if y >= 0.0:
            above, _ = _tail(y, curve.upper, width, scratch)
            expected, from_end = 0.5 + above, n + 0.5 - above
        else:
            below, _ = _tail(-y, curve.lower, width, scratch)
            expected, from_end = n + 0.5 - below, 0.5 + below
        expected_places[i] = expected
        target = math.sqrt(places[i] * expected) - 0.5
        if target <= at_centre:
            y, left = _root(curve.upper, width, curve.resolution, target, scratch)
            performances[i] = curve.centre + y
        else:
            # N - sqrt((N - r')(N - s')) = N u/(1 + sqrt(1 - u)), u = (r' + s' - r' s'/N)/N
            most = n + 1.0
            place = most - places[i]
            u = (place + from_end - place * from_end / most) / most
            target = most * u / (1.0 + math.sqrt(1.0 - u)) - 0.5
            y, left = _root(curve.lower, width, curve.resolution, target, scratch)
            performances[i] = curve.centre - y
        worst = max(worst, left)
    return worst


@kernel
def perform_on_one_thread(
    ratings: Floats, places: Floats, slope: float
) -> tuple[Floats, Floats, float]:
    """Return (expected places, performances, each of shape (n,), and a residual).

    The residual is below 0 if all converged.
    """
    n = len(ratings)
    expected, performances = np.empty(n), np.empty(n)
    curve = curve_on_one_thread(ratings, slope)
    residual = perform(curve, ratings, places, 0, n, expected, performances, empty_scratch())
    return expected, performances, residual


def perform_on_workers(
    ratings: Floats, places: Floats, slope: float, workers: Workers
) -> tuple[Floats, Floats, float]:
    """Return what `perform_on_one_thread` returns, the same bits, with many threads."""
    n = len(ratings)
    expected, performances = np.empty(n), np.empty(n)
    curve = curve_on_workers(ratings, slope, workers)
    residuals = np.full((n + CHUNK - 1) // CHUNK, -1.0)

    def work(number: int, start: int, stop: int) -> None:
        residuals[number] = perform(
            curve, ratings, places, start, stop, expected, performances, empty_scratch()
        )

    workers.each_chunk(n, CHUNK, work)
    return expected, performances, float(residuals.max())


@kernel
def ratings_of(job: Any, m: int) -> Floats:
    """Return the ratings of the players of contest m before it."""
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    ratings = np.empty(stop - start)
    for i in range(start, stop):
        ratings[i - start] = job.table[job.matches.player[i], 0]
    return ratings


@inner_kernel
def slope_of(job: Any, m: int) -> float:
    """Return pi/(sqrt 3 beta) in contest m."""
    return float(job.settings.slope * math.sqrt(job.matches.weight[m]))


@inner_kernel
def share_of(job: Any, m: int) -> float:
    """Return the share of a performance in the rating, 1 if its weight is infinite."""
    return float(1.0 / (1.0 + 1.0 / (job.settings.weight * job.matches.weight[m])))


@inner_kernel
def trace_contest(job: Any, i: int, others: float, expected: float, performance: float) -> None:
    """Write the expected place and the performance of participation i to the trace."""
    if len(job.trace.expected):
        # Without the player's own 1/2 and the 1/2 by which places begin at 1.
        job.trace.expected[i] = 1.0 - (expected - 1.0) / others
    if len(job.trace.more[0]):
        job.trace.more[0][i] = performance


@kernel
def update_players(
    job: Any, m: int, ratings: Floats, expected: Floats, performances: Floats
) -> None:
    """Update the players of contest m with their performances.

    ratings, expected, performances : shape (n,); expected places
    """
    start, share, ceiling = job.matches.offsets[m], share_of(job, m), job.matches.ceiling[m]
    for i in range(len(ratings)):
        performance = min(performances[i], ceiling)
        job.table[job.matches.player[start + i], 0] += share * (performance - ratings[i])
        trace_contest(job, start + i, len(ratings) - 1.0, expected[i], performance)


@inlined_update
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a contest by the authors' rules; return z of two players and a residual."""
    ratings, slope = ratings_of(job, m), slope_of(job, m)
    places = mean_places(job.matches.rank[job.matches.offsets[m] : job.matches.offsets[m + 1]])
    expected, performances, residual = perform_on_one_thread(ratings, places, slope)
    if residual < 0.0:
        update_players(job, m, ratings, expected, performances)
    return job.settings.slope * (ratings[0] - ratings[1]), residual


@inlined_update
def rate_match_by_platform_rules(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a contest by the platform's rules; return z of two players: no equation can fail."""
    start, ratings = job.matches.offsets[m], ratings_of(job, m)
    rank = job.matches.rank[start : job.matches.offsets[m + 1]]
    done = platform_round(ratings, rank, slope_of(job, m), share_of(job, m))
    taken = done.from_everyone + done.for_the_best
    for i in range(len(ratings)):
        player = job.table[job.matches.player[start + i]]
        player[0] = done.ratings[i] + done.changes[i] + taken
        trace_contest(job, start + i, len(ratings) - 1.0, done.expected[i], done.needed[i])
    return job.settings.slope * (ratings[0] - ratings[1]), -1.0


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, deviation), which is the same for all players."""
    return player[0], settings.initial_deviation


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first contest said of a newcomer: the rating has weight 1."""
    return first_contest(job, i, job.settings.weight * job.matches.weight[m])


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate contests first:last by the authors' rules."""
    return rate_teams(job, first, last, rate_match, None, read, evidence, move_rating)


@kernel
def rate_by_platform_rules(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate contests first:last by the platform's rules."""
    return rate_teams(job, first, last, rate_match_by_platform_rules, None, read, None, None)


@kernel
def opens(job: Any, m: int) -> bool:
    """Begin a contest that threads share; return whether it is rated."""
    return open_contest(job, m, read)


@kernel
def closes(job: Any, m: int) -> None:
    """End a contest that threads shared."""
    close_contest(job, m, evidence, move_rating, read)


@rating_system
class Codeforces(ContestSystem):
    """Codeforces' system: as the authors of [EM]_ ran it, or by the platform's own rules [CF]_.

    rules : "authors", as in the comparisons of [EM]_; or "platform", as published: ties take the
        last place, ratings are whole numbers, and points are taken to prevent inflation
    beta : standard deviation of performances, rating points; with the default, odds at a difference
        of 400 points are ten to one, as on the platform
    weight : of a performance, where the rating before has weight 1; the default moves a rating half
        of the way, as on the platform
    initial_rating : of a new player, rating points; a whole number by the platform's rules. The
      platform used 1500 at first, and has used 1400 since May 2020
    initial_deviation : reported as the deviation of all players; it has an effect only on how the
      entry is learned and the level held
    rate_all_ties : rate matches of three or more in which all tie (READINGS B7)

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.Codeforces(rules="platform"), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,480.0>
    """

    rules: Literal["authors", "platform"] = param("authors", words={"authors": 0, "platform": 1})
    beta: float = param(400.0 * math.pi / (math.sqrt(3.0) * math.log(10.0)), 1e-6, 1e9)
    weight: float = positive(1.0)
    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    rate_all_ties: bool = False

    name: ClassVar[str] = "codeforces"
    tried: ClassVar[Mapping[str, Any]] = {
        "beta": Span(30, 600, 15, 5),
        "weight": Span(0.05, 10, 12, 0.01),
    }
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "matches": 0.0,
        "last_time": math.nan,
    }
    loop = staticmethod(rate)
    opens = staticmethod(opens)
    closes = staticmethod(closes)

    def check(self) -> None:
        """Check that the platform's rules have whole numbers."""
        require(
            self.rules == "authors" or float(self.initial_rating).is_integer(),
            "initial_rating",
            "a whole number by the platform's rules",
            self.initial_rating,
        )
        require(
            self.rules == "authors" or not self.changes_entry,
            "rules",
            "authors where the entry is learned or the level held: the platform has whole numbers",
            self.rules,
        )

    def able(self, able: Capabilities) -> Capabilities:
        """Return capabilities, by the platform's rules without a performance ceiling."""
        able = ContestSystem.able(self, able)
        if self.rules == "authors":
            return able
        return replace(able, uses=frozenset({"weight"}), needed={"performance_ceiling": "rules"})

    @property
    def scale(self) -> float:
        """The scale of W, rating points: at this difference odds are e to one."""
        return math.sqrt(3.0) * self.beta / math.pi

    def derived(self) -> Mapping[str, float]:
        """Return the slope of W."""
        return {"slope": 1.0 / self.scale}

    def kernel(self, job: Any) -> Rate:
        """Return the kernel that rates contests of a job on one thread."""
        kernel: Rate = rate_by_platform_rules if self.rules == "platform" else type(self).loop
        return kernel

    @property
    def shares_contests(self) -> bool:
        """Whether threads share large contests: not by the platform's rules."""
        return self.rules == "authors"

    def share(self, job: Any, m: int, workers: Workers) -> float:
        """Update the players of contest m, the work shared among threads; return a residual."""
        ratings, rank = ratings_of(job, m), job.matches.rank
        places = mean_places(rank[job.matches.offsets[m] : job.matches.offsets[m + 1]])
        expected, performances, residual = perform_on_workers(
            ratings, places, slope_of(job, m), workers
        )
        if residual < 0.0:
            update_players(job, m, ratings, expected, performances)
        return residual

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return logistic performances whose difference has the scale of W."""
        scale = np.full(len(rating), self.scale / math.sqrt(2.0))
        return Outlook(centre=rating, scale=scale, curve="logistic")


def explain(
    system: Codeforces, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating: opponent by opponent.

    The performance x solves S(x) = sqrt(r s) - 1/2 where the rating solves S(mu) = s - 1/2
    (`codeforces_performance`), and s - r is the sum over the opponents of (score - expected score).
    """
    single = single_match(system, before, history, match, row)
    if system.rules == "platform":
        return _explained_by_platform_rules(system, single)
    i, others = single.row, len(single.history.rank) - 1
    rating = single.before.column("rating")
    scale = system.scale / math.sqrt(single.weight)
    expected = chance((rating[i] - rating) / scale, "logistic")
    # Slope of S; at r = s a change of a place is half a place in sqrt(r s).
    fall = math.fsum(expected * (1.0 - expected)) / scale
    performance = uncapped_performance(single)
    effects = effects_of_opponents(single, expected, 0.5 / fall, performance - rating[i])
    share = system.weight * single.weight / (1.0 + system.weight * single.weight)
    place = 1.0 + others - float(np.sum(single.scores()) - 0.5)
    expected_place = 1.0 + (1.0 - single.expected) * others
    return explanation(
        single,
        contributions=[
            *contributions_by_result(single, expected, effects, share),
            *capped_performance(single, performance, share),
        ],
        quantities={
            "expected place": expected_place,
            "place": place,
            "geometric mean": math.sqrt(place * expected_place),
            "performance": performance,
            **ceiling_of(single.history),
            "share": share,
        },
        meanings=_MEANINGS,
        opponents=strongest_opponents(single, rating, expected, effects),
        bounds=changes_at_the_ends(single),
    )


def _explained_by_platform_rules(system: Codeforces, single: SingleMatch) -> Explanation:
    """Return why a participation changed its player's rating by the platform's rules.

    A tie counts as a loss, and the performance is the needed rating before it is cut to a whole
    number. Rounding and the points taken from all players are separate parts.
    """
    i, weight = single.row, single.weight
    scale = system.scale / math.sqrt(weight)
    share = system.weight * weight / (1.0 + system.weight * weight)
    before = single.before.column("rating")
    done = platform_round(before, single.history.rank, 1.0 / scale, share)
    rating = done.ratings
    expected = chance((rating[i] - rating) / scale, "logistic")
    others = np.delete(expected, i)
    fall = math.fsum(others * (1.0 - others)) / scale
    # Tied players take the last of their places, so a tie counts as a loss.
    scores = np.where(single.scores() == 1.0, 1.0, 0.0)
    way = _needed_unrounded(done, i, scale) - float(rating[i])
    # If all other ratings are too different to matter, no place changes the rating.
    points_a_place = 0.5 / fall if fall > 0.0 else 0.0
    effects = effects_of_opponents(single, expected, points_a_place, way, scores=scores)
    n, exact = len(rating), share * math.fsum(effects)
    taken = f"brings the sum of the changes of all {n} players just below 0"
    for_the_best = f"stops the {best_players(n)} highest rated from gaining points together;"
    for_the_best += " at most 10 points, taken from all players"
    parts = [
        *contributions_by_result(single, expected, effects, share, scores=scores),
        contribution("rounding", float(done.changes[i]) - exact, _TRUNCATED),
        contribution(
            "against inflation: points taken from all players", float(done.from_everyone), taken
        ),
        contribution(
            "against inflation: points taken because of the best",
            float(done.for_the_best),
            for_the_best,
        ),
    ]
    if before[i] != rating[i]:
        reason = f"these rules use whole numbers: {before[i]:.2f} counts as {rating[i]:.0f}"
        parts.insert(0, contribution("rounding before", float(rating[i] - before[i]), reason))
    return explanation(
        single,
        contributions=parts,
        quantities={
            "expected place": float(done.expected[i]),
            "place": float(done.places[i]),
            "geometric mean": math.sqrt(float(done.places[i]) * float(done.expected[i])),
            "performance": float(done.needed[i]),
            "share": share,
        },
        meanings={**_MEANINGS, **_PLATFORM_MEANINGS},
        opponents=strongest_opponents(single, rating, expected, effects),
        bounds=changes_at_the_ends(single),
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
