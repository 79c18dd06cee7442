"""TrueSkill, the classic one and that of Nikolenko and Sirotkin; `trueskill_match` rates matches.

Source: [TS]_ and [NS]_.
Departures: messages are sent until the last pass changes no mean by more than a tolerance; it is an
error if that never happens. A match weight w raises the message of a match to the power w.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanation import Contribution, Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.base_system import DEVIATION, HomeSystem
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.single_match import (
    WIDENED,
    by_opponent,
    contribution,
    explanation,
    single_match,
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
from equipoise.rating.systems.trueskill_match import (
    BY_PLAYERS,
    BY_RATING,
    CONSTANT,
    MAX_SWEEPS,
    Inferred,
    Settings,
    Teams,
    inferred,
    margin_between,
    part_of,
    part_played,
    rate,
    teams_of,
)

#: Largest change of a mean in the last pass of classic TrueSkill, as a share of beta.
_SETTLED = 1e-11


#: How the draw probability of equals may depend on the match; the number is that of kernels.
RULES = {"constant": CONSTANT, "rating": BY_RATING, "players": BY_PLAYERS}

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    "team strength": ("points", "the sum of the ratings of the team's members"),
    "widened deviation": WIDENED,
    "performance": ("points", "the team's performance inferred from this match"),
}

#: What `equipoise systems` says of parameters that are off by default.
_DRAW_RULE_NOTE = (
    "dependence of draw_probability, by draw_slope: constant; rating, on the mean rating of the "
    "players; players, on their number"
)
_DRAW_SLOPE_NOTE = (
    "change of the log odds of a draw for each 100 points of the mean rating (draw_rule=rating), "
    "or each time the number of players doubles (draw_rule=players)"
)
_DRAW_RATING_NOTE = (
    "mean rating of two players who draw with draw_probability, for draw_rule=rating; none means "
    "initial_rating"
)
_SHARES_NOTE = "use of the column share: off; play, the part of the match that a player played"


class TrueSkillSystem(RatedSystem, HomeSystem):
    """The base class of both systems; each adds its parameters and `settings`.

    allows_ties : the parameter that allows ties, and its values, in words
    """

    __slots__ = ()

    sought: ClassVar[str] = "the messages of "
    adds_players: ClassVar[bool] = True
    predicts_shares: ClassVar[bool] = True
    iterations: ClassVar[int] = MAX_SWEEPS
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "share": "shares"}
    allows_ties: ClassVar[str]
    added: ClassVar[str] = "drift"
    loop = staticmethod(rate)

    def able(self, able: Capabilities) -> Capabilities:
        """Return capabilities without ties where the margin of a draw is 0."""
        draws = self.settings().margin > 0.0
        return replace(able, draws=draws, ties_need="" if draws else self.allows_ties)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return normal performances that add up within a team."""
        settings = self.settings()
        scale = np.sqrt(deviation**2 + settings.drift**2 + settings.beta**2)
        centre = self.at_home(rating, history)
        return Outlook(centre=centre, scale=scale, curve="normal", team="sum")


@rating_system
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

    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    beta: float = param(175.0, 1e-6, 1e9)
    drift: float = param(3.5, 0, 1e9)
    draw_probability: float = 0.1
    draw_rule: Literal["constant", "rating", "players"] = param(
        "constant", later=True, note=_DRAW_RULE_NOTE
    )
    draw_slope: float = param(0.0, -10, 10, later=True, note=_DRAW_SLOPE_NOTE)
    draw_rating: float | None = param(None, -1e9, 1e9, later=True, note=_DRAW_RATING_NOTE)
    shares: Literal["off", "play"] = param("off", later=True, note=_SHARES_NOTE)

    name: ClassVar[str] = "trueskill"
    tried: ClassVar[Mapping[str, Any]] = {
        "beta": Span(30, 600, 15, 5),
        "drift": Span(1, 80, 10, 0.5),
    }
    allows_ties: ClassVar[str] = "draw_probability above 0"

    def __post_init__(self) -> None:
        """Check every parameter."""
        if callable(self.draw_probability):
            raise InvalidParameterError(
                "draw_probability must be a number, or use a rule such as draw_rule='rating': "
                "a function of the teams cannot be saved, so it is for one match only, as in "
                "system.rate(teams, draw_probability=function); got a function or class"
            )
        TrueSkillSystem.__post_init__(self)

    def check(self) -> None:
        """Refuse what is no draw probability."""
        chance, rule = self.draw_probability, "0, or from 1e-9 to below 1"
        require(chance == 0 or 1e-9 <= chance < 1, "draw_probability", rule, chance)

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

    def idle(self) -> frozenset[str]:
        """Return the parameters of draws that change nothing."""
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


