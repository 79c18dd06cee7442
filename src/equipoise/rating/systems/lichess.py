"""Glicko-2 as Lichess rates: every game at once, and deviations that grow by the hour.

Source: [LI]_, the Glicko-2 of scalachess, and the numbers with which Lichess calls it. It differs
from [G2]_ in four ways:

- A game does not add the volatility to the deviation: step 6 is taken with 0 periods.
- Between games a deviation grows by fractions of a rating period, as step 6 says.
- Rating, deviation and volatility have limits, and so has the change of a rating.
- White has a head start, `home_advantage` in rating points: 0 by default, as in the source.

Departures: volatility is solved to 1e-12 (READINGS A6), there to 1e-6 in ln sigma^2; a match weight
w counts a game w times. Lichess resets a player whose rating leaves 0 to 4000, and enlarges gains
by up to 2 % by the kind of game; here nothing does so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import GLICKO2_SCALE, Outlook, team_mean_outlook
from equipoise.errors import require
from equipoise.rating.base_system import HomeSystem
from equipoise.rating.loop import move_rating, rate_duels, read_rows
from equipoise.rating.newcomers import FirstMatch, first_match
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.single_match import (
    DUEL_BY_RESULT,
    MEANINGS,
    by_opponent,
    changes_of_duel,
    contribution,
    explanation,
    single_match,
    surprise_of,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, initial_deviation, initial_rating, param, positive
from equipoise.rating.systems.glicko2 import game, new_volatility, opponent_weight

#: Columns of the state.
RATING, DEVIATION, VOLATILITY, MATCHES, LAST_TIME = range(5)

#: From this deviation on Lichess shows a rating as provisional [LI]_.
PROVISIONAL_DEVIATION = 110.0

#: In explanations, a smaller part of a change is rounding.
_LEAST_PART = 1e-9

#: What `equipoise systems` says of how deviations grow between games.
_PERIODS_NOTE = (
    "number of rating periods in a day, with fractions; each adds the square of the volatility"
)

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    **MEANINGS,
    "volatility before": ("", "growth of the deviation while the player is away"),
    "volatility": ("", "rises when results differ more than the deviations explain"),
    "least deviation": ("points", "no deviation is smaller, so ratings never stop moving"),
    "provisional from": (
        "points",
        "Lichess shows a rating with this deviation or a larger one as provisional",
    ),
}


@inlined_kernel
def present(player: Floats, time: float, settings: Any) -> tuple[float, float, float]:
    """Return (rating, phi, volatility) with which a player begins a match at a time.

    time : in days; NaN as of the last match
    """
    phi, sigma = player[DEVIATION] / GLICKO2_SCALE, player[VOLATILITY]
    if not (math.isnan(player[LAST_TIME]) or math.isnan(time)):
        periods = settings.periods_per_day * max(time - player[LAST_TIME], 0.0)
        phi = math.sqrt(phi * phi + periods * sigma * sigma)
    phi = min(max(phi, settings.min_deviation), settings.max_deviation)
    return max(player[RATING], settings.min_rating), phi, min(sigma, settings.max_volatility)


@inner_kernel
def after_game(
    before: tuple[float, float, float], information: float, surprise: float, settings: Any
) -> tuple[float, float, float, float]:
    """Return (rating, deviation, volatility, residual) after a game [G2] steps 5 and 7.

    before : what `present` returned
    """
    rating, phi, sigma = before
    new_sigma, residual = new_volatility(sigma, phi * phi, information, surprise, settings.tau)
    variance = phi * phi / (1.0 + information * phi * phi)
    change = GLICKO2_SCALE * variance * surprise
    change = min(max(change, -settings.max_change), settings.max_change)
    phi = min(max(math.sqrt(variance), settings.min_deviation), settings.max_deviation)
    return (
        max(rating + change, settings.min_rating),
        GLICKO2_SCALE * phi,
        min(new_sigma, settings.max_volatility),
        residual,
    )


# Inlined, because a call that passes a job takes as long as rating the duel.
@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Rate a match of two; return the expected scores, z and a residual."""
    settings, day, weight = job.settings, job.matches.time[m], job.matches.weight[m]
    first, second = present(one, day, settings), present(other, day, settings)
    difference = (first[0] - second[0] + lead) / GLICKO2_SCALE
    # READINGS A15
    z = opponent_weight(math.sqrt(first[1] * first[1] + second[1] * second[1])) * difference
    expected, information, surprise = game(difference, 0.0, second[1], score)
    expected_other, information_2, surprise_2 = game(-difference, 0.0, first[1], 1.0 - score)
    done = after_game(first, weight * information, weight * surprise, settings)
    done_2 = after_game(second, weight * information_2, weight * surprise_2, settings)
    one[RATING], one[DEVIATION], one[VOLATILITY] = done[0], done[1], done[2]
    other[RATING], other[DEVIATION], other[VOLATILITY] = done_2[0], done_2[1], done_2[2]
    return expected, expected_other, z, max(done[3], done_2[3])


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float, float]:
    """Return (rating, deviation, volatility) with which a player begins a match on a day."""
    rating, phi, sigma = present(player, day, settings)
    return rating, GLICKO2_SCALE * phi, sigma


