"""Rating matches of two teams under team Glicko-2.

Source: [TG2]_ sections 5-10 and 12; numbers in brackets are its equations. A match is rated in
this order: the players are brought to its time [42]-[44], performances are compared within each
team [5]-[10], every player is updated against the other team [11]-[25], and ratings and form are
written [26]-[35].
Departures: volatility is solved to 1e-12 (READINGS A6); a match weight w counts the match w times;
a player's share of the match scales the change; z is 0 in a team of equal performances and for a
player without a performance (A2, A4); roles (A14) and `conserve` (A11) are additions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from equipoise._jit import inner_kernel, kernel, prefetch
from equipoise.arrays import Floats, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.rating.advantage.head_start import rate_at_home
from equipoise.rating.base_system import Job
from equipoise.rating.classical.glicko2 import (
    GLICKO2_SCALE,
    game_of_weight,
    opponent_weight,
    updated,
)
from equipoise.rating.draws import count_match
from equipoise.rating.entry.entering import FirstMatch, first_match, rate_each, read_rating

#: Columns of the state; from RECENT on the times of the last matches, newest first.
RATING, DEVIATION, VOLATILITY, FORM, FORM_MATCHES, MATCHES, LAST_TIME, RECENT = range(8)

#: Columns of the statistics of a role: number and mean of the performances, and the sum of the
#: squared differences from the mean.
COUNT, MEAN, SQUARES = range(3)

#: Performances relative to a role are rounded to a multiple of 1/_GRID.
_GRID = 2.0**40


class Settings(NamedTuple):
    """Parameters in the form that kernels use.

    max_change : on the internal scale, inf for none
    activity_matches : number of the times of last matches that are kept
    activity_window, period : in microseconds
    """

    initial_rating: float
    tau: float
    beta: float
    factor_min: float
    factor_max: float
    max_change: float
    conserve: bool
    form_window: float
    form_clip: float
    activity_matches: int
    activity_window: float
    period: float
    max_deviation: float
    max_volatility: float


class Players(NamedTuple):
    """Further columns of every participation, and the statistics of roles.

    performance, share : shape (N,)
    role : shape (N,), rows of `roles`, or shape (0,) where roles do not count
    roles : shape (roles, 3), statistics of the performances so far
    """

    performance: Floats
    share: Floats
    role: Ints
    roles: Floats


class TeamTrace(NamedTuple):
    """Columns of a trace; see `TraceArrays`.

    rating_unscaled : `rating` if the factor of this match were 1
    """

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats
    z: Floats
    factor: Floats
    rating_unscaled: Floats
    volatility_before: Floats
    volatility: Floats
    form: Floats
    form_matches: Floats


#: `own` of the job is `Players`.
TeamJob: TypeAlias = Job[Settings, TeamTrace, Players]


class Sides(NamedTuple):
    """The two teams of a match; every array of shape (2,).

    mu, g : each team as the opponent of the other [11], and the weight of a game against it
        [12], [13]
    known : number of players with a performance
    mean, lowest, highest, spread : of these performances; the spread is a standard deviation
        [6], [7]
    """

    members: Floats
    rank: Floats
    mu: Floats
    g: Floats
    known: Floats
    mean: Floats
    lowest: Floats
    highest: Floats
    spread: Floats


class Work(NamedTuple):
    """One match on the internal scale; every array except those of `sides` has shape (n,).

    deviation : before the match, increased for inactivity, in rating points
    mu, phi, sigma : before the match
    relative : performance, relative to the role where roles are used
    change : of mu [24]; new_phi, new_sigma : [22], [20]
    """

    deviation: Floats
    mu: Floats
    phi: Floats
    sigma: Floats
    relative: Floats
    z: Floats
    factor: Floats
    expected: Floats
    change: Floats
    new_phi: Floats
    new_sigma: Floats
    sides: Sides


@inner_kernel
def relative_to_role(performance: float, role: Floats) -> float:
    """Return a performance in standard deviations from the mean of its role (READINGS A14).

    It is rounded to 2^-40, and 0 while the role has fewer than two different performances.

    role : statistics of the role, shape (3,)
    """
    if math.isnan(performance):
        return performance
    if role[COUNT] < 2.0 or not role[SQUARES] > 0.0:
        return 0.0
    relative = (performance - role[MEAN]) / math.sqrt(role[SQUARES] / role[COUNT])
    # Equally good performances in two roles must be equal, because z magnifies any difference.
    steps: float = np.rint(relative * _GRID)
    return steps / _GRID


@inner_kernel
def learn_roles(roles: Floats, role: Ints, performance: Floats) -> None:
    """Add a match's performances to the statistics of their roles, by Welford's recurrence.

    roles : shape (roles, 3); role, performance : shape (n,)
    """
    for i in range(len(performance)):
        if math.isnan(performance[i]):
            continue
        learned = roles[role[i]]
        learned[COUNT] += 1.0
        away = performance[i] - learned[MEAN]
        learned[MEAN] += away / learned[COUNT]
        learned[SQUARES] += away * (performance[i] - learned[MEAN])


@inner_kernel
def standardise(team: Ints, performance: Floats, z: Floats, sides: Sides) -> None:
    """Write the z of every player [6]-[8]; 0 if all are equal, or without a performance.

    team : shape (n,); performance, z : the first n are those of the match
    """
    sides.known[:] = 0.0
    sides.mean[:] = 0.0
    sides.spread[:] = 0.0
    sides.lowest[:] = math.inf
    sides.highest[:] = -math.inf
    for k in range(len(team)):
        t, value = team[k], performance[k]
        if not math.isnan(value):
            sides.known[t] += 1.0
            sides.mean[t] += value
            sides.lowest[t] = min(sides.lowest[t], value)
            sides.highest[t] = max(sides.highest[t], value)
    for t in range(2):
        sides.mean[t] /= max(sides.known[t], 1.0)
    for k in range(len(team)):
        t, value = team[k], performance[k]
        if not math.isnan(value):
            sides.spread[t] += (value - sides.mean[t]) * (value - sides.mean[t])
    for t in range(2):
        sides.spread[t] = math.sqrt(sides.spread[t] / max(sides.known[t], 1.0))
    for k in range(len(team)):
        t, value = team[k], performance[k]
        # The extremes say whether performances differ: by rounding, equal ones may have a spread
        # above 0, and different ones a spread of 0.
        differ = sides.lowest[t] < sides.highest[t] and sides.spread[t] > 0.0
        known = differ and not math.isnan(value)
        z[k] = (value - sides.mean[t]) / sides.spread[t] if known else 0.0


@inner_kernel
def conserve(team: Ints, change: Floats, factor: Floats) -> None:
    """Rescale the factors so that they move no rating into or out of a team (READINGS A11).

    The gains of a team, and separately its losses, keep their sum: sum(f change) = sum(change).
    Factors that are all 0 cannot be rescaled and become 1.

    team : shape (n,); change, factor : the first n are those of the match
    """
    for side in range(2):
        for gains in (True, False):
            plain, scaled = 0.0, 0.0
            for k in range(len(team)):
                if team[k] == side and (change[k] >= 0.0) == gains:
                    plain += change[k]
                    scaled += factor[k] * change[k]
            for k in range(len(team)):
                if team[k] == side and (change[k] >= 0.0) == gains:
                    factor[k] = factor[k] * (plain / scaled) if scaled != 0.0 else 1.0


@inner_kernel
def _microseconds(later: float, earlier: float) -> float:
    """Return the time between two days in whole microseconds, so that a week is a full week."""
    whole: float = np.rint((later - earlier) * MICROSECONDS_PER_DAY)
    return whole


@inner_kernel
def idle_deviation(player: Floats, day: float, settings: Settings) -> float:
    """Return a deviation, increased for inactivity until a day [42]-[44] (READINGS A8)."""
    deviation: float = player[DEVIATION]
    idle = _microseconds(day, player[LAST_TIME])
    # NaN, if there are no times or no match yet, fails this comparison.
    if not idle >= settings.period:
        return deviation
    # If the oldest of the remembered matches is in the window, all of them are.
    oldest = player[RECENT + settings.activity_matches - 1]
    if _microseconds(day, oldest) <= settings.activity_window:
        return deviation
    periods, each = np.floor(idle / settings.period), GLICKO2_SCALE * player[VOLATILITY]
    return min(math.sqrt(deviation * deviation + periods * each * each), settings.max_deviation)


@inner_kernel
def _count(job: TeamJob, sides: Sides) -> None:
    """Count the match (READINGS A15); `sides.g` is still the sum of phi^2."""
    first = sides.g[0] / (sides.members[0] * sides.members[0])
    second = sides.g[1] / (sides.members[1] * sides.members[1])
    advantage = opponent_weight(math.sqrt(first + second)) * (sides.mu[0] - sides.mu[1])
    count_match(job.draws, sides.rank[0] == sides.rank[1], advantage, False)


@inner_kernel
def _prepare(job: TeamJob, start: int, stop: int, day: float, work: Work) -> None:
    """Read the players of a match as of its time, and aggregate their teams [11], [12]."""
    sides, with_roles = work.sides, len(job.own.role) > 0
    sides.members[:] = 0.0
    sides.mu[:] = 0.0
    sides.g[:] = 0.0
    for i in range(start, stop):
        player, k, t = job.table[job.matches.player[i]], i - start, job.matches.team[i]
        work.mu[k] = (player[RATING] - job.settings.initial_rating) / GLICKO2_SCALE
        work.deviation[k] = idle_deviation(player, day, job.settings)
        work.phi[k] = work.deviation[k] / GLICKO2_SCALE
        work.sigma[k] = player[VOLATILITY]
        work.relative[k] = job.own.performance[i]
        if with_roles:
            role = job.own.roles[job.own.role[i]]
            work.relative[k] = relative_to_role(work.relative[k], role)
        sides.rank[t] = job.matches.rank[i]
        sides.members[t] += 1.0
        sides.mu[t] += work.mu[k]
        sides.g[t] += work.phi[k] * work.phi[k]
    for t in range(2):
        sides.mu[t] /= sides.members[t]
    if len(job.draws):
        _count(job, sides)
    for t in range(2):
        sides.g[t] = opponent_weight(math.sqrt(sides.g[t]) / sides.members[t])


@inner_kernel
def _update(job: TeamJob, m: int, start: int, stop: int, work: Work) -> float:
    """Update every player against the other team [13]-[25]; return a residual, as `updated`."""
    settings, sides, worst = job.settings, work.sides, -1.0
    weight = job.matches.weight[m]
    for k in range(stop - start):
        own = job.matches.team[start + k]
        other = 1 - own
        score = 0.5
        if sides.rank[own] != sides.rank[other]:
            score = 1.0 if sides.rank[own] < sides.rank[other] else 0.0
        work.expected[k], information, surprise = game_of_weight(
            work.mu[k] - sides.mu[other], sides.g[other], score
        )
        work.change[k], work.new_phi[k], work.new_sigma[k], residual = updated(
            work.phi[k],
            work.sigma[k],
            weight * information,
            weight * surprise,
            settings.tau,
            settings.max_volatility,
        )
        worst = max(worst, residual)
        signed = work.z[k] if work.change[k] >= 0.0 else -work.z[k]
        factor = 1.0 + settings.beta * signed
        work.factor[k] = min(max(factor, settings.factor_min), settings.factor_max)
    return worst


@inner_kernel
def _gained(job: TeamJob, i: int, change: float) -> float:
    """Return a change of mu, bounded and scaled by the share, in rating points [29]-[31]."""
    bounded = min(max(change, -job.settings.max_change), job.settings.max_change)
    gained: float = GLICKO2_SCALE * (job.own.share[i] * bounded)
    return gained


@inner_kernel
def _trace_before(job: TeamJob, i: int, k: int, work: Work) -> None:
    trace = job.trace
    if len(trace.expected):
        trace.expected[i] = work.expected[k]
    trace.rating_before[i] = job.table[job.matches.player[i], RATING]
    trace.deviation_before[i] = work.deviation[k]
    trace.z[i] = work.z[k]
    trace.factor[i] = work.factor[k]
    # It is recorded because it does not follow from factor and change where a change is bounded.
    trace.rating_unscaled[i] = trace.rating_before[i] + _gained(job, i, work.change[k])
    trace.volatility_before[i] = work.sigma[k]


@inner_kernel
def _trace_after(job: TeamJob, i: int, player: Floats) -> None:
    trace = job.trace
    trace.rating[i] = player[RATING]
    trace.deviation[i] = player[DEVIATION]
    trace.volatility[i] = player[VOLATILITY]
    trace.form[i] = player[FORM]
    trace.form_matches[i] = player[FORM_MATCHES]


@inner_kernel
def _write_back(job: TeamJob, i: int, k: int, day: float, work: Work) -> None:
    """Write a player's new rating [26]-[31], form [33]-[35] and the time of the match."""
    settings, player = job.settings, job.table[job.matches.player[i]]
    player[RATING] += _gained(job, i, work.factor[k] * work.change[k])
    player[DEVIATION] = GLICKO2_SCALE * work.new_phi[k]
    player[VOLATILITY] = work.new_sigma[k]
    if not math.isnan(work.relative[k]):
        clipped = min(max(work.z[k], -settings.form_clip), settings.form_clip)
        played = player[FORM_MATCHES]
        alpha = 2.0 / (settings.form_window + 1.0)
        if played < settings.form_window:
            alpha = 1.0 / (played + 1.0)
        player[FORM] = clipped if played == 0.0 else (1.0 - alpha) * player[FORM] + alpha * clipped
        player[FORM_MATCHES] += 1.0
    player[MATCHES] += 1.0
    player[LAST_TIME] = day
    for slot in range(RECENT + settings.activity_matches - 1, RECENT, -1):
        player[slot] = player[slot - 1]
    player[RECENT] = day


