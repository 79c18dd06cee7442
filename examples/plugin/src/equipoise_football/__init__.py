"""Football Elo: Elo for two sides, in which a win by more goals counts more.

Source: World Football Elo Ratings, https://www.eloratings.net/about: the change of a match is
K G (score - expected score), with G = 1 for a margin of one goal or none, 3/2 for two, and
(11 + N)/8 for N goals, three or more. The side at home is taken to be `home_advantage` points
better.
Departure: K is one parameter. The source has a K for each kind of tournament, which here is the
weight of a match.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equipoise.rating.plugins.own_system import (
    Capabilities,
    Floats,
    History,
    Ints,
    Job,
    Outlook,
    State,
    System,
    TraceArrays,
    Workers,
    count_match,
    inner_kernel,
    kernel,
    require,
)

#: Columns of the state.
RATING, MATCHES, LAST_TIME = range(3)


class Settings(NamedTuple):
    """Parameters in the form that kernels use; slope = ln 10/scale."""

    k: float
    slope: float


class Sides(NamedTuple):
    """What the system reads of every participation besides its rank.

    goals : shape (N,), NaN if unknown
    head_start : shape (N,), rating points
    """

    goals: Floats
    head_start: Floats


@inner_kernel
def goal_factor(margin: float) -> float:
    """Return G for a margin of goals; an unknown margin counts as one goal."""
    if not margin >= 1.5:
        return 1.0
    return 1.5 if margin < 2.5 else (11.0 + margin) / 8.0


@kernel
def rate_matches(
    job: Job[Settings, TraceArrays, Sides], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last in order; return (-1, -1), because no equation can fail."""
    matches, settings, trace, sides = job.matches, job.settings, job.trace, job.own
    for m in range(first, last):
        i = matches.offsets[m]
        if matches.offsets[m + 1] - i < 2:
            continue
        j = i + 1
        one, two = job.table[matches.player[i]], job.table[matches.player[j]]
        difference = one[RATING] + sides.head_start[i] - two[RATING] - sides.head_start[j]
        expected = 1.0 / (1.0 + math.exp(-settings.slope * difference))
        score = 0.5
        if matches.rank[i] != matches.rank[j]:
            score = 1.0 if matches.rank[i] < matches.rank[j] else 0.0
        factor = goal_factor(abs(sides.goals[i] - sides.goals[j]))
        change = settings.k * factor * matches.weight[m] * (score - expected)
        if len(job.draws):
            count_match(job.draws, score == 0.5, settings.slope * difference, False)
        for row, player, sign in ((i, one, 1.0), (j, two, -1.0)):
            if len(trace.expected):
                trace.expected[row] = expected if sign > 0.0 else 1.0 - expected
            if len(trace.rating):
                trace.rating_before[row] = player[RATING]
                trace.rating[row] = player[RATING] + sign * change
            player[RATING] += sign * change
            player[MATCHES] += 1.0
            player[LAST_TIME] = matches.time[m]
    return -1, -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FootballElo(System):
    """Elo for two sides, in which a win by more goals counts more.

    k : largest change of a match that is won by one goal, rating points
    scale : rating difference at which ten to one is expected, rating points
    initial_rating : of a new player
    home_advantage : rating points added to the side at home
    """

    k: float = 20.0
    scale: float = 400.0
    initial_rating: float = 1500.0
    home_advantage: float = 100.0

    name: ClassVar[str] = "football-elo"

    def __post_init__(self) -> None:
        """Check every parameter."""
        System.__post_init__(self)
        require(0 < self.k < math.inf, "k", "positive", self.k)
        require(0 < self.scale < math.inf, "scale", "positive", self.scale)
        for name in ("initial_rating", "home_advantage"):
            require(math.isfinite(getattr(self, name)), name, "finite", getattr(self, name))

    @property
    def capabilities(self) -> Capabilities:
        """Return that it rates two single players, and which columns change its ratings."""
        uses = {"weight", "performance"}
        if self.home_advantage != 0.0:
            uses |= {"side", "at_home"}
        return Capabilities(max_team_size=1, max_teams=2, uses=frozenset(uses))

    def newcomer(self) -> Mapping[str, float]:
        """Return a state without deviation."""
        return {"rating": self.initial_rating, "matches": 0.0, "last_time": math.nan}

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(float(self.k), math.log(10.0) / self.scale)

    def own(self, state: State, history: History, start: int, stop: int) -> Sides:
        """Return goals and head starts: goals are the performances of a history."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        goals = np.full(high - low, np.nan)
        if history.performance is not None:
            goals = np.ascontiguousarray(history.performance[low:high])
        return Sides(goals, self._head_start(history, low, high))

    def update(self, job: Job[Settings, TraceArrays, Sides], workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return rate_matches(job, 0, len(job.matches.time))

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return NaN, because there are no deviations."""
        return np.full(len(rows), np.nan)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings plus head starts, and the scale by `scale`."""
        centre = rating
        if history is not None:
            centre = rating + self._head_start(history, 0, history.participations)
        # Two of these make the scale of the difference, scale/ln 10.
        shared = 0.5 * (self.scale / math.log(10.0)) ** 2
        scale = np.full(len(rating), math.sqrt(shared))
        return Outlook(centre=centre, scale=scale, curve="logistic", shared=shared)

    def _head_start(self, history: History, low: int, high: int) -> Floats:
        """Return the points added to every participation; 0 without a column for the home side."""
        home = history.at_home(low, high)
        if home is None or self.home_advantage == 0.0:
            return np.zeros(high - low)
        return np.where(home, self.home_advantage, 0.0)
