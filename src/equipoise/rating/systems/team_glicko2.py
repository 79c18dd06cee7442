"""Team Glicko-2: Glicko-2 for two teams, scaled by each player's performance within the team.

Source: [TG2]_ sections 2-10 and 12; numbers in brackets are its equations. A match is rated in
this order: the players are brought to its time [42]-[44], performances are compared within each
team [5]-[10], every player is updated against the other team [11]-[25], and ratings and form are
written [26]-[35]. The effective rating of section 11 is in `equipoise.data.ratings`.
Departures: volatility is solved to 1e-12 (READINGS A6) and capped at `max_volatility`, as in
`glicko2`; a match weight w counts the match w times; a player's share of the match scales the
change; z is 0 in a team of equal performances and for a player without a performance (A2, A4); the
activity window is 28 days (A8); roles (A14) and `conserve` (A11) are additions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel, prefetch
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.explanation import Contribution, Explanation, Opponent
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.outlook import GLICKO2_SCALE, Outlook, team_mean_outlook
from equipoise.data.ratings import EffectiveRating
from equipoise.errors import InvalidDataError, Problem
from equipoise.rating.base_system import HomeSystem
from equipoise.rating.loop import move_rating, rate_teams, read_rows
from equipoise.rating.newcomers import FirstMatch, first_match
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.single_match import (
    SingleMatch,
    contribution,
    explanation,
    opposing_teams,
    rate_isolated,
    single_match,
    surprise_of,
)
from equipoise.rating.state import State
from equipoise.rating.system import (
    RatingColumns,
    Span,
    TraceColumns,
    initial_deviation,
    initial_rating,
    param,
    positive,
)
from equipoise.rating.systems.glicko2 import (
    MAX_VOLATILITY,
    game,
    game_of_weight,
    opponent_weight,
    updated,
)

#: Columns of the state; from RECENT on the times of the last matches, newest first.
RATING, DEVIATION, VOLATILITY, FORM, FORM_MATCHES, MATCHES, LAST_TIME, RECENT = range(8)

#: Columns of the statistics of a role: number and mean of the performances, and the sum of the
#: squared differences from the mean.
COUNT, MEAN, SQUARES = range(3)

#: Columns of what a match computes of its players: z [8], factor [25] and change of mu [24], and
#: the performance, relative to the role where roles count.
Z, FACTOR, CHANGE, RELATIVE = range(4)

#: Columns that the update adds to a trace begin with Z and FACTOR.
UNSCALED = 2

#: Performances relative to a role are rounded to a multiple of 1/_GRID.
_GRID = 2.0**40

#: Unit and meaning of the numbers of an explanation, in the order of the document.
_MEANINGS = {
    "performance": ("", "the weighted statistics (5)"),
    "performance for the role": ("", "in standard deviations from the mean of the role so far"),
    "mean of the team": ("", "of the players with a performance (6)"),
    "deviation in the team": ("", "standard deviation of its performances (7)"),
    "z": ("", "performance relative to the team, in standard deviations (8)"),
    "g": ("", "weight of the match: 1 against a team whose ratings are certain (13)"),
    "v": ("points^2", "variance of a rating estimated from this match alone (15)"),
    "factor": ("", "multiplies the change by the result (25)"),
    "form": ("", "moving mean of z after the match; it does not change the rating (34)"),
}


def _at_least_0(default: float) -> Any:
    """Return a parameter from 0 to below infinity."""
    return param(default, 0.0, below=True, rule="at least 0")


class Own(NamedTuple):
    """The roles of participations, and memory for the players of one match.

    role : shape (N,), rows of `roles`, or shape (0,) where roles do not count
    roles : shape (roles, 3), statistics of the performances so far
    work : shape (N, 4), of which a match of n players uses the first n rows
    """

    role: Ints
    roles: Floats
    work: Floats


@inner_kernel
def _microseconds(later: float, earlier: float) -> float:
    """Return the time between two days in whole microseconds, so that a week is a full week."""
    whole: float = np.rint((later - earlier) * MICROSECONDS_PER_DAY)
    return whole


@inner_kernel
def idle_deviation(player: Floats, day: float, settings: Any) -> float:
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
    grown = math.sqrt(deviation * deviation + periods * each * each)
    return float(min(grown, settings.max_deviation))


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
def learn_role(role: Floats, performance: float) -> None:
    """Add a performance to the statistics of its role, by Welford's recurrence."""
    if math.isnan(performance):
        return
    role[COUNT] += 1.0
    away = performance - role[MEAN]
    role[MEAN] += away / role[COUNT]
    role[SQUARES] += away * (performance - role[MEAN])


