"""The rating system of TopCoder: contests with normal performances and a volatility.

Source: [TC]_, as the authors of [EM]_ ran it (READINGS B12).

Performance. Of n players with ratings mu, volatilities sigma and mean rating m,

    C = sqrt(mean of sigma^2 + sum (mu - m)^2/(n - 1))
    e = sum over all j of Phi((mu_j - mu)/sqrt(sigma^2 + sigma_j^2))    the expected place
    a = (1 + first + last)/2                                            the place, from 0
    performance = mu + C (invPhi(e/n) - invPhi(a/n))

where the players who tie have the places first to last. All e together take linear time
(`numeric/normal_pairs`). In the lower half of the participants e/n and a/n are counted from the
end, so that the last places are as exact as the first.

Update. In a player's k-th contest, this one counted,

    w = weight_limit + (weight_noob - weight_limit)/k
    cap = (150 + 1500/(k + 1)) w/(0.18 + 0.42/k)
    w <- w/(1 - w), times 0.9 from a rating of 2000 on, times 0.8 from 2500 on
    target = (mu + w performance)/(1 + w)
    mu <- target, bounded by mu +- cap
    sigma <- sqrt((target - mu)^2/w + sigma^2/(1 + w))

Departures from the platform: newcomers are rated together with all others instead of after them,
ratings and volatilities are not rounded, and both weights are parameters. A match of weight m
counts as the authors' program counts it: w is multiplied by m after the cap is known, and
differences of ratings count sqrt m times as much for the expected place. As in that program, no
performance counts for more than the match's `performance_ceiling` (READINGS B8). A contest of
three or more in which all tie is skipped (READINGS B7). Volatilities are bounded by 1e-6 and 1e9
points, where squares keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inlined_update, inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.data.explanation import Contribution, Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.errors import require
from equipoise.numeric.functions import lower_normal_quantile, normal_density
from equipoise.numeric.normal_pairs import (
    add_waves,
    count_members,
    crowd_of,
    expected_above_and_below,
    waves_of,
)
from equipoise.numeric.sums import CHUNK, lane_sum, mean_places
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import DEVIATION, MATCHES, RATING
from equipoise.rating.loop import move_rating, rate_teams, read_columns
from equipoise.rating.newcomers import MU, FirstMatch, first_contest
from equipoise.rating.rated_system import rating_system
from equipoise.rating.single_match import (
    MEANINGS,
    ceiling_of,
    contribution,
    explanation,
    single_match,
    strongest_opponents,
    uncapped_performance,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, initial_deviation, initial_rating, param, positive
from equipoise.rating.systems.contest import (
    ContestSystem,
    capped_performance,
    changes_at_the_ends,
    close_contest,
    contributions_by_result,
    effects_of_opponents,
    open_contest,
)

#: The platform's own weights of a performance [TC]_, which go with its caps: 0.18 in the limit,
#: and 0.42 more in the first contest.
_PLATFORM_LIMIT, _PLATFORM_EXTRA = 0.18, 0.42

#: Bounds of volatilities, also of those scaled by the weight of a match.
_LEAST_VOLATILITY, _LARGEST_VOLATILITY = 1e-6, 1e9

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    **MEANINGS,
    "expected place": ("places", "1 plus the probability of every other player to finish ahead"),
    "place": ("places", "the actual place; tied players share the mean of their places"),
    "spread of the field": ("points", "C: the standard deviation of performances in this contest"),
    "performance": (
        "points",
        "the rating plus C times the difference of the places as normal quantiles",
    ),
    "share": ("", "change before the cap over (performance - rating): w/(1 + w)"),
    "cap": ("points", "the largest change of this contest"),
    "volatility": ("points", "after the contest; surprises raise it, expected results lower it"),
}


class Participants(NamedTuple):
    """The participants of a contest; arrays of shape (n,).

    rating, volatility : before the contest
    scaled : volatilities over the square root of the weight of the contest
    places : from 1, ties at their mean
    """

    rating: Floats
    volatility: Floats
    scaled: Floats
    places: Floats


class Places(NamedTuple):
    """Expected places compared with actual ones; each of shape (n,).

    above, below : expected number of players above and below, e and n - e; a player counts half
        above and half below itself
    surprise : invPhi(e/n) - invPhi(a/n)
    """

    above: Floats
    below: Floats
    surprise: Floats


class Step(NamedTuple):
    """How a performance changes a player.

    share : change before the cap over (performance - rating), w/(1 + w)
    cap : largest change
    target : change before the cap
    volatility : after the contest
    """

    share: float
    cap: float
    target: float
    volatility: float


@kernel
def spread_of_field(ratings: Floats, volatilities: Floats) -> float:
    """Return C; both of shape (n,), n at least 2."""
    n = len(ratings)
    mean = lane_sum(ratings, n) / n
    distances, squares = ratings - mean, volatilities * volatilities
    return math.sqrt(lane_sum(squares, n) / n + lane_sum(distances * distances, n) / (n - 1.0))


@inner_kernel
def _fill_surprise(
    above: Floats, below: Floats, places: Floats, start: int, stop: int, surprise: Floats
) -> None:
    """Write invPhi(e/n) - invPhi(a/n) of players start:stop.

    places : shape (n,), from 1, ties at their mean: a + 1/2
    """
    n = len(places)
    for i in range(np.uint64(start), np.uint64(stop)):
        z = lower_normal_quantile(min(above[i], below[i]) / n)
        expected = z if above[i] <= below[i] else -z
        actual_above = places[i] - 0.5
        actual_below = n - actual_above
        z = lower_normal_quantile(min(actual_above, actual_below) / n)
        surprise[i] = expected - (z if actual_above <= actual_below else -z)


@kernel
def places_on_one_thread(ratings: Floats, volatilities: Floats, places: Floats) -> Places:
    """Return the expected places of all participants and how they compare with the actual ones.

    ratings, volatilities, places : shape (n,); places from 1, ties at their mean
    """
    above, below = expected_above_and_below(ratings, volatilities)
    surprise = np.empty(len(ratings))
    _fill_surprise(above, below, places, 0, len(ratings), surprise)
    return Places(above, below, surprise)


def places_on_workers(
    ratings: Floats, volatilities: Floats, places: Floats, workers: Workers
) -> Places:
    """Return what `places_on_one_thread` returns, the same bits, with many threads."""
    n = len(ratings)
    crowd = crowd_of(ratings, volatilities)
    blunt = n - crowd.sharp
    parts = np.zeros(((blunt + CHUNK - 1) // CHUNK, 2, crowd.terms))
    workers.each_chunk(
        blunt,
        CHUNK,
        lambda c, start, stop: add_waves(crowd, crowd.sharp + start, crowd.sharp + stop, parts[c]),
    )
    waves = waves_of(crowd, parts)
    result = Places(np.empty(n), np.empty(n), np.empty(n))
    workers.each_chunk(
        n,
        CHUNK,
        lambda _, start, stop: count_members(crowd, waves, start, stop, result.above, result.below),
    )
    workers.each_chunk(
        n,
        CHUNK,
        lambda _, start, stop: _fill_surprise(
            result.above, result.below, places, start, stop, result.surprise
        ),
    )
    return result


@inner_kernel
def relative_weight(weight: float, rating: float, match_weight: float, settings: Any) -> float:
    """Return the weight of a performance where the rating before has weight 1.

    weight : share of the performance, before the weight of the match and the rating count
    """
    weight *= match_weight / (1.0 - weight)
    if rating >= settings.top_rating:
        weight *= settings.top_factor
    elif rating >= settings.high_rating:
        weight *= settings.high_factor
    return weight


@inner_kernel
def step_of(player: Floats, surplus: float, match_weight: float, settings: Any) -> Step:
    """Return how a performance changes a player.

    player : columns before the contest
    surplus : the performance minus the rating
    """
    k = player[MATCHES] + 1.0
    limit = settings.weight_limit
    weight = limit + (settings.weight_noob - limit) / k
    cap = settings.cap_limit + settings.cap_noob / (k + 1.0)
    cap *= weight / (_PLATFORM_LIMIT + _PLATFORM_EXTRA / k)
    weight = relative_weight(weight, player[RATING], match_weight, settings)
    # 1 if the weight is infinite
    share = 1.0 / (1.0 + 1.0 / weight)
    target = share * surplus
    sigma = player[DEVIATION]
    # target^2/w = share surplus target/(1 + w)
    variance = (target * surplus + sigma * sigma) / (1.0 + weight)
    volatility = min(max(math.sqrt(variance), _LEAST_VOLATILITY), _LARGEST_VOLATILITY)
    return Step(share, cap, target, volatility)


@kernel
def participants_of(job: Any, m: int) -> Participants:
    """Return the participants of contest m."""
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    n = stop - start
    rating, volatility, scaled = np.empty(n), np.empty(n), np.empty(n)
    root = math.sqrt(job.matches.weight[m])
    for i in range(n):
        player = job.table[job.matches.player[start + i]]
        rating[i], volatility[i] = player[RATING], player[DEVIATION]
        scaled[i] = min(max(player[DEVIATION] / root, _LEAST_VOLATILITY), _LARGEST_VOLATILITY)
    return Participants(rating, volatility, scaled, mean_places(job.matches.rank[start:stop]))


@kernel
def update_participants(
    job: Any, m: int, participants: Participants, expected_places: Places
) -> None:
    """Update the participants of contest m with their performances."""
    start, ceiling = job.matches.offsets[m], job.matches.ceiling[m]
    expected, performances = job.trace.expected, job.trace.more[0]
    n = len(participants.rating)
    spread = spread_of_field(participants.rating, participants.volatility)
    for i in range(n):
        player = job.table[job.matches.player[start + i]]
        surplus = spread * expected_places.surprise[i]
        performance = participants.rating[i] + surplus
        if performance > ceiling:
            performance, surplus = ceiling, ceiling - participants.rating[i]
        step = step_of(player, surplus, job.matches.weight[m], job.settings)
        player[RATING] += min(max(step.target, -step.cap), step.cap)
        player[DEVIATION] = step.volatility
        if len(expected):
            expected[start + i] = (expected_places.below[i] - 0.5) / (n - 1.0)
        if len(performances):
            performances[start + i] = performance


@inlined_update
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a contest; return z of two players, and that nothing failed."""
    field = participants_of(job, m)
    update_participants(
        job, m, field, places_on_one_thread(field.rating, field.scaled, field.places)
    )
    first, second = field.volatility[0], field.volatility[1]
    scale = math.sqrt(first * first + second * second)
    return (field.rating[0] - field.rating[1]) / scale, -1.0


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first contest said of a newcomer."""
    settings, entry = job.settings, job.entry.pool[MU]
    weight = relative_weight(settings.weight_noob, entry, job.matches.weight[m], settings)
    return first_contest(job, i, weight)


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate contests first:last."""
    return rate_teams(job, first, last, rate_match, None, read_columns, evidence, move_rating)


