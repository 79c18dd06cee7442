"""Elo-MMR, the logistic model: a Bayesian rating for contests of any size.

Source: [EM]_ Algorithms 1-3, equations (7)-(9); numbers in brackets are its equations.
Departures: the distribution function's sign slip in section 3.1 is mended (READINGS B1); a match
weight, drift by elapsed time, a ceiling on performances, split ties, few opponents and short
memories are options (READINGS B3-B8). Phase one stands in `elo_mmr_performance` and
`elo_mmr_direct`, phase two in `elo_mmr_belief`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Prediction
from equipoise.errors import ConvergenceError, InvalidParameterError, require
from equipoise.numeric.field_scores import scores_against_field
from equipoise.numeric.roots import MAX_ITERATIONS
from equipoise.numeric.sigmoid_sum import CHUNK
from equipoise.rating.elo_mmr_belief import (
    DEVIATION,
    LAST_TIME,
    MATCHES,
    RATING,
    SCALE_OF_DEVIATION,
    Beliefs,
    Round,
    Scratch,
    diffuse,
    expect_terms,
    update_belief,
    update_scratch,
)
from equipoise.rating.elo_mmr_direct import solve_nearest
from equipoise.rating.elo_mmr_performance import (
    order_by_place,
    solve_on_one_thread,
    solve_on_workers,
)
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, TraceColumns
from equipoise.rating.workers import Workers

#: Contests from this size on are shared among threads.
PARALLEL_FROM = 2 * CHUNK

#: How many players ahead memory is fetched: their rows lie anywhere, and waiting costs more than
#: the arithmetic.
_AHEAD, _FAR_AHEAD = 3, 12


class Settings(NamedTuple):
    """Parameters as kernels take them."""

    weight_limit: float
    sigma_limit2: float
    rho: float
    drift_per_day: float
    split_ties: bool
    rate_all_ties: bool
    opponents: int
    remembered: int


class TraceArrays(NamedTuple):
    """Columns of a trace, of shape (N,), or all of shape (0,) where none is wanted."""

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats
    performance: Floats


class Matches(NamedTuple):
    """The columns of a history that this system reads."""

    offsets: Ints
    player: Ints
    rank: Ints
    time: Floats
    weight: Floats
    ceiling: Floats


class Job(NamedTuple):
    """Everything that rating a slice of a history reads and writes."""

    beliefs: Beliefs
    matches: Matches
    settings: Settings
    trace: TraceArrays


class Field(NamedTuple):
    """The participants of one match in the order of their places.

    rows : shape (n,), rows of the history
    players : shape (n,), rows of the state
    places : shape (places + 1,), offsets of the places
    rating, slope, deviation_before : shape (n,); prior mu, 1/delta_bar, sigma before diffusion
    """

    rows: Ints
    players: Ints
    places: Ints
    rating: Floats
    slope: Floats
    deviation_before: Floats


@inner_kernel
def round_of(matches: Matches, m: int, settings: Settings) -> Round:
    """Return the `Round` of match m: gamma^2 = w L^2, beta^2 = (1 + 1/w) L^2 (READINGS B4)."""
    weight = matches.weight[m] * settings.weight_limit
    beta2 = (1.0 + 1.0 / weight) * settings.sigma_limit2 + settings.drift_per_day / weight
    ceiling = matches.ceiling[m]
    if math.isnan(ceiling):
        ceiling = math.inf
    return Round(matches.time[m], weight * settings.sigma_limit2, beta2, ceiling)


@inner_kernel
def is_rated(matches: Matches, m: int, rate_all_ties: bool) -> bool:
    """Return whether match m changes anything (READINGS B7)."""
    start, stop = matches.offsets[m], matches.offsets[m + 1]
    if stop - start < 2:
        return False
    if stop - start == 2 or rate_all_ties:
        return True
    for i in range(start, stop):  # noqa: SIM110  # Numba knows no generator expressions
        if matches.rank[i] != matches.rank[start]:
            return True
    return False


@kernel
def field_of(matches: Matches, m: int) -> Field:
    """Return the `Field` of match m, priors not yet filled in."""
    start, stop = matches.offsets[m], matches.offsets[m + 1]
    order, places = order_by_place(matches.rank[start:stop])
    players = matches.player[start:stop][order]
    rating, slope, before = np.empty(len(order)), np.empty(len(order)), np.empty(len(order))
    return Field(order + start, players, places, rating, slope, before)


@inner_kernel
def begin_round(job: Job, field: Field, start: int, stop: int, the_round: Round) -> None:
    """Diffuse players start:stop of the field and fill in their priors (Algorithm 1)."""
    rho, drift_per_day = job.settings.rho, job.settings.drift_per_day
    for j in range(start, stop):
        row = field.players[j]
        if j + _FAR_AHEAD < stop:
            ahead = field.players[j + _FAR_AHEAD]
            prefetch(job.beliefs.table, ahead * job.beliefs.table.shape[1])
            prefetch(job.beliefs.spans, ahead * job.beliefs.spans.shape[1])
        player = job.beliefs.table[row]
        field.deviation_before[j] = player[DEVIATION]
        diffuse(job.beliefs, row, the_round, rho, drift_per_day)
        delta = math.sqrt(player[DEVIATION] * player[DEVIATION] + the_round.beta2)
        field.rating[j] = player[RATING]
        field.slope[j] = 1.0 / (SCALE_OF_DEVIATION * delta)


@inner_kernel
def end_round(
    job: Job,
    field: Field,
    start: int,
    stop: int,
    the_round: Round,
    performances: Floats,
    scratch: Scratch,
) -> float:
    """Update players start:stop with their performances; return a residual, below 0 if fine."""
    beliefs, trace = job.beliefs, job.trace
    remembered = job.settings.remembered
    worst = -1.0
    for j in range(start, stop):
        row = field.players[j]
        if j + _AHEAD < stop:
            expect_terms(beliefs, field.players[j + _AHEAD])
        player = beliefs.table[row]
        performance = min(performances[j], the_round.ceiling)
        residual = update_belief(beliefs, row, performance, the_round.beta2, remembered, scratch)
        worst = max(worst, residual)
        player[MATCHES] += 1.0
        player[LAST_TIME] = the_round.time
        if len(trace.rating):
            i = field.rows[j]
            trace.rating_before[i] = field.rating[j]
            trace.deviation_before[i] = field.deviation_before[j]
            trace.rating[i] = player[RATING]
            trace.deviation[i] = player[DEVIATION]
            trace.performance[i] = performance
    return worst


@kernel
def spread(by_place: Floats, places: Ints) -> Floats:
    """Return the value of every player's place, players in the order of their places."""
    out = np.empty(places[-1])
    for g in range(len(places) - 1):
        out[places[g] : places[g + 1]] = by_place[g]
    return out


