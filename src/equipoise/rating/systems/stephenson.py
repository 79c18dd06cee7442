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
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.rating.base_system import HomeSystem
from equipoise.rating.loop import rate_duels, read_rows
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.single_match import (
    EARLIER,
    MEANINGS,
    by_opponent,
    changes_of_duel,
    contribution,
    explanation,
    single_match,
    surprise_of,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, initial_deviation, initial_rating, param, positive
from equipoise.rating.systems.glicko import Q, opponent_weight

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
    "standard deviation, in rating points, that a game adds before it is rated, as drift does "
    "for a period"
)
_BONUS_NOTE = "bonus for every score, in hundredths of a game; above 0, ratings inflate"
_PULL_NOTE = (
    "percentage of the distance to the opponents' mean rating by which a period moves a rating "
    "towards them"
)

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    "widened deviation": ("points", "the deviation at the beginning of the rating period"),
    "k": MEANINGS["g"],
    "deviation of this match": ("points", "deviation of a rating estimated from this match alone"),
    "share of the surprise": ("points", "points for one unit of score - expected score"),
}


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
def cap_of(player: Floats, settings: Any) -> float:
    """Return the largest deviation; one that was larger from the start stays."""
    return float(max(settings.max_deviation, player[DEVIATION]))


@inner_kernel
def new_variance(player: Floats, settings: Any) -> float:
    """Return the variance after the games of the period in progress, of which there are some."""
    widened = player[DEVIATION] * player[DEVIATION] + settings.h * player[GAMES]
    cap = cap_of(player, settings)
    return float(min(1.0 / (1.0 / widened + player[INFORMATION]), cap * cap))


@inner_kernel
def closed(player: Floats, settings: Any) -> tuple[float, float]:
    """Return (rating, deviation) with the period in progress closed."""
    if player[GAMES] == 0.0:
        return player[RATING], player[DEVIATION]
    variance = new_variance(player, settings)
    pulled = settings.pull * (player[MET] / player[GAMES] - player[RATING])
    rating = player[RATING] + Q * variance * player[SURPRISE] + pulled
    return rating, math.sqrt(variance)


@inner_kernel
def widened(deviation: float, periods: float, cap: float, settings: Any) -> float:
    """Return a deviation some periods later (step 1)."""
    return min(math.sqrt(deviation * deviation + settings.c * periods), max(cap, deviation))


@inlined_kernel
def _close(player: Floats, settings: Any) -> None:
    """Close the period in progress, and begin new sums."""
    player[RATING], player[DEVIATION] = closed(player, settings)
    player[INFORMATION], player[SURPRISE], player[MET], player[GAMES] = 0.0, 0.0, 0.0, 0.0


@inlined_kernel
def settle(player: Floats, day: float, settings: Any) -> None:
    """Move a player to the beginning of the period of a match."""
    period, periods = player[MATCHES], 1.0
    if not math.isinf(settings.period_days):
        period = math.floor(day / settings.period_days)
        periods = period - player[PERIOD]
        if periods == 0.0:
            return
    _close(player, settings)
    if player[MATCHES] > 0.0:
        cap = settings.max_deviation
        player[DEVIATION] = widened(player[DEVIATION], periods, cap, settings)
    player[PERIOD] = period


