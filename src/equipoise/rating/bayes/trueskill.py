"""TrueSkill, the classic one and that of Nikolenko and Sirotkin; `trueskill_match` rates matches.

Source: [TS]_ and [NS]_.
Departures: messages are sent until the last pass changes no mean by more than a tolerance; it is an
error if that never happens. A match weight w raises the message of a match to the power w.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import InvalidParameterError, require
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.home_system import HomeSystem
from equipoise.rating.base_system import Job, Rate, TraceArrays
from equipoise.rating.bayes.partial_play import Played, played_of, rewrite_share
from equipoise.rating.bayes.trueskill_match import (
    BY_PLAYERS,
    BY_RATING,
    CONSTANT,
    MAX_SWEEPS,
    Settings,
    margin_between,
    rate_matches,
    rate_with_both,
    rate_with_entry,
    rate_with_home,
)
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, check_newcomer

#: Largest change of a mean in the last pass of classic TrueSkill, as a share of beta.
_SETTLED = 1e-11


#: How the draw probability of equals may depend on the match; the number is that of kernels.
RULES = {"constant": CONSTANT, "rating": BY_RATING, "players": BY_PLAYERS}


#: What `equipoise systems` says of parameters that are off by default.
_DRAW_RULE_NOTE = (
    "what draw_probability depends on: constant, nothing; rating, the mean rating of the players; "
    "players, their number; by draw_slope"
)
_DRAW_SLOPE_NOTE = (
    "how much the log odds of a draw change for each 100 points of the mean rating "
    "(draw_rule=rating), or each time the number of players doubles (draw_rule=players)"
)
_DRAW_RATING_NOTE = (
    "the mean rating of two players who draw with draw_probability, for draw_rule=rating; none "
    "means initial_rating"
)
_SHARES_NOTE = (
    "how the column share counts: off, or play, for the part of the match that a player played"
)


class TrueSkillSystem(HomeSystem):
    """The base class of both systems; each adds its parameters and `settings`."""

    __slots__ = ()

    shares: Literal["off", "play"]

    sought: ClassVar[str] = "the messages of "
    predicts_shares: ClassVar[bool] = True
    iterations: ClassVar[int] = MAX_SWEEPS

    @property
    def capabilities(self) -> Capabilities:
        """Matches of any kind; no ties where the margin of a draw is 0."""
        draws, plays = self.settings().margin > 0.0, self.shares == "play"
        return self.with_home(
            Capabilities(
                draws=draws,
                ties_need="" if draws else self.allows_ties,
                adds_players=True,
                uses=frozenset({"weight", "share"} if plays else {"weight"}),
                needed={} if plays else {"share": "shares"},
                idle=self.idle_entry | self.idle_draws,
            )
        )

    def own(self, state: State, history: History, start: int, stop: int) -> Played:
        """Return shares, if they are used."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        return played_of(history, low, high, shares=self.shares == "play", scores=False)

    def rewrite_own(
        self,
        own: Played,
        performance: Sequence[float],
        share: Sequence[float],
        at_home: Sequence[bool],
    ) -> None:
        """Write the shares."""
        rewrite_share(own, share)

    @property
    @abstractmethod
    def allows_ties(self) -> str:
        """The parameter that allows ties, and its values, in words."""

    @property
    def idle_draws(self) -> frozenset[str]:
        """The parameters of draws that change nothing."""
        return frozenset()

    @abstractmethod
    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""

    def kernel(self, job: Job[Settings, TraceArrays, Played]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(
        self, job: Job[Settings, TraceArrays, Played], workers: Workers
    ) -> tuple[int, float]:
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
    draw_probability : of two equal players, from 0 to below 1; it determines the margin of a win.
        With 0 nobody draws, and ties are refused
    draw_rule : whether the draw probability of equals is the same in every match (constant), or
        depends on the mean rating of the players (rating) or on their number (players)
    draw_slope : how much the log odds of a draw change for each 100 points of the mean rating, or
        each time the number of players doubles, from -10 to 10; no effect with constant
    draw_rating : mean rating of two players who draw with draw_probability, for the rule rating;
        none means initial_rating
    shares : off; play: partial play, the column `share` multiplies a player's performance in the
        team's sum

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.TrueSkill(), league).ratings
    <Ratings: 6 players, the best ada with 1,742.4>
    >>> chess = eq.TrueSkill(draw_probability=0.3, draw_rule="rating", draw_slope=0.2)
    >>> [round(chess.draw_probability_of(rating), 3) for rating in (1000, 1500, 2500)]
    [0.136, 0.3, 0.76]
    """

    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    beta: float = 175.0
    drift: float = 3.5
    draw_probability: float = 0.1
    draw_rule: Literal["constant", "rating", "players"] = field(
        default="constant", metadata={"later": True, "note": _DRAW_RULE_NOTE}
    )
    draw_slope: float = field(default=0.0, metadata={"later": True, "note": _DRAW_SLOPE_NOTE})
    draw_rating: float | None = field(
        default=None, metadata={"later": True, "note": _DRAW_RATING_NOTE}
    )
    shares: Literal["off", "play"] = field(
        default="off", metadata={"later": True, "note": _SHARES_NOTE}
    )

    name: ClassVar[str] = "trueskill"

    def __post_init__(self) -> None:
        """Check every parameter."""
        if callable(self.draw_probability):
            raise InvalidParameterError(
                "draw_probability must be a number, or use a rule such as draw_rule='rating': "
                "a function of the teams cannot be saved, so it is for one match only, as in "
                "system.rate(teams, draw_probability=function); got a function or class"
            )
        check_fields(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        require(0 <= self.drift <= 1e9, "drift", "from 0 to 1e9", self.drift)
        chance, rule = self.draw_probability, "0, or from 1e-9 to below 1"
        require(chance == 0 or 1e-9 <= chance < 1, "draw_probability", rule, chance)
        slope, rating = self.draw_slope, self._draws_at
        require(-10 <= slope <= 10, "draw_slope", "from -10 to 10", slope)
        require(-1e9 <= rating <= 1e9, "draw_rating", "from -1e9 to 1e9", rating)

    @property
    def _draws_at(self) -> float:
        """The mean rating of players who draw with `draw_probability`."""
        return float(self.initial_rating if self.draw_rating is None else self.draw_rating)

    def settings(self) -> Settings:
        """Return the parameters for kernels; the margin is that of a duel [TS]_ sec. 2."""
        chance = self.draw_probability
        z = NormalDist().inv_cdf(0.5 * (1.0 + chance)) if chance else 0.0
        return Settings(
            beta=float(self.beta),
            drift=float(self.drift),
            margin=z * math.sqrt(2.0) * self.beta,
            places=False,
            tolerance=_SETTLED * self.beta,
            rule=RULES[self.draw_rule] if chance else CONSTANT,
            log_odds=math.log(chance) - math.log1p(-chance) if chance else 0.0,
            slope=float(self.draw_slope),
            rating=self._draws_at,
        )

    @property
    def allows_ties(self) -> str:
        """The parameter that allows ties, and its values, in words."""
        return "draw_probability above 0"

    @property
    def idle_draws(self) -> frozenset[str]:
        """The parameters of draws that change nothing."""
        if not self.draw_probability:
            return frozenset({"draw_rule", "draw_slope", "draw_rating"})
        if self.draw_rule == "constant":
            return frozenset({"draw_slope", "draw_rating"})
        if self.draw_slope == 0.0:
            return frozenset({"draw_rule", "draw_rating"})
        return frozenset() if self.draw_rule == "rating" else frozenset({"draw_rating"})

    def draw_margin(self, players: int, rating: float | None = None) -> float:
        """Return the margin between two teams with this total number of players.

        rating : mean of their ratings; None: that of players who draw with `draw_probability`
        """
        mean = self._draws_at if rating is None else rating
        return margin_between(float(mean * players), float(players), self.settings())

    def draw_probability_of(self, rating: float, players: int = 2) -> float:
        """Return the draw probability of equal teams whose ratings are certain.

        rating : mean rating of the players; players : number of players of both teams
        """
        margin = self.draw_margin(players, rating)
        return math.erf(margin / (self.beta * math.sqrt(2.0 * players)))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrueSkillSPb(TrueSkillSystem):
    """TrueSkill as extended by Nikolenko and Sirotkin [NS]_: places between the teams.

    The system that [EM]_ calls TrueSkill in Tables 2 and 3 (READINGS B12).

    initial_rating, initial_deviation : of a new player, rating points
    eps : a team performs within eps of its place, and places differ by more than 2 eps, rating
        points. With 0 nobody draws, ties are refused, and the chain is that of TrueSkill
    beta : standard deviation of one performance, rating points
    convergence_eps : largest change of a mean in the last pass of messages, rating points
    sigma_drift : standard deviation that a match adds before it is rated, rating points
    shares : off; play: partial play, the column `share` multiplies a player's performance in the
        team's sum

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
    shares: Literal["off", "play"] = field(
        default="off", metadata={"later": True, "note": _SHARES_NOTE}
    )

    name: ClassVar[str] = "trueskill-spb"

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        check_newcomer(self.initial_rating, self.initial_deviation)
        require(1e-6 <= self.beta <= 1e9, "beta", "from 1e-6 to 1e9", self.beta)
        least, most = 1e-5 * self.beta, 10.0 * self.beta
        fits = self.eps == 0 or least <= self.eps <= most
        require(fits, "eps", "0, or from 1e-5 to 10 times beta", self.eps)
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
            # A place of width 0 is the performance of its one team.
            places=self.eps > 0,
            tolerance=float(self.convergence_eps),
        )

    @property
    def allows_ties(self) -> str:
        """The parameter that allows ties, and its values, in words."""
        return "eps above 0"

    def draw_margin(self, players: int) -> float:
        """Return 2 eps: within it both teams can be within eps of one place."""
        return 2.0 * float(self.eps)
