"""Weng and Lin's closed-form Bayesian updates: Plackett-Luce, Bradley-Terry, Thurstone-Mosteller.

Source: [WL]_ Algorithms 1 and 2 (Bradley-Terry, full and partial pair) and 3 (Thurstone-Mosteller).
With partial pairing a team is compared with its neighbours in the order of the ranks. Departures:
there may be more than one neighbour on each side, and a change may be the mean over the pairs; both
are from openskill 6.2. Thurstone-Mosteller doubles c with partial pairing, as openskill does in
all its versions; the text of the paper was not at hand to compare.

v and w of the paper are moments of truncated normal variables, as in TrueSkill.

Source: [WL]_ Algorithm 4 (Plackett-Luce). Ratings and variances of a team, mu_i and sigma_i^2
below, are sums over its members; gamma is sigma_i/c, as in sec. 3.
Departures: a match weight w multiplies omega and delta; before a match every member's variance
grows by drift^2, as in TrueSkill. Ties share a stage of Plackett-Luce: see `_plackett_luce`.

Algorithm 4 as printed has a sum over stages for every team. All stages up to a team's own have the
same numerator, exp(mu_i/c), so prefix sums over stages of 1/S and 1/S^2 are enough for all teams:
the cost is linear in the number of teams.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from equipoise._jit import inlined_update, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.errors import InvalidDataError, require
from equipoise.numeric.functions import above_zero, exp, logistic, normal_cdf, within
from equipoise.numeric.sums import scores_against_field
from equipoise.rating.base_system import DEVIATION, RATING, HomeSystem, Matches
from equipoise.rating.loop import move_rating, rate_teams, read_columns
from equipoise.rating.newcomers import first_match_after_drift
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.single_match import (
    TEAMS_BY_RESULT,
    by_opponent,
    explanation,
    single_match,
    sum_by_result,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, initial_deviation, initial_rating, param
from equipoise.rating.systems.trueskill_match import (
    by_rank,
    contributions,
    factor_of_gain,
    part_played,
)

#: Bound of differences of strength, in units of c: e^-600 is negligible compared with 1.
_FARTHEST = 600.0

#: The smallest sum S of which 1/S^2 is computed; below about 1e-154 it is not finite.
_LEAST_SQUARED = 1e-150

#: What `equipoise systems` says of parameters that are off by default.
_SHARES_NOTE = (
    "use of the column share: off; play, the part of the match that a player played; "
    "contribution, openskill's weights"
)
_MARGIN_NOTE = "score difference above which its size counts, by openskill's rule; 0 uses no scores"
_PAIRING_NOTE = (
    "teams to compare: full, every pair; partial, each team with window neighbours above and below"
)
_WINDOW_NOTE = (
    "number of teams above, and below, with which a team is compared under pairing=partial"
)
_AVERAGE_NOTE = (
    "use the mean over a team's pairs as its change instead of their sum, which in large fields "
    "spreads ratings far too wide"
)
_LIMIT_NOTE = "let no match raise a deviation, as openskill's limit_sigma does"

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    "team strength": ("points", "the sum of the ratings of the team's members"),
    "team deviation": ("points", "standard deviation of that sum, with the drift of a match"),
    "share": ("", "the player's part of the team's variance, and of its change"),
    "c": ("points", "the standard deviation of all teams' performances together"),
}

#: What keeps changes small in large fields.
_FOR_LARGE_FIELDS = "average=true or pairing=partial"


@inner_kernel
def margin_factor(score: Floats | None, margin: float, t: int, q: int) -> float:
    """Return what openskill divides a difference of strengths by: ln(1 + difference/margin).

    1 if the scores differ by the margin or less, or are unknown, or are not used.
    """
    if score is None:
        return 1.0
    difference = abs(score[t] - score[q])
    return math.log1p(difference / margin) if difference > margin else 1.0


@kernel
def strengths_by_margin(strength: Floats, score: Floats | None, margin: float) -> Floats:
    """Return the strengths that openskill gives to Plackett-Luce for the teams' scores.

    From the strength of a team, the mean over all teams with another score of the difference
    times (factor - 1) is taken. Without scores they are as they were.
    """
    if score is None:
        return strength
    n = len(strength)
    moved = np.empty(n)
    for t in range(n):
        total, others = 0.0, 0.0
        for q in range(n):
            if abs(score[t] - score[q]) > 0.0:
                factor = margin_factor(score, margin, t, q)
                total += (strength[t] - strength[q]) * (factor - 1.0)
                others += 1.0
        moved[t] = strength[t] - (total / others if others > 0.0 else 0.0)
    return moved


@inner_kernel
def of_pair(teams: Teams, settings: Settings, t: int, q: int) -> tuple[float, float]:
    """Return what team q adds to (omega, delta) of team t."""
    variance = teams.variance[t]
    c2 = variance + teams.variance[q] + 2.0 * settings.beta * settings.beta
    if settings.normal and settings.window > 0:
        c2 *= 4.0
    c = math.sqrt(c2)
    z = (teams.strength[t] - teams.strength[q]) / c
    z /= margin_factor(teams.score, settings.margin, t, q)
    gamma = math.sqrt(variance) / c
    own, other = teams.rank[t], teams.rank[q]
    if settings.normal:
        eps = settings.eps / c
        if own == other:
            v, left = within(z, eps)
        elif own < other:
            v, left = above_zero(z - eps)
        else:
            v, left = above_zero(-z - eps)
            v = -v
        return variance / c * v, gamma * variance / c2 * (1.0 - left)
    score = 0.5 if own == other else 1.0 if own < other else 0.0
    p = logistic(z)
    return variance / c * (score - p), gamma * variance / c2 * p * (1.0 - p)


@kernel
def by_pairs(teams: Teams, settings: Settings) -> tuple[Floats, Floats]:
    """Return (omega, delta) of every team."""
    n = len(teams.rank)
    order = by_rank(teams.rank)
    reach = settings.window if settings.window > 0 else n
    omega, delta = np.zeros(n), np.zeros(n)
    for place in range(n):
        t = order[place]
        low, high = max(0, place - reach), min(n, place + reach + 1)
        for at in range(low, high):
            if at != place:
                more_omega, more_delta = of_pair(teams, settings, t, order[at])
                omega[t] += more_omega
                delta[t] += more_delta
        if settings.average:
            omega[t] /= high - low - 1.0
            delta[t] /= high - low - 1.0
    return omega, delta


class Settings(NamedTuple):
    """Parameters in the form that kernels use.

    pairs : whether teams are compared in pairs; else Plackett-Luce
    plain : whether that is Bradley-Terry with all pairs, and nothing further
    normal : Thurstone-Mosteller instead of Bradley-Terry
    eps : half the width of a draw, for Thurstone-Mosteller
    window : teams above and below with which a team is compared; 0 for all
    average : whether a change is the mean over the pairs instead of their sum
    contribution : whether shares are contributions; else they are partial play
    limit : whether no deviation grows
    margin : score difference above which it counts; 0 for never
    """

    beta: float
    drift: float
    least_share: float
    pairs: bool
    plain: bool
    normal: bool
    eps: float
    window: int
    average: bool
    contribution: bool
    limit: bool
    margin: float


class Teams(NamedTuple):
    """The T teams of a match: sums of members' ratings and variances, dense ranks, and scores.

    score : shape (T,), NaN if unknown, or None if scores are not used
    """

    strength: Floats
    variance: Floats
    rank: Ints
    score: Floats | None


@kernel
def _team_scores(score: Floats | None, matches: Matches, m: int, count: int) -> Floats | None:
    """Return the score of every team, None if scores are not used."""
    if score is None:
        return None
    scores = np.empty(count)
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        scores[matches.team[i]] = score[i]
    return scores


@kernel
def teams_of(job: Any, share: Floats | None, score: Floats | None, m: int, count: int) -> Teams:
    """Return the teams of match m, so many.

    share, score : `job.inputs.share` and `job.inputs.score`
    """
    matches, settings, drift = job.matches, job.settings, job.settings.drift
    strength, variance, rank = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        t, player = matches.team[i], job.table[matches.player[i]]
        part = 1.0 if settings.contribution else part_played(share, i)
        strength[t] += part * player[RATING]
        variance[t] += part * part * (player[DEVIATION] * player[DEVIATION] + drift * drift)
        rank[t] = matches.rank[i]
    return Teams(strength, variance, rank, _team_scores(score, matches, m, count))


@kernel
def spread(teams: Teams, beta: float) -> float:
    """Return c of Algorithm 4, the standard deviation of all teams' performances together."""
    total = 0.0
    for variance in teams.variance:
        total += variance + beta * beta
    return math.sqrt(total)


