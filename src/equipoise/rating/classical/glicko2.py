"""Glicko-2 for two players, with Glickman's rating periods.

Source: [G2]_ steps 1-7; [TG2]_ (13)-(23) restates steps 3-7 for one opponent, and its equation
numbers are cited below. All games of a period are compared with the ratings before the period.
Departures: volatility is solved to 1e-12 (READINGS A6); a match weight w counts a game w times;
deviations are capped, as in Glicko, at `max_deviation`; volatilities are capped at
`max_volatility`, because results can be constructed that make them grow without limit.

The update of a player needs two sums over the player's games, on the internal scale:

    information = sum w g^2 E (1 - E) = 1/v,      surprise = sum w g (s - E) = Delta/v.

The volatility equation (19) is multiplied by (1/v)^2, so that it does not overflow when v is huge
(ratings that differ by thousands of points) and does not divide by 0 when there was no game.

The state of a player keeps both sums of the period in progress and the ratings before it, so that
matches can be rated one at a time. Reading ratings closes the period on a copy: they include every
game played. What a match hands to a player to hold the level (`rating.entry`) waits in the column
`pending` until the period closes, because all games of a period are compared with the ratings
before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook, team_mean_outlook
from equipoise.errors import require
from equipoise.numeric.exponential import EXP_HIGHEST, exp
from equipoise.numeric.roots import MAX_ITERATIONS, newton_step
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import rate_at_home
from equipoise.rating.advantage.home_system import HomeSystem
from equipoise.rating.base_system import Job, Rate, System
from equipoise.rating.draws import count_match
from equipoise.rating.entry.entering import FirstMatch, first_match, rate_each
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, check_newcomer

#: Rating points of one unit of the internal scale: 400/ln 10, as printed in [G2]_.
GLICKO2_SCALE = 173.7178

#: Default cap of the volatility. At 2 a single period makes a player as uncertain as a newcomer,
#: whose deviation is 350. In the real histories that we rate no volatility exceeds 0.061.
MAX_VOLATILITY = 2.0

#: The search for the volatility ends when ln sigma^2 changes by less (READINGS A6).
_LAST_STEP = 1e-12

#: Columns of the state; the first three are values before the period in progress. `PENDING` exists
#: only where the level is held and there are rating periods.
RATING, DEVIATION, VOLATILITY, MATCHES, LAST_TIME, PERIOD, INFORMATION, SURPRISE, PENDING = range(9)


class Settings(NamedTuple):
    """Parameters in the form that kernels use.

    period_days : inf if every match is a period
    pends : whether the state has the column `PENDING`
    """

    initial_rating: float
    max_phi: float
    tau: float
    period_days: float
    max_volatility: float
    pends: bool


class VolatilityTrace(NamedTuple):
    """Columns of a trace with volatilities; see `TraceArrays`."""

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats
    volatility_before: Floats
    volatility: Floats


@inner_kernel
def opponent_weight(phi: float) -> float:
    """Return g(phi), the weight of a game against an opponent of this deviation [TG2] (13)."""
    return 1.0 / math.sqrt(1.0 + 3.0 * phi * phi / (math.pi * math.pi))


@inner_kernel
def game(
    mu: float, mu_opponent: float, phi_opponent: float, score: float
) -> tuple[float, float, float]:
    """Return (expected score, information, surprise) of one game [TG2] (13)-(16)."""
    return game_of_weight(mu - mu_opponent, opponent_weight(phi_opponent), score)


@inner_kernel
def game_of_weight(difference: float, g: float, score: float) -> tuple[float, float, float]:
    """Return (expected score, information, surprise) of a game whose g is known [TG2] (14)-(16)."""
    advantage = g * difference
    # The smaller probability has its own exponential: 1 - E would be 0 from about 36 on.
    tail = exp(-abs(advantage))
    larger = 1.0 / (1.0 + tail)
    smaller = tail * larger
    expected, rest = (larger, smaller) if advantage >= 0.0 else (smaller, larger)
    return expected, g * g * larger * smaller, g * (score * rest - (1.0 - score) * expected)


@inner_kernel
def _volatility_equation(
    y: float, e: float, phi2: float, information: float, surprise2: float, stiffness: float
) -> tuple[float, float]:
    """Return (-f(x), -f'(x)) of [TG2] (19); -f is negative below its root and positive above.

    y, e : x - a and e^x
    stiffness : 1/tau^2
    """
    spread = 1.0 + information * (phi2 + e)
    shrunk = 1.0 / spread
    excess = surprise2 - information * spread
    half = 0.5 * e * shrunk * shrunk
    # d/dx of e * excess / (2 spread^2), with spread' = information * e.
    inner = information * e
    slope = half * (excess - information * inner - 2.0 * excess * inner * shrunk)
    return stiffness * y - half * excess, stiffness - slope


@inner_kernel
def new_volatility(
    sigma: float, phi2: float, information: float, surprise: float, tau: float
) -> tuple[float, float]:
    """Return (sigma', residual); a residual below 0 says converged [TG2] (17)-(20).

    Newton's method starts from x = a and uses y = x - a, so that e^x = sigma^2 e^y needs no
    logarithm. With q = 1 + I (phi^2 + e^x), which exceeds I e^x and is at least 2 sqrt(I e^x), the
    first part of (19) is between -1/2 and D^2/(8 I). So the root is between tau^2 times these.
    """
    sigma2, surprise2, stiffness = sigma * sigma, surprise * surprise, 1.0 / (tau * tau)
    low, high = -0.5 * tau * tau, EXP_HIGHEST
    if information > 0.0:
        high = min(high, 0.125 * tau * tau * surprise2 / information)
    y, e, value = 0.0, sigma2, 0.0
    for iteration in range(MAX_ITERATIONS):
        value, slope = _volatility_equation(y, e, phi2, information, surprise2, stiffness)
        before = y
        y, low, high = newton_step(y, value, slope, low, high, iteration)
        if abs(y - before) <= _LAST_STEP:
            return sigma * exp(0.5 * y), -1.0
        e = sigma2 * exp(y)
    return sigma * exp(0.5 * y), abs(value)


@inner_kernel
def updated(
    phi: float,
    sigma: float,
    information: float,
    surprise: float,
    tau: float,
    most: float = math.inf,
) -> tuple[float, float, float, float]:
    """Return (change of mu, phi', sigma', residual) after games [TG2] (17)-(23).

    most : cap of sigma', which [G2] does not have. The larger a volatility is, the faster it
        grows: constructed results, or a match of a large weight, would take it to infinity
    """
    new_sigma, residual = new_volatility(sigma, phi * phi, information, surprise, tau)
    new_sigma = min(new_sigma, most)
    starred = phi * phi + new_sigma * new_sigma
    variance = starred / (1.0 + information * starred)
    return variance * surprise, math.sqrt(variance), new_sigma, residual


@inner_kernel
def closed(player: Floats, periods: float, settings: Settings) -> tuple[float, float, float, float]:
    """Return (rating, deviation, volatility, residual) with the period in progress closed.

    periods : number of periods since the one in progress began; all but one had no games
    """
    rating, phi, sigma = player[RATING], player[DEVIATION] / GLICKO2_SCALE, player[VOLATILITY]
    residual = -1.0
    if player[INFORMATION] > 0.0:
        change, phi, sigma, residual = updated(
            phi,
            sigma,
            player[INFORMATION],
            player[SURPRISE],
            settings.tau,
            settings.max_volatility,
        )
        rating += GLICKO2_SCALE * change
        periods -= 1.0
    if settings.pends:
        rating += player[PENDING]
    if periods > 0.0:
        phi = math.sqrt(phi * phi + periods * sigma * sigma)  # [G2] step 6 without games
    phi = min(phi, max(settings.max_phi, player[DEVIATION] / GLICKO2_SCALE))
    return rating, GLICKO2_SCALE * phi, sigma, residual


@inner_kernel
def settle(player: Floats, period: float, settings: Settings) -> float:
    """Move a player to the beginning of a period; return a residual, below 0 if converged."""
    if player[PERIOD] == period:
        return -1.0
    elapsed = 0.0 if math.isnan(player[PERIOD]) else period - player[PERIOD]
    rating, deviation, sigma, residual = closed(player, elapsed, settings)
    player[RATING], player[DEVIATION], player[VOLATILITY] = rating, deviation, sigma
    player[INFORMATION], player[SURPRISE] = 0.0, 0.0
    if settings.pends:
        player[PENDING] = 0.0
    player[PERIOD] = period
    return residual


@inner_kernel
def _trace_before(trace: VolatilityTrace, i: int, player: Floats, settings: Settings) -> None:
    rating, deviation, sigma, _ = closed(player, 0.0, settings)
    trace.rating_before[i] = rating
    trace.deviation_before[i] = deviation
    trace.volatility_before[i] = sigma


@inner_kernel
def _trace_after(
    trace: VolatilityTrace, i: int, player: Floats, settings: Settings, expected: float
) -> None:
    rating, deviation, sigma, _ = closed(player, 0.0, settings)
    if len(trace.expected):
        trace.expected[i] = expected
    trace.rating[i] = rating
    trace.deviation[i] = deviation
    trace.volatility[i] = sigma


# Inlined, because a call that passes a job takes as long as rating the duel.
@inlined_kernel
def _rate_duel(job: Job[Settings, VolatilityTrace, None], m: int) -> float:
    """Rate a match of two; return a residual, below 0 if all converged."""
    matches, settings, trace = job.matches, job.settings, job.trace
    i, j = matches.offsets[m], matches.offsets[m] + 1
    first, second = job.table[matches.player[i]], job.table[matches.player[j]]
    day = matches.time[m]
    each_match = math.isinf(settings.period_days)
    worst = -1.0
    if not each_match:
        period = math.floor(day / settings.period_days)
        worst = max(settle(first, period, settings), settle(second, period, settings))
    score = 0.5
    if matches.rank[i] != matches.rank[j]:
        score = 1.0 if matches.rank[i] < matches.rank[j] else 0.0
    mu_first = (first[RATING] - settings.initial_rating) / GLICKO2_SCALE
    mu_second = (second[RATING] - settings.initial_rating) / GLICKO2_SCALE
    phi_first, phi_second = first[DEVIATION] / GLICKO2_SCALE, second[DEVIATION] / GLICKO2_SCALE
    if len(job.draws):
        # READINGS A15; within a rating period from the ratings before it, which the games use.
        g = opponent_weight(math.sqrt(phi_first * phi_first + phi_second * phi_second))
        count_match(job.draws, score == 0.5, g * (mu_first - mu_second), False)
    expected_1, information_1, surprise_1 = game(mu_first, mu_second, phi_second, score)
    expected_2, information_2, surprise_2 = game(mu_second, mu_first, phi_first, 1.0 - score)
    traced = len(trace.rating) > 0
    if traced:
        _trace_before(trace, i, first, settings)
        _trace_before(trace, j, second, settings)
    weight = matches.weight[m]
    first[INFORMATION] += weight * information_1
    first[SURPRISE] += weight * surprise_1
    second[INFORMATION] += weight * information_2
    second[SURPRISE] += weight * surprise_2
    if each_match:
        # Every match of the player is a period of its own, which ends here.
        left = max(
            settle(first, first[MATCHES] + 1.0, settings),
            settle(second, second[MATCHES] + 1.0, settings),
        )
        worst = max(worst, left)
    for player in (first, second):
        player[MATCHES] += 1.0
        player[LAST_TIME] = day
    if traced:
        _trace_after(trace, i, first, settings, expected_1)
        _trace_after(trace, j, second, settings, expected_2)
    return worst


@inner_kernel
def rate_matches(
    job: Job[Settings, VolatilityTrace, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last in order; return (match, residual) of a failure, or (-1, -1)."""
    for m in range(first, last):
        if job.matches.offsets[m + 1] - job.matches.offsets[m] != 2:
            continue
        residual = _rate_duel(job, m)
        if residual >= 0.0:
            return m, residual
    return -1, -1.0


@inner_kernel
def _evidence(job: Job[Settings, VolatilityTrace, None], m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer, as if the period had ended with it."""
    player = job.table[job.matches.player[i]]
    rating, deviation, sigma, _ = closed(player, 0.0, job.settings)
    return first_match(job.entry, player, rating, deviation, (GLICKO2_SCALE * sigma) ** 2)


@inner_kernel
def _move(job: Job[Settings, VolatilityTrace, None], i: int, delta: float) -> None:
    """Add delta to the rating of participation i, within a period when that closes."""
    player = job.table[job.matches.player[i]]
    player[PENDING if job.settings.pends else RATING] += delta
    if len(job.trace.rating):
        job.trace.rating[i] = _read(job, job.matches.player[i])


@inner_kernel
def _read(job: Job[Settings, VolatilityTrace, None], row: int) -> float:
    """Return a player's rating with the period in progress closed."""
    rating, _, _, _ = closed(job.table[row], 0.0, job.settings)
    return rating


@kernel
def rate_with_entry(
    job: Job[Settings, VolatilityTrace, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with their entry and level."""
    return rate_each(job, first, last, rate_matches, _evidence, _move, _read)


@inner_kernel
def _standing(job: Job[Settings, VolatilityTrace, None], m: int, i: int) -> tuple[float, float]:
    """Return (rating, deviation) of participation i as of match m, with ended periods closed."""
    player, settings, periods = job.table[job.matches.player[i]], job.settings, 0.0
    if not (math.isinf(settings.period_days) or math.isnan(player[PERIOD])):
        periods = max(math.floor(job.matches.time[m] / settings.period_days) - player[PERIOD], 0.0)
    rating, deviation, _, _ = closed(player, periods, settings)
    return rating, deviation


@kernel
def rate_with_home(
    job: Job[Settings, VolatilityTrace, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with head starts."""
    return rate_at_home(job, first, last, rate_matches, _standing)


@kernel
def rate_with_both(
    job: Job[Settings, VolatilityTrace, None], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last with head starts, entry and level."""
    return rate_each(job, first, last, rate_with_home, _evidence, _move, _read)


@kernel
def read_players(table: Floats, rows: Ints, periods: Floats, settings: Settings) -> Floats:
    """Return rating, deviation, volatility of players with periods closed, shape (3, rows)."""
    out = np.empty((3, len(rows)))
    for i in range(len(rows)):
        rating, deviation, sigma, _ = closed(table[rows[i]], periods[i], settings)
        out[0, i], out[1, i], out[2, i] = rating, deviation, sigma
    return out


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Glicko2(HomeSystem):
    """Glicko-2 [G2]_ for matches of two players.

    initial_rating, initial_deviation : of a new player, rating points
    initial_volatility : of a new player, internal scale
    tau : how quickly volatility may change, in (0, 2]
    period_days : length of a rating period; None makes every match a period of its own, and
        then nothing decays
    max_deviation : cap of the deviation of inactive players, rating points
    max_volatility : cap of the volatility, internal scale; a larger initial one is its own cap

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Glicko2(tau=0.3), league).ratings
    <Ratings: 6 players, the best ada with 1,812.9>
    """

    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    initial_volatility: float = 0.06
    tau: float = 0.5
    period_days: float | None = None
    max_deviation: float = 350.0
    max_volatility: float = MAX_VOLATILITY

    name: ClassVar[str] = "glicko2"
    traces: ClassVar[type[Any]] = VolatilityTrace
    sought: ClassVar[str] = "the volatility of "

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        for name in ("initial_deviation", "initial_volatility", "max_deviation", "max_volatility"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "positive", value)
        require(0 < self.tau <= 2, "tau", "in (0, 2]", self.tau)
        period = self.period_days
        require(period is None or 0 < period < math.inf, "period_days", "positive", period)

    @property
    def capabilities(self) -> Capabilities:
        """Two players; time if there are rating periods."""
        periods = self.period_days is not None
        able = Capabilities(
            max_team_size=1,
            max_teams=2,
            needs_time=periods,
            uses=frozenset({"weight", "time"} if periods else {"weight"}),
            needed={} if periods else {"time": "period_days"},
            idle=self.idle_entry,
        )
        return self.with_home(able)

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player, who is in no rating period yet."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "volatility": self.initial_volatility,
            "matches": 0.0,
            "last_time": math.nan,
            "period": math.nan,
            "information": 0.0,
            "surprise": 0.0,
            **({"pending": 0.0} if self._pends else {}),
        }

    @property
    def _pends(self) -> bool:
        """Whether what holds the level waits for the end of a rating period."""
        return self.holds_level and self.period_days is not None

    def kernel(self, job: Job[Settings, VolatilityTrace, None]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(
        self, job: Job[Settings, VolatilityTrace, None], workers: Workers
    ) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings with the period in progress closed and the later periods without games."""
        periods = np.zeros(len(rows))
        if time is not None and self.period_days is not None:
            begun = state.table[rows, PERIOD]
            elapsed = np.floor(time / self.period_days) - begun
            periods = np.maximum(np.nan_to_num(elapsed, nan=0.0), 0.0)
        rating, deviation, volatility = read_players(state.table, rows, periods, self.settings())
        rating = self.entered(state, rows, rating)
        read = {"rating": rating, "deviation": deviation, "volatility": volatility}
        return {**System.at(self, state, rows, time), **read}

    def begin_period(self, state: State, rows: Ints, day: float) -> None:
        """Move players to the beginning of the rating period of a day."""
        if self.period_days is not None:
            settings = self.settings()
            for row in rows.tolist():
                settle(state.table[row], float(math.floor(day / self.period_days)), settings)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of READINGS A15, two players being teams of one."""
        return team_mean_outlook(self.at_home(rating, history), deviation)

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            float(self.initial_rating),
            float(self.max_deviation) / GLICKO2_SCALE,
            float(self.tau),
            math.inf if self.period_days is None else float(self.period_days),
            max(float(self.max_volatility), float(self.initial_volatility)),
            self._pends,
        )
