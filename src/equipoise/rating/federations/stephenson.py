"""Stephenson's rating system: Glicko with a bonus for every game and a pull towards the opponents.

Source: [Steph]_, the appendix of the paper that comes with the R package PlayerRatings. With r and
v the rating and variance at the beginning of a rating period, m games, r_j, v_j the opponents' and
q = ln 10/400:

    v  <-  v + c t    (step 1, t periods since the last game)
    v' = 1/(1/(v + h m) + d),  d = q^2 sum k_j^2 e_j (1 - e_j)
    r' = r + q v' sum k_j (s_j - e_j + b) + lambda (mean of r_j - r)

k_j and e_j are Glicko's g and E, with the advantage of white or of the home side in e_j. The
parameters are those of the R function `steph`: `drift` is cval = sqrt(c), `game_drift` is
hval = sqrt(h), `bonus` is bval = 100 b, `neighbourhood` is its lambda = 100 lambda, and
`home_advantage` is gamma.
Departures: a match weight w counts a game w times; t of a newcomer is 0; v' is capped at
`max_deviation` too, which only extreme weights reach.

As in `glicko2`, a player's row keeps the ratings before the period in progress and sums over its
games. Reading ratings closes the period on a copy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import Home, rate_at_home
from equipoise.rating.advantage.home_system import HomeSystem, no_home_side
from equipoise.rating.base_system import Job, Rate, System, TraceArrays
from equipoise.rating.classical.glicko import Q, opponent_weight
from equipoise.rating.draws import count_match
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, check_newcomer

#: Columns of the state; the first two are values at the beginning of the period in progress, the
#: last four sums over its games.
(
    RATING,
    DEVIATION,
    MATCHES,
    LAST_TIME,
    PERIOD,
    INFORMATION,
    SURPRISE,
    MET,
    GAMES,
) = range(9)


#: What `equipoise systems` says of parameters that no other system has.
_GAME_DRIFT_NOTE = (
    "the standard deviation that a game adds before it is rated, rating points, as drift does for "
    "a period"
)
_BONUS_NOTE = "what is added to every score, in hundredths of a game; above 0, ratings inflate"
_PULL_NOTE = (
    "by how many percent of the distance to the opponents' mean rating a period moves a rating "
    "towards them"
)


class Settings(NamedTuple):
    """Parameters in the form that kernels use, with the letters of the source.

    period_days : inf if every match is a period
    """

    c: float
    h: float
    b: float
    pull: float
    max_deviation: float
    period_days: float


StephensonJob = Job[Settings, TraceArrays, Floats]


@inner_kernel
def game(
    difference: float, deviation: float, score: float, bonus: float
) -> tuple[float, float, float]:
    """Return (e, q^2 k^2 e (1 - e), k (s - e + b)) of a game.

    difference : the player's rating minus the opponent's, with the advantage
    deviation : of the opponent
    """
    k = opponent_weight(deviation)
    z = Q * k * difference
    tail = math.exp(-abs(z))
    larger = 1.0 / (1.0 + tail)
    smaller = tail * larger
    expected = larger if z >= 0.0 else smaller
    return expected, Q * Q * k * k * larger * smaller, k * (score - expected + bonus)


@inner_kernel
def cap_of(player: Floats, settings: Settings) -> float:
    """Return the largest deviation; one that was larger from the start stays."""
    return float(max(settings.max_deviation, player[DEVIATION]))


@inner_kernel
def new_variance(player: Floats, settings: Settings) -> float:
    """Return the variance after the games of the period in progress, of which there are some."""
    widened = player[DEVIATION] * player[DEVIATION] + settings.h * player[GAMES]
    cap = cap_of(player, settings)
    return float(min(1.0 / (1.0 / widened + player[INFORMATION]), cap * cap))


@inner_kernel
def closed(player: Floats, settings: Settings) -> tuple[float, float]:
    """Return (rating, deviation) with the period in progress closed."""
    if player[GAMES] == 0.0:
        return player[RATING], player[DEVIATION]
    variance = new_variance(player, settings)
    pulled = settings.pull * (player[MET] / player[GAMES] - player[RATING])
    rating = player[RATING] + Q * variance * player[SURPRISE] + pulled
    return rating, math.sqrt(variance)


@inner_kernel
def widened(deviation: float, periods: float, cap: float, settings: Settings) -> float:
    """Return a deviation some periods later (step 1)."""
    return min(math.sqrt(deviation * deviation + settings.c * periods), max(cap, deviation))


@inner_kernel
def settle(player: Floats, day: float, settings: Settings) -> None:
    """Move a player to the beginning of the period of a match."""
    periods = 1.0
    period = player[MATCHES]
    if not math.isinf(settings.period_days):
        period = math.floor(day / settings.period_days)
        periods = period - player[PERIOD]
        if periods == 0.0:
            return
    rating, deviation = closed(player, settings)
    if player[MATCHES] > 0.0:
        deviation = widened(deviation, periods, settings.max_deviation, settings)
    player[RATING], player[DEVIATION], player[PERIOD] = rating, deviation, period
    player[INFORMATION], player[SURPRISE], player[MET], player[GAMES] = 0.0, 0.0, 0.0, 0.0


@inner_kernel
def _note(player: Floats, met: float, weight: float, information: float, surprise: float) -> None:
    """Add a game to the sums of the period."""
    player[INFORMATION] += weight * information
    player[SURPRISE] += weight * surprise
    player[MET] += weight * met
    player[GAMES] += weight


@inner_kernel
def rate_matches(job: StephensonJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last of two players in order; return (-1, -1), because none can fail."""
    matches, settings, trace, head_start = job.matches, job.settings, job.trace, job.own
    traced = len(trace.rating) > 0
    for m in range(first, last):
        i, j = matches.offsets[m], matches.offsets[m] + 1
        if matches.offsets[m + 1] - i != 2:
            continue
        one, other = job.table[matches.player[i]], job.table[matches.player[j]]
        day, weight = matches.time[m], matches.weight[m]
        settle(one, day, settings)
        settle(other, day, settings)
        score = 0.5
        if matches.rank[i] != matches.rank[j]:
            score = 1.0 if matches.rank[i] < matches.rank[j] else 0.0
        difference = one[RATING] - other[RATING]
        if len(head_start):
            difference += head_start[i] - head_start[j]
        if len(job.draws):
            both = math.sqrt(one[DEVIATION] * one[DEVIATION] + other[DEVIATION] * other[DEVIATION])
            count_match(job.draws, score == 0.5, Q * opponent_weight(both) * difference, False)
        if traced:
            trace.rating_before[i], trace.deviation_before[i] = closed(one, settings)
            trace.rating_before[j], trace.deviation_before[j] = closed(other, settings)
        bonus = settings.b
        expected, information, surprise = game(difference, other[DEVIATION], score, bonus)
        expected_2, information_2, surprise_2 = game(
            -difference, one[DEVIATION], 1.0 - score, bonus
        )
        _note(one, other[RATING], weight, information, surprise)
        _note(other, one[RATING], weight, information_2, surprise_2)
        if math.isinf(settings.period_days):
            # Every match of the player is a period of its own, which ends here.
            for player in (one, other):
                player[RATING], player[DEVIATION] = closed(player, settings)
                player[INFORMATION], player[SURPRISE] = 0.0, 0.0
                player[MET], player[GAMES] = 0.0, 0.0
        for player in (one, other):
            player[MATCHES] += 1.0
            player[LAST_TIME] = day
        if traced:
            trace.rating[i], trace.deviation[i] = closed(one, settings)
            trace.rating[j], trace.deviation[j] = closed(other, settings)
            if len(trace.expected):
                trace.expected[i], trace.expected[j] = expected, expected_2
    return -1, -1.0