@inner_kernel
def _read_today(player: Floats, day: float, settings: Any) -> tuple[float, float, float]:
    """Return (rating, deviation, volatility) of tables; matches limit rating and volatility."""
    _, phi, _ = present(player, day, settings)
    return player[RATING], GLICKO2_SCALE * phi, player[VOLATILITY]


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer."""
    player = job.table[job.matches.player[i]]
    return first_match(job.entry, player, player[RATING], player[DEVIATION], 0.0)


@inner_kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, None, read, evidence, move_rating)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return rating, deviation and volatility of players as of a day, shape (3, rows)."""
    return read_rows(table, rows, day, settings, _read_today)


@rating_system
class Lichess(RatedSystem, HomeSystem):
    """Glicko-2 as Lichess uses it [LI]_, for matches of two players.

    initial_rating, initial_deviation : of a new player, rating points
    initial_volatility : of a new player, internal scale
    tau : how quickly volatility may change, in (0, 2]
    periods_per_day : rating periods that pass in a day without games, by which deviations grow
    min_rating : floor of the rating
    min_deviation, max_deviation : limits of the deviation, rating points
    max_volatility : cap of the volatility, internal scale
    max_change : largest change of a rating in a match, rating points

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Lichess(), league).ratings
    <Ratings: 6 players, the best ada with 1,771.8>
    """

    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation(500.0)
    initial_volatility: float = positive(0.09)
    tau: float = param(0.75, 0.0, 2.0, above=True, rule="in (0, 2]")
    periods_per_day: float = param(0.21436, 0.0, 1e9, note=_PERIODS_NOTE)
    min_rating: float = param(400.0, -1e9, 1e9)
    min_deviation: float = param(45.0, 1e-6, 1e9)
    max_deviation: float = 500.0
    max_volatility: float = positive(0.1)
    max_change: float = positive(700.0)

    name: ClassVar[str] = "lichess"
    tried: ClassVar[Mapping[str, Any]] = {
        "initial_volatility": Span(0.03, 0.1, 4, 0.01),
        "min_deviation": Span(20, 120, 6, 5),
        "initial_deviation": Span(200, 500, 4, 50),
    }
    sought: ClassVar[str] = "the volatility of "
    #: The floor is that of the rating without the head start, so the kernel has to know both.
    adds_head_starts: ClassVar[bool] = True
    max_team_size: ClassVar[int] = 1
    max_teams: ClassVar[int] = 2
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "time": "periods_per_day"}
    shown: ClassVar[Sequence[str]] = ("rating", "deviation", "volatility")
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "deviation": "initial_deviation",
        "volatility": "initial_volatility",
        "matches": 0.0,
        "last_time": math.nan,
    }
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def check(self) -> None:
        """Check the largest deviation against the smallest."""
        low, high = self.min_deviation, self.max_deviation
        require(low <= high <= 1e9, "max_deviation", "from min_deviation to 1e9", high)

    def derived(self) -> Mapping[str, float]:
        """Return the limits of the deviation on the internal scale."""
        return {
            "min_deviation": float(self.min_deviation) / GLICKO2_SCALE,
            "max_deviation": float(self.max_deviation) / GLICKO2_SCALE,
        }

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of READINGS A15, two players being teams of one."""
        return team_mean_outlook(self.at_home(rating, history), deviation)


def explain(system: Lichess, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating: [G2]_ steps 2-7, and the limits."""
    single = single_match(system, before, history, match, row)
    one, settings, i = single.history, system.settings(), single.row
    table, day = single.before.table, float(one.days()[0])
    me, other = (present(table[j], day, settings) for j in (i, 1 - i))
    score, weight, change = float(single.scores()[1 - i]), single.weight, single.change
    starts = system.at_home(np.zeros(2), one)
    difference = me[0] - other[0] + float(starts[i] - starts[1 - i])
    expected, information, surprise = game(difference / GLICKO2_SCALE, 0.0, other[1], score)
    information, surprise = weight * information, weight * surprise
    variance = me[1] ** 2 / (1.0 + information * me[1] ** 2)
    effect = GLICKO2_SCALE * variance * surprise
    parts = [contribution(DUEL_BY_RESULT[score], effect, surprise_of(score, expected))]
    if abs(change - effect) > _LEAST_PART:
        reason = (
            f"a match changes a rating by at most {settings.max_change:g}, and no rating is below "
            f"{settings.min_rating:g}"
        )
        parts.append(contribution("limits", change - effect, reason))
    return explanation(
        single,
        contributions=parts,
        quantities={
            "g": opponent_weight(other[1]),
            "v": GLICKO2_SCALE**2 / information if information > 0 else math.inf,
            "volatility before": me[2],
            "volatility": float(single.trace["volatility"][i]),
            "share of the surprise": GLICKO2_SCALE * variance,
            "least deviation": GLICKO2_SCALE * settings.min_deviation,
            "provisional from": PROVISIONAL_DEVIATION,
        },
        meanings=_MEANINGS,
        opponents=by_opponent(
            single, lambda j, score: (other[0], GLICKO2_SCALE * other[1], expected, effect)
        ),
        bounds=changes_of_duel(single),
    )
