"""Elo-MMR and Elo-MMX: Bayesian ratings for contests of any size.

Elo-MMR has logistic performances, Elo-MMX (Elo-MMR-chi) has normal ones. Both share parameters,
state and the order of the work: `performance`, `gaussian` and `direct` infer performances (phase
one), `belief` updates players (phase two).

Source: [EM]_ Algorithms 1-3, equations (7)-(9), and Theorem 3.2 for the Gaussian terms; numbers in
brackets are its equations.
Departures: the sign of the distribution function in section 3.1 is corrected (READINGS B1); a
match weight, drift by elapsed time, a ceiling on performances, split ties and short memories are
options (READINGS B3-B8). The `performance_ceiling` of a match caps the performances of
Elo-MMX too, which the authors' program does not do (READINGS B8).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import Option, inlined_update, inner_kernel, kernel, option, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidParameterError, require
from equipoise.numeric.sums import CHUNK, normal_scores_against_field, scores_against_field
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import Matches
from equipoise.rating.elo_mmr.belief import (
    DEVIATION,
    RATING,
    SCALE_OF_DEVIATION,
    Beliefs,
    Round,
    Scratch,
    diffuse,
    drifted,
    expect_terms,
    move_belief,
    update_belief,
    update_gaussian_belief,
    update_scratch,
)
from equipoise.rating.elo_mmr.direct import Ties, solve_directly
from equipoise.rating.elo_mmr.gaussian import gaussian_on_one_thread, gaussian_on_workers
from equipoise.rating.elo_mmr.performance import (
    order_by_place,
    solve_on_one_thread,
    solve_on_workers,
)
from equipoise.rating.loop import rate_teams, read_rows
from equipoise.rating.newcomers import FirstMatch, first_match
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.state import State
from equipoise.rating.system import OF_ROUNDS, Span, initial_deviation, initial_rating, param
from equipoise.rating.systems.contest import ContestSystem, close_contest, open_contest

#: Number of players whose memory is fetched ahead. Their rows are scattered, and waiting for memory
#: takes longer than the arithmetic.
_AHEAD, _FAR_AHEAD = 3, 12


class Own(NamedTuple):
    """What kernels take besides what those of every system take.

    beta, gamma : shape (M,), deviations that matches have of their own, rating points, NaN where
        one has none (docs/equations/elo-mmr.md); shape (0,) if no match has one
    expected : whether the trace wants the expected performance
    """

    beliefs: Beliefs
    beta: Floats
    gamma: Floats
    expected: Option = None


class Field(NamedTuple):
    """The participants of one match in the order of their places.

    rows : shape (n,), rows of the history
    players : shape (n,), rows of the state
    places : shape (places + 1,), offsets of the places
    rating, slope : shape (n,); prior mu and 1/delta_bar, in the Gaussian model 1/delta
    """

    rows: Ints
    players: Ints
    places: Ints
    rating: Floats
    slope: Floats


@inner_kernel
def round_of(job: Any, m: int) -> Round:
    """Return the `Round` of match m: gamma^2 = w L^2, beta^2 = (1 + 1/w) L^2 (READINGS B4).

    A beta or gamma of the match itself is used instead, whatever the weight of the match.
    """
    matches, settings = job.matches, job.settings
    weight = matches.weight[m] * settings.weight_limit
    beta2 = (1.0 + 1.0 / weight) * settings.sigma_limit2 + settings.drift_per_day / weight
    gamma2, beta2 = _own_variances(job, m, weight * settings.sigma_limit2, beta2)
    return Round(matches.time[m], gamma2, beta2, matches.ceiling[m])


@inner_kernel
def _own_variances(job: Any, m: int, gamma2: float, beta2: float) -> tuple[float, float]:
    """Return (gamma^2, beta^2) of match m: its own, or those given."""
    beta, gamma = job.own.beta, job.own.gamma
    if len(gamma) and not math.isnan(gamma[m]):
        gamma2 = gamma[m] * gamma[m]
    if len(beta) and not math.isnan(beta[m]):
        beta2 = beta[m] * beta[m]
    return gamma2, beta2


@kernel
def field_of(matches: Matches, m: int) -> Field:
    """Return the `Field` of match m, priors not yet filled in."""
    start, stop = matches.offsets[m], matches.offsets[m + 1]
    order, places = order_by_place(matches.rank[start:stop])
    players = matches.player[start:stop][order]
    return Field(order + start, players, places, np.empty(len(order)), np.empty(len(order)))


@inner_kernel
def begin_round(job: Any, field: Field, start: int, stop: int, the_round: Round) -> None:
    """Diffuse players start:stop of the field and fill in their priors (Algorithm 1)."""
    rho, drift_per_day, beliefs = job.settings.rho, job.settings.drift_per_day, job.own.beliefs
    for j in range(start, stop):
        row = field.players[j]
        if j + _FAR_AHEAD < stop:
            ahead = field.players[j + _FAR_AHEAD]
            prefetch(beliefs.table, ahead * beliefs.table.shape[1])
            prefetch(beliefs.spans, ahead * beliefs.spans.shape[1])
        player = beliefs.table[row]
        diffuse(beliefs, row, the_round, rho, drift_per_day)
        delta = math.sqrt(player[DEVIATION] * player[DEVIATION] + the_round.beta2)
        field.rating[j] = player[RATING]
        field.slope[j] = 1.0 / (
            SCALE_OF_DEVIATION * delta if job.settings.gaussian is None else delta
        )


@inner_kernel
def end_round(
    job: Any,
    field: Field,
    start: int,
    stop: int,
    the_round: Round,
    performances: Floats,
    scratch: Scratch,
    logistic: Option,
) -> float:
    """Update players start:stop with their performances; return a residual, below 0 if fine."""
    beliefs, traced = job.own.beliefs, job.trace.more[0]
    remembered = job.settings.remembered
    worst = -1.0
    for j in range(start, stop):
        row = field.players[j]
        if j + _AHEAD < stop:
            expect_terms(beliefs, field.players[j + _AHEAD])
        performance = min(performances[j], the_round.ceiling)
        if logistic is not None:
            left = update_belief(beliefs, row, performance, the_round.beta2, remembered, scratch)
            worst = max(worst, left)
        else:
            update_gaussian_belief(beliefs, row, performance, the_round.beta2)
        if len(traced):
            traced[field.rows[j]] = performance
    return worst


@kernel
def spread(by_place: Floats, places: Ints) -> Floats:
    """Return the value of every player's place, players in the order of their places."""
    out = np.empty(places[-1])
    for g in range(len(places) - 1):
        out[places[g] : places[g + 1]] = by_place[g]
    return out


