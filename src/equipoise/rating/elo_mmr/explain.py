"""Why an Elo-MMR rating changed: the performance, and the weights of all performances.

Source: [EM]_ section 3. The new rating is a mean of the remembered performances (section 3.2),

    mu = sum W_k p_k / sum W_k,   W_k = w_k (pi^2/6) tanh(z)/z,  z = (mu - p_k)/(2 beta_bar_k),

with W_0 = w_0 for the Gaussian part. So the change is the sum of W_k (p_k - mu_before)/sum W, and
every performance has a part of it. The performance is the zero of the sum of the terms of Q of all
opponents (Theorem 3.2): a term over -Q' is the change of the performance by that result, to first
order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanation import (
    Belief,
    Contribution,
    Explanation,
    Opponent,
    Remembered,
)
from equipoise.data.history import History
from equipoise.data.outlook import chance
from equipoise.numeric.functions import normal_hazard
from equipoise.rating.elo_mmr.belief import (
    DECAY,
    DEVIATION,
    MEAN,
    RATING,
    SCALE_OF_DEVIATION,
    WEIGHT,
    Beliefs,
    Round,
    diffuse,
    update_belief,
    update_scratch,
)
from equipoise.rating.elo_mmr.elo_mmr import EloMMRParameters, round_of
from equipoise.rating.single_match import (
    MEANINGS,
    SingleMatch,
    ceiling_of,
    contribution,
    explanation,
    places,
    single_match,
    strongest_opponents,
    uncapped_performance,
)
from equipoise.rating.state import State

#: A performance beyond all others: tanh is 1 to the last bit for all parameters.
_BOUNDLESS = 1e12

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    **MEANINGS,
    "deviation after diffusion": (
        "points",
        "the deviation before the match, widened for skill that may have changed",
    ),
    "deviation of a performance": (
        "points",
        "beta: standard deviation of one performance around the skill",
    ),
    "expected place": ("places", "of a player who performs exactly at the rating"),
    "place": ("places", "the actual place; tied players share the best of their places"),
    "performance": ("points", "the rating at which wins, ties and losses in this match balance"),
}


class _Field(NamedTuple):
    """The match after the diffusion of all its players.

    state : of its players, after Algorithm 2
    the_round : the match's parameters, the same for all of them
    delta : shape (n,), deviation of every performance, rating points
    """

    state: State
    the_round: Round
    delta: Floats


def explain(
    system: EloMMRParameters, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match, row)
    i, others = single.row, len(single.history.rank) - 1
    field = _diffused(system, single)
    shown = uncapped_performance(single)
    remembered = _remembered(system, single, _earlier_matches(system, history, match, row))
    found = explanation(
        single,
        contributions=_contributions(remembered),
        quantities={
            "deviation after diffusion": float(field.state.table[i, DEVIATION]),
            "deviation of a performance": math.sqrt(field.the_round.beta2),
            "expected place": 1.0 + (1.0 - single.expected) * others,
            "place": float(places(single.history)[i]),
            "performance": shown,
            **ceiling_of(single.history),
        },
        meanings=_MEANINGS,
        opponents=_opponents(system, single, field, shown),
        remembered=remembered,
        bounds=(math.nan, math.nan) if system.gaussian else _bounds(system, field, i),
    )
    return replace(found, belief=belief_of(single.after, i, found.player))


def belief_of(state: State, row: int, player: object) -> Belief:
    """Return the posterior density of a player of a state, equation (7)."""
    belief = state.table[row]
    nothing = np.zeros(0)
    performance, pull, steepness = nothing, nothing, nothing
    runs = state.take(np.array([row])).runs
    if runs is not None and runs.fields:
        performance, pull, steepness = (runs.records(field) for field in range(3))
    return Belief(
        player=player,
        rating=float(belief[RATING]),
        deviation=float(belief[DEVIATION]),
        prior=float(belief[MEAN]),
        prior_deviation=float(belief[WEIGHT]) ** -0.5 if belief[WEIGHT] > 0.0 else math.inf,
        performance=performance,
        beta=1.0 / (SCALE_OF_DEVIATION * steepness),
        # pull = omega/beta_bar/DECAY and steepness = 1/beta_bar: see `belief`.
        multiplicity=float(belief[DECAY]) * pull / steepness,
    )


def _diffused(system: EloMMRParameters, single: SingleMatch) -> _Field:
    """Return the field after Algorithm 2, on a copy with room for one more performance."""
    state = single.before.copy()
    job = system.job(state, single.history, 0, 1)
    the_round = round_of(job, 0)
    for player in range(state.players):
        diffuse(job.own.beliefs, player, the_round, job.settings.rho, job.settings.drift_per_day)
    delta = np.sqrt(state.table[:, DEVIATION] ** 2 + the_round.beta2)
    return _Field(state, the_round, delta)


def _terms(system: EloMMRParameters, single: SingleMatch, field: _Field, x: float) -> Floats:
    """Return the term of Q_i at x of every participation, shape (n,); a tie is both, or halves."""
    rating, score = single.before.table[:, RATING], single.scores()
    tie = score == 0.5
    half = 0.5 if system.split_ties else 1.0
    lost, won = system.tie_loss or half, system.tie_win or half
    if system.gaussian:
        z = (x - rating) / field.delta
        wins = np.array([normal_hazard(-value) for value in z])
        losses = np.array([normal_hazard(value) for value in z])
        whole = not system.split_ties and system.tie_loss is None
        ties = -z if whole else won * wins - lost * losses
        return np.where(tie, ties, np.where(score > 0.5, wins, -losses)) / field.delta
    bars = SCALE_OF_DEVIATION * field.delta
    below = chance((x - rating) / bars, "logistic")
    wins, losses = 1.0 - below, -below
    ties = won * wins + lost * losses
    return np.where(tie, ties, np.where(score > 0.5, wins, losses)) / bars


def _opponents(
    system: EloMMRParameters, single: SingleMatch, field: _Field, performance: float
) -> list[Opponent]:
    """Return the opponents with the change of the performance by each, to first order."""
    # Q is smooth on the scale of delta; a central difference over 1e-4 of it is exact to 1e-8.
    step = 1e-4 * float(field.delta.min())
    around = [_terms(system, single, field, performance + side * step) for side in (-1, 1)]
    slope = float((around[1] - around[0]).sum()) / (2.0 * step)
    effects = _terms(system, single, field, performance) / -slope
    rating = single.before.table[:, RATING]
    scale = field.delta if system.gaussian else SCALE_OF_DEVIATION * field.delta
    expected = chance(
        (rating[single.row] - rating) / scale, "normal" if system.gaussian else "logistic"
    )
    # The player's own term belongs to the ties; it is no opponent's result.
    return strongest_opponents(single, rating, expected, effects)


def _earlier_matches(
    system: EloMMRParameters, history: History, match: int, row: int
) -> list[tuple[object, float]]:
    """Return (id, days) of the player's rated matches up to this one, newest first."""
    rows = np.flatnonzero(history.player[: int(history.offsets[match + 1])] == history.player[row])
    matches = np.searchsorted(history.offsets, rows, side="right") - 1
    teams = np.diff(history.offsets)[matches]
    ranks = np.maximum.reduceat(history.rank, history.offsets[:-1])[matches]
    rated = (teams == 2) | ((teams > 2) & ((ranks > 0) | system.rate_all_ties))
    kept = matches[rated][::-1]
    return list(zip(history.match_ids[kept].tolist(), history.days()[kept].tolist(), strict=True))


