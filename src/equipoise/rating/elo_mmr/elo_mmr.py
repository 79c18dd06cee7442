"""Elo-MMR and Elo-MMX: Bayesian ratings for contests of any size.

Elo-MMR has logistic performances, Elo-MMX (Elo-MMR-chi) has normal ones. Both share parameters,
state and the order of the work, which `match` does: `performance`, `gaussian` and `direct` infer
performances, `belief` updates players.

Source: [EM]_ Algorithms 1-3, equations (7)-(9), and Theorem 3.2 for the Gaussian terms; numbers in
brackets are its equations.
Departures: the sign of the distribution function in section 3.1 is corrected (READINGS B1); a
match weight, drift by elapsed time, a ceiling on performances, split ties, few opponents and short
memories are options (READINGS B3-B8). The `performance_ceiling` of a match caps the performances of
Elo-MMX too, which the authors' program does not do (READINGS B8).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import option
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import ApproximationWarning, InvalidParameterError, require
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import PerformanceTrace, Rate, System
from equipoise.rating.elo_mmr.belief import SCALE_OF_DEVIATION, Beliefs
from equipoise.rating.elo_mmr.match import (
    BeliefJob,
    BeliefsAndRounds,
    OwnDeviations,
    Settings,
    learn_from,
    rate_matches,
    rate_shared,
    rate_with_entry,
)
from equipoise.rating.platforms.contest import rate_in_turn
from equipoise.rating.state import State
from equipoise.rating.system import OF_ROUNDS, Capabilities, check_newcomer

#: Purpose and cost of `opponents`; `benchmarks/opponents.py` measures the cost.
FEW_OPPONENTS = (
    "for reproducing published figures only: a better place may get a lower performance, and a "
    "worse place a higher rating (Theorems 5.2, 5.5 and 5.6 no longer hold); counting all "
    "opponents is exact and faster"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EloMMRParameters(System):
    """What `EloMMR` and `EloMMX` share: parameters, state and rating of a history.

    Warns : ApproximationWarning   once for each object with `opponents`
    """

    weight_limit: float | None = None
    sigma_limit: float | None = None
    beta: float | None = None
    gamma: float | None = None
    rho: float = 1.0
    drift_per_day: float = 0.0
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    split_ties: bool = False
    rate_all_ties: bool = False
    opponents: int | None = field(default=None, metadata={"note": FEW_OPPONENTS})
    remembered: int | None = None
    tie_loss: float | None = field(default=None, metadata={"later": True})
    tie_win: float | None = field(default=None, metadata={"later": True})

    name: ClassVar[str]
    gaussian: ClassVar[bool]
    traces: ClassVar[type[Any]] = PerformanceTrace
    record: ClassVar[int] = 3

    def __post_init__(self) -> None:
        """Check every parameter, and that the two spellings are not mixed."""
        check_fields(self)
        self.check_entry()
        limits = self.weight_limit is not None or self.sigma_limit is not None
        if limits and (self.beta is not None or self.gamma is not None):
            raise InvalidParameterError(
                "give either weight_limit and sigma_limit or beta and gamma, not a mixture"
            )
        if (self.beta is None) != (self.gamma is None):
            raise InvalidParameterError("beta and gamma must be given together")
        for name in ("weight_limit", "sigma_limit", "beta", "gamma"):
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, "positive", value)
        require(self.rho >= 0, "rho", "in [0, inf]", self.rho)
        require(
            0 <= self.drift_per_day < math.inf, "drift_per_day", "at least 0", self.drift_per_day
        )
        check_newcomer(self.initial_rating, self.initial_deviation)
        for name in ("opponents", "remembered"):
            count = getattr(self, name)
            require(count is None or count >= 1, name, "at least 1", count)
        self._check_ties()
        for note in self.notes:
            # The caller is two calls up: above this method and the __init__ of the class.
            warnings.warn(note, ApproximationWarning, stacklevel=3)

    def _check_ties(self) -> None:
        """Check the weights of a tie."""
        if self.tie_loss is None and self.tie_win is None:
            return
        if self.tie_loss is None or self.tie_win is None:
            raise InvalidParameterError("tie_loss and tie_win must be given together")
        if self.split_ties or self.opponents is not None:
            raise InvalidParameterError(
                "tie_loss and tie_win cannot be combined with split_ties or opponents"
            )
        # With a weight of 0 the last or the first place would have no finite performance.
        for name in ("tie_loss", "tie_win"):
            weight = getattr(self, name)
            require(0 < weight <= 1, name, "above 0 and at most 1", weight)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users of these parameters, as sentences without full stops."""
        if self.opponents is None:
            return ()
        return (f"{self.name} with opponents={self.opponents} is {FEW_OPPONENTS}",)

    @property
    def capabilities(self) -> Capabilities:
        """Any number of single players; time is used only with `drift_per_day`."""
        drifts = self.drift_per_day > 0
        uses = {"weight", "performance_ceiling", *OF_ROUNDS}
        return Capabilities(
            max_team_size=1,
            needs_time=drifts,
            skips_all_tied=not self.rate_all_ties,
            uses=frozenset(uses | {"time"} if drifts else uses),
            needed={} if drifts else {"time": "drift_per_day"},
            idle=self.idle_entry | ({"rho", "remembered"} if self.gaussian else set()),
        )

    def limits(self) -> tuple[float, float]:
        """Return (weight_limit, sigma_limit), computed from beta and gamma where those are given.

        L^2 = (sqrt(gamma^4 + 4 beta^2 gamma^2) - gamma^2)/2, w = gamma^2/L^2 (READINGS B4).
        """
        if self.beta is None or self.gamma is None:
            return (
                0.2 if self.weight_limit is None else self.weight_limit,
                80.0 if self.sigma_limit is None else self.sigma_limit,
            )
        gamma2 = self.gamma * self.gamma
        limit2 = (math.sqrt(gamma2 * gamma2 + 4 * self.beta * self.beta * gamma2) - gamma2) / 2
        return gamma2 / limit2, math.sqrt(limit2)

    def newcomer(self) -> Mapping[str, float]:
        """Return a belief of one Gaussian and no performances."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "matches": 0.0,
            "last_time": math.nan,
            "gaussian_mean": self.initial_rating,
            "gaussian_weight": 1.0 / (self.initial_deviation * self.initial_deviation),
            "decay": 1.0,
            "curvature": 1.0 / (self.initial_deviation * self.initial_deviation),
        }

    def rewrite_own(
        self,
        own: BeliefsAndRounds,
        performance: Sequence[float],
        share: Sequence[float],
        at_home: Sequence[bool],
    ) -> None:
        """Write nothing: beliefs are the state of the players.

        A match with a beta or gamma of its own is rated without kept memory (`rate_match`).
        """

    def kernel(self, job: BeliefJob) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        return rate_matches if job.entry is None else rate_with_entry

    def update(self, job: BeliefJob, workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        wanted = option(len(job.trace.expected) > 0)
        job = job._replace(settings=job.settings._replace(expected=wanted))
        if self.opponents is not None or self.tie_loss is not None:
            # With few opponents or weighted ties, players are rated in turn, on one thread.
            return self.kernel(job)(job, 0, len(job.matches.time))
        return rate_in_turn(job, self.kernel(job), rate_shared, learn_from, workers)

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return deviations, grown by drift where a day is given."""
        deviation: Floats = state.column("deviation")[rows]
        if math.isnan(day) or self.drift_per_day == 0:
            return deviation
        elapsed = np.maximum(day - state.column("last_time")[rows], 0.0)
        return np.sqrt(deviation**2 + self.drift_per_day * np.nan_to_num(elapsed, nan=0.0))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return performances of variance sigma^2 + gamma^2 + beta^2 [EM] sec. 3.1.

        The deviation includes what drift by the day adds. A beta or gamma of a match of `history`
        takes the place of that of the system.
        """
        weight, limit = self.limits()
        beta2: Any = (1 + 1 / weight) * limit**2 + self.drift_per_day / weight
        gamma2: Any = weight * limit**2
        if history is not None and (history.beta is not None or history.gamma is not None):
            beta2 = _of_players(history, history.beta, beta2)
            gamma2 = _of_players(history, history.gamma, gamma2)
        delta = np.sqrt(deviation**2 + gamma2 + beta2)
        if self.gaussian:
            return Outlook(centre=rating, scale=delta, curve="normal")
        return Outlook(centre=rating, scale=SCALE_OF_DEVIATION * delta, curve="logistic")

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        weight_limit, sigma_limit = self.limits()
        endless = np.iinfo(np.int64).max
        return Settings(
            weight_limit=float(weight_limit),
            sigma_limit2=float(sigma_limit) ** 2,
            # The belief is one Gaussian, for which decay and transfer are the same.
            rho=math.inf if self.gaussian else float(self.rho),
            drift_per_day=float(self.drift_per_day),
            split_ties=self.split_ties,
            rate_all_ties=self.rate_all_ties,
            opponents=self.opponents,
            remembered=endless if self.remembered is None else self.remembered,
            logistic=option(not self.gaussian),
            gaussian=option(self.gaussian),
            expected=None,
            tie_loss=self.tie_loss or 0.0,
            tie_win=self.tie_win or 0.0,
        )

    def own(self, state: State, history: History, start: int, stop: int) -> BeliefsAndRounds:
        """Return the beliefs, with room for every performance of matches start:stop.

        They come with the deviations that these matches have of their own.

        If memory is missing, it is reserved for the rest of the history at once.
        """
        runs = state.runs
        if runs is None:
            raise InvalidParameterError(f"this state was not made by {self.name}")
        rows, counts = _participations(history, start, stop)
        if runs.lacks_room(rows, self._records(counts)):
            counts = np.bincount(history.player[history.offsets[start] :], minlength=state.players)
            runs.reserve(np.arange(state.players), self._records(counts))
        # Copies, because kernels are compiled for arrays that may be written to.
        own = (
            np.empty(0) if column is None else column[start:stop].copy()
            for column in (history.beta, history.gamma)
        )
        return BeliefsAndRounds(Beliefs(state.table, runs.spans, runs.values), OwnDeviations(*own))

    def _records(self, matches: Ints) -> Ints:
        """Return how many records these matches can add before old ones are dropped."""
        if self.gaussian:
            return np.zeros_like(matches)
        if math.isinf(self.rho):
            return np.minimum(matches, 1)
        return matches if self.remembered is None else np.minimum(matches, self.remembered + 1)


def _of_players(history: History, own: Floats | None, variance: float) -> Any:
    """Return the variance for every participation, of its match's own deviation if it has one."""
    if own is None:
        return variance
    return np.repeat(np.where(np.isnan(own), variance, own**2), history.sizes())


