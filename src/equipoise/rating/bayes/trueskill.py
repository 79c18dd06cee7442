"""TrueSkill, the classic one and that of Nikolenko and Sirotkin; `trueskill_match` rates matches.

Source: [TS]_ and [NS]_.
Departures: messages are sent until the last pass changes no mean by more than a tolerance; it is an
error if that never happens. A match weight w raises the message of a match to the power w.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.home_system import HomeSystem
from equipoise.rating.base_system import Job, Rate, TraceArrays
from equipoise.rating.bayes.trueskill_match import (
    MAX_SWEEPS,
    Settings,
    rate_matches,
    rate_with_both,
    rate_with_entry,
    rate_with_home,
)
from equipoise.rating.system import Capabilities, check_newcomer

#: Largest change of a mean in the last pass of classic TrueSkill, as a share of beta.
_SETTLED = 1e-11


class TrueSkillSystem(HomeSystem):
    """The base class of both systems; each adds its parameters and `settings`."""

    __slots__ = ()

    sought: ClassVar[str] = "the messages of "
    iterations: ClassVar[int] = MAX_SWEEPS

    @property
    def capabilities(self) -> Capabilities:
        """Matches of any kind."""
        return self.with_home(
            Capabilities(adds_players=True, uses=frozenset({"weight"}), idle=self.idle_entry)
        )

    @abstractmethod
    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""

    def kernel(self, job: Job[Settings, TraceArrays, None]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(self, job: Job[Settings, TraceArrays, None], workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return normal performances that add up within a team."""
        settings = self.settings()
        scale = np.sqrt(deviation**2 + settings.drift**2 + settings.beta**2)
        centre = self.at_home(rating, history)
        return Outlook(centre=centre, scale=scale, curve="normal", team="sum")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrueSkill(TrueSkillSystem):
    """TrueSkill [TS]_ for teams of any size, any number of teams in a match, and ties.

    initial_rating, initial_deviation : of a new player, rating points
    beta : standard deviation of one performance, rating points; half the initial deviation [TS]_
    drift : standard deviation that a match adds before it is rated, rating points; a hundredth of
        the initial deviation [TS]_
    draw_probability : of two equal players, in (0, 1); it determines the margin of a win

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.TrueSkill(), league).ratings
    <Ratings: 6 players, the best ada with 1,742.4>
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
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        require(0 <= self.drift <= 1e9, "drift", "from 0 to 1e9", self.drift)
        chance = self.draw_probability
        require(1e-9 <= chance < 1, "draw_probability", "from 1e-9 to below 1", chance)

    def settings(self) -> Settings:
        """Return the parameters for kernels; the margin is that of a duel [TS]_ sec. 2."""
        z = NormalDist().inv_cdf(0.5 * (1.0 + self.draw_probability))
        return Settings(
            beta=float(self.beta),
            drift=float(self.drift),
            margin=z * math.sqrt(2.0) * self.beta,
            places=False,
            tolerance=_SETTLED * self.beta,
        )

    def draw_margin(self, players: int) -> float:
        """Return the margin between two teams with this total number of players."""
        return self.settings().margin * math.sqrt(0.5 * players)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrueSkillSPb(TrueSkillSystem):
    """TrueSkill as extended by Nikolenko and Sirotkin [NS]_: places between the teams.

    The system that [EM]_ calls TrueSkill in Tables 2 and 3 (READINGS B12).

    initial_rating, initial_deviation : of a new player, rating points
    eps : a team performs within eps of its place, and places differ by more than 2 eps, rating
        points
    beta : standard deviation of one performance, rating points
    convergence_eps : largest change of a mean in the last pass of messages, rating points
    sigma_drift : standard deviation that a match adds before it is rated, rating points

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.TrueSkillSPb(), history).ratings
    <Ratings: 120 players, the best jade-kite with 2,082.2>
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
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        least, most = 1e-5 * self.beta, 10.0 * self.beta
        require(least <= self.eps <= most, "eps", "from 1e-5 to 10 times beta", self.eps)
        drift = self.sigma_drift
        require(0 <= drift <= 1e9, "sigma_drift", "from 0 to 1e9", drift)
        eps = self.convergence_eps
        require(0 < eps < math.inf, "convergence_eps", "positive", eps)

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            beta=float(self.beta),
            drift=float(self.sigma_drift),
            margin=float(self.eps),
            places=True,
            tolerance=float(self.convergence_eps),
        )

    def draw_margin(self, players: int) -> float:
        """Return 2 eps: within it both teams can be within eps of one place."""
        return 2.0 * float(self.eps)
