"""Elo for duels, teams and contests: every pair of a match is a game.

Source: [Elo]_; expected score 1/(1 + 10^(-d/400)), change K (score - expected).
Departures: a team plays at its members' mean rating, and its change applies to all of them. In a
match of more than two, a team's change is the mean over its opponents, so that K keeps its meaning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.field_scores import scores_against_field
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import Home, rate_at_home
from equipoise.rating.advantage.home_system import HomeSystem, no_home_side
from equipoise.rating.base_system import Job, Matches, Rate, TraceArrays
from equipoise.rating.classical.margin_rules import RULES, MarginRule, margin_multiplier
from equipoise.rating.draws import count_match
from equipoise.rating.entry.entering import MU, FirstMatch, move_rating, rate_each, read_rating
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities

#: Columns of the state.
RATING, MATCHES, LAST_TIME = range(3)


#: What `equipoise systems` says of the margin of victory.
_MARGIN_NOTE = (
    "how the score difference of two teams multiplies the change; off, the default, uses no scores"
)


class Settings(NamedTuple):
    """Parameters in the form that kernels use; slope = ln 10/scale, rule of `margin_rules`."""

    k: float
    slope: float
    rule: int


class EloInput(NamedTuple):
    """What kernels are told of participations beside their ranks.

    head_start : shape (N,), rating points, or None without a home advantage
    score : shape (N,), of the player's team, NaN if unknown, or None without a rule
    """

    head_start: Floats | None
    score: Floats | None


@kernel
def team_strengths(
    table: Floats, matches: Matches, head_start: Floats | None, start: int, stop: int
) -> tuple[Floats, Ints]:
    """Return (mean rating plus head start of every team, its rank).

    head_start : shape (N,), rating points added to a participation, or None
    """
    count = 0
    for i in range(start, stop):
        count = max(count, matches.team[i] + 1)
    strength, members, rank = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    for i in range(start, stop):
        t = matches.team[i]
        strength[t] += table[matches.player[i], RATING]
        if head_start is not None:
            strength[t] += head_start[i]
        members[t] += 1.0
        rank[t] = matches.rank[i]
    for t in range(count):
        strength[t] /= members[t]
    return strength, rank


@kernel
def _scores(rank: Ints) -> Floats:
    """Return every team's score against all others: a win 1, a tie 1/2."""
    n = len(rank)
    highest = 0
    for r in rank:
        highest = max(highest, r)
    held = np.zeros(highest + 1)
    for r in rank:
        held[r] += 1.0
    worse = np.zeros(highest + 1)
    for r in range(highest - 1, -1, -1):
        worse[r] = worse[r + 1] + held[r + 1]
    scores = np.empty(n)
    for t in range(n):
        scores[t] = worse[rank[t]] + 0.5 * (held[rank[t]] - 1.0)
    return scores


@kernel
def factor_of(
    scores: Floats | None,
    team: Ints,
    rows: tuple[int, int],
    strength: Floats,
    rank: Ints,
    rule: int,
) -> float:
    """Return by what the score difference of two teams multiplies their changes; 1 for more.

    scores, team : of the participations; rows : from which to which they are of the match
    """
    if scores is None:
        return 1.0
    if len(strength) != 2:
        return 1.0
    score = np.empty(2)
    for i in range(rows[0], rows[1]):
        score[team[i]] = scores[i]
    lead = strength[0] - strength[1] if rank[0] < rank[1] else strength[1] - strength[0]
    difference = abs(score[0] - score[1]) if rank[0] != rank[1] else 0.0 * (score[0] - score[1])
    return margin_multiplier(rule, difference, lead)


