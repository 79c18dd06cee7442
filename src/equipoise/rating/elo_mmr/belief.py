"""Phase two of Elo-MMR: a player's belief, its diffusion and its update.

Source: [EM]_ Algorithms 2 and 3, equations (7)-(9); numbers in brackets are its equations.
A belief is one Gaussian term (p_0, w_0) and a run of logistic terms. Diffusion multiplies all
logistic weights of a player by the same factor. So the factor is kept once for each player
(`DECAY`), and the terms are not changed. A term of [8] is

    DECAY * pull * tanh((x - p_k) * steepness/2),
    steepness = 1/beta_bar_k, pull = w_k beta_k^2/beta_bar_k/DECAY.

Terms lighter than 1e-13 of the total are merged with the Gaussian term.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.numeric.functions import LAST_CORRECTION, MAX_ITERATIONS, exp, newton_step
from equipoise.numeric.sums import lane_sum
from equipoise.rating.state import BEGIN, COUNT, FIRST, PADDING, ROOM

#: delta_bar/delta: the scale of a logistic distribution over its standard deviation.
SCALE_OF_DEVIATION = math.sqrt(3.0) / math.pi

#: Terms lighter than this share of the total weight become part of the Gaussian term.
NEGLIGIBLE = 1e-13

#: Columns of the state. `CURVATURE` is d2L/ds2 at the rating; the next search starts from it.
RATING, DEVIATION, MATCHES, LAST_TIME, MEAN, WEIGHT, DECAY, CURVATURE = range(8)

#: The running decay factor is multiplied into the terms before it underflows.
_SMALLEST_DECAY = 1e-140

#: Logistic terms with a smaller factor are dropped before it underflows to 0.
_FORGOTTEN = 1e-280

#: The scale of a search is at most this many times the smallest beta_bar: then the error after the
#: last correction is below 1e-10 of it. Match weights alone reach this from 1 to 10,000 on.
_SPREAD_OF_SCALES = 100.0

#: Relative width of a bracket between whose ends there is hardly a number.
_ROUNDING = 1e-15

#: Number of float64 in a line of the cache.
_CACHE_LINE = 8

#: Exponentials at the next x are computed by one factor if the step is smaller than this.
_CARRIED_STEP = 2.0

#: Bound of exponents. Over all steps of a search they then stay below 556 and do not overflow, or
#: above 44, where tanh is 1 to the last bit.
_LARGEST_EXPONENT = 300.0


class Beliefs(NamedTuple):
    """The state of all players: `State.table`, `Runs.spans` and `Runs.values`."""

    table: Floats
    spans: Ints
    values: Floats


class Scratch(NamedTuple):
    """Working memory of `update_belief`, as long as the longest run."""

    grown: Floats
    terms: Floats
    slopes: Floats


class Round(NamedTuple):
    """The parameters of a match, the same for all its players.

    time : days, NaN without times
    gamma2 : variance of the change of skill in a round without drift
    beta2 : variance of a performance
    ceiling : of the inferred performance, inf for none
    """

    time: float
    gamma2: float
    beta2: float
    ceiling: float


class _Run(NamedTuple):
    """The indices of a player's terms in `Beliefs.values`, as unsigned numbers.

    performance, pull, steepness : index of the first of each
    length : number of terms up to a multiple of `PADDING`; pulls beyond the last term are 0
    """

    performance: np.uint64
    pull: np.uint64
    steepness: np.uint64
    length: np.uint64


@inner_kernel
def _run_of(spans: Ints, row: int) -> _Run:
    """Return the indices of a player's terms.

    They are unsigned, so that Numba leaves out the test for negative indices and compiles loops
    over terms to vector instructions. Views would do the same, but a view costs as much as ten
    terms.
    """
    start, room = spans[row, BEGIN] + spans[row, FIRST], spans[row, ROOM]
    count = (spans[row, COUNT] + PADDING - 1) // PADDING * PADDING
    return _Run(
        np.uint64(start), np.uint64(start + room), np.uint64(start + 2 * room), np.uint64(count)
    )


@inner_kernel
def move_belief(beliefs: Beliefs, row: int, delta: float) -> None:
    """Add delta to a player's belief: to the rating and to all it is made of."""
    player, span = beliefs.table[row], beliefs.spans[row]
    player[RATING] += delta
    player[MEAN] += delta
    start = span[BEGIN] + span[FIRST]
    for k in range(start, start + span[COUNT]):
        beliefs.values[k] += delta


@inner_kernel
def expect_terms(beliefs: Beliefs, row: int) -> None:
    """Fetch a player's terms into the cache while other players are updated."""
    span = beliefs.spans[row]
    start = span[BEGIN] + span[FIRST]
    for k in range(0, span[COUNT] + 1, _CACHE_LINE):
        for field in range(3):
            prefetch(beliefs.values, start + field * span[ROOM] + k)


@inner_kernel
def drifted(player: Floats, time: float, drift_per_day: float) -> float:
    """Return the variance that the days since the player's last match added (READINGS B4)."""
    elapsed = time - player[LAST_TIME]
    # NaN, for a first match or without times, is not positive.
    return drift_per_day * elapsed if elapsed > 0.0 else 0.0


