"""Glicko for contests: in every match all pairs of players are games.

Source: [G1]_ steps 1 and 2; q = ln 10/400, g and E as there.
Departures: a tie is half a win; a match weight w counts every game w times. Without `period_days` a
rating period is a match, and drift is by days and matches: `drift_per_day` is c^2 for a period of a
day, and every match adds `drift`. With it all games of a period are compared with the ratings
before it, and c^2 is drift^2 + period_days drift_per_day.

The sums over opponents of g (s - E) and of g^2 E(1 - E) are one function of the player's rating and
its derivative, so the time is linear in the size of a contest. With rating periods the state keeps
both sums of the period in progress, as in `glicko2`, and reading closes it on a copy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, inlined_update, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Contribution, Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.numeric.sums import scores_against_field, weighted_scores
from equipoise.rating.base_system import DEVIATION, LAST_TIME, RATING
from equipoise.rating.loop import rate_teams, read_rows
from equipoise.rating.newcomers import FirstMatch, first_match
from equipoise.rating.rated_system import PeriodSystem, RatedSystem, rating_system
from equipoise.rating.single_match import (
    EARLIER,
    MEANINGS,
    PLAYERS_BY_RESULT,
    WIDENED,
    by_opponent,
    contribution,
    explanation,
    single_match,
    sum_by_result,
)
from equipoise.rating.state import State
from equipoise.rating.system import (
    Capabilities,
    Span,
    initial_deviation,
    initial_rating,
    param,
    positive,
)

#: q of [G1]_, 1/rating points.
Q = math.log(10.0) / 400.0

#: Columns of the state with rating periods, after those of `base_system`. Ratings and deviations
#: are then those before the period in progress. `PENDING` exists only where the level is held.
PERIOD, INFORMATION, SURPRISE, PENDING = range(4, 8)

#: What `equipoise systems` says of rating periods.
_PERIOD_NOTE = "length of a rating period in days; without it, every match is a period"


@inner_kernel
def in_periods(settings: Any) -> bool:
    """Return whether there are rating periods longer than a match."""
    return not math.isinf(settings.period_days)


@inner_kernel
def rested(player: Floats, time: float, settings: Any) -> float:
    """Return the deviation after the days since the last match."""
    variance = player[DEVIATION] * player[DEVIATION]
    if settings.drift_per_day > 0.0 and not (math.isnan(player[LAST_TIME]) or math.isnan(time)):
        variance += settings.drift_per_day * max(time - player[LAST_TIME], 0.0)
    # A larger deviation than the cap stays: time never makes a rating more certain.
    cap = max(settings.max_deviation, player[DEVIATION])
    return float(min(math.sqrt(variance), cap))


@inner_kernel
def widened(deviation: float, settings: Any) -> float:
    """Return the deviation plus the drift of a match (step 1)."""
    cap = max(settings.max_deviation, deviation)
    return float(min(math.sqrt(deviation * deviation + settings.drift * settings.drift), cap))


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


@inner_kernel
def closed(player: Floats, periods: float, settings: Any) -> tuple[float, float]:
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
def settle(player: Floats, period: float, settings: Any) -> None:
    """Move a player to the beginning of a period."""
    if player[PERIOD] == period:
        return
    elapsed = 0.0 if math.isnan(player[PERIOD]) else period - player[PERIOD]
    player[RATING], player[DEVIATION] = closed(player, elapsed, settings)
    player[INFORMATION], player[SURPRISE] = 0.0, 0.0
    if settings.pends:
        player[PENDING] = 0.0
    player[PERIOD] = period


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the rating periods before that of a match; no equation can fail."""
    if in_periods(job.settings):
        period = float(math.floor(job.matches.time[m] / job.settings.period_days))
        settle(job.table[job.matches.player[i]], period, job.settings)
    return -1.0