@kernel
def stages(teams: Teams, c: float) -> tuple[Floats, Floats, Floats]:
    """Return (e, S, A): e_i = exp(mu_i/c) scaled; for every rank, its S and its number of teams.

    S is the sum of e over the teams of that rank and all worse ones.
    """
    top, highest = -np.inf, 0
    for t in range(len(teams.rank)):
        top = max(top, teams.strength[t])
        highest = max(highest, teams.rank[t])
    e, held, sums = np.empty(len(teams.rank)), np.zeros(highest + 1), np.zeros(highest + 1)
    for t in range(len(teams.rank)):
        e[t] = exp(max((teams.strength[t] - top) / c, -_FARTHEST))
        held[teams.rank[t]] += 1.0
        sums[teams.rank[t]] += e[t]
    for r in range(highest - 1, -1, -1):
        sums[r] += sums[r + 1]
    return e, sums, held


@inner_kernel
def _picked(e: float, sums: Floats, rank: int) -> tuple[float, float]:
    """Return the sums of e/S and of its square over the stages up to a rank, term by term."""
    total = squares = 0.0
    for r in range(rank + 1):
        share = e / sums[r]
        total += share
        squares += share * share
    return total, squares


@kernel
def _plackett_luce(teams: Teams, beta: float) -> tuple[Floats, Floats]:
    """Return (omega, delta) of every team, Algorithm 4.

    With A teams on a rank, each takes the stage with 1/A: omega_i = 1/A - sum of e_i/S over the
    stages up to its own.
    """
    n, c = len(teams.rank), spread(teams, beta)
    e, sums, held = stages(teams, c)
    first, second = np.empty(len(sums)), np.empty(len(sums))
    a = b = 0.0
    for r in range(len(sums)):
        a += 1.0 / sums[r]
        b += 1.0 / (sums[r] * sums[r]) if sums[r] > _LEAST_SQUARED else math.inf
        first[r], second[r] = a, b
    omega, delta = np.empty(n), np.empty(n)
    for t in range(n):
        r, variance = teams.rank[t], teams.variance[t]
        if math.isinf(second[r]):
            # For teams hundreds of c below the best, 1/S^2 leaves the range of numbers.
            picked, squares = _picked(e[t], sums, r)
        else:
            picked, squares = e[t] * first[r], e[t] * e[t] * second[r]
        spent = picked - squares
        omega[t] = variance / c * (1.0 / held[r] - picked)
        gamma = math.sqrt(variance) / c
        delta[t] = gamma * variance / (c * c) * spent
    return omega, delta


