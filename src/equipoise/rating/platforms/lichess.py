"""Glicko-2 as Lichess rates: every game at once, and deviations that grow by the hour.

Source: [LI]_, the Glicko-2 of scalachess, and the numbers with which Lichess calls it. It differs
from [G2]_ in four ways:

- A game does not add the volatility to the deviation: step 6 is taken with 0 periods.
- Between games a deviation grows by fractions of a rating period, as step 6 says.
- Rating, deviation and volatility have limits, and so has the change of a rating.
- White has a head start, `home_advantage` in rating points: 0 by default, as in the source.

Departures: volatility is solved to 1e-12 (READINGS A6), there to 1e-6 in ln sigma^2; a match weight
w counts a game w times. Lichess resets a player whose rating leaves 0 to 4000, and enlarges gains
by up to 2 % by the kind of game; here nothing does so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook, team_mean_outlook
from equipoise.errors import require
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import Home, rate_at_home
from equipoise.rating.advantage.home_system import HomeSystem, no_home_side
from equipoise.rating.base_system import Job, Rate
from equipoise.rating.classical.glicko2 import (
    GLICKO2_SCALE,
    game,
    new_volatility,
    opponent_weight,
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

#: Columns of the state.
RATING, DEVIATION, VOLATILITY, MATCHES, LAST_TIME = range(5)

#: From this deviation on Lichess shows a rating as provisional [LI]_.
PROVISIONAL_DEVIATION = 110.0


#: What `equipoise systems` says of how deviations grow between games.
_PERIODS_NOTE = (
    "how many rating periods pass in a day, also in part; each adds the square of the volatility"
)


class Settings(NamedTuple):
    """Parameters in the form that kernels use; min_phi and max_phi limit deviations."""

    tau: float
    periods_per_day: float
    min_rating: float
    min_phi: float
    max_phi: float
    max_volatility: float
    max_change: float


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
def present(player: Floats, time: float, settings: Settings) -> tuple[float, float, float]:
    """Return (rating, phi, volatility) with which a player begins a match at a time.

    time : in days; NaN as of the last match
    """
    phi, sigma = player[DEVIATION] / GLICKO2_SCALE, player[VOLATILITY]
    if not (math.isnan(player[LAST_TIME]) or math.isnan(time)):
        periods = settings.periods_per_day * max(time - player[LAST_TIME], 0.0)
        phi = math.sqrt(phi * phi + periods * sigma * sigma)
    phi = min(max(phi, settings.min_phi), settings.max_phi)
    return max(player[RATING], settings.min_rating), phi, min(sigma, settings.max_volatility)


@inner_kernel
def after_game(
    before: tuple[float, float, float], information: float, surprise: float, settings: Settings
) -> tuple[float, float, float, float]:
    """Return (rating, deviation, volatility, residual) after a game [G2] steps 5 and 7.

    before : what `present` returned
    """
    rating, phi, sigma = before
    new_sigma, residual = new_volatility(sigma, phi * phi, information, surprise, settings.tau)
    variance = phi * phi / (1.0 + information * phi * phi)
    change = GLICKO2_SCALE * variance * surprise
    change = min(max(change, -settings.max_change), settings.max_change)
    phi = min(max(math.sqrt(variance), settings.min_phi), settings.max_phi)
    return (
        max(rating + change, settings.min_rating),
        GLICKO2_SCALE * phi,
        min(new_sigma, settings.max_volatility),
        residual,
    )


# Inlined, because a call that passes a job takes as long as rating the duel.
@inlined_kernel
def _rate_duel(job: Job[Settings, VolatilityTrace, Floats], m: int) -> float:
    """Rate a match of two; return a residual, below 0 if all converged."""
    matches, settings, trace = job.matches, job.settings, job.trace
    i, j = matches.offsets[m], matches.offsets[m] + 1
    first, second = job.table[matches.player[i]], job.table[matches.player[j]]
    day, weight = matches.time[m], matches.weight[m]
    one, two = present(first, day, settings), present(second, day, settings)
    difference = one[0] - two[0]
    if len(job.own):
        difference += job.own[i] - job.own[j]
    difference /= GLICKO2_SCALE
    score = 0.5
    if matches.rank[i] != matches.rank[j]:
        score = 1.0 if matches.rank[i] < matches.rank[j] else 0.0
    if len(job.draws):
        # READINGS A15
        g = opponent_weight(math.sqrt(one[1] * one[1] + two[1] * two[1]))
        count_match(job.draws, score == 0.5, g * difference, False)
    expected_1, information_1, surprise_1 = game(difference, 0.0, two[1], score)
    expected_2, information_2, surprise_2 = game(-difference, 0.0, one[1], 1.0 - score)
    done_1 = after_game(one, weight * information_1, weight * surprise_1, settings)
    done_2 = after_game(two, weight * information_2, weight * surprise_2, settings)
    for player, done in ((first, done_1), (second, done_2)):
        player[RATING], player[DEVIATION], player[VOLATILITY] = done[0], done[1], done[2]
        player[MATCHES] += 1.0
        player[LAST_TIME] = day
    if len(trace.expected):
        trace.expected[i], trace.expected[j] = expected_1, expected_2
    if len(trace.rating):
        for k, before, done in ((i, one, done_1), (j, two, done_2)):
            trace.rating_before[k], trace.volatility_before[k] = before[0], before[2]
            trace.deviation_before[k] = GLICKO2_SCALE * before[1]
            trace.rating[k], trace.deviation[k], trace.volatility[k] = done[0], done[1], done[2]
    return max(done_1[3], done_2[3])


@inner_kernel
def rate_matches(
    job: Job[Settings, VolatilityTrace, Floats], first: int, last: int
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
def _evidence(job: Job[Settings, VolatilityTrace, Floats], m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer."""
    player = job.table[job.matches.player[i]]
    return first_match(job.entry, player, player[RATING], player[DEVIATION], 0.0)


