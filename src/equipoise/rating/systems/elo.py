"""Elo for duels, teams and contests: every pair of a match is a game.

Sources, read as their authors or users quote them:
    world-football   World Football Elo Ratings: 1.5 for two goals, (11 + n)/8 for n above two
    square-root      clubelo.com, Adjustment for Goal Difference: the root of the difference
    fivethirtyeight  its American football ratings: ln(1 + n) 2.2/(2.2 + 0.001 d), where d is by how
                     much the winner was rated higher, with the home advantage
Draws and differences of one have the factor 1 in the first two. Departures: for the third, a draw
counts as a difference of one between equals, where the formula as quoted would not rate it at all;
and d counts as no less than -2000, because the formula has no value at -2200. Differences between 0
and 1 count as 1.

Source: [Elo]_; expected score 1/(1 + 10^(-d/400)), change K (score - expected).
Departures: a team plays at its members' mean rating, and its change applies to all of them. In a
match of more than two, a team's change is the mean over its opponents, so that K keeps its meaning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from equipoise._jit import inlined_update, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.numeric.sums import mean_places, scores_against_field
from equipoise.rating.base_system import HomeSystem
from equipoise.rating.loop import move_rating, rate_teams, read_rating_only
from equipoise.rating.newcomers import MU, FirstMatch
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.single_match import (
    DUEL_BY_RESULT,
    TEAMS_BY_RESULT,
    by_opponent,
    explanation,
    single_match,
    sum_by_result,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, param, positive

#: Names of the rules.
MarginRule: TypeAlias = Literal["off", "world-football", "square-root", "fivethirtyeight"]

#: Numbers of the rules, as kernels have them.
RULES: dict[str, int] = {name: number for number, name in enumerate(get_args(MarginRule))}

_LEAST_LEAD = -2000.0

#: What `equipoise systems` says of the margin of victory.
_MARGIN_NOTE = (
    "rule by which the score difference of two teams multiplies the change; off, the default, "
    "uses no scores"
)

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    "strength": ("points", "the team's mean rating before the match, with the home advantage"),
    "score": ("", "a win 1, a tie 1/2, a loss 0"),
    "K": ("points", "K times weight and margin's factor; the change is K (score - expected)"),
}


@inner_kernel
def margin_multiplier(rule: int, difference: float, lead: float) -> float:
    """Return the factor of a change; 1 without a rule, or if the difference is unknown.

    difference : of the scores, at least 0; NaN for unknown
    lead : rating points by which the winner was ahead; not used for a draw, with difference 0
    """
    if rule == 0 or math.isnan(difference):
        return 1.0
    n = max(difference, 1.0)
    if rule == 1:
        if n < 2.0:
            return 1.0
        return 1.5 if n < 3.0 else (11.0 + n) / 8.0
    if rule == 2:
        return math.sqrt(n)
    ahead = max(lead, _LEAST_LEAD) if difference > 0.0 else 0.0
    return math.log1p(n) * 2.2 / (2.2 + 0.001 * ahead)


@inlined_update
def team_strengths(job: Any, head_start: Floats | None, m: int, teams: int) -> tuple[Floats, Ints]:
    """Return (mean rating plus head start of every team of match m, its rank).

    head_start : `job.inputs.head_start`
    """
    matches = job.matches
    strength, members, rank = np.zeros(teams), np.zeros(teams), np.zeros(teams, np.int64)
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        t = matches.team[i]
        strength[t] += job.table[matches.player[i], 0]
        if head_start is not None:
            strength[t] += head_start[i]
        members[t] += 1.0
        rank[t] = matches.rank[i]
    for t in range(teams):
        strength[t] /= members[t]
    return strength, rank


@kernel
def margin_factor(job: Any, scores: Floats | None, m: int, strength: Floats, rank: Ints) -> float:
    """Return by what the score difference of two teams multiplies their changes; 1 for more.

    scores : `job.inputs.score`
    """
    if scores is None:
        return 1.0
    if len(strength) != 2:
        return 1.0
    matches, score = job.matches, np.empty(2)
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        score[matches.team[i]] = scores[i]
    lead = strength[0] - strength[1] if rank[0] < rank[1] else strength[1] - strength[0]
    difference = abs(score[0] - score[1]) if rank[0] != rank[1] else 0.0 * (score[0] - score[1])
    return margin_multiplier(job.settings.margin_rule, difference, lead)


@inlined_update
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a match of single players or teams; return z of two teams, and that nothing failed."""
    matches, slope, others = job.matches, job.settings.slope, teams - 1.0
    strength, rank = team_strengths(job, job.inputs.head_start, m, teams)
    expected, places = scores_against_field(strength, np.full(teams, slope)), mean_places(rank)
    most = job.settings.k * matches.weight[m]
    factor = margin_factor(job, job.inputs.score, m, strength, rank)
    # A win scores 1 and a tie 1/2 against each of the others.
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        t = matches.team[i]
        job.table[matches.player[i], 0] += (
            most * factor * (teams - places[t] - expected[t]) / others
        )
        if len(job.trace.expected):
            job.trace.expected[i] = expected[t] / others
    return slope * (strength[0] - strength[1]), -1.0


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first match said: Elo is one step of a belief of constant deviation.

    Of a win or a loss against an equal, the logistic curve has the information slope^2/4. Its
    step from a deviation of 2/slope is 4/slope^2 slope (score - expected), not K times that.
    """
    change = job.table[job.matches.player[i], 0] - job.entry.pool[MU]
    k, slope = job.settings.k, job.settings.slope
    return FirstMatch(change * 4.0 / (k * slope), job.matches.weight[m], job.entry.deviation)


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_teams(job, first, last, rate_match, None, read_rating_only, evidence, move_rating)


@rating_system
class Elo(RatedSystem, HomeSystem):
    """Elo [Elo]_ for matches of any kind.

    k : largest change of a match, rating points; a match weight multiplies it
    scale : rating difference at which ten to one is expected, rating points
    initial_rating : of a new player
    margin_rule : how the score difference of two teams multiplies the change: world-football,
        square-root or fivethirtyeight, see `margin_rules`; off: not at all

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Elo(k=20), league).ratings
    <Ratings: 6 players, the best ada with 1,794.7>
    """

    k: float = positive(32.0)
    scale: float = positive(400.0)
    initial_rating: float = param(1500.0, rule="finite", above=True, below=True)
    margin_rule: MarginRule = param("off", words=RULES, later=True, note=_MARGIN_NOTE)

    name: ClassVar[str] = "elo"
    tried: ClassVar[Mapping[str, Any]] = {"k": Span(4, 160, 14, 1)}
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "score": "margin_rule"}
    shown: ClassVar[Sequence[str]] = ("rating",)
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "matches": 0.0,
        "last_time": math.nan,
    }
    adds_head_starts: ClassVar[bool] = True
    loop = staticmethod(rate)

    def derived(self) -> Mapping[str, float]:
        """Return the slope of the curve."""
        return {"slope": math.log(10.0) / self.scale}

    @property
    def usual_deviation(self) -> float:
        """The deviation that an Elo rating stands for, 2 scale/ln 10, rating points."""
        return 2.0 * self.scale / math.log(10.0)

    def first_share(self, before: Floats, after: Floats, weight: Floats) -> Floats:
        """Return the share that K takes over of a performance, by the slope of the curve."""
        return weight * self.k * math.log(10.0) / (4.0 * self.scale)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings plus head starts, and the scale by `scale`."""
        # Two of these make the scale of the difference, scale/ln 10, whatever the teams' sizes.
        shared = 0.5 * (self.scale / math.log(10.0)) ** 2
        scale = np.full(len(rating), math.sqrt(shared))
        centre = self.at_home(rating, history)
        return Outlook(centre=centre, scale=scale, curve="logistic", shared=shared)