@inner_kernel
def score_of(own: int, other: int) -> float:
    """Return 1 for the better rank, 1/2 for equal ones."""
    if own == other:
        return 0.5
    return 1.0 if own < other else 0.0


@kernel
def _bradley_terry(teams: Teams, beta: float) -> tuple[Floats, Floats]:
    """Return (omega, delta) of every team, Algorithm 1: every other team is a game."""
    n = len(teams.rank)
    omega, delta = np.zeros(n), np.zeros(n)
    for t in range(n):
        variance = teams.variance[t]
        for q in range(n):
            if q == t:
                continue
            c2 = variance + teams.variance[q] + 2.0 * beta * beta
            c = math.sqrt(c2)
            p = logistic((teams.strength[t] - teams.strength[q]) / c)
            omega[t] += variance / c * (score_of(teams.rank[t], teams.rank[q]) - p)
            gamma = math.sqrt(variance) / c
            delta[t] += gamma * variance / c2 * p * (1.0 - p)
    return omega, delta


@kernel
def _expected(teams: Teams, settings: Settings) -> Floats:
    """Return every team's mean expected score against another in the model of this match."""
    n = len(teams.rank)
    if not settings.pairs:
        slope = 1.0 / spread(teams, settings.beta)
        return scores_against_field(teams.strength, np.full(n, slope)) / (n - 1.0)
    out = np.zeros(n)
    for t in range(n):
        for q in range(n):
            if q != t:
                c2 = teams.variance[t] + teams.variance[q] + 2.0 * settings.beta**2
                z = (teams.strength[t] - teams.strength[q]) / math.sqrt(c2)
                out[t] += normal_cdf(z) if settings.normal else logistic(z)
    return out / (n - 1.0)


