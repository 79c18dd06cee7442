"""The rating system of Codeforces: Elo for contests, by the geometric mean of two places.

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
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import Job, PerformanceTrace, Rate, System
from equipoise.rating.draws import count_match
from equipoise.rating.entry.entering import (
    FirstMatch,
    end_match,
    first_contest,
    move_rating,
    rate_each,
    read_rating,
)
from equipoise.rating.platforms.codeforces_performance import (
    perform_on_one_thread,
    perform_on_workers,
)
from equipoise.rating.platforms.codeforces_platform import platform_round
from equipoise.rating.platforms.contest import is_rated, mean_places, rate_in_turn
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, check_newcomer

#: Columns of the state.
RATING, MATCHES, LAST_TIME = range(3)


class Settings(NamedTuple):
    """Parameters in the form that kernels use; slope = pi/(sqrt 3 beta)."""

    slope: float
    weight: float
    deviation: float
    rate_all_ties: bool


#: The job of its kernels; there are no further columns.
ContestJob: TypeAlias = Job[Settings, PerformanceTrace, None]


@kernel
def begin_contest(job: ContestJob, m: int) -> tuple[Floats, Floats, float]:
    """Return (ratings, mean places, slope) of contest m."""
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    ratings = np.empty(stop - start)
    for i in range(start, stop):
        ratings[i - start] = job.table[job.matches.player[i], RATING]
    places = mean_places(job.matches.rank[start:stop])
    return ratings, places, job.settings.slope * math.sqrt(job.matches.weight[m])


@kernel
def end_contest(
    job: ContestJob, m: int, ratings: Floats, expected: Floats, performances: Floats
) -> None:
    """Update the players of contest m with their performances.

    ratings, expected, performances : shape (n,); expected places
    """
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    n, trace = stop - start, job.trace
    weight, ceiling = job.settings.weight * job.matches.weight[m], job.matches.ceiling[m]
    # 1 if the weight is infinite
    share = 1.0 / (1.0 + 1.0 / weight)
    for i in range(n):
        player = job.table[job.matches.player[start + i]]
        performance = min(performances[i], ceiling)
        player[RATING] += share * (performance - ratings[i])
        player[MATCHES] += 1.0
        player[LAST_TIME] = job.matches.time[m]
        if len(trace.expected):
            # Without the player's own 1/2 and the 1/2 by which places begin at 1.
            trace.expected[start + i] = 1.0 - (expected[i] - 1.0) / (n - 1.0)
        if len(trace.rating):
            trace.rating_before[start + i] = ratings[i]
            trace.deviation_before[start + i] = job.settings.deviation
            trace.rating[start + i] = player[RATING]
            trace.deviation[start + i] = job.settings.deviation
            trace.performance[start + i] = performance


@kernel
def rate_contests(job: ContestJob, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop on one thread.

    Returns (contest, residual) of a failure, or (-1, -1).
    """
    for m in range(start, stop):
        if not is_rated(job.matches, m, job.settings.rate_all_ties):
            continue
        ratings, places, slope = begin_contest(job, m)
        if len(job.draws) and len(ratings) == 2:
            advantage = job.settings.slope * (ratings[0] - ratings[1])
            count_match(job.draws, places[0] == places[1], advantage, False)
        expected, performances, residual = perform_on_one_thread(ratings, places, slope)
        if residual >= 0.0:
            return m, residual
        end_contest(job, m, ratings, expected, performances)
    return -1, -1.0


def rate_shared(job: ContestJob, m: int, workers: Workers) -> float:
    """Rate one contest like `rate_contests`, its players shared among threads.

    Returns a residual, below 0 if all converged.
    """
    if not is_rated(job.matches, m, job.settings.rate_all_ties):
        return -1.0
    ratings, places, slope = begin_contest(job, m)
    expected, performances, residual = perform_on_workers(ratings, places, slope, workers)
    if residual < 0.0:
        end_contest(job, m, ratings, expected, performances)
    return residual


@inner_kernel
def _evidence(job: ContestJob, m: int, i: int) -> FirstMatch:
    """Return what a first contest said of a newcomer: the rating has weight 1."""
    return first_contest(job, i, job.settings.weight * job.matches.weight[m])