def _remembered(
    system: EloMMRParameters, single: SingleMatch, matches: list[tuple[object, float]]
) -> list[Remembered]:
    """Return the performances whose weighted mean is the new rating, newest first."""
    i = single.row
    player, rating_before = single.after.table[i], float(single.trace["rating_before"][i])
    rating = float(player[RATING])
    if system.gaussian:
        newest = float(single.trace["performance"][i])
        # The share of the Gaussian belief before the match in the belief after it is kept.
        kept = _diffused(system, single).state.table[i, WEIGHT]
        share = 1.0 - float(kept / single.after.table[i, WEIGHT])
        performances, weights = np.array([newest]), np.array([share])
        prior, prior_weight = rating_before, 1.0 - share
    else:
        performances, weights = _logistic_weights(single, i, rating)
        prior, prior_weight = float(player[MEAN]), float(player[WEIGHT])
    total = prior_weight + float(weights.sum())
    entries = [
        (*(matches[k] if k < len(matches) else (None, math.nan)), performance, weight)
        for k, (performance, weight) in enumerate(
            zip(performances[::-1].tolist(), weights[::-1].tolist(), strict=True)
        )
    ]
    entries.append((None, math.nan, prior, prior_weight))
    return [
        Remembered(
            match=match,
            time=time,
            performance=performance,
            weight=weight / total,
            change=weight / total * (performance - rating_before),
        )
        for match, time, performance, weight in entries
    ]


def _logistic_weights(single: SingleMatch, i: int, rating: float) -> tuple[Floats, Floats]:
    """Return (performances, W_k) of the remembered terms, oldest first [EM] sec. 3.2."""
    runs = single.after.take(np.array([i])).runs
    if runs is None:
        return np.zeros(0), np.zeros(0)
    performance, pull, steepness = (runs.records(field) for field in range(3))
    z = 0.5 * (rating - performance) * steepness
    safe = np.where(z == 0.0, 1.0, z)
    # w_k (pi^2/6) = decay pull steepness/2; tanh(z)/z is 1 at 0.
    ratio = np.where(z == 0.0, 1.0, np.tanh(safe) / safe)
    return performance, 0.5 * single.after.table[i, DECAY] * pull * steepness * ratio


def _contributions(remembered: list[Remembered]) -> list[Contribution]:
    """Return the change by this match, by earlier performances, and by the prior."""
    newest, *older, prior = remembered
    shown = f"{newest.performance:.0f} with weight {newest.weight:.1%}"
    parts = [contribution("this match", newest.change, f"a performance of {shown}")]
    if older:
        weight = math.fsum(memory.weight for memory in older)
        change = math.fsum(memory.change for memory in older)
        reason = f"{_still(len(older))}, {weight:.1%} of the rating in total"
        parts.append(contribution("earlier performances", change, reason))
    reason = "the initial rating and performances merged with it: "
    reason += f"{prior.performance:.0f} with weight {prior.weight:.1%}"
    return [*parts, contribution("prior", prior.change, reason)]


def _still(count: int) -> str:
    return "one of them still counts" if count == 1 else f"{count} of them still count"


def _bounds(system: EloMMRParameters, field: _Field, i: int) -> tuple[float, float]:
    """Return the changes by an infinitely bad and an infinitely good performance."""
    changes = []
    for performance in (-_BOUNDLESS, min(_BOUNDLESS, field.the_round.ceiling)):
        state = field.state.copy()
        runs = state.runs
        if runs is None:
            return math.nan, math.nan
        runs.reserve(np.array([i]), np.array([1]))
        beliefs = Beliefs(state.table, runs.spans, runs.values)
        scratch = update_scratch(beliefs, np.array([i]), 0, 1)
        kept = np.iinfo(np.int64).max if system.remembered is None else system.remembered
        old = float(state.table[i, RATING])
        update_belief(beliefs, i, float(performance), field.the_round.beta2, kept, scratch)
        changes.append(float(state.table[i, RATING]) - old)
    return changes[0], changes[1]
