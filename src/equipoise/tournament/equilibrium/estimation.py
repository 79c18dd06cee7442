"""Estimates of the advantage of white and of the frequency of draws, together with the ratings.

Each parameter makes one expected total equal to the actual one: the advantage the points of white,
Davidson's nu the number of draws. With the Elo curve and Davidson's model this is maximum
likelihood for parameters and ratings ([Davidson]_; with an advantage, Davidson and Beaver). The
likelihood is concave in ratings, advantage and log nu together. So actual minus expected total,
with the ratings solved for every value of the parameter, falls as the parameter grows: it has one
root, which is bracketed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import ConvergenceError, InvalidDataError, Problem
from equipoise.tournament.curves import Curve, DavidsonCurve
from equipoise.tournament.equilibrium.newton import surplus
from equipoise.tournament.equilibrium.solving import Solution, engine_for, renumbered, solve
from equipoise.tournament.pairs import Pairs

#: Largest plausible advantage of white, rating points over the scale: 99.98 % of the points between
#: equals. If colours and ratings cannot be separated, the estimate diverges beyond it.
LARGEST_ADVANTAGE = 1_500.0
#: Largest plausible nu: 99.8 % of the games between equals are drawn.
LARGEST_NU = 1_000.0
#: Solutions of the equilibrium before the search fails.
MAX_SOLVES = 80
#: Accepted error of a total, as a share of the games.
_TOLERANCE = 1e-10

COLOURS = "must be games in which the effect of colours can be separated from ratings"
DRAWN = "must be known for every game, so that draws can be modelled"
DECIDED = "must include a game that is not drawn, so that draws can be modelled"
LIKELY = "must leave draws a finite weight: a player or group with draws must also have a loss"


@dataclass(frozen=True, slots=True)
class Fit:
    """Ratings and estimated parameters.

    advantage : rating points of white; nu : of Davidson's model, NaN if draws are not modelled
    """

    solution: Solution
    curve: Curve
    advantage: float
    nu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A tournament to solve; see `solving.solve`.

    real : shape (K,), whether a pair counts for the totals: all except those of a prior
    """

    pairs: Pairs
    players: int
    component: Ints
    curve: Curve
    scale: float
    fixed: Floats | None
    real: Flags
    threads: int

    def solve(self, advantage: float, start: Floats | None = None) -> Solution:
        """Return the ratings at an advantage."""
        return solve(
            self.pairs,
            self.players,
            self.component,
            curve=self.curve,
            scale=self.scale,
            fixed=self.fixed,
            advantage=advantage,
            start=start,
            threads=self.threads,
        )

    def differences(self, ratings: Floats, advantage: float) -> Floats:
        """Return the argument of psi for every pair."""
        first, second = self.pairs.first, self.pairs.second
        return np.asarray((ratings[first] - ratings[second] + advantage) / self.scale)


def fit(
    question: Question,
    *,
    advantage: float | Literal["estimate"] = 0.0,
    draws: Literal["ignore", "davidson"] = "ignore",
) -> Fit:
    """Return ratings, and the advantage and nu that were given or estimated.

    Raises : InvalidDataError   a parameter cannot be estimated, whatever the ratings
    Raises : ConvergenceError
    """
    if draws == "davidson":
        return _with_draws(question, advantage)
    if advantage == "estimate":
        return _with_advantage(question)
    return Fit(question.solve(advantage), question.curve, advantage, math.nan)


def _with_advantage(question: Question, begin: Fit | None = None) -> Fit:
    """Return the fit whose advantage gives white's total."""
    if begin is None:
        _check_colours(question)
    latest = begin.solution if begin else None
    found: dict[str, Solution] = {}

    def missing(advantage: float) -> float:
        start = found.get("latest", latest)
        found["latest"] = question.solve(advantage, start.ratings if start else None)
        t = question.differences(found["latest"].ratings, advantage)
        return float(np.sum(surplus(question.pairs, question.curve, t)[question.real]))

    games = float(np.sum(question.pairs.weight[question.real]))
    limit = LARGEST_ADVANTAGE * question.scale
    first = begin.advantage if begin else 0.0
    step = (30.0 if begin is None else 3.0) * question.scale
    root = _falling_root(missing, first, step, (-limit, limit), _TOLERANCE * max(games, 1.0))
    if root is None:
        raise _refused(
            "colour_advantage",
            COLOURS,
            "white or black won all games that could show the advantage",
        )
    return Fit(found["latest"], question.curve, root, math.nan)


