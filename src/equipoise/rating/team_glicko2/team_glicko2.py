"""Team Glicko-2: Glicko-2 for two teams, scaled by each player's performance within the team.

Source: [TG2]_ sections 2-10 and 12; numbers in brackets are its equations. `match` rates matches;
the effective rating of section 11 is in `equipoise.data.ratings`.
Departures: the activity window is 28 days (READINGS A8); roles, shares and `conserve` are
additions (A11, A14); volatilities are capped at `max_volatility`, as in `glicko2`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.prediction import Outlook, team_mean_outlook
from equipoise.data.ratings import EffectiveRating
from equipoise.errors import InvalidDataError, Problem, require
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.home_system import HomeSystem
from equipoise.rating.base_system import Rate, System
from equipoise.rating.classical.glicko2 import GLICKO2_SCALE, MAX_VOLATILITY
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, check_newcomer
from equipoise.rating.team_glicko2.match import (
    Players,
    Settings,
    TeamJob,
    TeamTrace,
    rate_matches,
    rate_with_both,
    rate_with_entry,
    rate_with_home,
    read_deviations,
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TeamGlicko2(HomeSystem):
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

    initial_rating: float = 1400.0
    initial_deviation: float = 350.0
    initial_volatility: float = 0.06
    tau: float = 0.5
    beta: float = 0.2
    factor_min: float = 0.5
    factor_max: float = 1.5
    max_change: float | None = None
    conserve: bool = False
    roles: bool = False
    form_window: int = 10
    form_clip: float = 3.0
    form_points: float = 80.0
    form_cap: float = 200.0
    form_cap_deviations: float = 2.0
    deviation_scale: float = 80.0
    blend: float = 0.5
    activity_matches: int = 3
    activity_window: float = 28.0
    period_days: float = 7.0
    max_deviation: float = 350.0
    max_volatility: float = MAX_VOLATILITY

    name: ClassVar[str] = "team-glicko2"
    traces: ClassVar[type[Any]] = TeamTrace
    sought: ClassVar[str] = "the volatility of "

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        for name in (
            "initial_deviation",
            "initial_volatility",
            "form_clip",
            "deviation_scale",
            "period_days",
            "max_deviation",
            "max_volatility",
        ):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "positive", value)
        for name in (
            "beta",
            "form_points",
            "form_cap",
            "form_cap_deviations",
            "activity_window",
        ):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, "at least 0", value)
        require(0 < self.tau <= 2, "tau", "in (0, 2]", self.tau)
        require(0 <= self.factor_min <= 1, "factor_min", "in [0, 1]", self.factor_min)
        require(1 <= self.factor_max < math.inf, "factor_max", "at least 1", self.factor_max)
        require(0 <= self.blend <= 1, "blend", "in [0, 1]", self.blend)
        most = self.max_change
        require(most is None or 0 < most < math.inf, "max_change", "positive", most)
        for name in ("form_window", "activity_matches"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))

    @property
    def capabilities(self) -> Capabilities:
        """Two teams of any size; without times nothing decays."""
        uses = {"weight", "performance", "share", "time"}
        able = Capabilities(
            max_teams=2,
            uses=frozenset(uses | {"role"} if self.roles else uses),
            needed={} if self.roles else {"role": "roles"},
            idle=self.idle_entry,
        )
        return self.with_home(able)

    @property
    def learned_in_pool(self) -> str:
        """With roles, the statistics of each role's performances."""
        return "what each role shows (roles=True)" if self.roles else self._learned_of_newcomers

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "volatility": self.initial_volatility,
            "form": 0.0,
            "form_matches": 0.0,
            "matches": 0.0,
            "last_time": math.nan,
            **{f"recent_{k}": math.nan for k in range(1, self.activity_matches + 1)},
        }

    def own(self, state: State, history: History, start: int, stop: int) -> Players:
        """Return performances, shares and roles; the statistics of roles are kept in the state.

        Raises : InvalidDataError without roles
        """
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        names, role = self._roles(history, low, high)
        roles = np.array([statistics_of(state, name) for name in names]).reshape(-1, 3)
        # The kernel writes to these rows, so the state sees the new statistics.
        state.shared.update({_key(name): row for name, row in zip(names, roles, strict=True)})
        return Players(
            performance=_rows(history.performance, low, high, math.nan),
            share=_rows(history.share, low, high, 1.0),
            role=role,
            roles=roles,
        )

    def rewrite_own(
        self,
        own: Players,
        performance: Sequence[float],
        share: Sequence[float],
        at_home: Sequence[bool],
    ) -> None:
        """Write performances and shares; with roles, the statistics of the pool are needed."""
        own.performance[:] = performance if len(performance) else math.nan
        own.share[:] = share if len(share) else 1.0

    def kernel(self, job: TeamJob) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(self, job: TeamJob, workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return deviations, increased for inactivity until that day (A8)."""
        return read_deviations(state.table, rows, day, self.settings())

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings, with volatility, form and the effective rating."""
        read = System.at(self, state, rows, time)
        own = {name: state.column(name)[rows] for name in ("volatility", "form", "form_matches")}
        effective = self.effective().rating(read["rating"], read["deviation"], own["form"])
        return {**read, **own, "effective_rating": effective}

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

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        limit = math.inf if self.max_change is None else float(self.max_change)
        return Settings(
            initial_rating=float(self.initial_rating),
            tau=float(self.tau),
            beta=float(self.beta),
            factor_min=float(self.factor_min),
            factor_max=float(self.factor_max),
            max_change=limit / GLICKO2_SCALE,
            conserve=self.conserve,
            form_window=float(self.form_window),
            form_clip=float(self.form_clip),
            activity_matches=self.activity_matches,
            activity_window=float(self.activity_window) * MICROSECONDS_PER_DAY,
            period=float(self.period_days) * MICROSECONDS_PER_DAY,
            max_deviation=float(self.max_deviation),
            max_volatility=max(float(self.max_volatility), float(self.initial_volatility)),
        )

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


def statistics_of(state: State, role: str) -> Floats:
    """Return the statistics of the performances in a role so far, shape (3,)."""
    return state.shared.get(_key(role), np.zeros(3))


def _key(role: str) -> str:
    return f"role {role}"


def _rows(column: Floats | None, low: int, high: int, absent: float) -> Floats:
    """Return rows low:high of a column; all are `absent` if there is no such column."""
    return np.full(high - low, absent) if column is None else column[low:high].copy()