@inner_kernel
def standardise(team: Ints, side: int, work: Floats) -> None:
    """Write z of the players of a team [6]-[8]; 0 if all are equal, or without a performance.

    team : shape (n,); work : of `Own`
    """
    known, mean, lowest, highest = 0.0, 0.0, math.inf, -math.inf
    for k in range(len(team)):
        value = work[k, RELATIVE]
        if team[k] == side and not math.isnan(value):
            known += 1.0
            mean += value
            lowest, highest = min(lowest, value), max(highest, value)
    mean /= max(known, 1.0)
    spread = 0.0
    for k in range(len(team)):
        value = work[k, RELATIVE]
        if team[k] == side and not math.isnan(value):
            spread += (value - mean) * (value - mean)
    spread = math.sqrt(spread / max(known, 1.0))
    # The extremes say whether performances differ: by rounding, equal ones may have a spread
    # above 0, and different ones a spread of 0.
    differ = lowest < highest and spread > 0.0
    for k in range(len(team)):
        value = work[k, RELATIVE]
        if team[k] == side:
            work[k, Z] = (value - mean) / spread if differ and not math.isnan(value) else 0.0


@inner_kernel
def conserve(team: Ints, side: int, gains: bool, work: Floats) -> None:
    """Rescale the factors of a team's gains, or of its losses, so that these keep their sum.

    Then factors move no rating into or out of the team: sum(f change) = sum(change) (READINGS A11).
    Factors that are all 0 cannot be rescaled and become 1.

    team : shape (n,); work : of `Own`
    """
    plain, scaled = 0.0, 0.0
    for k in range(len(team)):
        if team[k] == side and (work[k, CHANGE] >= 0.0) == gains:
            plain += work[k, CHANGE]
            scaled += work[k, FACTOR] * work[k, CHANGE]
    for k in range(len(team)):
        if team[k] == side and (work[k, CHANGE] >= 0.0) == gains:
            work[k, FACTOR] = work[k, FACTOR] * (plain / scaled) if scaled != 0.0 else 1.0


@inner_kernel
def _as_opponent(job: Any, start: int, stop: int, side: int) -> tuple[float, float, float, int]:
    """Return a team as one opponent [11]-[13]: (mu, g, phi^2, rank)."""
    members, mu, squares, rank = 0.0, 0.0, 0.0, 0
    for i in range(start, stop):
        if job.matches.team[i] == side:
            player = job.table[job.matches.player[i]]
            phi = player[DEVIATION] / GLICKO2_SCALE
            members += 1.0
            mu += (player[RATING] - job.settings.initial_rating) / GLICKO2_SCALE
            squares += phi * phi
            rank = job.matches.rank[i]
    g = opponent_weight(math.sqrt(squares) / members)
    return mu / members, g, squares / (members * members), rank


@inner_kernel
def _update(job: Any, m: int, i: int, k: int, opponent: tuple[float, float, float, int]) -> float:
    """Update deviation and volatility, and keep change and factor [13]-[25]; return a residual.

    k : of participation i among those of the match
    """
    settings, now, weight = job.settings, job.own.work[k], job.matches.weight[m]
    player, rank = job.table[job.matches.player[i]], job.matches.rank[i]
    mu = (player[RATING] - settings.initial_rating) / GLICKO2_SCALE
    score = 0.5
    if rank != opponent[3]:
        score = 1.0 if rank < opponent[3] else 0.0
    expected, information, surprise = game_of_weight(mu - opponent[0], opponent[1], score)
    change, phi, sigma, residual = updated(
        player[DEVIATION] / GLICKO2_SCALE,
        player[VOLATILITY],
        weight * information,
        weight * surprise,
        settings.tau,
        settings.max_volatility,
    )
    player[DEVIATION], player[VOLATILITY] = GLICKO2_SCALE * phi, sigma
    signed = now[Z] if change >= 0.0 else -now[Z]
    factor = min(max(1.0 + settings.beta * signed, settings.factor_min), settings.factor_max)
    now[CHANGE], now[FACTOR] = change, factor
    if len(job.trace.expected):
        job.trace.expected[i] = expected
    return residual


