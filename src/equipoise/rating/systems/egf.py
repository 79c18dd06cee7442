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
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import require
from equipoise.rating.federation_columns import facts_of
from equipoise.rating.loop import rate_duels, read_rows
from equipoise.rating.rated_system import rating_system
from equipoise.rating.single_match import (
    by_opponent,
    contribution,
    explanation,
    single_match,
    surprise_of,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, param
from equipoise.rating.systems.rating_periods import OWN, RATING, Federation, begin_event

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
_FLOOR_NOTE = "lowest rating, in rating points; a known rating below it is not raised"


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
def closed(player: Floats, settings: Any) -> float:
    """Return a player's rating after the event. A known rating below the floor is not raised."""
    floor = min(settings.floor, player[RATING])
    return float(max(player[RATING] + player[PENDING], floor))


@inner_kernel
def _close(player: Floats, settings: Any) -> None:
    """Publish a rating at the end of an event."""
    player[RATING], player[PENDING] = closed(player, settings), 0.0


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the event before that of a match; return that nothing failed."""
    return begin_event(job, m, i, _close)


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, 0) with the event in progress closed."""
    return closed(player, settings), 0.0


@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Add a game to the events of both players; return the expected scores, z and a residual."""
    i, weight, stones = job.matches.offsets[m], job.matches.weight[m], job.own.handicap
    strength = beta(one[RATING] + head_start(stones[i]))
    strength_other = beta(other[RATING] + head_start(stones[i + 1]))
    expected = expected_score(strength, strength_other)
    expected_other = expected_score(strength_other, strength)
    one[PENDING] += weight * (con(one[RATING]) * (score - expected) + bonus(one[RATING]))
    other[PENDING] += weight * (
        con(other[RATING]) * (1.0 - score - expected_other) + bonus(other[RATING])
    )
    return expected, expected_other, strength - strength_other, -1.0


@inner_kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, begin, read, None, None)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return what tables show of players, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
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
    floor: float = param(
        -900.0, -1e9, _END, below=True, rule="from -1e9 to less than 3300", note=_FLOOR_NOTE
    )

    name: ClassVar[str] = "egf"
    tried: ClassVar[Mapping[str, Any]] = {"initial_rating": Span(-900, 2900, 20, 50, log=False)}
    together: ClassVar[str] = "the tournament"
    assumed: ClassVar[Mapping[str, str]] = {
        "event": "all matches of a month are a tournament, and without times each match is one",
        "handicap": "all games are even",
    }

    uses: ClassVar[Mapping[str, str]] = dict.fromkeys(("weight", "time", "event", "handicap"), "")
    columns: ClassVar[Mapping[str, float | str]] = {**Federation.columns, "pending": 0.0}
    own_meanings: ClassVar[Mapping[str, tuple[str, str]]] = {
        "handicap": ("points", "value of the player's stones, minus the opponent's"),
        "con": (
            "points",
            "con times the weight of the match: points for a whole point of surprise",
        ),
    }
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def check(self) -> None:
        """Check the initial rating against the floor."""
        floor, start = self.floor, self.initial_rating
        require(floor <= start < _END, "initial_rating", "from floor to less than 3300", start)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return E of [EGF]_, with the handicaps of a history."""
        strength_of = rating
        if history is not None:
            stones = facts_of(history, self.capabilities.uses).handicap
            strength_of = rating + np.where(stones > 0.0, _STONE * (stones - _KOMI), 0.0)
        strength = -_STEEPNESS * np.log(np.maximum(_END - strength_of, 1.0))
        # Two of these make the scale of the difference, _UNIT.
        shared = 0.5 * _UNIT**2
        scale = np.full(len(rating), math.sqrt(shared))
        return Outlook(centre=_UNIT * strength, scale=scale, curve="logistic", shared=shared)


def explain(system: EGF, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating: the result, and the bonus.

    The changes of all games of a tournament add up; only the lowest rating can cut the sum.
    """
    single = single_match(system, before, history, match, row)
    one, i, j = single.history, single.row, 1 - single.row
    # The ratings before the tournament stay in the table until the next one begins.
    published = single.after.table[:, RATING]
    score, expected = float(single.scores()[j]), single.expected
    factor = single.weight * con(float(published[i]))
    gift = single.weight * bonus(float(published[i]))
    own = factor * (score - expected)
    parts = [
        contribution("this match", own, surprise_of(score, expected)),
        contribution("the bonus", gift, "every game adds it, against deflation"),
    ]
    rest = single.change - own - gift
    if abs(rest) > 1e-9 * (1.0 + abs(published[i])):
        reason = f"no rating falls below {system.floor:g}"
        parts.append(contribution("the lowest rating", rest, reason))
    stones = facts_of(one, system.capabilities.uses).handicap
    return explanation(
        single,
        contributions=parts,
        quantities={
            "published rating": float(published[i]),
            "handicap": head_start(float(stones[i])) - head_start(float(stones[j])),
            "con": factor,
        },
        meanings=system.meanings,
        opponents=by_opponent(
            single, lambda j, score: (float(published[j]), math.nan, expected, own)
        ),
    )