def explain(system: Elo, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating: K times the surprise.

    The change is the mean over the opposing teams of K (score - expected), so every opponent has
    a part of it.
    """
    single = single_match(system, before, history, match, row)
    one, i = single.history, single.row
    job = system.job(single.before, one, 0, 1)
    if job.inputs.head_start is not None:
        job.inputs.head_start[:] = system.head_starts(one, float(system.home_advantage))
    by_team, rank = team_strengths(job, job.inputs.head_start, 0, int(one.teams()[0]))
    strength, others = by_team[one.team], len(by_team) - 1
    k = system.k * single.weight
    k *= margin_factor(job, job.inputs.score, 0, by_team, rank)

    def numbers(j: int, score: float) -> tuple[float, float, float, float]:
        z = (strength[i] - strength[j]) * job.settings.slope
        expected = float(chance(np.array(z), "logistic"))
        return float(strength[j]), math.nan, expected, k * (score - expected) / others

    opponents, expected = by_opponent(single, numbers), single.expected
    mean = f"a mean of 1/(1 + 10^(-difference/{system.scale:g})) over the opponents"
    return explanation(
        single,
        contributions=sum_by_result(opponents, DUEL_BY_RESULT if others == 1 else TEAMS_BY_RESULT),
        quantities={
            "strength": float(strength[i]),
            "expected score": expected,
            "score": math.fsum(other.score for other in opponents) / others,
            "K": k,
        },
        meanings={**_MEANINGS, "expected score": ("", mean)},
        opponents=opponents,
        bounds=(-k * expected, k * (1.0 - expected)),
    )