@inner_kernel
def _points(job: Any, i: int, change: float) -> float:
    """Return a change of mu, bounded and scaled by the share, in rating points [29]-[31]."""
    bounded = min(max(change, -job.settings.max_change), job.settings.max_change)
    points: float = GLICKO2_SCALE * (job.inputs.share[i] * bounded)
    return points


@inner_kernel
def _write(job: Any, m: int, i: int, k: int) -> None:
    """Write a player's rating [26]-[31], form [33]-[35] and the time of the match."""
    settings, now, player = job.settings, job.own.work[k], job.table[job.matches.player[i]]
    points = _points(job, i, now[FACTOR] * now[CHANGE])
    player[RATING] += points
    if not math.isnan(now[RELATIVE]):
        clipped = min(max(now[Z], -settings.form_clip), settings.form_clip)
        played = player[FORM_MATCHES]
        alpha = 2.0 / (settings.form_window + 1.0)
        if played < settings.form_window:
            alpha = 1.0 / (played + 1.0)
        player[FORM] = clipped if played == 0.0 else (1.0 - alpha) * player[FORM] + alpha * clipped
        player[FORM_MATCHES] += 1.0
    for slot in range(RECENT + settings.activity_matches - 1, RECENT, -1):
        player[slot] = player[slot - 1]
    player[RECENT] = job.matches.time[m]
    if len(job.trace.more[Z]):
        job.trace.more[Z][i], job.trace.more[FACTOR][i] = now[Z], now[FACTOR]
        # `TeamGlicko2.keep_trace` adds the rating after the match.
        job.trace.more[UNSCALED][i] = _points(job, i, now[CHANGE]) - points


@inner_kernel
def _prefetch_players(job: Any, m: int) -> None:
    """Fetch the rows of the players of match m ahead: they are scattered over the memory."""
    columns = job.table.shape[1]
    for i in range(job.matches.offsets[m], job.matches.offsets[m + 1]):
        row = job.matches.player[i] * columns
        prefetch(job.table, row)
        prefetch(job.table, row + columns - 1)


