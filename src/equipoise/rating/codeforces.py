"""The rating system of Codeforces: Elo for contests, by the geometric mean of two places.

Source: [CF]_, as the authors of [EM]_ ran it beside their own system (READINGS B12). With n players
and W(a, b) = 1/(1 + exp(-pi (a - b)/(sqrt 3 beta))),

    r = (better - worse + n + 1)/2            the place, those who tie sharing the mean of theirs
    s = 1/2 + sum over all j of W(mu_j, mu)   the place that was expected
    1/2 + sum over all j of W(mu_j, x) = sqrt(r s)
    mu <- (mu + weight x)/(1 + weight)

Departures from the platform: ratings are not rounded, and points are neither taken from everyone
nor from the best to hold inflation down. A match of weight m counts as the authors' program counts
it: beta is divided by sqrt m, and `weight` multiplied by m. A contest of three or more in which all
tie is skipped, as the authors do (READINGS B7). Performances stand in `codeforces_performance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equipoise._jit import kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import require
from equipoise.numeric.workers import Workers
from equipoise.rating.codeforces_performance import perform_on_one_thread, perform_on_workers
from equipoise.rating.contest import (
    Contests,
    TraceArrays,
    contests_of,
    is_rated,
    mean_places,
    no_convergence,
    rate_in_turn,
)
from equipoise.rating.state import State
from equipoise.rating.system import (
    Capabilities,
    RatingColumns,
    TraceColumns,
    check_newcomer,
    trace_arrays,
)

#: Columns of the state.
RATING, MATCHES, LAST_TIME = range(3)


class Settings(NamedTuple):
    """Parameters as kernels take them; slope = pi/(sqrt 3 beta)."""

    slope: float
    weight: float
    deviation: float
    rate_all_ties: bool


class Job(NamedTuple):
    """Everything that rating a slice of a history reads and writes."""

    table: Floats
    contests: Contests
    settings: Settings
    trace: TraceArrays


@kernel
def begin_contest(job: Job, m: int) -> tuple[Floats, Floats, float]:
    """Return (ratings, mean places, slope) of contest m."""
    start, stop = job.contests.offsets[m], job.contests.offsets[m + 1]
    ratings = np.empty(stop - start)
    for i in range(start, stop):
        ratings[i - start] = job.table[job.contests.player[i], RATING]
    places = mean_places(job.contests.rank[start:stop])
    return ratings, places, job.settings.slope * math.sqrt(job.contests.weight[m])


@kernel
def end_contest(job: Job, m: int, ratings: Floats, expected: Floats, performances: Floats) -> None:
    """Move everyone in contest m towards the performance.

    ratings, expected, performances : shape (n,); expected places
    """
    start, stop = job.contests.offsets[m], job.contests.offsets[m + 1]
    n, trace = stop - start, job.trace
    weight = job.settings.weight * job.contests.weight[m]
    # 1 where the weight is infinite
    share = 1.0 / (1.0 + 1.0 / weight)
    for i in range(n):
        player = job.table[job.contests.player[start + i]]
        player[RATING] += share * (performances[i] - ratings[i])
        player[MATCHES] += 1.0
        player[LAST_TIME] = job.contests.time[m]
        if len(trace.rating):
            # One's own half and the 1/2 that makes places begin at 1 are nobody's.
            trace.expected[start + i] = 1.0 - (expected[i] - 1.0) / (n - 1.0)
            trace.rating_before[start + i] = ratings[i]
            trace.deviation_before[start + i] = job.settings.deviation
            trace.rating[start + i] = player[RATING]
            trace.deviation[start + i] = job.settings.deviation
            trace.performance[start + i] = performances[i]


@kernel
def rate_contests(job: Job, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop on one thread.

    Returns (contest, residual) of a failure, or (-1, -1).
    """
    for m in range(start, stop):
        if not is_rated(job.contests, m, job.settings.rate_all_ties):
            continue
        ratings, places, slope = begin_contest(job, m)
        expected, performances, residual = perform_on_one_thread(ratings, places, slope)
        if residual >= 0.0:
            return m, residual
        end_contest(job, m, ratings, expected, performances)
    return -1, -1.0


