"""The rating system of TopCoder: contests by normal performances, with volatility.

Source: [TC]_, as the authors of [EM]_ ran it (READINGS B12). With a player's k-th contest, this one
counted, and the performance of `topcoder_performance`,

    w = weight_limit + (weight_noob - weight_limit)/k
    cap = (150 + 1500/(k + 1)) w/(0.18 + 0.42/k)
    w <- w/(1 - w), times 0.9 from a rating of 2000 on, times 0.8 from 2500 on
    target = (mu + w performance)/(1 + w)
    mu <- target, held to mu +- cap
    sigma <- sqrt((target - mu)^2/w + sigma^2/(1 + w))

Departures from the platform: newcomers are rated together with all others instead of after them,
ratings and volatilities are not rounded, and both weights are parameters. A match of weight m
counts as the authors' program counts it: w is multiplied by m after the cap is known, and
differences of ratings count sqrt m times as much for the expected place. As in that program, no
performance counts for more than the match's `performance_ceiling` (READINGS B8). A contest of
three or more in which all tie is skipped (READINGS B7). Volatilities are held between 1e-6 and 1e9
points, where squares keep their digits. How a match is rated stands in `topcoder_match`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from equipoise.arguments import check_fields
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import require
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import PerformanceTrace, System
from equipoise.rating.contest import rate_in_turn
from equipoise.rating.system import Capabilities, check_newcomer
from equipoise.rating.topcoder_match import ContestJob, Settings, rate_contests, rate_shared


@dataclass(frozen=True, slots=True, kw_only=True)
class TopCoder(System):
    """TopCoder's system [TC]_, with the parameters that [EM]_ compares it with.

    Defaults are the platform's own numbers.

    weight_noob : share of the first performance in a rating, from 0 to 1
    weight_limit : that of a performance after many contests
    cap_noob, cap_limit : a change in the k-th contest is at most cap_limit + cap_noob/(k + 1)
        rating points, in proportion to the weights where those are not the platform's
    high_rating, high_factor : from this rating on performances weigh so many times as much
    top_rating, top_factor : the same, from a higher one on
    initial_rating, initial_deviation : of a new player, rating points; the deviation is the
        volatility
    rate_all_ties : rate matches of three or more in which all tie (READINGS B7)
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
        )

    def settings(self) -> Settings:
        """Return the parameters as kernels take them."""
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

    def update(self, job: ContestJob, workers: Workers) -> tuple[int, float]:
        """Rate all contests of a job in order."""
        return rate_in_turn(job, rate_contests, rate_shared, workers)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return normal performances whose deviations are the volatilities."""
        return Outlook(centre=rating, scale=deviation, curve="normal")