@rating_system
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

    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    eps: float = 1.0
    beta: float = param(175.0, 1e-6, 1e9)
    convergence_eps: float = positive(1e-4)
    sigma_drift: float = param(35.0, 0, 1e9)
    shares: Literal["off", "play"] = param("off", later=True, note=_SHARES_NOTE)

    name: ClassVar[str] = "trueskill-spb"
    added: ClassVar[str] = "sigma_drift"
    tried: ClassVar[Mapping[str, Any]] = {
        "eps": Span(0.1, 100, 10, 0.1),
        "beta": Span(30, 600, 15, 5),
        "sigma_drift": Span(5, 80, 12, 1),
    }
    allows_ties: ClassVar[str] = "eps above 0"

    def check(self) -> None:
        """Check the width of a place."""
        fits = self.eps == 0 or 1e-5 * self.beta <= self.eps <= 10.0 * self.beta
        require(fits, "eps", "0, or from 1e-5 to 10 times beta", self.eps)

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

    def draw_margin(self, players: int) -> float:
        """Return 2 eps: within it both teams can be within eps of one place."""
        return 2.0 * float(self.eps)


def explain(
    system: TrueSkillSystem, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating: the messages of its neighbours.

    A team's performance receives messages from the factors to the team ranked just above and to
    the team just below [TS]_ Fig. 1. The messages add up, and so do their parts of the change.
    With places [NS]_ a team receives one message, from its place.
    """
    single = single_match(system, before, history, match, row)
    one, i = single.history, single.row
    job = system.job(single.before, one, 0, 1)
    teams = teams_of(job, job.inputs.share, 0, int(one.teams()[0]))
    messages, _ = inferred(teams, job.settings)
    own, weight = int(one.team[i]), single.weight
    variance = float(single.trace["deviation_before"][i]) ** 2 + job.settings.drift**2
    after = float(single.after.table[one.player[i], DEVIATION]) ** 2
    share = part_played(job.inputs.share, i)
    parts = _parts(messages, teams, own, share * share * variance, weight)
    effects = {neighbour: after * share * part for neighbour, part in parts.items()}

    def numbers(j: int, score: float) -> tuple[float, float, float, float]:
        q = int(one.team[j])
        z = (teams.mean[own] - teams.mean[q]) / math.sqrt(teams.variance[own] + teams.variance[q])
        expected, deviation = float(chance(np.array(z), "normal")), math.sqrt(teams.variance[q])
        return float(teams.mean[q]), deviation, expected, effects.get(q, 0.0)

    precision = float(messages.better[own] + messages.worse[own])
    quantities = {"team strength": float(teams.mean[own]), "widened deviation": math.sqrt(variance)}
    if precision > 0.0:
        weighted = float(messages.better_mean[own] + messages.worse_mean[own])
        quantities["performance"] = weighted / precision
    return explanation(
        single,
        contributions=_contributions(effects, one, own),
        quantities=quantities,
        meanings=_MEANINGS,
        opponents=by_opponent(single, numbers),
    )


def _parts(
    found: Inferred, teams: Teams, own: int, variance: float, weight: float
) -> dict[int, float]:
    """Return what each neighbour adds to the precision-weighted mean; -1 is the team's place."""
    at = int(np.flatnonzero(found.order == own)[0])
    precision = weight * float(found.better[own] + found.worse[own])
    weighted = weight * float(found.better_mean[own] + found.worse_mean[own])
    complete = float(part_of(precision, weighted, teams, own, variance))
    messages = {}
    if found.better[own] == 0.0 and found.better_mean[own] == 0.0 and at > 0:
        return {-1: complete}
    # Both have the same denominator, so the sum splits in proportion to the numerators.
    if at > 0:
        messages[int(found.order[at - 1])] = float(
            found.better_mean[own] - found.better[own] * teams.mean[own]
        )
    if at + 1 < len(found.order):
        messages[int(found.order[at + 1])] = float(
            found.worse_mean[own] - found.worse[own] * teams.mean[own]
        )
    total = math.fsum(messages.values())
    if total == 0.0:
        return dict.fromkeys(messages, 0.0)
    scale = weight / (1.0 + precision * float(teams.variance[own] - variance))
    return {team: scale * message for team, message in messages.items()}


def _contributions(effects: dict[int, float], match: History, own: int) -> list[Contribution]:
    """Return the change by neighbour, or by the team's place."""
    ranks = dict(zip(match.team.tolist(), match.rank.tolist(), strict=True))
    parts = []
    for team, change in effects.items():
        if team < 0:
            name, reason = "the place", "the performance of this place by all other teams"
        elif ranks[team] == ranks[own]:
            name, reason = "a neighbour tied with", "tied teams perform about equally"
        elif ranks[team] < ranks[own]:
            name, reason = "the team just above", "and, through it, all teams ranked above it"
        else:
            name, reason = "the team just below", "and, through it, all teams ranked below it"
        parts.append(contribution(name, change, reason))
    return parts