@inner_kernel
def _rate_match(job: TeamJob, m: int, work: Work) -> float:
    """Rate one match of two teams; return a residual, below 0 if all converged."""
    start, stop, day = job.matches.offsets[m], job.matches.offsets[m + 1], job.matches.time[m]
    _prepare(job, start, stop, day, work)
    team = job.matches.team[start:stop]
    standardise(team, work.relative, work.z, work.sides)
    residual = _update(job, m, start, stop, work)
    if job.settings.conserve:
        conserve(team, work.change, work.factor)
    for i in range(start, stop):
        if len(job.trace.rating):
            _trace_before(job, i, i - start, work)
        _write_back(job, i, i - start, day, work)
        if len(job.trace.rating):
            _trace_after(job, i, job.table[job.matches.player[i]])
    if len(job.own.role):
        learn_roles(job.own.roles, job.own.role[start:stop], job.own.performance[start:stop])
    return residual


@kernel
def _work_for(n: int) -> Work:
    """Return working memory of matches of up to n players."""
    each, both = np.empty((11, n)), np.empty((9, 2))
    sides = Sides(both[0], both[1], both[2], both[3], both[4], both[5], both[6], both[7], both[8])
    return Work(
        each[0],
        each[1],
        each[2],
        each[3],
        each[4],
        each[5],
        each[6],
        each[7],
        each[8],
        each[9],
        each[10],
        sides,
    )


