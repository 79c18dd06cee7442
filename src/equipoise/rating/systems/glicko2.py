"""Glicko-2 for two players, with Glickman's rating periods.

Source: [G2]_ steps 1-7; [TG2]_ (13)-(23) restates steps 3-7 for one opponent, and its equation
numbers are cited below. All games of a period are compared with the ratings before the period.
Departures: volatility is solved to 1e-12 (READINGS A6); a match weight w counts a game w times;
deviations are capped, as in Glicko, at `max_deviation`; volatilities are capped at
`max_volatility`, because results can be constructed that make them grow without limit.

The update of a player needs two sums over the player's games, on the internal scale:

    information = sum w g^2 E (1 - E) = 1/v,      surprise = sum w g (s - E) = Delta/v.

The volatility equation (19) is multiplied by (1/v)^2, so that it does not overflow when v is huge
(ratings that differ by thousands of points) and does not divide by 0 when there was no game.

The state of a player keeps both sums of the period in progress and the ratings before it, so that
matches can be rated one at a time. Reading ratings closes the period on a copy: they include every
game played. What a match hands to a player to hold the level (`newcomers`) waits in the column
`pending` until the period closes, because all games of a period are compared with the ratings
before it.
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
from equipoise.numeric.functions import EXP_HIGHEST, MAX_ITERATIONS, exp, newton_step
from equipoise.rating.loop import rate_duels, read_rows
from equipoise.rating.newcomers import FirstMatch, first_match
from equipoise.rating.rated_system import PeriodSystem, RatedSystem, rating_system
from equipoise.rating.single_match import (
    EARLIER,
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

#: Default cap of the volatility. At 2 a single period makes a player as uncertain as a newcomer,
#: whose deviation is 350. In the real histories that we rate no volatility exceeds 0.061.
MAX_VOLATILITY = 2.0

#: The search for the volatility ends when ln sigma^2 changes by less (READINGS A6).
_LAST_STEP = 1e-12

#: Columns of the state; the first three are values before the period in progress. `PENDING` exists
#: only where the level is held and there are rating periods.
RATING, DEVIATION, VOLATILITY, MATCHES, LAST_TIME, PERIOD, INFORMATION, SURPRISE, PENDING = range(9)

#: Unit and meaning of the numbers of an explanation.
_MEANINGS = {
    **MEANINGS,
    "Delta": ("points", "correction of the rating by this match alone"),
    "volatility before": ("", "expected variation of the player's rating"),
    "volatility": ("", "rises when results differ more than the deviations explain"),
    "deviation with volatility": ("points", "the deviation before, widened by the volatility"),
}


@inner_kernel
def opponent_weight(phi: float) -> float:
    """Return g(phi), the weight of a game against an opponent of this deviation [TG2] (13)."""
    return 1.0 / math.sqrt(1.0 + 3.0 * phi * phi / (math.pi * math.pi))


@inner_kernel
def game(
    mu: float, mu_opponent: float, phi_opponent: float, score: float
) -> tuple[float, float, float]:
    """Return (expected score, information, surprise) of one game [TG2] (13)-(16)."""
    return game_of_weight(mu - mu_opponent, opponent_weight(phi_opponent), score)


@inner_kernel
def game_of_weight(difference: float, g: float, score: float) -> tuple[float, float, float]:
    """Return (expected score, information, surprise) of a game whose g is known [TG2] (14)-(16)."""
    advantage = g * difference
    # The smaller probability has its own exponential: 1 - E would be 0 from about 36 on.
    tail = exp(-abs(advantage))
    larger = 1.0 / (1.0 + tail)
    smaller = tail * larger
    expected, rest = (larger, smaller) if advantage >= 0.0 else (smaller, larger)
    return expected, g * g * larger * smaller, g * (score * rest - (1.0 - score) * expected)


@inner_kernel
def _volatility_equation(
    y: float, e: float, phi2: float, information: float, surprise2: float, stiffness: float
) -> tuple[float, float]:
    """Return (-f(x), -f'(x)) of [TG2] (19); -f is negative below its root and positive above.

    y, e : x - a and e^x
    stiffness : 1/tau^2
    """
    spread = 1.0 + information * (phi2 + e)
    shrunk = 1.0 / spread
    excess = surprise2 - information * spread
    half = 0.5 * e * shrunk * shrunk
    # d/dx of e * excess / (2 spread^2), with spread' = information * e.
    inner = information * e
    slope = half * (excess - information * inner - 2.0 * excess * inner * shrunk)
    return stiffness * y - half * excess, stiffness - slope


@inner_kernel
def new_volatility(
    sigma: float, phi2: float, information: float, surprise: float, tau: float
) -> tuple[float, float]:
    """Return (sigma', residual); a residual below 0 says converged [TG2] (17)-(20).

    Newton's method starts from x = a and uses y = x - a, so that e^x = sigma^2 e^y needs no
    logarithm. With q = 1 + I (phi^2 + e^x), which exceeds I e^x and is at least 2 sqrt(I e^x), the
    first part of (19) is between -1/2 and D^2/(8 I). So the root is between tau^2 times these.
    """
    sigma2, surprise2, stiffness = sigma * sigma, surprise * surprise, 1.0 / (tau * tau)
    low, high = -0.5 * tau * tau, EXP_HIGHEST
    if information > 0.0:
        high = min(high, 0.125 * tau * tau * surprise2 / information)
    y, e, value = 0.0, sigma2, 0.0
    for iteration in range(MAX_ITERATIONS):
        value, slope = _volatility_equation(y, e, phi2, information, surprise2, stiffness)
        before = y
        y, low, high = newton_step(y, value, slope, low, high, iteration)
        if abs(y - before) <= _LAST_STEP:
            return sigma * exp(0.5 * y), -1.0
        e = sigma2 * exp(y)
    return sigma * exp(0.5 * y), abs(value)


@inner_kernel
def updated(
    phi: float,
    sigma: float,
    information: float,
    surprise: float,
    tau: float,
    most: float = math.inf,
) -> tuple[float, float, float, float]:
    """Return (change of mu, phi', sigma', residual) after games [TG2] (17)-(23).

    most : cap of sigma', which [G2] does not have. The larger a volatility is, the faster it
        grows: constructed results, or a match of a large weight, would take it to infinity
    """
    new_sigma, residual = new_volatility(sigma, phi * phi, information, surprise, tau)
    new_sigma = min(new_sigma, most)
    starred = phi * phi + new_sigma * new_sigma
    variance = starred / (1.0 + information * starred)
    return variance * surprise, math.sqrt(variance), new_sigma, residual


@inner_kernel
def closed(player: Floats, periods: float, settings: Any) -> tuple[float, float, float, float]:
    """Return (rating, deviation, volatility, residual) with the period in progress closed.

    periods : number of periods since the one in progress began; all but one had no games
    """
    rating, phi, sigma = player[RATING], player[DEVIATION] / GLICKO2_SCALE, player[VOLATILITY]
    residual = -1.0
    if player[INFORMATION] > 0.0:
        change, phi, sigma, residual = updated(
            phi,
            sigma,
            player[INFORMATION],
            player[SURPRISE],
            settings.tau,
            settings.max_volatility,
        )
        rating += GLICKO2_SCALE * change
        periods -= 1.0
    if settings.pends:
        rating += player[PENDING]
    if periods > 0.0:
        phi = math.sqrt(phi * phi + periods * sigma * sigma)  # [G2] step 6 without games
    phi = min(phi, max(settings.max_deviation, player[DEVIATION] / GLICKO2_SCALE))
    return rating, GLICKO2_SCALE * phi, sigma, residual


# Inlined, because two calls take a fiftieth of the time of a duel.
@inlined_kernel
def settle(player: Floats, period: float, settings: Any) -> float:
    """Move a player to the beginning of a period; return a residual, below 0 if converged."""
    if player[PERIOD] == period:
        return -1.0
    elapsed = 0.0 if math.isnan(player[PERIOD]) else period - player[PERIOD]
    rating, deviation, sigma, residual = closed(player, elapsed, settings)
    player[RATING], player[DEVIATION], player[VOLATILITY] = rating, deviation, sigma
    player[INFORMATION], player[SURPRISE] = 0.0, 0.0
    if settings.pends:
        player[PENDING] = 0.0
    player[PERIOD] = period
    return residual


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the rating periods before that of a match; return a residual."""
    if math.isinf(job.settings.period_days):
        return -1.0
    period = math.floor(job.matches.time[m] / job.settings.period_days)
    return settle(job.table[job.matches.player[i]], period, job.settings)


# Inlined, because a call that passes a job takes as long as rating the duel.
@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Add a game to the periods of both players; return the expected scores, z and a residual."""
    settings, weight = job.settings, job.matches.weight[m]
    mu = (one[RATING] - settings.initial_rating) / GLICKO2_SCALE
    mu_other = (other[RATING] - settings.initial_rating) / GLICKO2_SCALE
    phi, phi_other = one[DEVIATION] / GLICKO2_SCALE, other[DEVIATION] / GLICKO2_SCALE
    # READINGS A15; within a rating period from the ratings before it, which the games use.
    z = opponent_weight(math.sqrt(phi * phi + phi_other * phi_other)) * (mu - mu_other)
    expected, information, surprise = game(mu, mu_other, phi_other, score)
    expected_other, information_other, surprise_other = game(mu_other, mu, phi, 1.0 - score)
    one[INFORMATION] += weight * information
    one[SURPRISE] += weight * surprise
    other[INFORMATION] += weight * information_other
    other[SURPRISE] += weight * surprise_other
    residual = -1.0
    if math.isinf(settings.period_days):
        # Every match of a player is a period of its own, which ends here.
        residual = settle(one, one[MATCHES] + 1.0, settings)
        residual = max(residual, settle(other, other[MATCHES] + 1.0, settings))
    return expected, expected_other, z, residual


@inlined_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float, float]:
    """Return (rating, deviation, volatility) with the periods until a day closed."""
    periods = 0.0
    if not (math.isinf(settings.period_days) or math.isnan(day) or math.isnan(player[PERIOD])):
        periods = max(math.floor(day / settings.period_days) - player[PERIOD], 0.0)
    rating, deviation, sigma, _ = closed(player, periods, settings)
    return rating, deviation, sigma


@inner_kernel
def evidence(job: Any, m: int, i: int) -> FirstMatch:
    """Return what a first match said of a newcomer, as if the period had ended with it."""
    player = job.table[job.matches.player[i]]
    rating, deviation, sigma = read(player, math.nan, job.settings)
    return first_match(job.entry, player, rating, deviation, (GLICKO2_SCALE * sigma) ** 2)


@inner_kernel
def move(job: Any, row: int, delta: float) -> None:
    """Add delta to a rating, within a period when that closes."""
    job.table[row, PENDING if job.settings.pends else RATING] += delta


@inner_kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, begin, read, evidence, move)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return rating, deviation and volatility of players as of a day, shape (3, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class Glicko2(PeriodSystem):
    """Glicko-2 [G2]_ for matches of two players.

    initial_rating, initial_deviation : of a new player, rating points
    initial_volatility : of a new player, internal scale
    tau : how quickly volatility may change, in (0, 2]
    period_days : length of a rating period; None makes every match a period of its own, and
        then nothing decays
    max_deviation : cap of the deviation of inactive players, rating points
    max_volatility : cap of the volatility, internal scale; a larger initial one is its own cap

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.Glicko2(tau=0.3), league).ratings
    <Ratings: 6 players, the best ada with 1,812.9>
    """

    initial_rating: float = initial_rating()
    initial_deviation: float = initial_deviation()
    initial_volatility: float = positive(0.06)
    tau: float = param(0.5, 0.0, 2.0, above=True, rule="in (0, 2]")
    period_days: float | None = positive(None)
    max_deviation: float = positive(350.0)
    max_volatility: float = positive(MAX_VOLATILITY)

    name: ClassVar[str] = "glicko2"
    tried: ClassVar[Mapping[str, Any]] = {
        "initial_volatility": Span(0.01, 0.24, 8, 0.005),
        "tau": Span(0.2, 1.2, 4, 0.1),
        "initial_deviation": Span(100, 500, 5, 10),
    }
    sought: ClassVar[str] = "the volatility of "
    max_team_size: ClassVar[int] = 1
    max_teams: ClassVar[int] = 2
    needs_time: ClassVar[str] = "period_days"
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "time": "period_days"}
    shown: ClassVar[Sequence[str]] = ("rating", "deviation", "volatility")
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "deviation": "initial_deviation",
        "volatility": "initial_volatility",
        "matches": 0.0,
        "last_time": math.nan,
        "period": math.nan,
        "information": 0.0,
        "surprise": 0.0,
    }
    added: ClassVar[str] = "volatility"
    settle = staticmethod(settle)
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player, who is in no rating period yet."""
        return {**RatedSystem.newcomer(self), **({"pending": 0.0} if self._pends else {})}

    def derived(self) -> Mapping[str, Any]:
        """Return the caps in use on the internal scale, and what the update subtracts.

        pends : whether the state has the column `PENDING`
        """
        return {
            "initial_rating": float(self.initial_rating),
            "max_deviation": float(self.max_deviation) / GLICKO2_SCALE,
            "max_volatility": max(float(self.max_volatility), float(self.initial_volatility)),
            "pends": self._pends,
        }

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of READINGS A15, two players being teams of one."""
        return team_mean_outlook(self.at_home(rating, history), deviation)


def explain(system: Glicko2, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating: the numbers of [G2]_ steps 2-7.

    A later game of a period changes the deviation after it, and so the weight of the earlier games.
    """
    single = single_match(system, before, history, match, row)
    settled, settings = single.before.copy(), system.settings()
    system.begin_period(settled, np.arange(2), float(single.history.days()[0]))
    me, other = settled.table[single.row], settled.table[1 - single.row]
    score, weight = float(single.scores()[1 - single.row]), single.weight
    mu, phi_other = (me[RATING] - other[RATING]) / GLICKO2_SCALE, other[DEVIATION] / GLICKO2_SCALE
    expected, information, surprise = game(mu, 0.0, phi_other, score)
    information, surprise = weight * information, weight * surprise
    phi, sigma = me[DEVIATION] / GLICKO2_SCALE, me[VOLATILITY]
    earlier, earlier_surprise = float(me[INFORMATION]), float(me[SURPRISE])

    def after(information: float, surprise: float) -> tuple[float, float]:
        caps = settings.tau, settings.max_volatility
        _, phi_after, sigma_after, _ = updated(phi, sigma, information, surprise, *caps)
        return phi_after, sigma_after

    phi_1 = after(earlier, earlier_surprise)[0] if earlier > 0 else 0.0
    phi_2, sigma_2 = after(earlier + information, earlier_surprise + surprise)
    effect = GLICKO2_SCALE * phi_2**2 * surprise
    parts = [contribution("this match", effect, surprise_of(score, expected))]
    if earlier > 0:
        name, reason = EARLIER
        change = GLICKO2_SCALE * (phi_2**2 - phi_1**2) * earlier_surprise
        parts.append(contribution(name, change, reason))
    told = information > 0
    return explanation(
        single,
        contributions=parts,
        quantities={
            "g": opponent_weight(phi_other),
            "v": GLICKO2_SCALE**2 / information if told else math.inf,
            "Delta": GLICKO2_SCALE * surprise / information if told else 0.0,
            "volatility before": sigma,
            "volatility": sigma_2,
            "deviation with volatility": GLICKO2_SCALE * math.hypot(phi, sigma_2),
            "share of the surprise": GLICKO2_SCALE * phi_2 * phi_2,
        },
        meanings=_MEANINGS,
        opponents=by_opponent(
            single,
            lambda j, score: (float(other[RATING]), float(other[DEVIATION]), expected, effect),
        ),
        bounds=changes_of_duel(single),
    )