def rate_shared(job: Job, m: int, workers: Workers) -> float:
    """Rate one contest like `rate_contests`, its players shared among threads.

    Returns a residual, below 0 if all converged.
    """
    if not is_rated(job.contests, m, job.settings.rate_all_ties):
        return -1.0
    ratings, places, slope = begin_contest(job, m)
    expected, performances, residual = perform_on_workers(ratings, places, slope, workers)
    if residual < 0.0:
        end_contest(job, m, ratings, expected, performances)
    return residual


@dataclass(frozen=True, slots=True, kw_only=True)
class Codeforces:
    """Codeforces' system [CF]_, with the parameters that [EM]_ compares it with.

    beta : spread of performances, rating points; the default makes a difference of 400 points
        ten to one, as on the platform
    weight : of a performance, where the rating before weighs 1; the default moves a rating half
        of the way, as on the platform
    initial_rating : of a new player, rating points
    initial_deviation : what is reported as everyone's deviation; it plays no part
    rate_all_ties : rate matches of three or more in which all tie (READINGS B7)
    """

    beta: float = 400.0 * math.pi / (math.sqrt(3.0) * math.log(10.0))
    weight: float = 1.0
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    rate_all_ties: bool = False

    name: ClassVar[str] = "codeforces"
    trace_columns: ClassVar[Sequence[str]] = ("performance",)

    def __post_init__(self) -> None:
        """Check every parameter."""
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        require(0 < self.weight < math.inf, "weight", "positive", self.weight)
        check_newcomer(self.initial_rating, self.initial_deviation)

    @property
    def capabilities(self) -> Capabilities:
        """Single players, any number of them."""
        return Capabilities(max_team_size=1, skips_all_tied=not self.rate_all_ties)

    @property
    def scale(self) -> float:
        """The scale of W: a difference of so many points is e to one."""
        return math.sqrt(3.0) * self.beta / math.pi

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        return State.of_new_players(
            players, {"rating": self.initial_rating, "matches": 0.0, "last_time": math.nan}
        )

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop in order.

        Raises : ConvergenceError
        """
        job = self.job(state, history, start, stop, trace)
        threads = workers or Workers()
        failed, residual = rate_in_turn(
            job.contests,
            lambda first, last: rate_contests(job, first, last),
            lambda m: rate_shared(job, m, threads),
        )
        if failed >= 0:
            raise no_convergence(self.name, history, start + failed, residual)

    def job(
        self, state: State, history: History, start: int, stop: int, trace: TraceColumns | None
    ) -> Job:
        """Return matches start:stop as kernels take them."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        settings = Settings(
            slope=1.0 / self.scale,
            weight=float(self.weight),
            deviation=float(self.initial_deviation),
            rate_all_ties=self.rate_all_ties,
        )
        arrays = trace_arrays(TraceArrays, trace, low, high)
        return Job(state.table, contests_of(history, start, stop), settings, arrays)

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings; nothing changes while nobody plays, and all deviations are the same."""
        return {
            "rating": state.table[rows, RATING],
            "deviation": np.full(len(rows), float(self.initial_deviation)),
            "matches": state.table[rows, MATCHES],
            "last_time": state.table[rows, LAST_TIME],
        }

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return logistic performances whose difference has the scale of W."""
        scale = np.full(len(rating), self.scale / math.sqrt(2.0))
        return Outlook(centre=rating, scale=scale, curve="logistic")

    def explain(self, before: State, history: History, match: int, row: int) -> Explanation:
        """Return why a participation changed its player's rating, opponent by opponent."""
        from equipoise.rating.codeforces_explain import explain

        return explain(self, before, history, match, row)