@inlined_kernel
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a match of two teams; return z (READINGS A15) and a residual."""
    start, stop, own = job.matches.offsets[m], job.matches.offsets[m + 1], job.own
    team = job.matches.team[start:stop]
    if m + 1 < len(job.matches.time):
        _prefetch_players(job, m + 1)
    for i in range(start, stop):
        player = job.table[job.matches.player[i]]
        player[DEVIATION] = idle_deviation(player, job.matches.time[m], job.settings)
        performance = job.inputs.performance[i]
        if len(own.role):
            performance = relative_to_role(performance, own.roles[own.role[i]])
        own.work[i - start, RELATIVE] = performance
    for side in range(2):
        standardise(team, side, own.work)
    first, second = _as_opponent(job, start, stop, 0), _as_opponent(job, start, stop, 1)
    residual = -1.0
    for i in range(start, stop):
        opponent = second if job.matches.team[i] == 0 else first
        residual = max(residual, _update(job, m, i, i - start, opponent))
    if job.settings.conserve:
        for side in range(2):
            conserve(team, side, True, own.work)
            conserve(team, side, False, own.work)
    for i in range(start, stop):
        _write(job, m, i, i - start)
        if len(own.role):
            learn_role(own.roles[own.role[i]], job.inputs.performance[i])
    return opponent_weight(math.sqrt(first[2] + second[2])) * (first[0] - second[0]), residual


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float, float, float, float]:
    """Return (rating, deviation, volatility, form, form_matches) as of a day."""
    deviation = idle_deviation(player, day, settings)
    return player[RATING], deviation, player[VOLATILITY], player[FORM], player[FORM_MATCHES]


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer."""
    player = job.table[job.matches.player[i]]
    diffused = (GLICKO2_SCALE * player[VOLATILITY]) ** 2
    return first_match(job.entry, player, player[RATING], player[DEVIATION], diffused)


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_teams(job, first, last, rate_match, None, read, evidence, move_rating)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return what tables show of players as of a day, shape (5, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class TeamGlicko2(RatedSystem, HomeSystem):
    """Team Glicko-2 [TG2]_ for matches of two teams of any size.

    initial_rating, initial_deviation : of a new player, rating points [TG2] sec. 2
    initial_volatility : of a new player, internal scale
    tau : how quickly volatility may change, in (0, 2] (READINGS A6)
    beta : how much a standard deviation of performance scales a change (9); 0 turns it off
    factor_min, factor_max : bounds of the scaling factor (10)
    max_change : largest change of a match, rating points (30); None for no bound
    conserve : rescale factors so that gains and losses within a team keep their sums (A11)
    roles : compare performances within the column `role` first (A14)
    form_window, form_clip : matches that form looks back on, and bound of z in it (33)-(35)
    form_points, form_cap, form_cap_deviations : rating points a unit of form is worth, and the
        bounds of that, in points and in deviations (36)-(38)
    deviation_scale, blend : deviation at which form has half its weight, and its largest
        weight (39)-(40)
    activity_matches, activity_window : a player with this many matches in this many days is active
    period_days : days after which an inactive player's deviation grows again (42)
    max_deviation : largest deviation that it grows to, rating points (44)
    max_volatility : cap of the volatility, internal scale; a larger initial one is its own cap

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.TeamGlicko2(), league).ratings
    <Ratings: 6 players, the best ada with 1,712.9>
    """

    initial_rating: float = initial_rating(1400.0)
    initial_deviation: float = initial_deviation()
    initial_volatility: float = positive(0.06)
    tau: float = param(0.5, 0.0, 2.0, above=True, rule="in (0, 2]")
    beta: float = _at_least_0(0.2)
    factor_min: float = param(0.5, 0.0, 1.0, rule="in [0, 1]")
    factor_max: float = param(1.5, 1.0, below=True, rule="at least 1")
    max_change: float | None = positive(None)
    conserve: bool = False
    roles: bool = False
    form_window: int = param(10, 1, rule="at least 1")
    form_clip: float = positive(3.0)
    form_points: float = _at_least_0(80.0)
    form_cap: float = _at_least_0(200.0)
    form_cap_deviations: float = _at_least_0(2.0)
    deviation_scale: float = positive(80.0)
    blend: float = param(0.5, 0.0, 1.0, rule="in [0, 1]")
    activity_matches: int = param(3, 1, rule="at least 1")
    activity_window: float = _at_least_0(28.0)
    period_days: float = positive(7.0)
    max_deviation: float = positive(350.0)
    max_volatility: float = positive(MAX_VOLATILITY)

    name: ClassVar[str] = "team-glicko2"
    tried: ClassVar[Mapping[str, Any]] = {
        "beta": Span(0, 0.6, 7, 0.1, log=False),
        "initial_volatility": Span(0.01, 0.24, 6, 0.005),
        "initial_deviation": Span(100, 500, 5, 10),
    }
    sought: ClassVar[str] = "the volatility of "
    max_teams: ClassVar[int] = 2
    uses: ClassVar[Mapping[str, str]] = {
        "weight": "",
        "performance": "",
        "share": "",
        "time": "",
        "role": "roles",
    }
    shown: ClassVar[Sequence[str]] = ("rating", "deviation", "volatility", "form", "form_matches")
    more_traced: ClassVar[Sequence[str]] = ("z", "factor", "rating_unscaled")
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "deviation": "initial_deviation",
        "volatility": "initial_volatility",
        "form": 0.0,
        "form_matches": 0.0,
        "matches": 0.0,
        "last_time": math.nan,
    }
    added: ClassVar[str] = "volatility"
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    @property
    def learned_in_pool(self) -> str:
        """With roles, the statistics of each role's performances."""
        return "what each role shows (roles=True)" if self.roles else self._learned_of_newcomers

    @property
    def trace_columns(self) -> Sequence[str]:
        """The further columns that the system adds to a trace."""
        more = (*self.more_traced, "volatility_before", *self.shown[2:])
        return (*more, *self.context_columns)

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player, without matches."""
        recent = {f"recent_{k}": math.nan for k in range(1, self.activity_matches + 1)}
        return {**RatedSystem.newcomer(self), **recent}

    def derived(self) -> Mapping[str, Any]:
        """Return bounds on the internal scale, and what the update subtracts.

        activity_window, period : in microseconds
        """
        limit = math.inf if self.max_change is None else float(self.max_change)
        return {
            "initial_rating": float(self.initial_rating),
            "max_change": limit / GLICKO2_SCALE,
            "activity_window": float(self.activity_window) * MICROSECONDS_PER_DAY,
            "period": float(self.period_days) * MICROSECONDS_PER_DAY,
            "max_volatility": max(float(self.max_volatility), float(self.initial_volatility)),
        }

    def own(self, state: State, history: History, start: int, stop: int) -> Own:
        """Return roles, whose statistics are kept in the state, and memory for a match.

        Raises : InvalidDataError without roles
        """
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        names, role = self._roles(history, low, high)
        roles = np.array([statistics_of(state, name) for name in names]).reshape(-1, 3)
        # The kernel writes to these rows, so the state sees the new statistics.
        state.shared.update({_key(name): row for name, row in zip(names, roles, strict=True)})
        # Memory that is never written costs nothing, and a match has at most all rows.
        return Own(role, roles, np.empty((high - low, 4)))

    def _roles(self, history: History, low: int, high: int) -> tuple[list[str], Ints]:
        """Return (names of the roles in rows low:high, the role of each row), or nothing."""
        if not self.roles:
            return [], np.zeros(0, np.int64)
        column: Ids | None = history.attributes.get("role")
        if column is None:
            rule = "must be a column if roles is set"
            raise InvalidDataError([Problem("", None, "role", rule, "none")])
        names, role = np.unique(column[low:high].astype(str), return_inverse=True)
        return names.tolist(), role.astype(np.int64).reshape(-1)

    def keep_trace(self, job: Any, trace: TraceColumns, low: int, high: int) -> None:
        """Add the rating to what a factor of 1 would have changed, once the level is held."""
        RatedSystem.keep_trace(self, job, trace, low, high)
        if "rating_unscaled" in trace:
            trace["rating_unscaled"][low:high] += trace["rating"][low:high]

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings, with volatility, form and the effective rating."""
        read = RatedSystem.at(self, state, rows, time)
        effective = self.effective().rating(read["rating"], read["deviation"], read["form"])
        return {**read, "effective_rating": effective}

    def effective(self) -> EffectiveRating:
        """Return the parameters of the effective rating."""
        return EffectiveRating(
            form_points=self.form_points,
            form_cap=self.form_cap,
            form_cap_deviations=self.form_cap_deviations,
            deviation_scale=self.deviation_scale,
            blend=self.blend,
        )

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of A15, phi_T^2 being the sum of phi^2 over n^2 (12)."""
        return team_mean_outlook(self.at_home(rating, history), deviation)


def statistics_of(state: State, role: str) -> Floats:
    """Return the statistics of the performances in a role so far, shape (3,)."""
    return state.shared.get(_key(role), np.zeros(3))


def _key(role: str) -> str:
    return f"role {role}"


def explain(
    system: TeamGlicko2, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating, from the performance on.

    The change is the sum of the change by the result [24], the correction for the performance
    within the team [26] and, if they are used, the corrections by `conserve`, the bound [30] and
    the player's share of the match.
    """
    single = single_match(system, before, history, match, row)
    opponent, trace, i = _opponent(single), single.trace, single.row
    phi = opponent.deviation / GLICKO2_SCALE
    difference = (float(trace["rating_before"][i]) - opponent.rating) / GLICKO2_SCALE
    information = single.weight * game(difference, 0.0, phi, opponent.score)[1]
    varies = f"variation of the rating; {trace['volatility_before'][i]:.5f} before (20)"
    return explanation(
        single,
        contributions=_contributions(system, single, opponent.score),
        quantities={
            **_performances(system, single),
            "z": float(trace["z"][i]),
            "g": opponent_weight(phi),
            "v": GLICKO2_SCALE**2 / information if information > 0 else math.inf,
            "volatility": float(trace["volatility"][i]),
            "factor": float(trace["factor"][i]),
            "form": float(trace["form"][i]),
        },
        meanings={**_MEANINGS, "volatility": ("", varies)},
        opponents=[opponent],
        bounds=_bounds(system, single),
    )