@inlined_update
def rate_match(job: Any, m: int, count: int) -> tuple[float, float]:
    """Rate a match of teams; return z of two teams, and that nothing failed."""
    matches, settings, weight = job.matches, job.settings, job.matches.weight[m]
    start, stop = matches.offsets[m], matches.offsets[m + 1]
    teams = teams_of(job, job.inputs.share, job.inputs.score, m, count)
    if settings.plain:
        omega, delta = _bradley_terry(teams, settings.beta)
    elif settings.pairs:
        omega, delta = by_pairs(teams, settings)
    else:
        moved = strengths_by_margin(teams.strength, teams.score, settings.margin)
        by_score = Teams(moved, teams.variance, teams.rank, teams.score)
        omega, delta = _plackett_luce(by_score, settings.beta)
    # Without contributions every factor is 1, and no bit changes by it.
    factors = contributions(job.inputs.share, matches.team, start, stop, settings.contribution)
    expected = _expected(teams, settings) if len(job.trace.expected) else np.empty(0)
    for i in range(start, stop):
        t, player = matches.team[i], job.table[matches.player[i]]
        variance = player[DEVIATION] * player[DEVIATION] + settings.drift * settings.drift
        part = 1.0 if settings.contribution else part_played(job.inputs.share, i)
        share = part * variance / teams.variance[t]
        gains = omega[t] > 0.0 or (omega[t] == 0.0 and not settings.normal)
        factor = factor_of_gain(factors, i - start, gains)
        shrinks = weight * part * share * delta[t] * factor
        left = max(1.0 - shrinks, settings.least_share)
        player[RATING] += weight * share * omega[t] * factor
        deviation = math.sqrt(variance * left)
        player[DEVIATION] = min(deviation, player[DEVIATION]) if settings.limit else deviation
        if len(job.trace.expected):
            job.trace.expected[i] = expected[t]
    z = math.nan
    if count == 2:
        z = (teams.strength[0] - teams.strength[1]) / spread(teams, settings.beta)
    return z, -1.0


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    read, evidence = read_columns, first_match_after_drift
    return rate_teams(job, first, last, rate_match, None, read, evidence, move_rating)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WengLinParameters(RatedSystem, HomeSystem):
    """The base class of all three models, with their parameters [WL]_.

    initial_rating, initial_deviation : of a new player, rating points
    beta : standard deviation of one performance, rating points; half the initial deviation [WL]_
        sec. 6
    drift : standard deviation that a match adds before it is rated, rating points
    least_share : a match leaves at least this part of a variance, kappa of [WL]_
    shares : how the column `share` counts: off; play: partial play, it multiplies the player's
        rating in the team's sum; contribution: openskill's `weights`, which multiply gains and
        divide losses by 1 to 2
    limit_deviation : whether no match leaves a deviation above that before it, openskill's
        `limit_sigma`
    margin : score difference above which it counts, by openskill's rule; 0 for never
    """

    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    beta: float = param(175.0, 1e-6, 1e9)
    drift: float = param(3.5, 0, 1e9)
    least_share: float = param(1e-4, 0, 1, above=True, rule="above 0 and at most 1")
    shares: Literal["off", "play", "contribution"] = param("off", later=True, note=_SHARES_NOTE)
    limit_deviation: bool = param(False, later=True, note=_LIMIT_NOTE)
    margin: float = param(0.0, 0, 1e9, later=True, note=_MARGIN_NOTE)

    name: ClassVar[str]
    tried: ClassVar[Mapping[str, Any]] = {
        "beta": Span(30, 600, 15, 5),
        "drift": Span(1, 80, 10, 0.5),
    }
    adds_players: ClassVar[bool] = True
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "share": "shares", "score": "margin"}
    added: ClassVar[str] = "drift"
    loop = staticmethod(rate)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of a match of two: logistic, c^2 = the sum of sigma^2 + beta^2."""
        own = deviation**2 + self.drift**2
        return Outlook(
            centre=self.at_home(rating, history),
            scale=np.sqrt(own + self.beta**2),
            curve="logistic",
            team="sum",
            shared=self.beta**2,
        )

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(
            beta=float(self.beta),
            drift=float(self.drift),
            least_share=float(self.least_share),
            pairs=False,
            plain=False,
            normal=False,
            eps=0.0,
            window=0,
            average=False,
            contribution=self.shares == "contribution",
            limit=self.limit_deviation,
            margin=float(self.margin),
        )


@rating_system
class PlackettLuce(WengLinParameters):
    """Plackett-Luce [WL]_ Algorithm 4: places are drawn one after another, the best first.

    The time is linear in the number of teams.

    initial_rating, initial_deviation : of a new player, rating points
    beta : standard deviation of one performance, rating points; half the initial deviation [WL]_
        sec. 6
    drift : standard deviation that a match adds before it is rated, rating points
    least_share : a match leaves at least this part of a variance, kappa of [WL]_
    shares : how the column `share` counts: off; play: partial play, it multiplies the player's
        rating in the team's sum; contribution: openskill's `weights`, which multiply gains and
        divide losses by 1 to 2
    limit_deviation : whether no match leaves a deviation above that before it, openskill's
        `limit_sigma`
    margin : score difference above which it counts, by openskill's rule; 0 for never

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.PlackettLuce(), history).ratings
    <Ratings: 120 players, the best dune-crane with 1,994.5>
    """

    name: ClassVar[str] = "plackett-luce"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PairParameters(WengLinParameters):
    """The base class of the models that compare teams in pairs, with their parameters [WL]_.

    pairing, window, average : see `BradleyTerry`
    """

    pairing: Literal["full", "partial"] = param("full", later=True, note=_PAIRING_NOTE)
    window: int = param(1, 1, 10**6, rule="from 1 to 1,000,000", later=True, note=_WINDOW_NOTE)
    average: bool = param(False, later=True, note=_AVERAGE_NOTE)

    #: Teams of a match above which a sum over all pairs is too large: in 30 random matches with
    #: changing fields, ratings left their true range of some 1,000 points by more than its width.
    most_added: ClassVar[int] = 30

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users of these parameters, as sentences without full stops."""
        if not self.adds_all_pairs:
            return ()
        return (
            f"{self.name} adds the changes of all pairs of teams: for matches of more than "
            f"{self.most_added} teams set {_FOR_LARGE_FIELDS}",
        )

    @property
    def adds_all_pairs(self) -> bool:
        """Whether a change is a sum over all pairs, which grows with the number of teams."""
        return self.pairing == "full" and not self.average

    def field_notes(self, history: History) -> list[str]:
        """Return a note on matches of more teams than sums over all pairs are good for."""
        largest = int(history.teams().max()) if history.matches else 0
        if not self.adds_all_pairs or largest <= self.most_added:
            return []
        return [
            f"{self.name} adds the changes of all pairs of teams, here of up to {largest:,} in a "
            f"match: with more than {self.most_added} the ratings spread far too wide or run away; "
            f"set {_FOR_LARGE_FIELDS}"
        ]

    def compared_pairs(self, history: History) -> int:
        """Return how many pairs of teams the matches of a history compare, each from both sides."""
        teams = history.teams()
        near = np.minimum(teams - 1, teams if self.pairing == "full" else 2 * self.window)
        return int(np.sum(teams * np.maximum(near, 0)))

    def check_ratings(self, rating: Floats, history: History) -> None:
        """Refuse ratings that ran away in too large matches. Raises : InvalidDataError."""
        if not self.field_notes(history):
            return
        most = max(2e9, 1e6 * self.initial_deviation) + abs(self.initial_rating)
        far = np.flatnonzero(~(np.abs(rating) <= most))
        if len(far):
            raise InvalidDataError(
                [],
                f"{self.name} moved a rating to {rating[far[0]]:.3g}: it adds the changes of all "
                f"pairs of teams, too many for these matches; set {_FOR_LARGE_FIELDS}",
            )

    def idle(self) -> frozenset[str]:
        """Return the parameters that change nothing: with all pairs there is no window."""
        return frozenset({"window"} if self.pairing == "full" else ())

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        plain = WengLinParameters.settings(self)
        full = self.pairing == "full"
        return plain._replace(
            pairs=True,
            plain=full and not self.average and self.margin == 0,
            window=0 if full else int(self.window),
            average=self.average,
        )


