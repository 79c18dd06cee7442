"""One match after the other by TopCoder's rules, on one thread or shared among many.

Source: [TC]_; the formulas stand in `topcoder` and, for the performance, `topcoder_performance`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import (
    DEVIATION,
    LAST_TIME,
    MATCHES,
    RATING,
    Job,
    PerformanceTrace,
)
from equipoise.rating.contest import is_rated, mean_places
from equipoise.rating.draws import count_match
from equipoise.rating.topcoder_performance import (
    Places,
    places_on_one_thread,
    places_on_workers,
    spread_of_field,
)

#: The platform's own weights of a performance [TC]_, for which its caps are meant: 0.18 at last,
#: and 0.42 more in the first contest.
_PLATFORM_LIMIT, _PLATFORM_EXTRA = 0.18, 0.42

#: Volatilities, and those scaled by the weight of a match, are held to these.
_LEAST_VOLATILITY, _LARGEST_VOLATILITY = 1e-6, 1e9


class Settings(NamedTuple):
    """Parameters as kernels take them."""

    weight_noob: float
    weight_limit: float
    cap_noob: float
    cap_limit: float
    high_rating: float
    high_factor: float
    top_rating: float
    top_factor: float
    rate_all_ties: bool


#: What its kernels go through.
ContestJob: TypeAlias = Job[Settings, PerformanceTrace, None]


class Entrants(NamedTuple):
    """Who takes part in a contest; arrays of shape (n,).

    rating, volatility : before it
    scaled : volatilities over the square root of the weight of the contest
    places : from 1, ties at their mean
    """

    rating: Floats
    volatility: Floats
    scaled: Floats
    places: Floats


class Step(NamedTuple):
    """What a performance does to a player.

    share : of the way to the performance, w/(1 + w)
    cap : largest change
    target : change before the cap
    volatility : after it
    """

    share: float
    cap: float
    target: float
    volatility: float


@inner_kernel
def step_of(player: Floats, apart: float, match_weight: float, settings: Settings) -> Step:
    """Return what a performance `apart` from the rating does to a player before the contest."""
    k = player[MATCHES] + 1.0
    limit = settings.weight_limit
    weight = limit + (settings.weight_noob - limit) / k
    cap = settings.cap_limit + settings.cap_noob / (k + 1.0)
    cap *= weight / (_PLATFORM_LIMIT + _PLATFORM_EXTRA / k)
    weight *= match_weight / (1.0 - weight)
    if player[RATING] >= settings.top_rating:
        weight *= settings.top_factor
    elif player[RATING] >= settings.high_rating:
        weight *= settings.high_factor
    # 1 where the weight is infinite
    share = 1.0 / (1.0 + 1.0 / weight)
    target = share * apart
    sigma = player[DEVIATION]
    # target^2/w = share apart target/(1 + w)
    variance = (target * apart + sigma * sigma) / (1.0 + weight)
    volatility = min(max(math.sqrt(variance), _LEAST_VOLATILITY), _LARGEST_VOLATILITY)
    return Step(share, cap, target, volatility)


@kernel
def begin_contest(job: ContestJob, m: int) -> Entrants:
    """Return who takes part in contest m."""
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    n = stop - start
    rating, volatility, scaled = np.empty(n), np.empty(n), np.empty(n)
    root = math.sqrt(job.matches.weight[m])
    for i in range(n):
        player = job.table[job.matches.player[start + i]]
        rating[i], volatility[i] = player[RATING], player[DEVIATION]
        scaled[i] = min(max(player[DEVIATION] / root, _LEAST_VOLATILITY), _LARGEST_VOLATILITY)
    return Entrants(rating, volatility, scaled, mean_places(job.matches.rank[start:stop]))


@kernel
def end_contest(job: ContestJob, m: int, entrants: Entrants, found: Places) -> None:
    """Move everyone in contest m towards the performance."""
    start, trace, ceiling = job.matches.offsets[m], job.trace, job.matches.ceiling[m]
    n = len(entrants.rating)
    spread = spread_of_field(entrants.rating, entrants.volatility)
    for i in range(n):
        player = job.table[job.matches.player[start + i]]
        apart = spread * found.surprise[i]
        performance = entrants.rating[i] + apart
        if performance > ceiling:
            performance, apart = ceiling, ceiling - entrants.rating[i]
        step = step_of(player, apart, job.matches.weight[m], job.settings)
        player[RATING] += min(max(step.target, -step.cap), step.cap)
        player[DEVIATION] = step.volatility
        player[MATCHES] += 1.0
        player[LAST_TIME] = job.matches.time[m]
        if len(trace.expected):
            trace.expected[start + i] = (found.below[i] - 0.5) / (n - 1.0)
        if len(trace.rating):
            trace.rating_before[start + i] = entrants.rating[i]
            trace.deviation_before[start + i] = entrants.volatility[i]
            trace.rating[start + i] = player[RATING]
            trace.deviation[start + i] = player[DEVIATION]
            trace.performance[start + i] = performance


@kernel
def rate_contests(job: ContestJob, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop on one thread; return (-1, -1), as nothing is solved for."""
    for m in range(start, stop):
        if is_rated(job.matches, m, job.settings.rate_all_ties):
            entrants = begin_contest(job, m)
            if len(job.draws) and len(entrants.rating) == 2:
                first, second = entrants.volatility[0], entrants.volatility[1]
                scale = math.sqrt(first * first + second * second)
                apart = (entrants.rating[0] - entrants.rating[1]) / scale
                count_match(job.draws, entrants.places[0] == entrants.places[1], apart, True)
            found = places_on_one_thread(entrants.rating, entrants.scaled, entrants.places)
            end_contest(job, m, entrants, found)
    return -1, -1.0


def rate_shared(job: ContestJob, m: int, workers: Workers) -> float:
    """Rate one contest like `rate_contests`, its players shared among threads; return -1."""
    if is_rated(job.matches, m, job.settings.rate_all_ties):
        entrants = begin_contest(job, m)
        found = places_on_workers(entrants.rating, entrants.scaled, entrants.places, workers)
        end_contest(job, m, entrants, found)
    return -1.0
