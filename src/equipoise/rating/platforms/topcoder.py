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
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.normal import lower_normal_quantile
from equipoise.numeric.normal_pairs import (
    add_waves,
    count_members,
    crowd_of,
    expected_above_and_below,
    waves_of,
)
from equipoise.numeric.sigmoid_sum import CHUNK
from equipoise.numeric.summation import lane_sum
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import (
    DEVIATION,
    LAST_TIME,
    MATCHES,
    RATING,
    Job,
    PerformanceTrace,
    Rate,
    System,
)
from equipoise.rating.draws import count_match
from equipoise.rating.entry.entering import (
    MU,
    FirstMatch,
    end_match,
    first_contest,
    move_rating,
    rate_each,
    read_rating,
)
from equipoise.rating.platforms.contest import is_rated, mean_places, rate_in_turn
from equipoise.rating.system import Capabilities, check_newcomer

#: The platform's own weights of a performance [TC]_, which go with its caps: 0.18 in the limit,
#: and 0.42 more in the first contest.
_PLATFORM_LIMIT, _PLATFORM_EXTRA = 0.18, 0.42

#: Bounds of volatilities, also of those scaled by the weight of a match.
_LEAST_VOLATILITY, _LARGEST_VOLATILITY = 1e-6, 1e9


class Settings(NamedTuple):
    """Parameters in the form that kernels use."""

    weight_noob: float
    weight_limit: float
    cap_noob: float
    cap_limit: float
    high_rating: float
    high_factor: float
    top_rating: float
    top_factor: float
    rate_all_ties: bool


#: The job of its kernels; there are no further columns.
ContestJob: TypeAlias = Job[Settings, PerformanceTrace, None]


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
    found = Places(np.empty(n), np.empty(n), np.empty(n))
    workers.each_chunk(
        n,
        CHUNK,
        lambda _, start, stop: count_members(crowd, waves, start, stop, found.above, found.below),
    )
    workers.each_chunk(
        n,
        CHUNK,
        lambda _, start, stop: _fill_surprise(
            found.above, found.below, places, start, stop, found.surprise
        ),
    )
    return found


@inner_kernel
def relative_weight(weight: float, rating: float, match_weight: float, settings: Settings) -> float:
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
def step_of(player: Floats, surplus: float, match_weight: float, settings: Settings) -> Step:
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
def begin_contest(job: ContestJob, m: int) -> Participants:
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
def end_contest(job: ContestJob, m: int, participants: Participants, found: Places) -> None:
    """Update the participants of contest m with their performances."""
    start, trace, ceiling = job.matches.offsets[m], job.trace, job.matches.ceiling[m]
    n = len(participants.rating)
    spread = spread_of_field(participants.rating, participants.volatility)
    for i in range(n):
        player = job.table[job.matches.player[start + i]]
        surplus = spread * found.surprise[i]
        performance = participants.rating[i] + surplus
        if performance > ceiling:
            performance, surplus = ceiling, ceiling - participants.rating[i]
        step = step_of(player, surplus, job.matches.weight[m], job.settings)
        player[RATING] += min(max(step.target, -step.cap), step.cap)
        player[DEVIATION] = step.volatility
        player[MATCHES] += 1.0
        player[LAST_TIME] = job.matches.time[m]
        if len(trace.expected):
            trace.expected[start + i] = (found.below[i] - 0.5) / (n - 1.0)
        if len(trace.rating):
            trace.rating_before[start + i] = participants.rating[i]
            trace.deviation_before[start + i] = participants.volatility[i]
            trace.rating[start + i] = player[RATING]
            trace.deviation[start + i] = player[DEVIATION]
            trace.performance[start + i] = performance


@kernel
def rate_contests(job: ContestJob, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop on one thread; return (-1, -1), because no equation can fail."""
    for m in range(start, stop):
        if is_rated(job.matches, m, job.settings.rate_all_ties):
            participants = begin_contest(job, m)
            if len(job.draws) and len(participants.rating) == 2:
                first, second = participants.volatility[0], participants.volatility[1]
                scale = math.sqrt(first * first + second * second)
                advantage = (participants.rating[0] - participants.rating[1]) / scale
                count_match(
                    job.draws, participants.places[0] == participants.places[1], advantage, True
                )
            found = places_on_one_thread(
                participants.rating, participants.scaled, participants.places
            )
            end_contest(job, m, participants, found)
    return -1, -1.0


def rate_shared(job: ContestJob, m: int, workers: Workers) -> float:
    """Rate one contest like `rate_contests`, its players shared among threads; return -1."""
    if is_rated(job.matches, m, job.settings.rate_all_ties):
        participants = begin_contest(job, m)
        found = places_on_workers(
            participants.rating, participants.scaled, participants.places, workers
        )
        end_contest(job, m, participants, found)
    return -1.0


@inner_kernel
def _evidence(job: ContestJob, m: int, i: int) -> FirstMatch:
    """Return what a first contest said of a newcomer."""
    settings, entry = job.settings, job.entry.pool[MU]
    weight = relative_weight(settings.weight_noob, entry, job.matches.weight[m], settings)
    return first_contest(job, i, weight)


@kernel
def rate_with_entry(job: ContestJob, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop like `rate_contests`, with their entry and level."""
    return rate_each(job, start, stop, rate_contests, _evidence, move_rating, read_rating)


@kernel
def learn_from(job: ContestJob, m: int, played: float) -> None:
    """Learn from contest m, which `rate_shared` rated, and hold the level."""
    end_match(job, m, played, _evidence, move_rating, read_rating)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopCoder(System):
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

    weight_noob: float = 0.6
    weight_limit: float = 0.18
    cap_noob: float = 1500.0
    cap_limit: float = 150.0
    high_rating: float = 2000.0
    high_factor: float = 0.9
    top_rating: float = 2500.0
    top_factor: float = 0.8
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    rate_all_ties: bool = False

    name: ClassVar[str] = "topcoder"
    traces: ClassVar[type[Any]] = PerformanceTrace

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        for name in ("weight_noob", "weight_limit"):
            value = getattr(self, name)
            require(0 < value < 1, name, "between 0 and 1", value)
        require(self.cap_noob >= 0, "cap_noob", "at least 0", self.cap_noob)
        require(self.cap_limit > 0, "cap_limit", "positive", self.cap_limit)
        for name in ("high_factor", "top_factor"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "positive", value)
        require(
            self.high_rating <= self.top_rating,
            "high_rating",
            "at most top_rating",
            self.high_rating,
        )
        check_newcomer(self.initial_rating, self.initial_deviation)

    @property
    def capabilities(self) -> Capabilities:
        """Single players, any number of them."""
        return Capabilities(
            max_team_size=1,
            skips_all_tied=not self.rate_all_ties,
            uses=frozenset({"weight", "performance_ceiling"}),
            idle=self.idle_entry,
        )

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            weight_noob=float(self.weight_noob),
            weight_limit=float(self.weight_limit),
            cap_noob=float(self.cap_noob),
            cap_limit=float(self.cap_limit),
            high_rating=float(self.high_rating),
            high_factor=float(self.high_factor),
            top_rating=float(self.top_rating),
            top_factor=float(self.top_factor),
            rate_all_ties=self.rate_all_ties,
        )

    def kernel(self, job: ContestJob) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        return rate_contests if job.entry is None else rate_with_entry

    def update(self, job: ContestJob, workers: Workers) -> tuple[int, float]:
        """Rate all contests of a job in order."""
        return rate_in_turn(job, self.kernel(job), rate_shared, learn_from, workers)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return normal performances whose deviations are the volatilities."""
        return Outlook(centre=rating, scale=deviation, curve="normal")