def _participations(history: History, start: int, stop: int) -> tuple[Ints, Ints]:
    """Return (rows of the players of matches start:stop, how often each of them takes part)."""
    player = history.player[history.offsets[start] : history.offsets[stop]]
    if len(player) < history.players // 4:
        rows, counts = np.unique(player, return_counts=True)
        return rows, counts
    every = np.bincount(player, minlength=history.players)
    rows = np.flatnonzero(every)
    return rows, every[rows]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EloMMR(EloMMRParameters):
    """Elo-MMR(rho) [EM]_ with the logistic performance model.

    Give either `weight_limit` and `sigma_limit` (the authors' program) or `beta` and `gamma`
    (the paper): gamma^2 = w L^2 and beta^2 = (1 + 1/w) L^2 (READINGS B4).

    weight_limit : weight w of a performance at the limit, default 0.2
    sigma_limit : deviation L after many matches, rating points, default 80
    beta : deviation of one performance around the skill, rating points [EM] sec. 3
    gamma : deviation of the change of skill between rounds, rating points [EM] sec. 4
    rho : transfer over decay [EM] sec. 4.1; 0 keeps all history, inf none
    drift_per_day : variance that a day adds to the skill, points^2
    initial_rating, initial_deviation : of a new player, rating points
    split_ties : a tie is half a win and half a loss instead of a win and a loss (B3)
    rate_all_ties : rate matches of three or more in which all tie (B7)
    opponents : number of opponents, nearest in rating, that count, together with all who are as
        near as the last of them (B6); None counts all. For reproducing published figures only: it
        breaks Theorems 5.2, 5.5 and 5.6, so that a better place may get a lower performance and a
        worse one a higher rating, and it is slower than counting all
    remembered : number of newest performances that stay logistic (B6); None keeps all
    tie_loss, tie_win : w_l and w_v of footnote 2: a tie is so much of a loss and so much of a win,
        each above 0 and at most 1; 1 and 1 is the default model, 0.5 and 0.5 `split_ties`. Slower:
        all terms are summed for every place
    Warns : ApproximationWarning   where `opponents` is given, once for each object

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.EloMMR(weight_limit=0.2, sigma_limit=80), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,301.6>
    """

    name: ClassVar[str] = "elo-mmr"
    gaussian: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EloMMX(EloMMRParameters):
    """Elo-MMR-chi [EM]_: Elo-MMR with the Gaussian performance model.

    A `performance_ceiling` caps performances, which the authors' Gaussian variant does not do
    (READINGS B8). A belief is one Gaussian, so only rating and deviation are remembered. The
    parameters are those of `EloMMR`. Two of them change nothing and are accepted so that one
    parameter file serves both models:

    rho : with Gaussian factors, transfer and decay are the same [EM] sec. 4.1
    remembered : performances are not kept one by one

    `opponents` is for reproducing published figures only: it breaks Theorems 5.2, 5.5 and 5.6, and
    an `ApproximationWarning` says so once for each object.

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.EloMMX(), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,310.9>
    """

    name: ClassVar[str] = "elo-mmx"
    gaussian: ClassVar[bool] = True