@kernel
def rate_with_entry(
    job: Job[Settings, VolatilityTrace, Floats], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with their entry and level."""
    return rate_each(job, first, last, rate_matches, _evidence, move_rating, read_rating)


@inner_kernel
def _standing(job: Job[Settings, VolatilityTrace, Floats], m: int, i: int) -> tuple[float, float]:
    """Return (rating, deviation) of participation i as of match m."""
    player = job.table[job.matches.player[i]]
    rating, phi, _ = present(player, job.matches.time[m], job.settings)
    return rating, GLICKO2_SCALE * phi


@kernel
def rate_with_home(
    job: Job[Settings, VolatilityTrace, Floats], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, and learn the head starts."""
    return rate_at_home(job, first, last, rate_matches, _standing)


@kernel
def rate_with_both(
    job: Job[Settings, VolatilityTrace, Floats], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last with learned head starts, entry and level."""
    return rate_each(job, first, last, rate_with_home, _evidence, move_rating, read_rating)


@kernel
def read_deviations(table: Floats, rows: Ints, time: float, settings: Settings) -> Floats:
    """Return the deviations of players as of a day (NaN: as of their last match)."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        _, phi, _ = present(table[rows[i]], time, settings)
        out[i] = GLICKO2_SCALE * phi
    return out


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lichess(HomeSystem):
    """Glicko-2 as Lichess uses it [LI]_, for matches of two players.

    initial_rating, initial_deviation : of a new player, rating points
    initial_volatility : of a new player, internal scale
    tau : how quickly volatility may change, in (0, 2]
    periods_per_day : rating periods that pass in a day without games, by which deviations grow
    min_rating : floor of the rating
    min_deviation, max_deviation : limits of the deviation, rating points
    max_volatility : cap of the volatility, internal scale
    max_change : largest change of a rating in a match, rating points

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Lichess(), league).ratings
    <Ratings: 6 players, the best ada with 1,771.8>
    """

    initial_rating: float = 1500.0
    initial_deviation: float = 500.0
    initial_volatility: float = 0.09
    tau: float = 0.75
    periods_per_day: float = field(default=0.21436, metadata={"note": _PERIODS_NOTE})
    min_rating: float = 400.0
    min_deviation: float = 45.0
    max_deviation: float = 500.0
    max_volatility: float = 0.1
    max_change: float = 700.0

    name: ClassVar[str] = "lichess"
    traces: ClassVar[type[Any]] = VolatilityTrace
    sought: ClassVar[str] = "the volatility of "
    #: The floor is that of the rating without the head start, so the kernel has to know both.
    adds_head_starts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        for name in ("initial_volatility", "max_volatility", "max_change"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "positive", value)
        require(0 < self.tau <= 2, "tau", "in (0, 2]", self.tau)
        periods = self.periods_per_day
        require(0 <= periods <= 1e9, "periods_per_day", "from 0 to 1e9", periods)
        require(-1e9 <= self.min_rating <= 1e9, "min_rating", "from -1e9 to 1e9", self.min_rating)
        low, high = self.min_deviation, self.max_deviation
        require(1e-6 <= low <= 1e9, "min_deviation", "from 1e-6 to 1e9", low)
        require(low <= high <= 1e9, "max_deviation", "from min_deviation to 1e9", high)

    @property
    def capabilities(self) -> Capabilities:
        """Two players; without times deviations do not grow."""
        passes = self.periods_per_day > 0
        able = Capabilities(
            max_team_size=1,
            max_teams=2,
            uses=frozenset({"weight", "time"} if passes else {"weight"}),
            needed={} if passes else {"time": "periods_per_day"},
            idle=self.idle_entry,
        )
        return self.with_home(able)

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "volatility": self.initial_volatility,
            "matches": 0.0,
            "last_time": math.nan,
        }

    def own(self, state: State, history: History, start: int, stop: int) -> Floats:
        """Return the head starts. Raises : InvalidDataError without a column for the home side."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        if self.learn_home_advantage:
            return np.zeros(high - low)  # filled match by match
        if self.home_advantage == 0.0:
            return np.empty(0)
        return np.where(self.flags(history, low, high), self.home_advantage, 0.0)

    def home_of(
        self, state: State, history: History, start: int, stop: int, own: Any
    ) -> Home | None:
        """Return the advantage where it is learned; a fixed one is in `own` already."""
        if not self.learn_home_advantage:
            return None
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        at_home = self.flags(history, low, high).astype(np.float64)
        return self.home_job(state, at_home, own, moves=False)

    def rewrite_own(
        self,
        own: Floats,
        performance: Sequence[float],
        share: Sequence[float],
        at_home: Sequence[bool],
    ) -> None:
        """Write the head starts. Raises : InvalidDataError without `at_home`."""
        if self.home_advantage != 0.0 and not self.learn_home_advantage:
            if not at_home:
                raise no_home_side()
            own[:] = [self.home_advantage if home else 0.0 for home in at_home]

    def kernel(self, job: Job[Settings, VolatilityTrace, Floats]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(
        self, job: Job[Settings, VolatilityTrace, Floats], workers: Workers
    ) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings with the volatility."""
        read = HomeSystem.at(self, state, rows, time)
        return {**read, "volatility": state.column("volatility")[rows]}

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return deviations, increased by the time until then."""
        return read_deviations(state.table, rows, day, self.settings())

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of READINGS A15, two players being teams of one."""
        return team_mean_outlook(self.at_home(rating, history), deviation)

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            float(self.tau),
            float(self.periods_per_day),
            float(self.min_rating),
            float(self.min_deviation) / GLICKO2_SCALE,
            float(self.max_deviation) / GLICKO2_SCALE,
            float(self.max_volatility),
            float(self.max_change),
        )