def _change(system: TeamGlicko2, single: SingleMatch, rank: Ints) -> float:
    """Return the change by a result alone [24], of a player who takes part in the whole match."""
    plain = replace(system, beta=0.0, max_change=None, conserve=False)
    match = replace(single.history, share=None, rank=rank)
    return rate_isolated(plain, match, single.before, single.row).change


def _share(single: SingleMatch) -> float:
    return 1.0 if single.history.share is None else float(single.history.share[single.row])


def _bounds(system: TeamGlicko2, single: SingleMatch) -> tuple[float, float]:
    """Return the changes of a loss and a win with the largest factor; unknown with `conserve`."""
    if system.conserve:
        return math.nan, math.nan
    largest = system.factor_max if system.beta > 0.0 else 1.0
    most = math.inf if system.max_change is None else system.max_change
    match, bounds = single.history, []
    for won in (False, True):
        rank = np.where((match.team == match.team[single.row]) == won, 0, 1)
        change = largest * _change(system, single, rank)
        bounds.append(_share(single) * min(max(change, -most), most))
    return bounds[0], bounds[1]


def _contributions(system: TeamGlicko2, single: SingleMatch, score: float) -> list[Contribution]:
    """Return the change step by step; the steps add up."""
    z = float(single.trace["z"][single.row])
    change = _change(system, single, single.history.rank)
    factor = 1.0 + system.beta * (z if change >= 0 else -z)
    factor = min(max(factor, system.factor_min), system.factor_max)
    reached, parts = 0.0, []

    def step(name: str, after: float, reason: str) -> None:
        nonlocal reached
        parts.append(contribution(name, after - reached, reason))
        reached = after

    step("the result", change, surprise_of(score, single.expected))
    reason = f"z = {z:+.2f} makes the factor {factor:.2f}"
    step("performance within the team", factor * change, reason)
    if system.conserve:
        reason = "so that performance moves no rating into or out of the team"
        step("conserved", float(single.trace["factor"][single.row]) * change, reason)
    if system.max_change is not None and abs(reached) > system.max_change:
        reason = f"no match moves a rating by more than {system.max_change:g} points"
        step("bound", math.copysign(system.max_change, reached), reason)
    share = _share(single)
    if share != 1.0:
        step("share", share * reached, f"took part in {share:.0%} of the match")
    return parts


