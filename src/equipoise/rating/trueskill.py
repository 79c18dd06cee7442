"""TrueSkill, classic and that of Nikolenko and Sirotkin: parameters, state, way through a history.

Source: [TS]_ and [NS]_; how a match is rated stands in `trueskill_match`.
Departures: messages pass until the last pass moves no mean by more than a tolerance, which raises
if it never happens; a match weight w raises what the match says of a team to the power w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import ConvergenceError, require
from equipoise.numeric.workers import Workers
from equipoise.rating.draws import sums_of
from equipoise.rating.state import State
from equipoise.rating.system import (
    Capabilities,
    RatingColumns,
    TraceColumns,
    check_newcomer,
    trace_arrays,
)
from equipoise.rating.trueskill_match import (
    DEVIATION,
    LAST_TIME,
    MATCHES,
    MAX_SWEEPS,
    RATING,
    Matches,
    Settings,
    Teams,
    TraceArrays,
    rate_matches,
    teams_of,
)

#: Part of beta that the last pass of classic TrueSkill may move a mean.
_SETTLED = 1e-11


class TrueSkillSystem:
    """What both systems share; each has its parameters and their `settings`."""

    __slots__ = ()

    name: ClassVar[str]
    trace_columns: ClassVar[Sequence[str]] = ()
    initial_rating: float
    initial_deviation: float

    @property
    def capabilities(self) -> Capabilities:
        """Everything that has ranks."""
        return Capabilities(uses=frozenset({"weight"}))

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        return State.of_new_players(
            players,
            {
                "rating": self.initial_rating,
                "deviation": self.initial_deviation,
                "matches": 0.0,
                "last_time": math.nan,
            },
        )

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop. Raises : ConvergenceError."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        arrays = trace_arrays(TraceArrays, trace, low, high, optional=("expected",))
        matches = self.columns(history, start, stop)
        settings, draws = self.settings(), sums_of(state)
        failed, moved = rate_matches(state.table, matches, stop - start, settings, arrays, draws)
        if failed >= 0:
            match = history.match_ids[start + failed]
            raise ConvergenceError(
                f"the messages of {self.name}, match {match},", MAX_SWEEPS, moved
            )

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings; nothing changes while nobody plays."""
        names = {
            "rating": RATING,
            "deviation": DEVIATION,
            "matches": MATCHES,
            "last_time": LAST_TIME,
        }
        return {name: state.table[rows, column] for name, column in names.items()}

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook in which the sums of normal performances meet."""
        settings = self.settings()
        scale = np.sqrt(deviation**2 + settings.drift**2 + settings.beta**2)
        return Outlook(centre=rating, scale=scale, curve="normal", team="sum")

    def teams(self, state: State, match: History) -> Teams:
        """Return the teams of a history of one match."""
        columns = self.columns(match, 0, 1)
        return teams_of(state.table, columns, 0, match.participations, self.settings())

    def settings(self) -> Settings:
        """Return the parameters as kernels take them."""
        raise NotImplementedError

    def columns(self, history: History, start: int, stop: int) -> Matches:
        """Return matches start:stop as arrays of their own."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        return Matches(
            offsets=history.offsets[start : stop + 1] - low,
            player=history.player[low:high],
            team=history.team[low:high],
            rank=history.rank[low:high],
            time=history.days(start, stop),
            weight=history.weights(start, stop),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueSkill(TrueSkillSystem):
    """TrueSkill [TS]_ for teams of any size, any number a match, ties.

    initial_rating, initial_deviation : of a new player, rating points
    beta : spread of one performance, rating points; half the initial deviation [TS]_
    drift : what a match adds to a deviation before it is rated (as variance), rating points; a
        hundredth of the initial deviation [TS]_
    draw_probability : of two equal players, in (0, 1); it says how far apart a win puts them
    """

    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    beta: float = 175.0
    drift: float = 3.5
    draw_probability: float = 0.1

    name: ClassVar[str] = "trueskill"

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        check_newcomer(self.initial_rating, self.initial_deviation)
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        require(0 <= self.drift <= 1e9, "drift", "from 0 to 1e9", self.drift)
        chance = self.draw_probability
        require(1e-9 <= chance < 1, "draw_probability", "from 1e-9 to below 1", chance)

    def settings(self) -> Settings:
        """Return the parameters as kernels take them; the margin is that of a duel [TS]_ sec. 2."""
        z = NormalDist().inv_cdf(0.5 * (1.0 + self.draw_probability))
        return Settings(
            beta=float(self.beta),
            drift=float(self.drift),
            margin=z * math.sqrt(2.0) * self.beta,
            places=False,
            tolerance=_SETTLED * self.beta,
        )

    def draw_margin(self, players: int) -> float:
        """Return the margin between two teams of so many players in all, as in rating them."""
        return self.settings().margin * math.sqrt(0.5 * players)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueSkillSPb(TrueSkillSystem):
    """TrueSkill as extended by Nikolenko and Sirotkin [NS]_: places between the teams.

    The system that [EM]_ calls TrueSkill in Tables 2 and 3 (READINGS B12).

    initial_rating, initial_deviation : of a new player, rating points
    eps : a team performs within eps of its place, and places are 2 eps apart, rating points
    beta : spread of one performance, rating points
    convergence_eps : rating points that the last pass of messages may move a mean
    sigma_drift : what a match adds to a deviation before it is rated (as variance), rating points
    """

    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    eps: float = 1.0
    beta: float = 175.0
    convergence_eps: float = 1e-4
    sigma_drift: float = 35.0

    name: ClassVar[str] = "trueskill-spb"

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        check_newcomer(self.initial_rating, self.initial_deviation)
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        least, most = 1e-5 * self.beta, 10.0 * self.beta
        require(least <= self.eps <= most, "eps", "from 1e-5 to 10 times beta", self.eps)
        drift = self.sigma_drift
        require(0 <= drift <= 1e9, "sigma_drift", "from 0 to 1e9", drift)
        eps = self.convergence_eps
        require(0 < eps < math.inf, "convergence_eps", "positive", eps)

    def settings(self) -> Settings:
        """Return the parameters as kernels take them."""
        return Settings(
            beta=float(self.beta),
            drift=float(self.sigma_drift),
            margin=float(self.eps),
            places=True,
            tolerance=float(self.convergence_eps),
        )

    def draw_margin(self, players: int) -> float:
        """Return 2 eps: both teams are then within eps of one place, however many they are."""
        return 2.0 * float(self.eps)