@inner_kernel
def diffuse(beliefs: Beliefs, row: int, the_round: Round, rho: float, drift_per_day: float) -> None:
    """Diffuse a player's belief: the skill may have changed since the last round (Algorithm 2)."""
    player = beliefs.table[row]
    variance = player[DEVIATION] * player[DEVIATION]
    gamma2 = the_round.gamma2 + drifted(player, the_round.time, drift_per_day)
    kappa = 1.0 / (1.0 + gamma2 / variance)
    kept = 1.0
    if rho > 0.0:
        kept = 0.0 if math.isinf(rho) else kappa**rho
    old = kept * player[WEIGHT]
    transferred = (1.0 - kept) / variance  # [9]: the weights sum to 1/sigma^2
    if old + transferred > 0.0:
        player[MEAN] = (old * player[MEAN] + transferred * player[RATING]) / (old + transferred)
    player[WEIGHT] = kappa * (old + transferred)
    player[CURVATURE] = kappa * (kept * player[CURVATURE] + transferred)
    player[DEVIATION] = math.sqrt(variance + gamma2)
    if player[DECAY] * kappa * kept < _FORGOTTEN:
        # With so small a share, all weight is in the Gaussian term to the last bit.
        _forget(beliefs, row)
    else:
        player[DECAY] *= kappa * kept


@inner_kernel
def _forget(beliefs: Beliefs, row: int) -> None:
    """Drop all logistic terms; with rho = inf their weight is in the Gaussian term."""
    run = _run_of(beliefs.spans, row)
    for k in range(run.length):
        beliefs.values[run.pull + k] = 0.0
    beliefs.spans[row, FIRST] = 0
    beliefs.spans[row, COUNT] = 0
    beliefs.table[row, DECAY] = 1.0


@inner_kernel
def _fold_oldest(beliefs: Beliefs, row: int, total: float, remembered: int) -> None:
    """Merge negligible terms, and those beyond the memory, with the Gaussian one (READINGS B6)."""
    player, span = beliefs.table[row], beliefs.spans[row]
    while span[COUNT] > 0:
        k = span[BEGIN] + span[FIRST]
        pull, steepness = beliefs.values[k + span[ROOM]], beliefs.values[k + 2 * span[ROOM]]
        # beta_k^2 = (pi^2/3) beta_bar_k^2
        weight = player[DECAY] * pull * steepness * (3.0 / math.pi**2)
        if weight >= NEGLIGIBLE * total and span[COUNT] < remembered:
            return
        combined = player[WEIGHT] + weight
        if combined > 0.0:
            player[MEAN] = (player[WEIGHT] * player[MEAN] + weight * beliefs.values[k]) / combined
        player[WEIGHT] = combined
        span[FIRST] += 1
        span[COUNT] -= 1


@inner_kernel
def _move_to_front(beliefs: Beliefs, row: int) -> None:
    """Move the player's terms to the beginning of their memory."""
    span = beliefs.spans[row]
    begin, room, first, count = span[BEGIN], span[ROOM], span[FIRST], span[COUNT]
    for field in range(3):
        start = begin + field * room
        for k in range(count):
            beliefs.values[start + k] = beliefs.values[start + first + k]
    for k in range(count, first + count):
        beliefs.values[begin + room + k] = 0.0
    span[FIRST] = 0


@inner_kernel
def _remember(beliefs: Beliefs, row: int, performance: float, beta_bar: float) -> None:
    """Append a performance at weight 1/beta^2 (Algorithm 3); the caller has reserved memory."""
    player, span = beliefs.table[row], beliefs.spans[row]
    if player[DECAY] < _SMALLEST_DECAY:
        run = _run_of(beliefs.spans, row)
        for k in range(run.length):
            beliefs.values[run.pull + k] *= player[DECAY]
        player[DECAY] = 1.0
    if span[FIRST] + span[COUNT] == span[ROOM] - PADDING:
        _move_to_front(beliefs, row)
    k = span[BEGIN] + span[FIRST] + span[COUNT]
    beliefs.values[k] = performance
    beliefs.values[k + span[ROOM]] = 1.0 / (beta_bar * player[DECAY])
    beliefs.values[k + 2 * span[ROOM]] = 1.0 / beta_bar
    span[COUNT] += 1


@inner_kernel
def _exponentials(x: float, values: Floats, run: _Run, grown: Floats) -> None:
    """Write exp((x - p_k)/beta_bar_k) of every term to `grown`."""
    for k in range(run.length):
        exponent = (x - values[run.performance + k]) * values[run.steepness + k]
        grown[k] = exp(min(exponent, _LARGEST_EXPONENT))


@inner_kernel
def _pulls(
    values: Floats, run: _Run, grown: Floats, terms: Floats, slopes: Floats
) -> tuple[float, float]:
    """Return the sums of pull * tanh and of its derivative over the terms."""
    for k in range(run.length):
        t = 1.0 - 2.0 / (1.0 + grown[k])
        terms[k] = values[run.pull + k] * t
        slopes[k] = values[run.pull + k] * values[run.steepness + k] * (1.0 - t * t)
    return lane_sum(terms, run.length), 0.5 * lane_sum(slopes, run.length)


