"""Glicko for contests: in every match all pairs of players are games.

Source: [G1]_ steps 1 and 2; q = ln 10/400, g and E as there.
Departures: a tie is half a win; a match weight w counts every game w times. Without `period_days` a
rating period is a match, and drift is by days and matches: `drift_per_day` is c^2 for a period of a
day, and every match adds `drift`. With it all games of a period are compared with the ratings
before it, and c^2 is drift^2 + period_days drift_per_day.

The sums over opponents of g (s - E) and of g^2 E(1 - E) are one function of the player's rating and
its derivative, so the time is linear in the size of a contest. With rating periods the state keeps
both sums of the period in progress, as in `classical.glicko2`, and reading closes it on a copy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.field_scores import scores_against_field, weighted_scores
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import rate_at_home
from equipoise.rating.advantage.home_system import HomeSystem
from equipoise.rating.base_system import (
    DEVIATION,
    LAST_TIME,
    MATCHES,
    RATING,
    Job,
    Rate,
    TraceArrays,
)
from equipoise.rating.draws import count_match
from equipoise.rating.entry.entering import (
    FirstMatch,
    first_match,
    move_rating,
    rate_each,
    read_rating,
)
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, check_newcomer

#: q of [G1]_, 1/rating points.
Q = math.log(10.0) / 400.0

#: Columns of the state with rating periods, after those of `base_system`. Ratings and deviations
#: are then those before the period in progress. `PENDING` exists only where the level is held.
PERIOD, INFORMATION, SURPRISE, PENDING = range(4, 8)


#: What `equipoise systems` says of rating periods.
_PERIOD_NOTE = "the length of a rating period in days; without it, every match is a period"


class Settings(NamedTuple):
    """Parameters in the form that kernels use.

    period_days : inf if every match is a period
    pends : whether the state has the column `PENDING`
    """

    drift: float
    drift_per_day: float
    max_deviation: float
    period_days: float
    pends: bool


@inner_kernel
def rested(player: Floats, time: float, settings: Settings) -> float:
    """Return the deviation after the days since the last match."""
    variance = player[DEVIATION] * player[DEVIATION]
    if settings.drift_per_day > 0.0 and not (math.isnan(player[LAST_TIME]) or math.isnan(time)):
        variance += settings.drift_per_day * max(time - player[LAST_TIME], 0.0)
    # A larger deviation than the cap stays: time never makes a rating more certain.
    cap = max(settings.max_deviation, player[DEVIATION])
    return float(min(math.sqrt(variance), cap))


@inner_kernel
def widened(deviation: float, settings: Settings) -> float:
    """Return the deviation plus the drift of a match (step 1)."""
    cap = max(settings.max_deviation, deviation)
    return min(math.sqrt(deviation * deviation + settings.drift * settings.drift), cap)


@inner_kernel
def opponent_weight(deviation: float) -> float:
    """Return g(RD), the weight of a game against an opponent of this deviation."""
    return 1.0 / math.sqrt(1.0 + 3.0 * (Q * deviation / math.pi) ** 2)


@kernel
def _scored(rank: Ints, weight: Floats) -> Floats:
    """Return the weight of the players beaten plus half that of those tied, shape (n,)."""
    highest = 0
    for r in rank:
        highest = max(highest, r)
    held = np.zeros(highest + 1)
    for i in range(len(rank)):
        held[rank[i]] += weight[i]
    worse = np.zeros(highest + 1)
    for r in range(highest - 1, -1, -1):
        worse[r] = worse[r + 1] + held[r + 1]
    scores = np.empty(len(rank))
    for i in range(len(rank)):
        scores[i] = worse[rank[i]] + 0.5 * (held[rank[i]] - weight[i])
    return scores


@kernel
def rate_matches(job: Job[Settings, TraceArrays, None], first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last in order; return (-1, -1), because no equation can fail."""
    table, matches, settings, trace = job.table, job.matches, job.settings, job.trace
    traced = len(trace.rating) > 0
    for m in range(first, last):
        start, stop = matches.offsets[m], matches.offsets[m + 1]
        n, day, weight = stop - start, matches.time[m], matches.weight[m]
        if n < 2:
            continue
        ratings, deviations, g = np.empty(n), np.empty(n), np.empty(n)
        variance = 0.0
        for i in range(n):
            player = table[matches.player[start + i]]
            ratings[i] = player[RATING]
            deviations[i] = rested(player, day, settings)
            if traced:
                trace.rating_before[start + i] = player[RATING]
                trace.deviation_before[start + i] = deviations[i]
            variance += deviations[i] * deviations[i]
            deviations[i] = widened(deviations[i], settings)
            g[i] = opponent_weight(deviations[i])
        if len(job.draws) and n == 2:
            # As in `outlook`: E at g(sqrt(RD_A^2 + RD_B^2)).
            advantage = Q * opponent_weight(math.sqrt(variance)) * (ratings[0] - ratings[1])
            tied = matches.rank[start] == matches.rank[start + 1]
            count_match(job.draws, tied, advantage, False)
        expected, slopes = weighted_scores(ratings, Q * g, g)
        scores = _scored(matches.rank[start:stop], g)
        if len(trace.expected):
            chances = scores_against_field(ratings, Q * g)
            for i in range(n):
                trace.expected[start + i] = chances[i] / (n - 1.0)
        for i in range(n):
            player = table[matches.player[start + i]]
            # Q times the slope is 1/d^2.
            precision = 1.0 / (deviations[i] * deviations[i]) + weight * Q * slopes[i]
            player[RATING] += weight * Q / precision * (scores[i] - expected[i])
            player[DEVIATION] = math.sqrt(1.0 / precision)
            player[MATCHES] += 1.0
            player[LAST_TIME] = day
            if traced:
                trace.rating[start + i] = player[RATING]
                trace.deviation[start + i] = player[DEVIATION]
    return -1, -1.0


