"""The rating of the European Go Federation (GoR), in the version that is in force since 2021.

Source: [EGF]_. With the ratings r of both players before the tournament, for every game

    r'    = r + con (S - E) + bonus
    con   = ((3300 - r)/200)^1.6,    bonus = ln(1 + exp((2300 - r)/80))/5
    E     = 1/(1 + exp(beta(r_opponent) - beta(r))),    beta(r) = -7 ln(3300 - r)

and no rating falls below -900. A player who receives H stones plays as if rated 100 (H - 1/2)
points higher; H = 1 is a game without komi. The class of a tournament is the weight of its matches:
1 for A, 3/4 for B, 1/2 for C and 1/4 for D; it multiplies the whole change.
Departures: 3300 - r is at least 1, because the formulas end at 3300. Matches without the name of
an event are those of a month. A new player begins at `initial_rating`, or at a known rating, such
as that of a declared grade; resets after promotions are not done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.rating.base_system import Job, Rate, System, TraceArrays
from equipoise.rating.draws import count_match
from equipoise.rating.federations.facts import RATED_HERE, Facts, facts_of
from equipoise.rating.federations.together import (
    LAST_TIME,
    MATCHES,
    OWN,
    RATING,
    Federation,
    closed,
    event_key,
    read_closed,
    settle,
)
from equipoise.rating.system import Capabilities

#: The column of the state beside those of all federations: the change in the event in progress.
PENDING = OWN

#: The rating at which the formulas of [EGF]_ end, and the exponents and factors of the others.
_END = 3300.0
_STEEPNESS = 7.0
_CON_UNIT, _CON_POWER = 200.0, 1.6
_BONUS_FROM, _BONUS_UNIT, _BONUS_PARTS = 2300.0, 80.0, 5.0

#: Points of a stone of handicap, and the part of a stone that komi is worth.
_STONE, _KOMI = 100.0, 0.5

#: Of the rating points by which two players' odds of winning change by the factor e, the number at
#: 1 dan, so that the centres of an outlook are in points: (3300 - 2100)/7.
_UNIT = 1200.0 / _STEEPNESS


#: What `equipoise systems` says of the parameter.
_FLOOR_NOTE = "the lowest rating, rating points; a known rating below it is not raised"


class Settings(NamedTuple):
    """Parameters in the form that kernels use."""

    floor: float


EgfJob = Job[Settings, TraceArrays, Facts]


@inner_kernel
def head_start(stones: float) -> float:
    """Return the rating points that handicap stones are worth; 0 for NaN."""
    return _STONE * (stones - _KOMI) if stones > 0.0 else 0.0


@inner_kernel
def beta(rating: float) -> float:
    """Return the strength of a rating, natural logarithm of odds."""
    return -_STEEPNESS * math.log(max(_END - rating, 1.0))


@inner_kernel
def con(rating: float) -> float:
    """Return the largest change that a game makes without the bonus, rating points."""
    return float((max(_END - rating, 1.0) / _CON_UNIT) ** _CON_POWER)


@inner_kernel
def bonus(rating: float) -> float:
    """Return what every game adds, against deflation, rating points."""
    x = (_BONUS_FROM - rating) / _BONUS_UNIT
    return (max(x, 0.0) + math.log1p(math.exp(-abs(x)))) / _BONUS_PARTS


@inner_kernel
def expected_score(strength: float, strength_opponent: float) -> float:
    """Return E of two strengths."""
    tail = math.exp(-abs(strength - strength_opponent))
    larger = 1.0 / (1.0 + tail)
    return larger if strength >= strength_opponent else tail * larger


@inner_kernel
def _key(player: Floats, day: float, event: float, settings: Settings) -> float:
    return event_key(player, day, event)


@inner_kernel
def _close(player: Floats, settings: Settings) -> None:
    """Add the change of the event to the rating. A known rating below the floor is not raised."""
    floor = min(settings.floor, player[RATING])
    player[RATING] = max(player[RATING] + player[PENDING], floor)
    player[PENDING] = 0.0


@kernel
def rate_matches(job: EgfJob, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last of two players in order; return (-1, -1), because none can fail."""
    matches, settings, trace, facts = job.matches, job.settings, job.trace, job.own
    traced = len(trace.rating) > 0
    for m in range(first, last):
        i, j = matches.offsets[m], matches.offsets[m] + 1
        if matches.offsets[m + 1] - i != 2:
            continue
        one, other = job.table[matches.player[i]], job.table[matches.player[j]]
        day, weight = matches.time[m], matches.weight[m]
        settle(one, day, facts.event[i], settings, _key, _close)
        settle(other, day, facts.event[j], settings, _key, _close)
        score = 0.5
        if matches.rank[i] != matches.rank[j]:
            score = 1.0 if matches.rank[i] < matches.rank[j] else 0.0
        strength = beta(one[RATING] + head_start(facts.handicap[i]))
        strength_other = beta(other[RATING] + head_start(facts.handicap[j]))
        if len(job.draws):
            count_match(job.draws, score == 0.5, strength - strength_other, False)
        if traced:
            trace.rating_before[i] = closed(one, settings, _close)
            trace.rating_before[j] = closed(other, settings, _close)
        expected = expected_score(strength, strength_other)
        expected_other = expected_score(strength_other, strength)
        one[PENDING] += weight * (con(one[RATING]) * (score - expected) + bonus(one[RATING]))
        other[PENDING] += weight * (
            con(other[RATING]) * (1.0 - score - expected_other) + bonus(other[RATING])
        )
        for player in (one, other):
            player[MATCHES] += 1.0
            player[LAST_TIME] = day
        if traced:
            trace.rating[i] = closed(one, settings, _close)
            trace.rating[j] = closed(other, settings, _close)
            if len(trace.expected):
                trace.expected[i], trace.expected[j] = expected, expected_other
    return -1, -1.0