@inner_kernel
def _note(player: Floats, met: float, weight: float, information: float, surprise: float) -> None:
    """Add a game to the sums of the period."""
    player[INFORMATION] += weight * information
    player[SURPRISE] += weight * surprise
    player[MET] += weight * met
    player[GAMES] += weight


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the rating periods before that of a match; return that nothing failed."""
    settle(job.table[job.matches.player[i]], job.matches.time[m], job.settings)
    return -1.0


@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Add a game to the periods of both players; return the expected scores, z and a residual."""
    settings, weight = job.settings, job.matches.weight[m]
    difference = one[RATING] - other[RATING] + lead
    both = math.sqrt(one[DEVIATION] * one[DEVIATION] + other[DEVIATION] * other[DEVIATION])
    z = Q * opponent_weight(both) * difference
    expected, information, surprise = game(difference, other[DEVIATION], score, settings.b)
    expected_2, information_2, surprise_2 = game(
        -difference, one[DEVIATION], 1.0 - score, settings.b
    )
    _note(one, other[RATING], weight, information, surprise)
    _note(other, one[RATING], weight, information_2, surprise_2)
    if math.isinf(settings.period_days):
        # Every match of the player is a period of its own, which ends here.
        _close(one, settings)
        _close(other, settings)
    return expected, expected_2, z, -1.0


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, deviation) with the periods until a day closed."""
    rating, deviation = closed(player, settings)
    if not (math.isinf(settings.period_days) or math.isnan(day) or math.isnan(player[PERIOD])):
        periods = math.floor(day / settings.period_days) - player[PERIOD]
        if periods > 0.0:
            deviation = widened(deviation, periods, settings.max_deviation, settings)
    return rating, deviation


@inner_kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, begin, read, None, None)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return rating and deviation of players as of a day, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class Stephenson(RatedSystem, HomeSystem):
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

    initial_rating: float = initial_rating(2200.0)
    initial_deviation: float = initial_deviation(300.0)
    drift: float = param(10.0, 0, 1e6)
    game_drift: float = param(10.0, 0, 1e6, note=_GAME_DRIFT_NOTE)
    bonus: float = param(0.0, 0, 1e6, note=_BONUS_NOTE)
    neighbourhood: float = param(2.0, 0, 100, rule="a percentage from 0 to 100", note=_PULL_NOTE)
    period_days: float | None = positive(None)
    max_deviation: float = positive(350.0)

    name: ClassVar[str] = "stephenson"
    tried: ClassVar[Mapping[str, Any]] = {
        "drift": Span(1, 80, 8, 1),
        "game_drift": Span(1, 80, 8, 1),
        "neighbourhood": Span(0, 8, 5, 1, log=False),
        "initial_deviation": Span(100, 500, 5, 10),
    }
    adds_head_starts: ClassVar[bool] = True

    max_team_size: ClassVar[int] = 1
    max_teams: ClassVar[int] = 2
    needs_time: ClassVar[str] = "period_days"
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "time": "period_days"}
    takes_entry: ClassVar[bool] = False
    columns: ClassVar[Mapping[str, float | str]] = {
        **RatedSystem.columns,
        "period": math.nan,
        "information": 0.0,
        "surprise": 0.0,
        "met": 0.0,
        "games": 0.0,
    }
    added: ClassVar[str] = "game_drift"
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def derived(self) -> Mapping[str, float]:
        """Return the numbers of the source, by its letters."""
        return {
            "c": float(self.drift) ** 2,
            "h": float(self.game_drift) ** 2,
            "b": self.bonus / 100.0,
            "pull": self.neighbourhood / 100.0,
        }

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


def explain(
    system: Stephenson, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a rating changed: the result, the bonus and the pull towards the opponents.

    Within a rating period a later game changes the variance after the period, and so the weight of
    the earlier games, and the mean rating of the opponents.
    """
    single = single_match(system, before, history, match, row)
    one, i, j, settings = single.history, single.row, 1 - single.row, system.settings()
    settled = single.before.copy()
    for player in settled.table:
        settle(player, float(one.days()[0]), settings)
    me, other = settled.table[i], settled.table[j]
    starts = system.at_home(np.zeros(2), one)
    difference = float(me[RATING] - other[RATING]) + float(starts[i] - starts[j])
    score, weight = float(single.scores()[j]), single.weight
    expected, information, surprise = game(difference, float(other[DEVIATION]), score, settings.b)
    after = me.copy()
    _note(after, float(other[RATING]), weight, information, surprise)
    variance, k = new_variance(after, settings), opponent_weight(float(other[DEVIATION]))
    unit = Q * variance * weight * k
    information *= weight
    parts = [contribution("this match", unit * (score - expected), surprise_of(score, expected))]
    if settings.b > 0.0:
        reason = f"every match counts {settings.b:g} more than its score"
        parts.append(contribution("the bonus", unit * settings.b, reason))
    earlier = float(me[GAMES])
    if earlier > 0.0:
        narrowed = Q * (variance - new_variance(me, settings)) * float(me[SURPRISE])
        name, reason = EARLIER
        parts.append(contribution(name, narrowed, reason))
    if settings.pull > 0.0:
        mean = float(after[MET] / after[GAMES])
        from_here = float(me[MET] / me[GAMES]) if earlier > 0.0 else float(me[RATING])
        reason = f"a period moves a rating {system.neighbourhood:g} % towards their mean"
        change = settings.pull * (mean - from_here)
        parts.append(contribution("the opponents' ratings", change, reason))
    effect = parts[0].change
    return explanation(
        single,
        contributions=parts,
        quantities={
            "widened deviation": float(me[DEVIATION]),
            "k": k,
            "deviation of this match": math.sqrt(1.0 / information)
            if information > 0
            else math.inf,
            "share of the surprise": unit,
        },
        meanings=_MEANINGS,
        opponents=by_opponent(
            single,
            lambda j, score: (float(other[RATING]), float(other[DEVIATION]), expected, effect),
        ),
        bounds=changes_of_duel(single),
    )