@inner_kernel
def closed(player: Floats, periods: float, settings: Settings) -> tuple[float, float]:
    """Return (rating, deviation) with the period in progress closed (steps 2 and 1).

    periods : number of periods since the one in progress began
    """
    rating, deviation = player[RATING], player[DEVIATION]
    if player[INFORMATION] > 0.0 or player[SURPRISE] != 0.0:
        precision = 1.0 / (deviation * deviation) + player[INFORMATION]
        rating += Q / precision * player[SURPRISE]
        deviation = math.sqrt(1.0 / precision)
    if settings.pends:
        rating += player[PENDING]
    if periods > 0.0:
        c2 = settings.drift * settings.drift + settings.drift_per_day * settings.period_days
        cap = max(settings.max_deviation, deviation)
        deviation = min(math.sqrt(deviation * deviation + periods * c2), cap)
    return rating, deviation


@inner_kernel
def settle(player: Floats, period: float, settings: Settings) -> None:
    """Move a player to the beginning of a period."""
    if player[PERIOD] == period:
        return
    elapsed = 0.0 if math.isnan(player[PERIOD]) else period - player[PERIOD]
    player[RATING], player[DEVIATION] = closed(player, elapsed, settings)
    player[INFORMATION], player[SURPRISE] = 0.0, 0.0
    if settings.pends:
        player[PENDING] = 0.0
    player[PERIOD] = period