@inlined_update
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a match of single players; return z of two of them, and that nothing failed."""
    matches, settings, periods = job.matches, job.settings, in_periods(job.settings)
    start, stop, weight = matches.offsets[m], matches.offsets[m + 1], matches.weight[m]
    n, variance = stop - start, 0.0
    ratings, deviations, g = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        player = job.table[matches.player[start + i]]
        ratings[i], deviations[i] = player[RATING], player[DEVIATION]
        if not periods:
            deviations[i] = rested(player, matches.time[m], settings)
        variance += deviations[i] * deviations[i]
        if not periods:
            deviations[i] = widened(deviations[i], settings)
        g[i] = opponent_weight(deviations[i])
    expected, slopes = weighted_scores(ratings, Q * g, g)
    scores = _scored(matches.rank[start:stop], g)
    if len(job.trace.expected):
        chances = scores_against_field(ratings, Q * g)
        for i in range(n):
            job.trace.expected[start + i] = chances[i] / (n - 1.0)
    for i in range(n):
        player = job.table[matches.player[start + i]]
        # Q times the slope is 1/d^2.
        information, surprise = weight * Q * slopes[i], scores[i] - expected[i]
        if periods:
            player[INFORMATION] += information
            player[SURPRISE] += weight * surprise
        else:
            precision = 1.0 / (deviations[i] * deviations[i]) + information
            player[RATING] += weight * Q / precision * surprise
            player[DEVIATION] = math.sqrt(1.0 / precision)
    # As in `outlook`: E at g(sqrt(RD_A^2 + RD_B^2)), in a period from the ratings before it.
    return Q * opponent_weight(math.sqrt(variance)) * (ratings[0] - ratings[1]), -1.0


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, deviation) after the days until then, or with ended periods closed."""
    if not in_periods(settings):
        return player[RATING], rested(player, day, settings)
    periods = 0.0
    if not (math.isnan(day) or math.isnan(player[PERIOD])):
        periods = max(math.floor(day / settings.period_days) - player[PERIOD], 0.0)
    return closed(player, periods, settings)


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer, as if the period had ended with it."""
    player, first = job.table[job.matches.player[i]], job.entry.deviation
    rating, deviation = read(player, math.nan, job.settings)
    before = first if in_periods(job.settings) else widened(first, job.settings)
    return first_match(job.entry, player, rating, deviation, before * before - first * first)


@inner_kernel
def move(job: Any, row: int, delta: float) -> None:
    """Add delta to a rating, within a period when that closes."""
    job.table[row, PENDING if job.settings.pends else RATING] += delta


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_teams(job, first, last, rate_match, begin, read, evidence, move)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return rating and deviation of players as of a day, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class Glicko(PeriodSystem):
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

    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    drift: float = param(35.0, 0.0, 1e9)
    drift_per_day: float = param(0.0, 0.0, 1e9)
    max_deviation: float = positive(350.0)
    period_days: float | None = positive(None, later=True, note=_PERIOD_NOTE)

    name: ClassVar[str] = "glicko"
    tried: ClassVar[Mapping[str, Any]] = {
        "drift": Span(5, 80, 12, 1),
        "initial_deviation": Span(100, 500, 5, 10),
    }
    max_team_size: ClassVar[int] = 1
    needs_time: ClassVar[str] = "drift_per_day"
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "time": "drift_per_day"}
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "deviation": "initial_deviation",
        "matches": 0.0,
        "last_time": math.nan,
    }
    added: ClassVar[str] = "drift"
    settle = staticmethod(settle)
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def able(self, able: Capabilities) -> Capabilities:
        """Return capabilities with time, which rating periods need too."""
        if self.period_days is None:
            return able
        return replace(able, needs_time=True, uses=able.uses | {"time"}, needed={})

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player; with rating periods, one who is in none yet."""
        usual = RatedSystem.newcomer(self)
        if self.period_days is None:
            return usual
        pending = {"pending": 0.0} if self._pends else {}
        return {**usual, "period": math.nan, "information": 0.0, "surprise": 0.0, **pending}

    def derived(self) -> Mapping[str, Any]:
        """Return whether the state has the column `PENDING`."""
        return {"pends": self._pends}

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook in which A beats B with E at g(sqrt(RD_A^2 + RD_B^2)) [G1]_."""
        shared = 0.5 / Q**2
        scale = np.sqrt(shared + 3.0 * (deviation / math.pi) ** 2)
        centre = self.at_home(rating, history)
        return Outlook(centre=centre, scale=scale, curve="logistic", shared=shared)


def explain(system: Glicko, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating: the games of [G1]_ step 2.

    The change is a sum over games, so its parts add up exactly. Within a rating period a later
    match reduces the deviation after it, and so the weight of the earlier matches.
    """
    single = single_match(system, before, history, match, row)
    one, settled, i = single.history, single.before.copy(), single.row
    system.begin_period(settled, one.player, float(one.days()[0]))
    ratings, me, after = settled.table[:, RATING], settled.table[i], single.after.table[i]
    earlier: list[Contribution] = []
    if system.period_days is None:
        shown = single.trace["deviation_before"].tolist()
        widths = [widened(width, system.settings()) for width in shown]
        precision = 1.0 / float(after[DEVIATION]) ** 2
        information = precision - 1.0 / widths[i] ** 2
        meaning = WIDENED
    else:
        widths = settled.table[:, DEVIATION].tolist()
        precision = 1.0 / widths[i] ** 2 + float(after[INFORMATION])
        information = float(after[INFORMATION] - me[INFORMATION])
        meaning = ("points", "the deviation at the beginning of the rating period")
        earlier = _earlier(widths[i], precision, me)
    g = np.array([opponent_weight(width) for width in widths])
    expected = chance(Q * g * (ratings[i] - ratings), "logistic")
    unit = single.weight * Q / precision

    def numbers(j: int, score: float) -> tuple[float, float, float, float]:
        effect = unit * float(g[j]) * (score - float(expected[j]))
        return float(ratings[j]), widths[j], float(expected[j]), effect

    opponents = by_opponent(single, numbers)
    return explanation(
        single,
        contributions=[*sum_by_result(opponents, PLAYERS_BY_RESULT), *earlier],
        quantities={
            "widened deviation": widths[i],
            "d": math.sqrt(1.0 / information) if information > 0 else math.inf,
            "share of the surprise": Q / precision,
        },
        meanings={
            **MEANINGS,
            "widened deviation": meaning,
            "d": ("points", "deviation of a rating estimated from this match alone"),
        },
        opponents=opponents,
    )


def _earlier(deviation: float, precision: float, player: Floats) -> list[Contribution]:
    """Return what a later match changes of the earlier matches of a rating period.

    deviation, player : before the match, the deviation at the beginning of the period
    precision : after the match
    """
    if player[INFORMATION] <= 0.0:
        return []
    before = 1.0 / deviation**2 + float(player[INFORMATION])
    change = Q * (1.0 / precision - 1.0 / before) * float(player[SURPRISE])
    name, reason = EARLIER
    return [contribution(name, change, reason)]