@inner_kernel
def _prefetch_players(job: TeamJob, m: int) -> None:
    """Fetch the rows of the players of match m ahead: they are scattered over the memory."""
    columns = job.table.shape[1]
    for i in range(job.matches.offsets[m], job.matches.offsets[m + 1]):
        row = job.matches.player[i] * columns
        prefetch(job.table, row)
        prefetch(job.table, row + columns - 1)


@kernel
def rate_matches(job: TeamJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last in order; return (match, residual) of a failure, or (-1, -1)."""
    offsets, largest = job.matches.offsets, 0
    for m in range(first, last):
        largest = max(largest, offsets[m + 1] - offsets[m])
    work = _work_for(largest)
    for m in range(first, last):
        if m + 1 < last:
            _prefetch_players(job, m + 1)
        teams = 0
        for i in range(offsets[m], offsets[m + 1]):
            teams = max(teams, job.matches.team[i] + 1)
        if teams == 2:
            residual = _rate_match(job, m, work)
            if residual >= 0.0:
                return m, residual
    return -1, -1.0


@inner_kernel
def _evidence(job: TeamJob, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer."""
    player = job.table[job.matches.player[i]]
    diffused = (GLICKO2_SCALE * player[VOLATILITY]) ** 2
    return first_match(job.entry, player, player[RATING], player[DEVIATION], diffused)


@inner_kernel
def _move(job: TeamJob, i: int, delta: float) -> None:
    """Add delta to the rating of participation i, and to what it would be with a factor of 1."""
    player = job.table[job.matches.player[i]]
    player[RATING] += delta
    if len(job.trace.rating):
        job.trace.rating[i] = player[RATING]
        job.trace.rating_unscaled[i] += delta


@kernel
def rate_with_entry(job: TeamJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with their entry and level."""
    return rate_each(job, first, last, rate_matches, _evidence, _move, read_rating)


@inner_kernel
def _standing(job: TeamJob, m: int, i: int) -> tuple[float, float]:
    """Return (rating, deviation) of participation i as of match m."""
    player = job.table[job.matches.player[i]]
    return player[RATING], idle_deviation(player, job.matches.time[m], job.settings)


@kernel
def _rate_moved(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last whose ratings have head starts, which the trace does not show."""
    failed, residual = rate_matches(job, first, last)
    if len(job.trace.rating):
        for i in range(job.matches.offsets[first], job.matches.offsets[last]):
            job.trace.rating_unscaled[i] -= job.home.head_start[i]
    return failed, residual


@kernel
def rate_with_home(job: TeamJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with head starts."""
    return rate_at_home(job, first, last, _rate_moved, _standing)


@kernel
def rate_with_both(job: TeamJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last with head starts, entry and level."""
    return rate_each(job, first, last, rate_with_home, _evidence, _move, read_rating)


@kernel
def read_deviations(table: Floats, rows: Ints, day: float, settings: Settings) -> Floats:
    """Return the deviations of players as of a day; NaN is the day of the last match."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        out[i] = idle_deviation(table[rows[i]], day, settings)
    return out