@kernel
def trace_expected(
    expected: Floats, field: Field, wanted: Option, logistic: Option, gaussian: Option
) -> None:
    """Write to the trace the mean probability of beating another player, at one's own rating.

    The mean of F_j(mu_i) over all others j [EM] sec. 3.1.
    """
    if wanted is None:
        return
    scores = np.empty(0)
    if logistic is not None:
        scores = scores_against_field(field.rating, field.slope)
    if gaussian is not None:
        scores = normal_scores_against_field(field.rating, field.slope)
    for j in range(len(scores)):
        expected[field.rows[j]] = scores[j] / (len(scores) - 1)


@kernel
def performances_in(
    field: Field, settings: Any, logistic: Option, gaussian: Option
) -> tuple[Floats, float]:
    """Phase one: return (performances, shape (n,), and a residual, below 0 if all converged).

    logistic, gaussian : those of the settings
    """
    rating, slope, places, split = field.rating, field.slope, field.places, settings.split_ties
    by_place, residual = np.empty(0), math.nan
    if settings.tie_loss > 0.0:
        ties = Ties(settings.tie_loss, settings.tie_win, 0.0)
        by_place, residual = solve_directly(rating, slope, places, ties, gaussian)
    elif logistic is not None:
        by_place, residual = solve_on_one_thread(rating, slope, places, split)
    elif gaussian is not None:
        by_place, residual = gaussian_on_one_thread(rating, slope, places, split)
    return spread(by_place, places), residual


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, deviation), the deviation grown by drift."""
    drift = drifted(player, day, settings.drift_per_day)
    return player[RATING], math.sqrt(player[DEVIATION] * player[DEVIATION] + drift)


@inner_kernel
def lead_of(job: Any, m: int) -> float:
    """Return the lead of the first of two players over its scale, before the match (`outlook`)."""
    settings, start = job.settings, job.matches.offsets[m]
    weight, limit2 = settings.weight_limit, settings.sigma_limit2
    noise2 = weight * limit2 + (1.0 + 1.0 / weight) * limit2 + settings.drift_per_day / weight
    if len(job.own.beta) or len(job.own.gamma):
        # Only here: the sum above is in another order, and its last bit must stay as it was.
        beta2 = (1.0 + 1.0 / weight) * limit2 + settings.drift_per_day / weight
        gamma2, beta2 = _own_variances(job, m, weight * limit2, beta2)
        noise2 = gamma2 + beta2
    one, other = job.matches.player[start], job.matches.player[start + 1]
    rating, first = read(job.table[one], job.matches.time[m], settings)
    rival, second = read(job.table[other], job.matches.time[m], settings)
    scale = math.sqrt(first * first + second * second + 2.0 * noise2)
    if settings.gaussian is None:
        scale *= SCALE_OF_DEVIATION
    return (rating - rival) / scale


@inlined_update
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a match by both phases (Algorithm 1); return z of two players and a residual."""
    settings, beliefs = job.settings, job.own.beliefs
    logistic, gaussian = settings.logistic, settings.gaussian
    z = lead_of(job, m) if len(job.draws) else math.nan
    field, the_round = field_of(job.matches, m), round_of(job, m)
    begin_round(job, field, 0, teams, the_round)
    performances, residual = performances_in(field, settings, logistic, gaussian)
    trace_expected(job.trace.expected, field, job.own.expected, logistic, gaussian)
    if residual < 0.0:
        scratch = update_scratch(beliefs, field.players, 0, teams)
        residual = end_round(job, field, 0, teams, the_round, performances, scratch, logistic)
    return z, residual


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer, whose belief was one Gaussian."""
    player = job.table[job.matches.player[i]]
    return first_match(
        job.entry, player, player[RATING], player[DEVIATION], round_of(job, m).gamma2
    )


@inner_kernel
def move(job: Any, row: int, delta: float) -> None:
    """Add delta to the belief of a player."""
    move_belief(job.own.beliefs, row, delta)


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_teams(job, first, last, rate_match, None, read, evidence, move)


@kernel
def opens(job: Any, m: int) -> bool:
    """Begin a match that threads share; return whether it is rated."""
    return open_contest(job, m, read)


@kernel
def closes(job: Any, m: int) -> None:
    """End a match that threads shared."""
    close_contest(job, m, evidence, move, read)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return rating and deviation of players as of a day, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EloMMRParameters(ContestSystem):
    """What `EloMMR` and `EloMMX` share: parameters, state and rating of a history."""

    weight_limit: float | None = None
    sigma_limit: float | None = None
    beta: float | None = None
    gamma: float | None = None
    rho: float = param(1.0, 0, rule="in [0, inf]")
    drift_per_day: float = param(0.0, 0, rule="at least 0", below=True)
    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    split_ties: bool = False
    rate_all_ties: bool = False
    remembered: int | None = param(None, 1, rule="at least 1")
    tie_loss: float | None = param(None, later=True)
    tie_win: float | None = param(None, later=True)

    gaussian: ClassVar[bool]
    removed: ClassVar[Mapping[str, str]] = {
        "opponents": "counting only the nearest opponents broke Theorems 5.2, 5.5 and 5.6, so that "
        "a worse place could lead to a higher rating, and was slower. All opponents count: leave "
        "it out"
    }
    record: ClassVar[int] = 3
    uses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("weight", "performance_ceiling", *OF_ROUNDS), ""),
        "time": "drift_per_day",
    }
    needs_time: ClassVar[str] = "drift_per_day"
    loop = staticmethod(rate)
    opens = staticmethod(opens)
    closes = staticmethod(closes)
    read_players = staticmethod(read_players)

    def search_space(self) -> Mapping[str, Any]:
        """Return what a search tries: the limits, or beta and gamma if these are given."""
        if self.gamma is not None:
            return {"beta": Span(60, 600, 12, 10), "gamma": Span(5, 120, 12, 1)}
        return {"weight_limit": Span(0.01, 2, 15, 0.01), "sigma_limit": Span(20, 160, 10, 5)}

    def check(self) -> None:
        """Check that the two spellings are not mixed, and what a tie counts."""
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
        self._check_ties()

    def _check_ties(self) -> None:
        """Check the weights of a tie."""
        if self.tie_loss is None and self.tie_win is None:
            return
        if self.tie_loss is None or self.tie_win is None:
            raise InvalidParameterError("tie_loss and tie_win must be given together")
        if self.split_ties:
            raise InvalidParameterError("tie_loss and tie_win cannot be combined with split_ties")
        # With a weight of 0 the last or the first place would have no finite performance.
        for name in ("tie_loss", "tie_win"):
            weight = getattr(self, name)
            require(0 < weight <= 1, name, "above 0 and at most 1", weight)

    def idle(self) -> frozenset[str]:
        """Return the parameters that a belief of one Gaussian does without."""
        return frozenset({"rho", "remembered"} if self.gaussian else ())

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
        known = RatedSystem.newcomer(self)
        weight = 1.0 / (known["deviation"] * known["deviation"])
        return {
            **known,
            "gaussian_mean": known["rating"],
            "gaussian_weight": weight,
            "decay": 1.0,
            "curvature": weight,
        }

    @property
    def shows_columns(self) -> bool:
        """Whether tables show columns of the state as they are: where deviations do not grow."""
        return self.drift_per_day == 0 and type(self).at is RatedSystem.at

    @property
    def shares_contests(self) -> bool:
        """Whether threads share large matches: not with weighted ties."""
        return self.tie_loss is None

    def update(self, job: Any, workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        own = job.own._replace(expected=option(len(job.trace.expected) > 0))
        return ContestSystem.update(self, job._replace(own=own), workers)

    def share(self, job: Any, m: int, workers: Workers) -> float:
        """Update the players of match m, the work shared among threads; return a residual."""
        settings, field, the_round = job.settings, field_of(job.matches, m), round_of(job, m)
        n = len(field.players)
        workers.each_chunk(n, CHUNK, lambda _, a, b: begin_round(job, field, a, b, the_round))
        performances, residual = self._performances(field, settings, workers)
        if residual >= 0.0:
            return residual
        trace_expected(
            job.trace.expected, field, job.own.expected, settings.logistic, settings.gaussian
        )
        residuals = np.full((n + CHUNK - 1) // CHUNK, -1.0)

        def end(number: int, a: int, b: int) -> None:
            scratch = update_scratch(job.own.beliefs, field.players, a, b)
            residuals[number] = end_round(
                job, field, a, b, the_round, performances, scratch, settings.logistic
            )

        workers.each_chunk(n, CHUNK, end)
        return float(residuals.max())

    def _performances(self, field: Field, settings: Any, workers: Workers) -> tuple[Floats, float]:
        """Return what `performances_in` does, the work shared among threads."""
        solve = gaussian_on_workers if self.gaussian else solve_on_workers
        by_place, residual = solve(
            field.rating, field.slope, field.places, settings.split_ties, workers
        )
        return spread(by_place, field.places), residual

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

    def derived(self) -> Mapping[str, Any]:
        """Return the limits, the model and what else kernels take in another form."""
        weight_limit, sigma_limit = self.limits()
        return {
            "weight_limit": float(weight_limit),
            "sigma_limit2": float(sigma_limit) ** 2,
            # The belief is one Gaussian, for which decay and transfer are the same.
            "rho": math.inf if self.gaussian else float(self.rho),
            "remembered": np.iinfo(np.int64).max if self.remembered is None else self.remembered,
            "logistic": option(not self.gaussian),
            "gaussian": option(self.gaussian),
            "tie_loss": float(self.tie_loss or 0.0),
            "tie_win": float(self.tie_win or 0.0),
        }

    def own(self, state: State, history: History, start: int, stop: int) -> Own:
        """Return the beliefs, with room for every performance of matches start:stop.

        They come with the deviations that these matches have of their own.

        If memory is missing, it is reserved for the rest of the history at once.
        """
        runs = state.runs
        if runs is None:
            raise InvalidParameterError(f"this state was not made by {self.name}")
        rows, counts = _participations(history, start, stop)
        if runs.lacks_room(rows, self._records(counts)):
            rows, counts = _participations(history, start, history.matches)
            runs.reserve(rows, self._records(counts))
        # Copies, because kernels are compiled for arrays that may be written to.
        beta, gamma = (
            np.empty(0) if column is None else column[start:stop].copy()
            for column in (history.beta, history.gamma)
        )
        return Own(Beliefs(state.table, runs.spans, runs.values), beta, gamma)

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


@rating_system
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
    remembered : number of newest performances that stay logistic (B6); None keeps all
    tie_loss, tie_win : w_l and w_v of footnote 2: a tie is so much of a loss and so much of a win,
        each above 0 and at most 1; 1 and 1 is the default model, 0.5 and 0.5 `split_ties`. Slower:
        all terms are summed for every place

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.EloMMR(weight_limit=0.2, sigma_limit=80), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,301.6>
    """

    name: ClassVar[str] = "elo-mmr"
    gaussian: ClassVar[bool] = False


@rating_system
class EloMMX(EloMMRParameters):
    """Elo-MMR-chi [EM]_: Elo-MMR with the Gaussian performance model.

    A `performance_ceiling` caps performances, which the authors' Gaussian variant does not do
    (READINGS B8). A belief is one Gaussian, so only rating and deviation are remembered. The
    parameters are those of `EloMMR`. Two of them change nothing and are accepted so that one
    parameter file serves both models:

    rho : with Gaussian factors, transfer and decay are the same [EM] sec. 4.1
    remembered : performances are not kept one by one

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.EloMMX(), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,310.9>
    """

    name: ClassVar[str] = "elo-mmx"
    gaussian: ClassVar[bool] = True