@kernel
def opens(job: Any, m: int) -> bool:
    """Begin a contest that threads share; return whether it is rated."""
    return open_contest(job, m, read_columns)


@kernel
def closes(job: Any, m: int) -> None:
    """End a contest that threads shared."""
    close_contest(job, m, evidence, move_rating, read_columns)


@rating_system
class TopCoder(ContestSystem):
    """TopCoder's system [TC]_, with the parameters that [EM]_ compares it with.

    Defaults are the platform's own numbers.

    weight_noob : share of the first performance in a rating, from 0 to 1
    weight_limit : share of a performance after many contests
    cap_noob, cap_limit : the change in the k-th contest is at most cap_limit + cap_noob/(k + 1)
        rating points, in proportion to the weights if those are not the platform's
    high_rating, high_factor : from this rating on, weights are multiplied by this factor
    top_rating, top_factor : the same for a higher rating
    initial_rating, initial_deviation : of a new player, rating points; the deviation is the
        volatility
    rate_all_ties : rate matches of three or more in which all tie (READINGS B7)

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.TopCoder(), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,685.3>
    """

    weight_noob: float = param(0.6, 0, 1, rule="between 0 and 1", above=True, below=True)
    weight_limit: float = param(0.18, 0, 1, rule="between 0 and 1", above=True, below=True)
    cap_noob: float = param(1500.0, 0, rule="at least 0")
    cap_limit: float = param(150.0, 0, rule="positive", above=True)
    high_rating: float = 2000.0
    high_factor: float = positive(0.9)
    top_rating: float = 2500.0
    top_factor: float = positive(0.8)
    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    rate_all_ties: bool = False

    name: ClassVar[str] = "topcoder"
    tried: ClassVar[Mapping[str, Any]] = {
        "weight_noob": Span(0.1, 0.95, 10, 0.01),
        "weight_limit": Span(0.03, 0.6, 10, 0.01),
    }
    loop = staticmethod(rate)
    opens = staticmethod(opens)
    closes = staticmethod(closes)

    def check(self) -> None:
        """Check that the higher rating is not the lower one."""
        highest = self.top_rating
        require(self.high_rating <= highest, "high_rating", "at most top_rating", self.high_rating)

    def share(self, job: Any, m: int, workers: Workers) -> float:
        """Update the players of contest m, the work shared among threads; return -1."""
        field = participants_of(job, m)
        places = places_on_workers(field.rating, field.scaled, field.places, workers)
        update_participants(job, m, field, places)
        return -1.0

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return normal performances whose deviations are the volatilities."""
        return Outlook(centre=rating, scale=deviation, curve="normal")


def explain(system: TopCoder, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating: opponent by opponent, and the cap.

    The performance follows from e - a, the sum over the opponents of (score - expected score).
    """
    single = single_match(system, before, history, match, row)
    i, player, weight = single.row, single.before.table[single.row], single.weight
    rating = single.before.column("rating").copy()
    volatility = single.before.column("deviation").copy()
    surplus = float(single.trace["performance"][i] - single.trace["rating_before"][i])
    step = step_of(player, surplus, weight, system.settings())
    spread = spread_of_field(rating, volatility)
    deviation = np.hypot(volatility[i], volatility) / math.sqrt(weight)
    expected = chance((rating[i] - rating) / deviation, "normal")
    performance = uncapped_performance(single)
    n = len(rating)
    ahead = (1.0 - single.expected) * (n - 1)
    above = ahead + 0.5
    # C/(n density), the change of the performance by a place, at the expected place.
    z = lower_normal_quantile(min(above, n - above) / n)
    points = spread / (n * float(normal_density(z)))
    effects = effects_of_opponents(single, expected, points, performance - rating[i])
    parts = [
        *contributions_by_result(single, expected, effects, step.share),
        *capped_performance(single, performance, step.share),
        *_capped(step, int(player[MATCHES]) + 1),
    ]
    return explanation(
        single,
        contributions=parts,
        quantities={
            "expected place": 1.0 + ahead,
            "place": n - float(np.sum(single.scores()) - 0.5),
            "spread of the field": spread,
            "performance": performance,
            **ceiling_of(single.history),
            "share": step.share,
            "cap": step.cap,
            "volatility": step.volatility,
        },
        meanings=_MEANINGS,
        opponents=strongest_opponents(single, rating, expected, effects),
        bounds=changes_at_the_ends(single),
    )


def _capped(step: Step, contest: int) -> list[Contribution]:
    """Return the change by the cap, if it applied."""
    if abs(step.target) <= step.cap:
        return []
    reason = f"contest {contest} of this player changes the rating by at most {step.cap:.0f} points"
    change = math.copysign(step.cap, step.target) - step.target
    return [contribution("the cap", change, reason)]