@kernel
def _read(table: Floats, rows: Ints, settings: Settings) -> Floats:
    """Return the ratings of players with the events in progress closed, shape (rows,)."""
    return read_closed(table, rows, settings, _close)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EGF(Federation):
    """The rating of the European Go Federation [EGF]_, for matches of two players.

    All games of a tournament are compared with the ratings before it. The column `event` names it;
    without the column all games of a calendar month are one, and without times each game is.
    `handicap` is the number of stones that the player receives, 1 for a game without komi.

    initial_rating : of a new player, rating points: 2100 is 1 dan, 2000 is 1 kyu, and a grade is
        100 points; the default is 20 kyu
    floor : lowest rating, rating points

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.EGF(), league).ratings
    <Ratings: 6 players, the best ada with 2,198.6>
    """

    initial_rating: float = 100.0
    floor: float = field(default=-900.0, metadata={"note": _FLOOR_NOTE})

    name: ClassVar[str] = "egf"
    together: ClassVar[str] = "the tournament"
    assumed: ClassVar[Mapping[str, str]] = {
        "event": "all matches of a month are a tournament, and without times each match is one",
        "handicap": "all games are even",
    }

    def __post_init__(self) -> None:
        """Check every parameter."""
        System.__post_init__(self)
        floor, start = self.floor, self.initial_rating
        require(-1e9 <= floor < _END, "floor", "from -1e9 to less than 3300", floor)
        require(floor <= start < _END, "initial_rating", "from floor to less than 3300", start)

    @property
    def newcomer_rated(self) -> float:
        """Return that newcomers have a rating from their first match on."""
        return RATED_HERE

    @property
    def capabilities(self) -> Capabilities:
        """Two players; events and handicaps where the history has them."""
        return Capabilities(
            max_team_size=1,
            max_teams=2,
            uses=frozenset({"weight", "time", "event", "handicap"}),
        )

    def sums(self) -> Mapping[str, float]:
        """Return the change of the event in progress."""
        return {"pending": 0.0}

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(float(self.floor))

    def kernel(self, job: EgfJob) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        return rate_matches

    def closed_ratings(self, table: Floats, rows: Ints) -> Floats:
        """Return the ratings of players with the events in progress closed."""
        return _read(table, rows, self.settings())

    def factor(self, player: Floats) -> float:
        """Return con, what a point above the expected score is worth at weight 1."""
        return float(con(player[RATING]))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return E of [EGF]_, with the handicaps of a history."""
        given = rating
        if history is not None:
            stones = facts_of(history, self.capabilities.uses).handicap
            given = rating + np.where(stones > 0.0, _STONE * (stones - _KOMI), 0.0)
        strength = -_STEEPNESS * np.log(np.maximum(_END - given, 1.0))
        # Two of these make the scale of the difference, _UNIT.
        shared = 0.5 * _UNIT**2
        scale = np.full(len(rating), math.sqrt(shared))
        return Outlook(centre=_UNIT * strength, scale=scale, curve="logistic", shared=shared)