def _with_draws(question: Question, advantage: float | Literal["estimate"]) -> Fit:
    """Return the fit whose nu gives the total of draws."""
    real, pairs = question.real, question.pairs
    drawn, games = float(np.sum(pairs.draws[real])), float(np.sum(pairs.weight[real]))
    if math.isnan(drawn):
        raise _refused("draws", DRAWN, "games for which it is not known")
    if drawn >= games and games > 0:
        raise _refused("draws", DECIDED, "draws only")
    if drawn == 0:
        without = replace(question, curve=DavidsonCurve(0.0))
        return replace(fit(without, advantage=advantage), nu=0.0)
    found: dict[str, Fit] = {}

    def missing(log_nu: float) -> float:
        now = replace(question, curve=DavidsonCurve(math.exp(log_nu)))
        before = found.get("latest")
        if advantage == "estimate":
            found["latest"] = _with_advantage(now, before)
        else:
            start = before.solution.ratings if before else None
            found["latest"] = Fit(now.solve(advantage, start), now.curve, advantage, math.nan)
        latest = found["latest"]
        t = now.differences(latest.solution.ratings, latest.advantage)
        expected = pairs.weight * DavidsonCurve(math.exp(log_nu)).probabilities(t)[1]
        return drawn - float(np.sum(expected[real]))

    share = drawn / games
    first = math.log(2.0 * share / (1.0 - share))
    limits = (math.log(1e-12), math.log(LARGEST_NU))
    first = min(max(first, limits[0]), limits[1])
    root = _falling_root(missing, first, 0.3, limits, _TOLERANCE * games)
    if root is None:
        raise _refused("draws", LIKELY, f"{drawn:g} draws in {games:g} games")
    return replace(found["latest"], nu=math.exp(root))


def _check_colours(question: Question) -> None:
    """Refuse colours from which an advantage cannot be separated from ratings.

    They cannot be separated if numbers p exist with p(white) - p(black) = 1 in every game and p = 0
    for held players. Then an advantage is equivalent to different ratings. The best such p, by
    least squares, solves a system like that of a step of Newton's method.
    """
    played = question.pairs.played(question.players)
    rows = np.flatnonzero(played > 0)
    pairs = renumbered(question.pairs, rows, question.players)
    label, zero = question.component[rows], np.zeros(len(rows))
    held = zero > 0 if question.fixed is None else ~np.isnan(question.fixed[rows])
    weight = np.where(question.real, pairs.weight, 0.0)
    slope = question.curve.slope(np.zeros(1))[0]
    pull = slope * pairs.summed(weight, -weight, len(rows))
    with engine_for(pairs, question.curve, 0.0, held, label, question.threads) as engine:
        engine.evaluate(zero)
        best = engine.step(np.where(held, 0.0, pull), zero, 1e-8)
    left = weight * (1.0 - (best[pairs.first] - best[pairs.second])) ** 2
    if float(np.sum(left)) <= 1e-9 * float(np.sum(weight)):
        raise _refused("colour_advantage", COLOURS, "colours that depend on the players")


def _falling_root(
    function: Callable[[float], float],
    first: float,
    step: float,
    limits: tuple[float, float],
    tolerance: float,
) -> float | None:
    """Return the root of a falling function, which it evaluates last; None beyond the limits.

    The search steps outwards until the sign changes. Then it uses the secant through both ends, and
    halves the value at an end that stays (Illinois), so that both ends converge.
    Raises : ConvergenceError
    """
    at, value = first, function(first)
    ends = {value > 0: (at, value)}
    for _ in range(MAX_SOLVES):
        if abs(value) <= tolerance:
            return at
        if len(ends) < 2:
            at = min(max(at + (step if value > 0 else -step), limits[0]), limits[1])
            step *= 2.0
        else:
            (low, above), (high, below) = ends[True], ends[False]
            if high - low <= 1e-12 * max(abs(low), abs(high), 1.0):
                return at
            at = low + (high - low) * above / (above - below)
        before, value = value > 0, function(at)
        now = value > 0
        if len(ends) < 2 and now == before and at in limits:
            return None
        if now == before and (not now) in ends:
            other = ends[not now]
            ends[not now] = other[0], 0.5 * other[1]
        ends[now] = at, value
    raise ConvergenceError("the estimate of advantage or draws", MAX_SOLVES, abs(value))


def _refused(field: str, rule: str, got: str) -> InvalidDataError:
    return InvalidDataError([Problem("", None, field, rule, got)])