@inner_kernel
def _standing(job: StephensonJob, m: int, i: int) -> tuple[float, float]:
    """Return (rating, deviation) of participation i as of match m, with ended periods closed."""
    player, settings, periods = job.table[job.matches.player[i]], job.settings, 0.0
    if not (math.isinf(settings.period_days) or math.isnan(player[PERIOD])):
        periods = max(math.floor(job.matches.time[m] / settings.period_days) - player[PERIOD], 0.0)
    rating, deviation = closed(player, settings)
    return rating, widened(deviation, periods, settings.max_deviation, settings)


@kernel
def rate_with_home(job: StephensonJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, and learn the head starts."""
    return rate_at_home(job, first, last, rate_matches, _standing)


@kernel
def read_players(table: Floats, rows: Ints, periods: Floats, settings: Settings) -> Floats:
    """Return rating and deviation of players some periods later, shape (2, rows)."""
    out = np.empty((2, len(rows)))
    for i in range(len(rows)):
        player = table[rows[i]]
        rating, deviation = closed(player, settings)
        if periods[i] > 0.0:
            deviation = widened(deviation, periods[i], settings.max_deviation, settings)
        out[0, i], out[1, i] = rating, deviation
    return out


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stephenson(HomeSystem):
    """Stephenson's system [Steph]_ for matches of two players.

    initial_rating, initial_deviation : of a new player, rating points
    drift : standard deviation that a rating period adds; cval of PlayerRatings, rating points
    game_drift : standard deviation that a game adds before it is rated; hval, rating points
    bonus : added to every score, in hundredths of a game; bval. More than 0 inflates ratings
    neighbourhood : percentage of the distance to the mean of the opponents by which a period moves
        a rating towards them; lambda
    period_days : length of a rating period; None makes every match of a player a period
    max_deviation : largest deviation that deviations grow to, rating points

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Stephenson(), league).ratings
    <Ratings: 6 players, the best ada with 2,381.9>
    """

    initial_rating: float = 2200.0
    initial_deviation: float = 300.0
    drift: float = 10.0
    game_drift: float = field(default=10.0, metadata={"note": _GAME_DRIFT_NOTE})
    bonus: float = field(default=0.0, metadata={"note": _BONUS_NOTE})
    neighbourhood: float = field(default=2.0, metadata={"note": _PULL_NOTE})
    period_days: float | None = None
    max_deviation: float = 350.0

    name: ClassVar[str] = "stephenson"
    adds_head_starts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every parameter."""
        System.__post_init__(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        for name in ("drift", "game_drift", "bonus"):
            require(0 <= getattr(self, name) <= 1e6, name, "from 0 to 1e6", getattr(self, name))
        pull = self.neighbourhood
        require(0 <= pull <= 100, "neighbourhood", "a percentage from 0 to 100", pull)
        period = self.period_days
        require(period is None or 0 < period < math.inf, "period_days", "positive", period)
        limit = self.max_deviation
        require(0 < limit < math.inf, "max_deviation", "positive", limit)

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
        )
        return self.with_home(able)

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player, who is in no rating period yet."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "matches": 0.0,
            "last_time": math.nan,
            "period": math.nan,
            "information": 0.0,
            "surprise": 0.0,
            "met": 0.0,
            "games": 0.0,
        }

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            c=float(self.drift) ** 2,
            h=float(self.game_drift) ** 2,
            b=self.bonus / 100.0,
            pull=self.neighbourhood / 100.0,
            max_deviation=float(self.max_deviation),
            period_days=math.inf if self.period_days is None else float(self.period_days),
        )

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

    def kernel(self, job: StephensonJob) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        # There is no learned entry.
        kernels = rate_matches, rate_matches, rate_with_home, rate_with_home
        return self.choose_kernel(job, *kernels)

    def update(self, job: StephensonJob, workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings with the period in progress closed and the later periods without games."""
        periods = np.zeros(len(rows))
        if time is not None and self.period_days is not None:
            begun = state.table[rows, PERIOD]
            elapsed = np.floor(time / self.period_days) - begun
            periods = np.maximum(np.nan_to_num(elapsed, nan=0.0), 0.0)
        rating, deviation = read_players(state.table, rows, periods, self.settings())
        return {**System.at(self, state, rows, time), "rating": rating, "deviation": deviation}

    def begin_period(self, state: State, rows: Ints, day: float) -> None:
        """Move players to the beginning of the rating period of a day."""
        if self.period_days is not None:
            settings = self.settings()
            for row in rows.tolist():
                settle(state.table[row], day, settings)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the prediction of [Steph]_, at k of both deviations, with the advantage."""
        shared = 0.5 / Q**2
        scale = np.sqrt(shared + 3.0 * (deviation / math.pi) ** 2)
        return Outlook(
            centre=self.at_home(rating, history), scale=scale, curve="logistic", shared=shared
        )