@kernel
def trace_expected(job: Job, field: Field) -> None:
    """Write to the trace the mean chance of beating another, performing at one's rating.

    The mean of F_j(mu_i) over all others j [EM] sec. 3.1.
    """
    scores = scores_against_field(field.rating, field.slope)
    for j in range(len(scores)):
        job.trace.expected[field.rows[j]] = scores[j] / (len(scores) - 1)


@kernel
def rate_matches(job: Job, start: int, stop: int) -> tuple[int, float]:
    """Rate matches start:stop on one thread; return (match, residual) of a failure, or (-1, 0)."""
    settings = job.settings
    for m in range(start, stop):
        if not is_rated(job.matches, m, settings.rate_all_ties):
            continue
        field = field_of(job.matches, m)
        n = len(field.players)
        the_round = round_of(job.matches, m, settings)
        begin_round(job, field, 0, n, the_round)
        if settings.opponents < n - 1:
            performances, residual = solve_nearest(
                field.rating, field.slope, field.places, settings.split_ties, settings.opponents
            )
        else:
            by_place, residual = solve_on_one_thread(
                field.rating, field.slope, field.places, settings.split_ties
            )
            performances = spread(by_place, field.places)
        if len(job.trace.rating):
            trace_expected(job, field)
        if residual < 0.0:
            scratch = update_scratch(job.beliefs, field.players, 0, n)
            residual = end_round(job, field, 0, n, the_round, performances, scratch)
        if residual >= 0.0:
            return m, residual
    return -1, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EloMMR:
    """Elo-MMR(rho) [EM]_ with the logistic performance model.

    Give either `weight_limit` and `sigma_limit` (the authors' program) or `beta` and `gamma`
    (the paper): gamma^2 = w L^2 and beta^2 = (1 + 1/w) L^2 (READINGS B4).

    weight_limit : weight w of a performance at the limit, default 0.2
    sigma_limit : deviation L that many matches lead to, rating points, default 80
    beta : deviation of one performance around the skill, rating points [EM] sec. 3
    gamma : deviation of the change of skill between rounds, rating points [EM] sec. 4
    rho : transfer over decay [EM] sec. 4.1; 0 keeps all history, inf none
    drift_per_day : variance that a day adds to the skill, points^2
    initial_rating, initial_deviation : of a new player, rating points
    split_ties : a tie is half a win and half a loss instead of a win and a loss (B3)
    rate_all_ties : rate matches of three or more in which all tie (B7)
    opponents : only that many opponents nearest in rating count (B6); None counts all
    remembered : only that many newest performances stay logistic (B6); None keeps all
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
    opponents: int | None = None
    remembered: int | None = None

    name: ClassVar[str] = "elo-mmr"
    trace_columns: ClassVar[Sequence[str]] = ("performance",)

    def __post_init__(self) -> None:
        """Check every parameter, and that the two spellings are not mixed."""
        limits = self.weight_limit is not None or self.sigma_limit is not None
        if limits and (self.beta is not None or self.gamma is not None):
            raise InvalidParameterError(
                "give either weight_limit and sigma_limit or beta and gamma, not some of both"
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
        require(math.isfinite(self.initial_rating), "initial_rating", "finite", self.initial_rating)
        require(
            0 < self.initial_deviation < math.inf,
            "initial_deviation",
            "positive",
            self.initial_deviation,
        )
        for name in ("opponents", "remembered"):
            count = getattr(self, name)
            require(count is None or count >= 1, name, "at least 1", count)

    @property
    def capabilities(self) -> Capabilities:
        """Single players, any number of them; time only where there is drift by the day."""
        return Capabilities(
            max_team_size=1,
            needs_time=self.drift_per_day > 0,
            skips_all_tied=not self.rate_all_ties,
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

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        return State.of_new_players(
            players,
            {
                "rating": self.initial_rating,
                "deviation": self.initial_deviation,
                "matches": 0.0,
                "last_time": math.nan,
                "gaussian_mean": self.initial_rating,
                "gaussian_weight": 1.0 / (self.initial_deviation * self.initial_deviation),
                "decay": 1.0,
                "curvature": 1.0 / (self.initial_deviation * self.initial_deviation),
            },
            record=3,
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
        job = self._job(state, history, start, stop, trace)
        count = stop - start
        sizes = np.diff(job.matches.offsets)
        # Few opponents are found one player after the other, on one thread.
        shared = sizes >= PARALLEL_FROM if self.opponents is None else np.zeros(count, np.bool_)
        first = 0
        for m in [*np.flatnonzero(shared).tolist(), count]:
            failed, residual = rate_matches(job, first, m)
            if failed < 0 and m < count:
                failed, residual = m, self._rate_shared(job, m, workers or Workers())
            if failed >= 0 and residual >= 0.0:
                match = history.match_ids[start + failed]
                raise ConvergenceError(f"elo-mmr, match {match},", MAX_ITERATIONS, residual)
            first = m + 1

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings; the deviation has grown by drift where a time is given."""
        table = state.table[rows]
        deviation = table[:, DEVIATION]
        if time is not None and self.drift_per_day > 0:
            elapsed = np.nan_to_num(np.maximum(time - table[:, LAST_TIME], 0.0), nan=0.0)
            deviation = np.sqrt(deviation**2 + self.drift_per_day * elapsed)
        return {
            "rating": table[:, RATING],
            "deviation": deviation,
            "matches": table[:, MATCHES],
            "last_time": table[:, LAST_TIME],
        }

    def predict(self, state: State, teams: Sequence[Ints], time: float | None = None) -> Prediction:
        """Return expected scores of single players.

        A beats B with probability logistic((mu_A - mu_B)/s), s the logistic scale of the
        difference of two performances: variance delta_A^2 + delta_B^2 [EM] sec. 3.1.
        """
        rows = np.concatenate([np.asarray(team, dtype=np.int64) for team in teams])
        require(len(rows) == len(teams), "teams", "single players for elo-mmr", len(rows))
        now = self.at(state, rows, time)
        weight, limit = self.limits()
        variance = weight * limit**2
        beta2 = (1 + 1 / weight) * limit**2 + self.drift_per_day / weight
        delta2 = now["deviation"] ** 2 + variance + beta2
        scale = SCALE_OF_DEVIATION * np.sqrt(delta2[:, None] + delta2[None, :])
        beats = 1.0 / (1.0 + np.exp(-(now["rating"][:, None] - now["rating"][None, :]) / scale))
        np.fill_diagonal(beats, 0.0)
        return Prediction(expected=beats.sum(axis=1) / max(len(rows) - 1, 1))

    def _settings(self) -> Settings:
        weight_limit, sigma_limit = self.limits()
        endless = np.iinfo(np.int64).max
        return Settings(
            weight_limit=float(weight_limit),
            sigma_limit2=float(sigma_limit) ** 2,
            rho=float(self.rho),
            drift_per_day=float(self.drift_per_day),
            split_ties=self.split_ties,
            rate_all_ties=self.rate_all_ties,
            opponents=endless if self.opponents is None else self.opponents,
            remembered=endless if self.remembered is None else self.remembered,
        )

    def _job(
        self, state: State, history: History, start: int, stop: int, trace: TraceColumns | None
    ) -> Job:
        """Return matches start:stop as arrays, with room for every performance.

        Where room is short, it is made for the whole rest of the history at once.
        """
        runs = state.runs
        if runs is None:
            raise InvalidParameterError("this state was not made by elo-mmr")
        rows, counts = _participations(history, start, stop)
        if runs.lacks_room(rows, self._records(counts)):
            counts = np.bincount(history.player[history.offsets[start] :], minlength=state.players)
            runs.reserve(np.arange(state.players), self._records(counts))
        return Job(
            Beliefs(state.table, runs.spans, runs.values),
            _matches(history, start, stop),
            self._settings(),
            _trace_arrays(trace),
        )

    def _records(self, matches: Ints) -> Ints:
        """Return how many new records so many matches can add before old ones go."""
        if math.isinf(self.rho):
            return np.minimum(matches, 1)
        return matches if self.remembered is None else np.minimum(matches, self.remembered + 1)

    def _rate_shared(self, job: Job, m: int, workers: Workers) -> float:
        """Rate one match like `rate_matches`, its players shared among threads.

        Returns a residual, below 0 if all converged.
        """
        if not is_rated(job.matches, m, self.rate_all_ties):
            return -1.0
        field = field_of(job.matches, m)
        n = len(field.players)
        the_round = round_of(job.matches, m, job.settings)
        workers.each_chunk(n, CHUNK, lambda _, a, b: begin_round(job, field, a, b, the_round))
        by_place, residual = solve_on_workers(
            field.rating, field.slope, field.places, self.split_ties, workers
        )
        if residual >= 0.0:
            return residual
        performances = spread(by_place, field.places)
        if len(job.trace.rating):
            trace_expected(job, field)
        residuals = np.full((n + CHUNK - 1) // CHUNK, -1.0)

        def end(number: int, a: int, b: int) -> None:
            scratch = update_scratch(job.beliefs, field.players, a, b)
            residuals[number] = end_round(job, field, a, b, the_round, performances, scratch)

        workers.each_chunk(n, CHUNK, end)
        return float(residuals.max())


def _participations(history: History, start: int, stop: int) -> tuple[Ints, Ints]:
    """Return (rows of the players of matches start:stop, how often each of them takes part)."""
    player = history.player[history.offsets[start] : history.offsets[stop]]
    if len(player) < history.players // 4:
        rows, counts = np.unique(player, return_counts=True)
        return rows, counts
    every = np.bincount(player, minlength=history.players)
    rows = np.flatnonzero(every)
    return rows, every[rows]


def _matches(history: History, start: int, stop: int) -> Matches:
    """Return the columns that this system reads, of matches start:stop."""
    ceiling = history.performance_ceiling
    return Matches(
        offsets=history.offsets[start : stop + 1],
        player=history.player,
        rank=history.rank,
        time=history.days(start, stop),
        weight=history.weights(start, stop),
        ceiling=np.full(stop - start, np.nan) if ceiling is None else ceiling[start:stop].copy(),
    )


def _trace_arrays(trace: TraceColumns | None) -> TraceArrays:
    """Return the columns to fill, or empty ones."""
    if trace is None:
        return TraceArrays(*(np.empty(0) for _ in TraceArrays._fields))
    return TraceArrays(*(trace[name] for name in TraceArrays._fields))