@kernel
def rate_with_entry(job: ContestJob, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop like `rate_contests`, with their entry and level."""
    return rate_each(job, start, stop, rate_contests, _evidence, move_rating, read_rating)


@kernel
def learn_from(job: ContestJob, m: int, played: float) -> None:
    """Learn from contest m, which `rate_shared` rated, and hold the level."""
    end_match(job, m, played, _evidence, move_rating, read_rating)


@kernel
def rate_by_platform_rules(job: ContestJob, start: int, stop: int) -> tuple[int, float]:
    """Rate contests start:stop by the platform's rules; return (-1, -1): no equation can fail."""
    trace = job.trace
    for m in range(start, stop):
        if not is_rated(job.matches, m, job.settings.rate_all_ties):
            continue
        low, high = job.matches.offsets[m], job.matches.offsets[m + 1]
        before, slope = np.empty(high - low), job.settings.slope * math.sqrt(job.matches.weight[m])
        for i in range(low, high):
            before[i - low] = job.table[job.matches.player[i], RATING]
        if len(job.draws) and len(before) == 2:
            tied = job.matches.rank[low] == job.matches.rank[low + 1]
            count_match(job.draws, tied, job.settings.slope * (before[0] - before[1]), False)
        weight = job.settings.weight * job.matches.weight[m]
        share = 1.0 / (1.0 + 1.0 / weight)
        done = platform_round(before, job.matches.rank[low:high], slope, share)
        taken = done.from_everyone + done.for_the_best
        for i in range(low, high):
            player, k = job.table[job.matches.player[i]], i - low
            player[RATING] = done.ratings[k] + done.changes[k] + taken
            player[MATCHES] += 1.0
            player[LAST_TIME] = job.matches.time[m]
            if len(trace.expected):
                trace.expected[i] = 1.0 - (done.expected[k] - 1.0) / (high - low - 1.0)
            if len(trace.rating):
                trace.rating_before[i] = before[k]
                trace.deviation_before[i] = job.settings.deviation
                trace.rating[i] = player[RATING]
                trace.deviation[i] = job.settings.deviation
                trace.performance[i] = done.needed[k]
    return -1, -1.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Codeforces(System):
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

    rules: Literal["authors", "platform"] = "authors"
    beta: float = 400.0 * math.pi / (math.sqrt(3.0) * math.log(10.0))
    weight: float = 1.0
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    rate_all_ties: bool = False

    name: ClassVar[str] = "codeforces"
    traces: ClassVar[type[Any]] = PerformanceTrace

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        require(0 < self.weight < math.inf, "weight", "positive", self.weight)
        check_newcomer(self.initial_rating, self.initial_deviation)
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

    @property
    def capabilities(self) -> Capabilities:
        """Single players, any number of them."""
        authors = self.rules == "authors"
        return Capabilities(
            max_team_size=1,
            skips_all_tied=not self.rate_all_ties,
            uses=frozenset({"weight", "performance_ceiling"} if authors else {"weight"}),
            needed={} if authors else {"performance_ceiling": "rules"},
            idle=self.idle_entry,
        )

    @property
    def scale(self) -> float:
        """The scale of W, rating points: at this difference odds are e to one."""
        return math.sqrt(3.0) * self.beta / math.pi

    def newcomer(self) -> Mapping[str, float]:
        """Return a state without deviation."""
        return {"rating": self.initial_rating, "matches": 0.0, "last_time": math.nan}

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            slope=1.0 / self.scale,
            weight=float(self.weight),
            deviation=float(self.initial_deviation),
            rate_all_ties=self.rate_all_ties,
        )

    def kernel(self, job: ContestJob) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        if self.rules == "platform":
            return rate_by_platform_rules
        return rate_contests if job.entry is None else rate_with_entry

    def update(self, job: ContestJob, workers: Workers) -> tuple[int, float]:
        """Rate all contests of a job in order."""
        if self.rules == "platform":
            return rate_by_platform_rules(job, 0, len(job.matches.time))
        return rate_in_turn(job, self.kernel(job), rate_shared, learn_from, workers)

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return the initial deviation for all players."""
        return np.full(len(rows), float(self.initial_deviation))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return logistic performances whose difference has the scale of W."""
        scale = np.full(len(rating), self.scale / math.sqrt(2.0))
        return Outlook(centre=rating, scale=scale, curve="logistic")