@inner_kernel
def _is_uniform(values: Floats, run: _Run) -> bool:
    """Return whether all terms have one steepness, as without match weights and own betas."""
    steepness, different = values[run.steepness], 0
    for k in range(run.length):
        different += values[run.pull + k] != 0.0 and values[run.steepness + k] != steepness
    return different == 0


@inner_kernel
def _search_scale(values: Floats, run: _Run, beta_bar: float) -> float:
    """Return the length on which the derivative is smooth; beta_bar is that of the newest term."""
    steepest = 0.0
    for k in range(run.length):
        if values[run.pull + k] != 0.0:
            steepest = max(steepest, values[run.steepness + k])
    return min(beta_bar, _SPREAD_OF_SCALES / steepest)


@inner_kernel
def _bracket(
    player: Floats, values: Floats, run: _Run, performance: float, forgets: bool
) -> tuple[float, float]:
    """Return (low, high) around the new rating.

    The old rating was the zero without the new performance, so the new one is between these two.
    If terms were merged, it is between the extremes of all terms.
    """
    low, high = min(player[RATING], performance), max(player[RATING], performance)
    if forgets:
        low, high = min(low, player[MEAN]), max(high, player[MEAN])
        for k in range(run.length):
            if values[run.pull + k] != 0.0:
                low = min(low, values[run.performance + k])
                high = max(high, values[run.performance + k])
    return low, high


@inner_kernel
def _first_guess(player: Floats, performance: float, beta_bar: float) -> float:
    """Return one Newton step from the old rating, at which the old terms sum to 0."""
    x: float = player[RATING]
    t = 1.0 - 2.0 / (1.0 + exp((x - performance) / beta_bar))
    slope: float = player[CURVATURE] + 0.5 * (1.0 - t * t) / (beta_bar * beta_bar)
    return x - t / beta_bar / slope


@inner_kernel
def update_belief(
    beliefs: Beliefs,
    row: int,
    performance: float,
    beta2: float,
    remembered: int,
    scratch: Scratch,
) -> float:
    """Add a performance and move the rating to the new mode (Algorithm 3, phase two) [8], [9].

    Returns a residual, below 0 if converged.
    """
    player = beliefs.table[row]
    beta_bar = SCALE_OF_DEVIATION * math.sqrt(beta2)
    total = 1.0 / (player[DEVIATION] * player[DEVIATION]) + 1.0 / beta2
    forgets = beliefs.spans[row, COUNT] >= remembered
    _fold_oldest(beliefs, row, total, remembered)
    _remember(beliefs, row, performance, beta_bar)
    player[DEVIATION] = 1.0 / math.sqrt(total)
    values, run = beliefs.values, _run_of(beliefs.spans, row)
    low, high = _bracket(player, values, run, performance, forgets)
    x = min(max(_first_guess(player, performance, beta_bar), low), high)
    grown = scratch.grown
    _exponentials(x, values, run, grown)
    uniform = _is_uniform(values, run)
    scale = beta_bar if uniform else _search_scale(values, run, beta_bar)
    value = slope = 0.0
    for iteration in range(MAX_ITERATIONS):
        pull, stiffness = _pulls(values, run, grown, scratch.terms, scratch.slopes)
        value = player[WEIGHT] * (x - player[MEAN]) + player[DECAY] * pull
        slope = player[WEIGHT] + player[DECAY] * stiffness
        if abs(value) <= LAST_CORRECTION * scale * slope:
            player[RATING] = x - value / slope
            player[CURVATURE] = slope
            return -1.0
        before = x
        x, low, high = newton_step(x, value, slope, low, high, iteration)
        step = (x - before) / beta_bar
        if uniform and abs(step) < _CARRIED_STEP:
            factor = exp(step)
            for k in range(run.length):
                grown[k] *= factor
        else:
            _exponentials(x, values, run, grown)
    player[RATING] = x
    if high - low <= _ROUNDING * (abs(low) + abs(high) + scale):
        # Far from all terms the pulls cancel up to rounding, and no number is nearer to the zero.
        player[CURVATURE] = slope
        return -1.0
    return abs(value)


@inner_kernel
def update_gaussian_belief(beliefs: Beliefs, row: int, performance: float, beta2: float) -> None:
    """Update a Gaussian belief: the new rating is the weighted mean (Algorithm 3, phase two)."""
    player = beliefs.table[row]
    weight = player[WEIGHT] + 1.0 / beta2
    player[MEAN] += (performance - player[MEAN]) / (beta2 * weight)
    player[WEIGHT] = player[CURVATURE] = weight
    player[RATING] = player[MEAN]
    player[DEVIATION] = 1.0 / math.sqrt(weight)


@kernel
def update_scratch(beliefs: Beliefs, players: Ints, start: int, stop: int) -> Scratch:
    """Return working memory of `update_belief` for these players."""
    longest = 0
    for j in range(start, stop):
        longest = max(longest, beliefs.spans[players[j], COUNT])
    size = longest + 2 * PADDING
    return Scratch(np.empty(size), np.empty(size), np.empty(size))