@kernel
def rate_matches(
    job: Job[Settings, TraceArrays, EloInput], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last in order; return (-1, -1), because no equation can fail."""
    matches, settings, trace = job.matches, job.settings, job.trace
    for m in range(first, last):
        start, stop = matches.offsets[m], matches.offsets[m + 1]
        strength, rank = team_strengths(job.table, matches, job.own.head_start, start, stop)
        others = len(strength) - 1.0
        if others < 1.0:
            continue
        expected = scores_against_field(strength, np.full(len(strength), settings.slope))
        scores = _scores(rank)
        rows = (start, stop)
        factor = factor_of(job.own.score, matches.team, rows, strength, rank, settings.rule)
        if len(job.draws) and len(strength) == 2:
            advantage = settings.slope * (strength[0] - strength[1])
            count_match(job.draws, rank[0] == rank[1], advantage, False)
        for i in range(start, stop):
            t = matches.team[i]
            player = job.table[matches.player[i]]
            change = settings.k * matches.weight[m] * factor * (scores[t] - expected[t]) / others
            if len(trace.expected):
                trace.expected[i] = expected[t] / others
            if len(trace.rating):
                trace.rating_before[i] = player[RATING]
                trace.rating[i] = player[RATING] + change
            player[RATING] += change
            player[MATCHES] += 1.0
            player[LAST_TIME] = matches.time[m]
    return -1, -1.0


@inner_kernel
def _evidence(job: Job[Settings, TraceArrays, EloInput], m: int, i: int) -> FirstMatch:
    """Return what a first match said: Elo is one step of a belief of constant deviation.

    Of a win or a loss against an equal, the logistic curve has the information slope^2/4. Its
    step from a deviation of 2/slope is 4/slope^2 slope (score - expected), not K times that.
    """
    change = job.table[job.matches.player[i], RATING] - job.entry.pool[MU]
    k, slope = job.settings.k, job.settings.slope
    return FirstMatch(change * 4.0 / (k * slope), job.matches.weight[m], job.entry.deviation)


@kernel
def rate_with_entry(
    job: Job[Settings, TraceArrays, EloInput], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, with their entry and level."""
    return rate_each(job, first, last, rate_matches, _evidence, move_rating, read_rating)


@inner_kernel
def _standing(job: Job[Settings, TraceArrays, EloInput], m: int, i: int) -> tuple[float, float]:
    """Return (rating, deviation) of participation i; Elo has no deviations."""
    rating: float = job.table[job.matches.player[i], RATING]
    return rating, 0.0


@kernel
def rate_with_home(
    job: Job[Settings, TraceArrays, EloInput], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last like `rate_matches`, and learn the head starts."""
    return rate_at_home(job, first, last, rate_matches, _standing)


@kernel
def rate_with_both(
    job: Job[Settings, TraceArrays, EloInput], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last with learned head starts, entry and level."""
    return rate_each(job, first, last, rate_with_home, _evidence, move_rating, read_rating)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Elo(HomeSystem):
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

    k: float = 32.0
    scale: float = 400.0
    initial_rating: float = 1500.0
    margin_rule: MarginRule = field(default="off", metadata={"later": True, "note": _MARGIN_NOTE})

    name: ClassVar[str] = "elo"
    adds_head_starts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        self.check_entry()
        require(0 < self.k < math.inf, "k", "positive", self.k)
        require(0 < self.scale < math.inf, "scale", "positive", self.scale)
        for name in ("initial_rating", "home_advantage"):
            require(math.isfinite(getattr(self, name)), name, "finite", getattr(self, name))

    @property
    def capabilities(self) -> Capabilities:
        """Matches of any kind; `at_home` and `side` with a home advantage."""
        scored = self.margin_rule != "off"
        return self.with_home(
            Capabilities(
                uses=frozenset({"weight", "score"} if scored else {"weight"}),
                needed={} if scored else {"score": "margin_rule"},
                idle=self.idle_entry,
            )
        )

    @property
    def usual_deviation(self) -> float:
        """The deviation that an Elo rating stands for, 2 scale/ln 10, rating points."""
        return 2.0 * self.scale / math.log(10.0)

    def first_share(self, before: Floats, after: Floats, weight: Floats) -> Floats:
        """Return the share that K takes over of a performance, by the slope of the curve."""
        return weight * self.k * math.log(10.0) / (4.0 * self.scale)

    def newcomer(self) -> Mapping[str, float]:
        """Return a state without deviation."""
        return {"rating": self.initial_rating, "matches": 0.0, "last_time": math.nan}

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(float(self.k), math.log(10.0) / self.scale, RULES[self.margin_rule])

    def own(self, state: State, history: History, start: int, stop: int) -> EloInput:
        """Return the head starts and scores.

        Raises : InvalidDataError without a column for the home side
        """
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        score: Floats | None = None
        if self.margin_rule != "off":
            found = history.scores(low, high)
            score = np.full(high - low, np.nan) if found is None else found
        if self.learn_home_advantage:
            return EloInput(np.zeros(high - low), score)  # filled match by match
        if self.home_advantage == 0.0:
            return EloInput(None, score)
        return EloInput(self._head_start(history, low, high), score)

    def home_of(
        self, state: State, history: History, start: int, stop: int, own: Any
    ) -> Home | None:
        """Return the advantage where it is learned; a fixed one is in `own` already."""
        if not self.learn_home_advantage:
            return None
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        at_home = self.flags(history, low, high).astype(np.float64)
        return self.home_job(state, at_home, own.head_start, moves=False)

    def rewrite_own(
        self,
        own: EloInput,
        performance: Sequence[float],
        share: Sequence[float],
        at_home: Sequence[bool],
    ) -> None:
        """Write the head starts. Raises : InvalidDataError without `at_home`."""
        if own.head_start is not None and not self.learn_home_advantage:
            if not at_home:
                raise no_home_side()
            own.head_start[:] = [self.home_advantage if home else 0.0 for home in at_home]

    def rewrite_scores(self, own: EloInput, score: Sequence[float]) -> None:
        """Write the scores."""
        if own.score is not None:
            own.score[:] = score if len(score) else np.nan

    def kernel(self, job: Job[Settings, TraceArrays, EloInput]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        kernels = rate_matches, rate_with_entry, rate_with_home, rate_with_both
        return self.choose_kernel(job, *kernels)

    def update(
        self, job: Job[Settings, TraceArrays, EloInput], workers: Workers
    ) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return NaN, because there are no deviations."""
        return np.full(len(rows), np.nan)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings plus head starts, and the scale by `scale`."""
        centre = rating
        if history is not None and self.home_advantage != 0.0:
            centre = rating + self._head_start(history, 0, history.participations)
        # Two of these make the scale of the difference, scale/ln 10, whatever the teams' sizes.
        shared = 0.5 * (self.scale / math.log(10.0)) ** 2
        scale = np.full(len(rating), math.sqrt(shared))
        return Outlook(centre=centre, scale=scale, curve="logistic", shared=shared)

    def _head_start(self, history: History, low: int, high: int) -> Floats:
        """Return the points added to every participation."""
        return np.where(self.flags(history, low, high), self.home_advantage, 0.0)