@rating_system
class BradleyTerry(PairParameters):
    """Bradley-Terry [WL]_ Algorithms 1 and 2: pairs of teams of a match are games.

    The time is quadratic in the number of teams, and linear with partial pairing. The other
    parameters are those of `PlackettLuce`.

    pairing : full: every pair of teams is a game; partial: only neighbours in the order of the
        ranks, where equal ranks are in the order of the match
    window : with partial pairing, how many teams above and how many below are neighbours; 1 [WL]_
    average : whether a change is the mean over the games of a team, as openskill has it for partial
        pairing, instead of their sum [WL]_

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.BradleyTerry(), league).ratings
    <Ratings: 6 players, the best ada with 1,943.6>
    """

    name: ClassVar[str] = "bradley-terry"


@rating_system
class ThurstoneMosteller(PairParameters):
    """Thurstone-Mosteller [WL]_ Algorithm 3: as `BradleyTerry`, with normal performances.

    Two teams draw if their performances are within `eps` of each other. The other parameters are
    those of `BradleyTerry`. Partial pairing doubles c, as openskill does.

    eps : largest difference of two performances that is a draw, rating points; 0.012 of the initial
        deviation, as openskill has it

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.ThurstoneMosteller(), league).ratings
    <Ratings: 6 players, the best ada with 1,779.8>
    """

    eps: float = 4.2

    name: ClassVar[str] = "thurstone-mosteller"
    #: Its changes are not bounded by the number of pairs, as those of Bradley-Terry are.
    most_added: ClassVar[int] = 8

    def check(self) -> None:
        """Check the width of a draw."""
        least, most = 1e-5 * self.beta, 10.0 * self.beta
        require(least <= self.eps <= most, "eps", "from 1e-5 to 10 times beta", self.eps)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of a match of two: normal, c^2 = the sum of sigma^2 + beta^2."""
        outlook = WengLinParameters.outlook(self, rating, deviation, history)
        return replace(outlook, curve="normal")

    def draw_margin(self, players: int) -> float:
        """Return the largest difference of two teams that is a draw, whatever their size."""
        return float(self.eps)

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return PairParameters.settings(self)._replace(plain=False, normal=True, eps=float(self.eps))


def explain(
    system: WengLinParameters, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating: the part of every other team."""
    single = single_match(system, before, history, match, row)
    one, i = single.history, single.row
    job = system.job(single.before, one, 0, 1)
    settings, played = job.settings, job.inputs.share
    teams = teams_of(job, played, job.inputs.score, 0, int(one.teams()[0]))
    own = int(one.team[i])
    if settings.pairs:
        parts = _pairwise(teams, settings, own)
    else:
        moved = strengths_by_margin(teams.strength, teams.score, settings.margin)
        parts = _staged(teams._replace(strength=moved), settings, own)
    deviation = float(single.trace["deviation_before"][i])
    part = 1.0 if settings.contribution else part_played(played, i)
    share = part * (deviation**2 + system.drift**2) / float(teams.variance[own])
    unit = single.weight * share * float(teams.variance[own])
    if settings.contribution:
        factors = contributions(played, one.team, 0, one.participations, True)
        unit *= factor_of_gain(factors, i, float(np.sum(parts)) >= 0.0)
    shared = spread(teams, settings.beta)

    def numbers(j: int, score: float) -> tuple[float, float, float, float]:
        q, c = int(one.team[j]), shared
        if settings.pairs:
            c = math.sqrt(teams.variance[own] + teams.variance[q] + 2.0 * settings.beta**2)
        z = np.array((teams.strength[own] - teams.strength[q]) / c)
        expected = float(chance(z, "normal" if settings.normal else "logistic"))
        strength, deviation = float(teams.strength[q]), math.sqrt(teams.variance[q])
        return strength, deviation, expected, unit * float(parts[q])

    opponents = by_opponent(single, numbers)
    return explanation(
        single,
        contributions=sum_by_result(opponents, TEAMS_BY_RESULT),
        quantities={
            "team strength": float(teams.strength[own]),
            "team deviation": math.sqrt(float(teams.variance[own])),
            "share": share,
            **({} if settings.pairs else {"c": shared}),
        },
        meanings=_MEANINGS,
        opponents=opponents,
    )