@kernel
def rate_in_periods(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last in order like `rate_matches`, with rating periods."""
    table, matches, settings, trace = job.table, job.matches, job.settings, job.trace
    traced = len(trace.rating) > 0
    for m in range(first, last):
        start, stop = matches.offsets[m], matches.offsets[m + 1]
        n, day, weight = stop - start, matches.time[m], matches.weight[m]
        if n < 2:
            continue
        period = float(math.floor(day / settings.period_days))
        ratings, g = np.empty(n), np.empty(n)
        variance = 0.0
        for i in range(n):
            player = table[matches.player[start + i]]
            settle(player, period, settings)
            ratings[i] = player[RATING]
            g[i] = opponent_weight(player[DEVIATION])
            variance += player[DEVIATION] * player[DEVIATION]
            if traced:
                rating, deviation = closed(player, 0.0, settings)
                trace.rating_before[start + i] = rating
                trace.deviation_before[start + i] = deviation
        if len(job.draws) and n == 2:
            # As in `outlook`, from the ratings before the period, which the games use.
            advantage = Q * opponent_weight(math.sqrt(variance)) * (ratings[0] - ratings[1])
            tied = matches.rank[start] == matches.rank[start + 1]
            count_match(job.draws, tied, advantage, False)
        expected, slopes = weighted_scores(ratings, Q * g, g)
        scores = _scored(matches.rank[start:stop], g)
        if len(trace.expected):
            chances = scores_against_field(ratings, Q * g)
            for i in range(n):
                trace.expected[start + i] = chances[i] / (n - 1.0)
        for i in range(n):
            player = table[matches.player[start + i]]
            player[INFORMATION] += weight * Q * slopes[i]
            player[SURPRISE] += weight * (scores[i] - expected[i])
            player[MATCHES] += 1.0
            player[LAST_TIME] = day
            if traced:
                rating, deviation = closed(player, 0.0, settings)
                trace.rating[start + i] = rating
                trace.deviation[start + i] = deviation
    return -1, -1.0


@inner_kernel
def _evidence(job: Job[Settings, TraceArrays, None], m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer."""
    player = job.table[job.matches.player[i]]
    before = widened(job.entry.deviation, job.settings)
    diffused = before * before - job.entry.deviation * job.entry.deviation
    return first_match(job.entry, player, player[RATING], player[DEVIATION], diffused)


@kernel
def rate_with_entry(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with their entry and level."""
    return rate_each(job, first, last, rate_matches, _evidence, move_rating, read_rating)


@inner_kernel
def _standing(job: Job[Settings, TraceArrays, None], m: int, i: int) -> tuple[float, float]:
    """Return (rating, deviation) of participation i as of match m."""
    player = job.table[job.matches.player[i]]
    return player[RATING], rested(player, job.matches.time[m], job.settings)


@kernel
def rate_with_home(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with head starts."""
    return rate_at_home(job, first, last, rate_matches, _standing)


@kernel
def rate_with_both(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last with head starts, entry and level."""
    return rate_each(job, first, last, rate_with_home, _evidence, move_rating, read_rating)


@inner_kernel
def _evidence_in_period(job: Job[Settings, TraceArrays, None], m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer, as if the period had ended with it."""
    player = job.table[job.matches.player[i]]
    rating, deviation = closed(player, 0.0, job.settings)
    return first_match(job.entry, player, rating, deviation, 0.0)


@inner_kernel
def _move_in_period(job: Job[Settings, TraceArrays, None], i: int, delta: float) -> None:
    """Add delta to the rating of participation i when the period closes."""
    player = job.table[job.matches.player[i]]
    player[PENDING] += delta
    if len(job.trace.rating):
        job.trace.rating[i] = _read_in_period(job, job.matches.player[i])


@inner_kernel
def _read_in_period(job: Job[Settings, TraceArrays, None], row: int) -> float:
    """Return a player's rating with the period in progress closed."""
    rating, _ = closed(job.table[row], 0.0, job.settings)
    return rating


@kernel
def rate_in_periods_with_entry(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_in_periods`, with their entry and level."""
    return rate_each(
        job, first, last, rate_in_periods, _evidence_in_period, _move_in_period, _read_in_period
    )


@inner_kernel
def _standing_in_period(
    job: Job[Settings, TraceArrays, None], m: int, i: int
) -> tuple[float, float]:
    """Return (rating, deviation) of participation i as of match m, with ended periods closed."""
    player, periods = job.table[job.matches.player[i]], 0.0
    if not math.isnan(player[PERIOD]):
        now = math.floor(job.matches.time[m] / job.settings.period_days)
        periods = max(now - player[PERIOD], 0.0)
    return closed(player, periods, job.settings)


@kernel
def rate_in_periods_with_home(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_in_periods`, with head starts."""
    return rate_at_home(job, first, last, rate_in_periods, _standing_in_period)


@kernel
def rate_in_periods_with_both(
    job: Job[Settings, TraceArrays, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last in periods with head starts, entry and level."""
    return rate_each(
        job,
        first,
        last,
        rate_in_periods_with_home,
        _evidence_in_period,
        _move_in_period,
        _read_in_period,
    )


@kernel
def read_players(table: Floats, rows: Ints, periods: Floats, settings: Settings) -> Floats:
    """Return rating and deviation of players with periods closed, shape (2, rows)."""
    out = np.empty((2, len(rows)))
    for i in range(len(rows)):
        out[0, i], out[1, i] = closed(table[rows[i]], periods[i], settings)
    return out


@kernel
def read_deviations(table: Floats, rows: Ints, time: float, settings: Settings) -> Floats:
    """Return the deviations of players as of a day (NaN: as of their last match)."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        out[i] = rested(table[rows[i]], time, settings)
    return out


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Glicko(HomeSystem):
    """Glicko [G1]_ for duels and contests of single players.

    initial_rating, initial_deviation : of a new player, rating points
    drift : standard deviation that a rating period adds, rating points: Glickman's c; without
        `period_days` every match adds it before it is rated
    drift_per_day : variance that a day adds, points^2; Glickman's c^2 for a period of a day
    period_days : length of a rating period; None makes every match a period of its own
    max_deviation : largest deviation that deviations grow to, rating points

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Glicko(), league).ratings
    <Ratings: 6 players, the best ada with 1,980.7>
    """

    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    drift: float = 35.0
    drift_per_day: float = 0.0
    max_deviation: float = 350.0
    period_days: float | None = field(default=None, metadata={"later": True, "note": _PERIOD_NOTE})

    name: ClassVar[str] = "glicko"

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        limit = self.max_deviation
        require(0 < limit < math.inf, "max_deviation", "positive", limit)
        for name in ("drift", "drift_per_day"):
            require(0 <= getattr(self, name) <= 1e9, name, "from 0 to 1e9", getattr(self, name))
        period = self.period_days
        require(period is None or 0 < period < math.inf, "period_days", "positive", period)

    @property
    def capabilities(self) -> Capabilities:
        """Any number of single players; time with `drift_per_day` or rating periods."""
        drifts = self.drift_per_day > 0 or self.period_days is not None
        able = Capabilities(
            max_team_size=1,
            needs_time=drifts,
            uses=frozenset({"weight", "time"} if drifts else {"weight"}),
            needed={} if drifts else {"time": "drift_per_day"},
            idle=self.idle_entry,
        )
        return self.with_home(able)

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player; with rating periods, one who is in none yet."""
        usual = HomeSystem.newcomer(self)
        if self.period_days is None:
            return usual
        pending = {"pending": 0.0} if self._pends else {}
        return {**usual, "period": math.nan, "information": 0.0, "surprise": 0.0, **pending}

    @property
    def _pends(self) -> bool:
        """Whether what holds the level waits for the end of a rating period."""
        return self.holds_level and self.period_days is not None

    def kernel(self, job: Job[Settings, TraceArrays, None]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        if self.period_days is not None:
            return self.choose_kernel(
                job,
                rate_in_periods,
                rate_in_periods_with_entry,
                rate_in_periods_with_home,
                rate_in_periods_with_both,
            )
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(self, job: Job[Settings, TraceArrays, None], workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings with the period in progress closed and the later periods without games."""
        found = HomeSystem.at(self, state, rows, time)
        if self.period_days is None:
            return found
        periods = np.zeros(len(rows))
        if time is not None:
            elapsed = np.floor(time / self.period_days) - state.table[rows, PERIOD]
            periods = np.maximum(np.nan_to_num(elapsed, nan=0.0), 0.0)
        rating, deviation = read_players(state.table, rows, periods, self.settings())
        return {**found, "rating": self.entered(state, rows, rating), "deviation": deviation}

    def begin_period(self, state: State, rows: Ints, day: float) -> None:
        """Move players to the beginning of the rating period of a day."""
        if self.period_days is not None:
            settings = self.settings()
            for row in rows.tolist():
                settle(state.table[row], float(math.floor(day / self.period_days)), settings)

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return deviations, increased by the days until then."""
        return read_deviations(state.table, rows, day, self.settings())

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook in which A beats B with E at g(sqrt(RD_A^2 + RD_B^2)) [G1]_."""
        shared = 0.5 / Q**2
        scale = np.sqrt(shared + 3.0 * (deviation / math.pi) ** 2)
        centre = self.at_home(rating, history)
        return Outlook(centre=centre, scale=scale, curve="logistic", shared=shared)

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            float(self.drift),
            float(self.drift_per_day),
            float(self.max_deviation),
            math.inf if self.period_days is None else float(self.period_days),
            self._pends,
        )
