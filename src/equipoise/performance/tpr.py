"""The Tournament Performance Rating: the rating that would have predicted a player's score.

Source: [PRE]_ Def. 4, (3), with the curve and scale of Def. 1 and 3.
Departures: a player's equation is solved for the rarer of points taken and points lost, and in
logarithms. So it keeps its accuracy near 0 % and 100 %, where a sum of expected scores close to
the number of games has lost its digits, and Newton needs few steps: the logarithm of the sum is
concave, and nearly straight in the tail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.games import Games
from equipoise.errors import ConvergenceError, require
from equipoise.performance.averages import POINTS
from equipoise.performance.curves import Curve, CurveName, curve_of
from equipoise.performance.results import Results, Tally, as_results, tally_of

#: Rating points (times the scale): the last step of every player is at most so long.
TOLERANCE = 1e-10
MOST_STEPS = 200
_MOST_DOUBLINGS = 60
#: Rounding errors of differences, in units of the widest one.
_ROUNDING = 8 * np.finfo(np.float64).eps


class _Equations(NamedTuple):
    """sum over a player's results of weight psi(u - opponent) = target, for n players.

    Ratings are relative to the average opponent, in units of the scale, and mirrored for those who
    took more than half of the points: there the points lost are the target.

    player, opponent, weight : shape (E,); target : shape (n,)
    """

    player: Ints
    opponent: Floats
    weight: Floats
    target: Floats

    def sums(self, curve: Curve, u: Floats) -> tuple[Floats, Floats]:
        """Return the left sides at u, shape (n,), and their slopes."""
        t = u[self.player] - self.opponent
        total = np.bincount(self.player, self.weight * curve.expected(t), len(u))
        slope = np.bincount(self.player, self.weight * curve.slope(t), len(u))
        return np.asarray(total, np.float64), np.asarray(slope, np.float64)

    def only(self, rows: Ints) -> _Equations:
        """Return the equations of some players."""
        number = np.full(len(self.target), -1)
        number[rows] = np.arange(len(rows))
        player = number[self.player]
        kept = player >= 0
        return _Equations(player[kept], self.opponent[kept], self.weight[kept], self.target[rows])


@checks_arguments("curve", "scale")
def tournament_performance(
    results: Results | Games,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> Floats:
    """Return the tournament performance rating (TPR) [PRE]_ (3), shape (N,).

    NaN where no rating predicts the score: at 0 %, at 100 %, and without rated opponents.

    curve, scale : psi and beta; beta above 0
    Raises : InvalidParameterError   `scale` is out of range, or there is no such curve
    Raises : ConvergenceError        the equations could not be solved, which no known input does
    """
    require(0 < scale < np.inf, "scale", "a number above 0", scale)
    return solve_tpr(as_results(results), curve_of(curve), scale)


def solve_tpr(results: Results, curve: Curve, scale: float, most_steps: int = MOST_STEPS) -> Floats:
    """Return the TPR of every player, shape (N,); NaN where no rating predicts the score."""
    tally = tally_of(results)
    rows = np.flatnonzero((tally.points > 0) & (tally.lost > 0))
    answer = np.full(results.players, np.nan)
    if len(rows):
        side = np.where(tally.points > tally.lost, -1.0, 1.0)
        equations = _equations(results, tally, side, scale).only(rows)
        root = _solve(equations, curve, most_steps)
        answer[rows] = tally.average[rows] + scale * side[rows] * root
    return answer


def _equations(results: Results, tally: Tally, side: Floats, scale: float) -> _Equations:
    apart = results.opponent - tally.average[results.player]
    return _Equations(
        player=results.player,
        opponent=side[results.player] * apart / scale,
        weight=results.points + results.lost,
        target=np.minimum(tally.points, tally.lost),
    )


class _Search(NamedTuple):
    """Where the roots of some players are looked for; each of shape (n,).

    rows : of the players among all; u : the latest places; low, high : between them are the roots
    least : steps up to so long end the search
    """

    rows: Ints
    u: Floats
    low: Floats
    high: Floats
    least: Floats

    def only(self, left: Ints) -> _Search:
        """Return the search for some of the players."""
        return _Search(
            self.rows[left], self.u[left], self.low[left], self.high[left], self.least[left]
        )


def _solve(equations: _Equations, curve: Curve, most_steps: int) -> Floats:
    """Return the root u of every equation: Newton's method, halving where it leaves the bracket."""
    search = _begin(equations, curve)
    answer = search.u.copy()
    worst = np.inf
    for _ in range(most_steps):
        rows, u, low, high, least = search
        gap, newton = _newton(equations, curve, u)
        low, high = np.where(gap < 0, u, low), np.where(gap > 0, u, high)
        inside = (newton > low) & (newton < high)
        after = np.where(gap == 0, u, np.where(inside, newton, (low + high) / 2))
        answer[rows] = after
        left = np.flatnonzero(np.abs(after - u) > least)
        if not len(left):
            return answer
        worst = float(np.abs(gap[left]).max())
        search = _Search(rows, after, low, high, least)
        # What is solved no longer costs time, once there is enough of it.
        if 2 * len(left) < len(rows):
            equations, search = equations.only(left), search.only(left)
    raise ConvergenceError("tournament performance", most_steps, worst)


def _begin(equations: _Equations, curve: Curve) -> _Search:
    """Return a search that starts at the roots on the Elo curve if all opponents were average."""
    low, high = _bracket(equations, curve)
    games = np.bincount(equations.player, equations.weight, len(low))
    odds = equations.target / (games - equations.target)
    u = np.clip(POINTS * np.log10(odds), low, high)
    widest = np.maximum(np.abs(low), np.abs(high))
    least = np.maximum(TOLERANCE, _ROUNDING * widest)
    return _Search(np.arange(len(u)), np.asarray(u), low, high, least)


def _newton(equations: _Equations, curve: Curve, u: Floats) -> tuple[Floats, Floats]:
    """Return how far the sums are from their targets, in logarithms, and Newton's next places."""
    total, slope = equations.sums(curve, u)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gap = np.log(total / equations.target)
        return gap, u - gap * total / slope


def _bracket(equations: _Equations, curve: Curve) -> tuple[Floats, Floats]:
    """Return places below and above every root.

    Above is the strongest opponent: half of the points are expected there, and no target is more.
    """
    count = len(equations.target)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, equations.player, equations.opponent)
    np.maximum.at(high, equations.player, equations.opponent)
    share = equations.target / np.bincount(equations.player, equations.weight, count)
    reach = np.full(count, POINTS)
    for _ in range(_MOST_DOUBLINGS):
        short = curve.expected(-reach) > share
        if not short.any():
            # A little room, as sums are rounded.
            return low - 1.01 * reach, high + 1.0
        reach = np.where(short, 2 * reach, reach)
    raise ConvergenceError("tournament performance", _MOST_DOUBLINGS, float(share.min()))