def _pairwise(teams: Teams, settings: Settings, own: int) -> Floats:
    """Return what every team adds to omega over the team's variance, shape (T,); 0 at `own`.

    Every opposing team is a game, or every neighbour with partial pairing.
    """
    order = by_rank(teams.rank)
    place = int(np.flatnonzero(order == own)[0])
    reach = settings.window or len(order)
    near = [int(q) for q in order[max(0, place - reach) : place + reach + 1] if q != own]
    parts = np.zeros(len(order))
    for q in near:
        omega, _ = of_pair(teams, settings, own, q)
        parts[q] = omega / float(teams.variance[own])
    return parts / len(near) if settings.average else parts


def _staged(teams: Teams, settings: Settings, own: int) -> Floats:
    """Return what `_pairwise` returns, for Plackett-Luce: omega is exactly a sum over other teams.

    A team with a better place adds -e_i/S, where S is the sum of e over all teams not yet placed at
    its stage. A team with a worse place adds its e/S at the stage of the player's team.
    """
    c = spread(teams, settings.beta)
    e, sums, held = stages(teams, c)
    rank = int(teams.rank[own])
    better, tied = teams.rank < rank, teams.rank == rank
    parts = e / sums[rank] / held[rank]
    parts[tied] = (e[tied] - e[own]) / sums[rank] / held[rank]
    parts[better] = -e[own] / sums[teams.rank[better]] / held[teams.rank[better]]
    parts[own] = 0.0
    return np.asarray(parts / c, dtype=np.float64)
