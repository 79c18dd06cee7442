"""Rating matches by both phases of Elo-MMR, on one thread or with the players shared among many.

Source: [EM]_ Algorithm 1. Phase one infers performances: `performance` for the logistic model,
`gaussian` for the normal one and `direct` for few opponents. Phase two, in `belief`, updates the
players.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise._jit import Option, inner_kernel, kernel, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.numeric.field_scores import normal_scores_against_field, scores_against_field
from equipoise.numeric.sigmoid_sum import CHUNK
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import Job, Matches, PerformanceTrace
from equipoise.rating.draws import count_match
from equipoise.rating.elo_mmr.belief import (
    DEVIATION,
    LAST_TIME,
    MATCHES,
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
from equipoise.rating.elo_mmr.direct import solve_nearest, solve_weighted_ties
from equipoise.rating.elo_mmr.gaussian import gaussian_on_one_thread, gaussian_on_workers
from equipoise.rating.elo_mmr.performance import (
    order_by_place,
    solve_on_one_thread,
    solve_on_workers,
)
from equipoise.rating.entry.entering import (
    FirstMatch,
    end_match,
    first_match,
    rate_each,
    read_rating,
)
from equipoise.rating.platforms.contest import is_rated

#: Number of players whose memory is fetched ahead. Their rows are scattered, and waiting for memory
#: takes longer than the arithmetic.
_AHEAD, _FAR_AHEAD = 3, 12


class Settings(NamedTuple):
    """Parameters as kernels take them.

    opponents : None for all
    logistic, gaussian : the model of performances, one of them None
    expected : whether the trace wants the expected performance
    tie_loss, tie_win : w_l and w_v, the weights of a loss and of a win in a tie; 0 if not given
    """

    weight_limit: float
    sigma_limit2: float
    rho: float
    drift_per_day: float
    split_ties: bool
    rate_all_ties: bool
    opponents: int | None
    remembered: int
    logistic: Option
    gaussian: Option
    expected: Option
    tie_loss: float
    tie_win: float


class OwnDeviations(NamedTuple):
    """The deviations that matches have of their own, rating points (docs/decisions/0061).

    beta, gamma : shape (M,), NaN where a match has none; shape (0,) if no match has one
    """

    beta: Floats
    gamma: Floats


class BeliefsAndRounds(NamedTuple):
    """What the kernels of both models take besides what those of every system take."""

    beliefs: Beliefs
    rounds: OwnDeviations


BeliefJob: TypeAlias = Job[Settings, PerformanceTrace, BeliefsAndRounds]


class Field(NamedTuple):
    """The participants of one match in the order of their places.

    rows : shape (n,), rows of the history
    players : shape (n,), rows of the state
    places : shape (places + 1,), offsets of the places
    rating, slope : shape (n,); prior mu and 1/delta_bar, in the Gaussian model 1/delta
    deviation_before : shape (n,); sigma as it is read at the time of the match: with drift,
        without the round's diffusion
    """

    rows: Ints
    players: Ints
    places: Ints
    rating: Floats
    slope: Floats
    deviation_before: Floats


@inner_kernel
def round_of(matches: Matches, rounds: OwnDeviations, m: int, settings: Settings) -> Round:
    """Return the `Round` of match m: gamma^2 = w L^2, beta^2 = (1 + 1/w) L^2 (READINGS B4).

    A beta or gamma of the match itself is used instead, whatever the weight of the match.
    """
    weight = matches.weight[m] * settings.weight_limit
    beta2 = (1.0 + 1.0 / weight) * settings.sigma_limit2 + settings.drift_per_day / weight
    gamma2, beta2 = _own_variances(rounds, m, weight * settings.sigma_limit2, beta2)
    return Round(matches.time[m], gamma2, beta2, matches.ceiling[m])


@inner_kernel
def _own_variances(
    rounds: OwnDeviations, m: int, gamma2: float, beta2: float
) -> tuple[float, float]:
    """Return (gamma^2, beta^2) of match m: its own, or those given."""
    if len(rounds.gamma) and not math.isnan(rounds.gamma[m]):
        gamma2 = rounds.gamma[m] * rounds.gamma[m]
    if len(rounds.beta) and not math.isnan(rounds.beta[m]):
        beta2 = rounds.beta[m] * rounds.beta[m]
    return gamma2, beta2


@kernel
def field_of(matches: Matches, m: int) -> Field:
    """Return the `Field` of match m, priors not yet filled in."""
    start, stop = matches.offsets[m], matches.offsets[m + 1]
    order, places = order_by_place(matches.rank[start:stop])
    players = matches.player[start:stop][order]
    rating, slope, before = np.empty(len(order)), np.empty(len(order)), np.empty(len(order))
    return Field(order + start, players, places, rating, slope, before)


@inner_kernel
def begin_round(job: BeliefJob, field: Field, start: int, stop: int, the_round: Round) -> None:
    """Diffuse players start:stop of the field and fill in their priors (Algorithm 1)."""
    rho, drift_per_day, beliefs = job.settings.rho, job.settings.drift_per_day, job.own.beliefs
    for j in range(start, stop):
        row = field.players[j]
        if j + _FAR_AHEAD < stop:
            ahead = field.players[j + _FAR_AHEAD]
            prefetch(beliefs.table, ahead * beliefs.table.shape[1])
            prefetch(beliefs.spans, ahead * beliefs.spans.shape[1])
        player = beliefs.table[row]
        drift = drifted(player, the_round.time, drift_per_day)
        field.deviation_before[j] = math.sqrt(player[DEVIATION] * player[DEVIATION] + drift)
        diffuse(beliefs, row, the_round, rho, drift_per_day)
        delta = math.sqrt(player[DEVIATION] * player[DEVIATION] + the_round.beta2)
        field.rating[j] = player[RATING]
        field.slope[j] = 1.0 / (
            SCALE_OF_DEVIATION * delta if job.settings.gaussian is None else delta
        )


@inner_kernel
def end_round(
    job: BeliefJob,
    field: Field,
    start: int,
    stop: int,
    the_round: Round,
    performances: Floats,
    scratch: Scratch,
    logistic: Option,
) -> float:
    """Update players start:stop with their performances; return a residual, below 0 if fine."""
    beliefs, trace = job.own.beliefs, job.trace
    remembered = job.settings.remembered
    worst = -1.0
    for j in range(start, stop):
        row = field.players[j]
        if j + _AHEAD < stop:
            expect_terms(beliefs, field.players[j + _AHEAD])
        player = beliefs.table[row]
        performance = min(performances[j], the_round.ceiling)
        if logistic is not None:
            left = update_belief(beliefs, row, performance, the_round.beta2, remembered, scratch)
            worst = max(worst, left)
        else:
            update_gaussian_belief(beliefs, row, performance, the_round.beta2)
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
def trace_expected(
    expected: Floats, field: Field, wanted: Option, logistic: Option, gaussian: Option
) -> None:
    """Write to the trace the mean probability of beating another player, at one's own rating.

    The mean of F_j(mu_i) over all others j [EM] sec. 3.1.
    """
    if wanted is None:
        return
    scores = expected_scores(field.rating, field.slope, logistic, gaussian)
    for j in range(len(scores)):
        expected[field.rows[j]] = scores[j] / (len(scores) - 1)


@kernel
def expected_scores(rating: Floats, slope: Floats, logistic: Option, gaussian: Option) -> Floats:
    """Return the expected score of every player against all others, shape (n,)."""
    if logistic is not None:
        return scores_against_field(rating, slope)
    if gaussian is not None:
        return normal_scores_against_field(rating, slope)
    return np.empty(0)


@inner_kernel
def count_duel(job: BeliefJob, m: int, field: Field) -> None:
    """Count a match of two, from the ratings and deviations before it (`outlook`)."""
    settings = job.settings
    weight, limit2 = settings.weight_limit, settings.sigma_limit2
    noise2 = weight * limit2 + (1.0 + 1.0 / weight) * limit2 + settings.drift_per_day / weight
    if len(job.own.rounds.beta) or len(job.own.rounds.gamma):
        # Only here: the sum above is in another order, and its last bit must stay as it was.
        beta2 = (1.0 + 1.0 / weight) * limit2 + settings.drift_per_day / weight
        gamma2, beta2 = _own_variances(job.own.rounds, m, weight * limit2, beta2)
        noise2 = gamma2 + beta2
    first, second = field.deviation_before[0], field.deviation_before[1]
    scale = math.sqrt(first * first + second * second + 2.0 * noise2)
    if settings.gaussian is None:
        scale *= SCALE_OF_DEVIATION
    tied = len(field.places) == 2
    gap = (field.rating[0] - field.rating[1]) / scale
    count_match(job.draws, tied, gap, settings.gaussian is not None)


@kernel
def performances_in(
    field: Field,
    split_ties: bool,
    opponents: int | None,
    logistic: Option,
    gaussian: Option,
    tie_loss: float,
    tie_win: float,
) -> tuple[Floats, float]:
    """Phase one: return (performances, shape (n,), and a residual, below 0 if all converged)."""
    rating, slope, places = field.rating, field.slope, field.places
    if opponents is not None and opponents < len(rating) - 1:
        return solve_nearest(rating, slope, places, split_ties, gaussian, opponents)
    if tie_loss > 0.0:
        by_place, residual = solve_weighted_ties(rating, slope, places, tie_loss, tie_win, gaussian)
        return spread(by_place, places), residual
    by_place, residual = solve_all(rating, slope, places, split_ties, logistic, gaussian)
    return spread(by_place, places), residual


@kernel
def solve_all(
    rating: Floats,
    slope: Floats,
    places: Ints,
    split_ties: bool,
    logistic: Option,
    gaussian: Option,
) -> tuple[Floats, float]:
    """Return the performances of the places against all players, and the residual."""
    if logistic is not None:
        return solve_on_one_thread(rating, slope, places, split_ties)
    if gaussian is not None:
        return gaussian_on_one_thread(rating, slope, places, split_ties)
    return np.empty(0), math.nan


@kernel
def rate_matches(job: BeliefJob, start: int, stop: int) -> tuple[int, float]:
    """Rate matches start:stop on one thread; return (match, residual) of a failure, or (-1, -1)."""
    settings = job.settings
    for m in range(start, stop):
        if not is_rated(job.matches, m, settings.rate_all_ties):
            continue
        field = field_of(job.matches, m)
        n = len(field.players)
        the_round = round_of(job.matches, job.own.rounds, m, settings)
        begin_round(job, field, 0, n, the_round)
        if len(job.draws) and n == 2:
            count_duel(job, m, field)
        performances, residual = performances_in(
            field,
            settings.split_ties,
            settings.opponents,
            settings.logistic,
            settings.gaussian,
            settings.tie_loss,
            settings.tie_win,
        )
        trace_expected(
            job.trace.expected, field, settings.expected, settings.logistic, settings.gaussian
        )
        if residual < 0.0:
            scratch = update_scratch(job.own.beliefs, field.players, 0, n)
            residual = end_round(
                job, field, 0, n, the_round, performances, scratch, settings.logistic
            )
        if residual >= 0.0:
            return m, residual
    return -1, -1.0


def rate_shared(job: BeliefJob, m: int, workers: Workers) -> float:
    """Rate one match like `rate_matches`, its players shared among threads.

    Returns a residual, below 0 if all converged.
    """
    if not is_rated(job.matches, m, job.settings.rate_all_ties):
        return -1.0
    field = field_of(job.matches, m)
    n = len(field.players)
    the_round = round_of(job.matches, job.own.rounds, m, job.settings)
    workers.each_chunk(n, CHUNK, lambda _, a, b: begin_round(job, field, a, b, the_round))
    settings = job.settings
    solve = solve_on_workers if settings.gaussian is None else gaussian_on_workers
    by_place, residual = solve(
        field.rating, field.slope, field.places, settings.split_ties, workers
    )
    if residual >= 0.0:
        return residual
    performances = spread(by_place, field.places)
    trace_expected(
        job.trace.expected, field, settings.expected, settings.logistic, settings.gaussian
    )
    residuals = np.full((n + CHUNK - 1) // CHUNK, -1.0)

    def end(number: int, a: int, b: int) -> None:
        scratch = update_scratch(job.own.beliefs, field.players, a, b)
        residuals[number] = end_round(
            job, field, a, b, the_round, performances, scratch, settings.logistic
        )

    workers.each_chunk(n, CHUNK, end)
    return float(residuals.max())


@inner_kernel
def _evidence(job: BeliefJob, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer, whose belief was one Gaussian."""
    player = job.table[job.matches.player[i]]
    gamma2 = round_of(job.matches, job.own.rounds, m, job.settings).gamma2
    return first_match(job.entry, player, player[RATING], player[DEVIATION], gamma2)


@inner_kernel
def _move(job: BeliefJob, i: int, delta: float) -> None:
    """Add delta to the belief of participation i."""
    row = job.matches.player[i]
    move_belief(job.own.beliefs, row, delta)
    if len(job.trace.rating):
        job.trace.rating[i] = job.table[row, RATING]


@kernel
def rate_with_entry(job: BeliefJob, start: int, stop: int) -> tuple[int, float]:
    """Rate matches start:stop like `rate_matches`, with their entry and level."""
    return rate_each(job, start, stop, rate_matches, _evidence, _move, read_rating)


@kernel
def learn_from(job: BeliefJob, m: int, played: float) -> None:
    """Learn from match m, which `rate_shared` rated, and hold the level."""
    end_match(job, m, played, _evidence, _move, read_rating)