def _opponent(single: SingleMatch) -> Opponent:
    """Return the opposing team as one opponent [11], [12]."""
    trace, [(ids, rows)] = single.trace, opposing_teams(single)
    score = float(single.scores()[rows[0]])
    return Opponent(
        player=", ".join(str(player) for player in ids),
        rank=2 if score == 1.0 else 1,
        rating=float(trace["rating_before"][rows].mean()),
        deviation=math.sqrt(float((trace["deviation_before"][rows] ** 2).sum())) / len(rows),
        score=score,
        expected=single.expected,
        effect=single.change,
    )


def _performances(system: TeamGlicko2, single: SingleMatch) -> dict[str, float]:
    """Return the quantities that z is computed from [5]-[7]; none without performances."""
    match, compared, i = single.history, single.history.performance, single.row
    if compared is None:
        return {}
    quantities = {"performance": float(compared[i])}
    if system.roles:
        roles = match.attributes["role"].astype(str).tolist()
        learned = [statistics_of(single.before, role) for role in roles]
        pairs = zip(compared, learned, strict=True)
        compared = np.array([relative_to_role(*pair) for pair in pairs])
        quantities["performance for the role"] = float(compared[i])
    own = compared[match.team == match.team[i]]
    known = own[~np.isnan(own)]
    mean, spread = (known.mean(), known.std()) if len(known) else (math.nan, math.nan)
    return quantities | {"mean of the team": float(mean), "deviation in the team": float(spread)}
