"""The equilibrium of a tournament: ratings at which all expected scores are the actual scores.

Source: [PRE]_. One solution covers any number of components, even thousands of tiny ones.

The result is guaranteed to have |m_i - E_i| <= 1e-9 k_i. The goal, which is missed only by rounding
in very long sums, is |m_i - E_i| <= 1e-9 min(1, k_i) for players of up to 300,000 games, 3e-15 k_i
beyond, and a next step that would move no player by more than 1e-7 points.

Each parameter makes one expected total equal to the actual one: the advantage the points of white,
Davidson's nu the number of draws. With the Elo curve and Davidson's model this is maximum
likelihood for parameters and ratings ([Davidson]_; with an advantage, Davidson and Beaver). The
likelihood is concave in ratings, advantage and log nu together. So actual minus expected total,
with the ratings solved for every value of the parameter, falls as the parameter grows: it has one
root, which is bracketed.

Source: [PRE]_ Lemma 1, equation (1). f_i(x) is the rating at which player i would have been
expected to score what i scored, if the opponents were rated x. With ratings from before the
tournament it is the TPR (its Def. 4); its fixed point is the equilibrium. `newton` and, for large
tournaments, `network` solve (1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import ConvergenceError, InvalidDataError, Problem, require
from equipoise.tournament.curves import ELO_RATE, Curve, DavidsonCurve
from equipoise.tournament.newton import (
    LIMITS,
    DenseEngine,
    Engine,
    Limits,
    Roots,
    Task,
    maximise,
    means_by,
    plain_roots,
    surplus,
)
from equipoise.tournament.pairs import Pairs

#: Range of the scale. The curve already contains Elo's 400 points, so a scale of 400 is refused.
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 20.0
#: A gap between groups that is checked, points over the scale.
WIDE = 4_000.0
#: Larger ratings are not used as a start, points over the scale.
_FURTHEST_START = 10_000.0
#: Share of draws that is added to the games of the start, so that its ratings are finite.
_SLACK = 0.04

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

#: A root is found when the next step is at most this long, rating points over the scale.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Solution:
    """Ratings in equilibrium, and how they were found.

    ratings : shape (N,), rating points; NaN without games. The mean of a component is 0, unless
        it has held players, who keep their ratings
    iterations : Newton's; inner_iterations : of conjugate gradients in all of them
    residual : largest |m - E| of players who are not held
    """

    ratings: Floats
    iterations: int
    inner_iterations: int
    residual: float


def check_scale(scale: float) -> None:
    """Refuse a scale outside its range. Raises : InvalidParameterError."""
    rule = f"from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
    require(SMALLEST_SCALE <= scale <= LARGEST_SCALE, "scale", rule, scale)


def solve(
    pairs: Pairs,
    players: int,
    component: Ints,
    *,
    curve: Curve,
    scale: float = 1.0,
    fixed: Floats | None = None,
    advantage: float = 0.0,
    start: Floats | None = None,
    tolerance: float = 1e-9,
    threads: int = 1,
    limits: Limits = LIMITS,
) -> Solution:
    """Return the ratings that predict every score; `existence.graph` decides whether they exist.

    component : shape (players,), numbers from 0; -1 for players without games
    scale : beta of [PRE]_ Def. 3, in (0, 20]
    fixed : shape (players,), ratings that are held; NaN for unknown ones
    advantage : rating points added to the first of every pair
    start : shape (players,), start of the search; None takes ratings by score against equals
    tolerance : of |m - E|, see the top of the file
    Raises : ConvergenceError
    """
    played = pairs.played(players)
    begin = start
    if begin is None:
        begin = scale * against_equals(played, pairs.scored(players), _SLACK)
    known = np.full(players, np.nan) if fixed is None else fixed
    rows = np.flatnonzero(played > 0)
    if len(rows) < players:
        pairs = renumbered(pairs, rows, players)
        known, begin, played, component = known[rows], begin[rows], played[rows], component[rows]
    held = ~np.isnan(known)
    origin = means_by(component, known, held)
    place = np.where(held, known - origin, begin if start is None else begin - origin) / scale
    task = Task(component, held.astype(np.float64), played, tolerance)
    with engine_for(pairs, curve, advantage / scale, held, component, threads, limits) as engine:
        solved, steps = maximise(engine, task, _usable(place, held, component), limits.steps)
        inner = engine.inner_iterations
    free = np.bincount(component, held)[component] == 0
    _check_gaps(pairs, curve, advantage / scale, np.where(free, solved.x, 0.0), component, steps)
    ratings = np.full(players, np.nan)
    ratings[rows] = np.where(held, known, scale * solved.x + origin)
    left = float(np.max(np.abs(solved.residual), initial=0.0))
    return Solution(ratings, steps, inner, left)


def _check_gaps(
    pairs: Pairs, curve: Curve, advantage: float, x: Floats, label: Ints, steps: int
) -> None:
    """Raise ConvergenceError if a wide gap between groups does not agree with the games across it.

    A player's own sum does not show what was scored across a wide gap: 1e-13 of a game is lost in
    the rounding of the other games. The sum of the games across the gap shows it.

    x : 0 in components with held players, in which sums across a gap need not agree
    """
    if np.max(x, initial=0.0) - np.min(x, initial=0.0) < WIDE:
        return
    order = np.lexsort((x, label))
    wide = (np.diff(x[order]) > WIDE) & (np.diff(label[order]) == 0)
    for cut in np.flatnonzero(wide).tolist():
        low, high = x[order[cut]], x[order[cut + 1]]
        inside = label[pairs.first] == label[order[cut]]
        up = inside & (x[pairs.first] >= high) & (x[pairs.second] <= low)
        down = inside & (x[pairs.first] <= low) & (x[pairs.second] >= high)
        t = x[pairs.first] - x[pairs.second] + advantage
        upset = np.where(up, pairs.weight - pairs.points, pairs.points)[up | down]
        chance = np.where(up, curve.expected(-t), curve.expected(t))[up | down]
        scored, expected = float(np.sum(upset)), float(np.sum(pairs.weight[up | down] * chance))
        if not abs(scored - expected) <= 0.01 * scored:
            what = f"the equilibrium of groups {high - low:.0f} points apart"
            raise ConvergenceError(what, steps, abs(scored - expected))


def renumbered(pairs: Pairs, rows: Ints, players: int) -> Pairs:
    """Return the pairs with players numbered as in `rows`, which has all players with games."""
    number = np.full(players, -1, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    return pairs._replace(first=number[pairs.first], second=number[pairs.second])


@contextmanager
def engine_for(
    pairs: Pairs,
    curve: Curve,
    advantage: float,
    held: Flags,
    label: Ints,
    threads: int,
    limits: Limits = LIMITS,
) -> Iterator[Engine]:
    """Give the engine that suits a tournament's size, with its threads.

    label : component, from 0; all players have games
    advantage : over the scale
    """
    if len(label) <= limits.dense_players:
        yield DenseEngine(pairs, curve, advantage, held, label)
        return
    from equipoise.numeric.workers import Workers
    from equipoise.tournament.network import NetworkEngine

    with Workers(threads) as workers:
        yield NetworkEngine(pairs, curve, advantage, held, workers, limits)


def against_equals(played: Floats, scored: Floats, slack: float = 0.0) -> Floats:
    """Return ratings by score against equals on the Elo curve, rating points over the scale.

    They are a suitable start for any curve.

    slack : share of the games that is added as draws
    """
    more = 0.5 * slack * played + 1e-300
    return np.asarray(np.log((scored + more) / (played - scored + more)) / ELO_RATE)


def _usable(place: Floats, held: Flags, label: Ints) -> Floats:
    """Return the start of the search: 0 for unknown and for excessive ratings."""
    place = np.where(np.isnan(place), 0.0, place)
    place -= np.where(np.bincount(label, held)[label] > 0, 0.0, means_by(label, place))
    return np.where(held | (np.abs(place) < _FURTHEST_START), place, 0.0)


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
    solutions: dict[str, Solution] = {}

    def missing(advantage: float) -> float:
        start = solutions.get("latest", latest)
        solutions["latest"] = question.solve(advantage, start.ratings if start else None)
        t = question.differences(solutions["latest"].ratings, advantage)
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
    return Fit(solutions["latest"], question.curve, root, math.nan)


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
    fits: dict[str, Fit] = {}

    def missing(log_nu: float) -> float:
        now = replace(question, curve=DavidsonCurve(math.exp(log_nu)))
        before = fits.get("latest")
        if advantage == "estimate":
            fits["latest"] = _with_advantage(now, before)
        else:
            start = before.solution.ratings if before else None
            fits["latest"] = Fit(now.solve(advantage, start), now.curve, advantage, math.nan)
        latest = fits["latest"]
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
    return replace(fits["latest"], nu=math.exp(root))


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


class PerformanceFunction:
    """The function f of one tournament, to be evaluated many times.

    advantage : rating points added to the first of every pair
    """

    def __init__(
        self,
        pairs: Pairs,
        players: int,
        *,
        curve: Curve,
        scale: float = 1.0,
        advantage: float = 0.0,
        threads: int = 1,
        limits: Limits = LIMITS,
    ) -> None:
        self._scale = scale
        self._plays = pairs.played(players) > 0
        scored = pairs.scored(players)
        lost = pairs.summed(pairs.weight - pairs.points, pairs.points, players)
        self._defined = (scored > 0) & (lost > 0)
        self._roots: Roots = partial(plain_roots, pairs, curve, advantage / scale)
        if np.count_nonzero(self._plays) > limits.dense_players:
            # Small tournaments do not load the compiler.
            from equipoise.tournament.network import compiled_roots

            compiled = compiled_roots(
                pairs, players, curve, advantage / scale, threads, limits.chunk
            )
            self._roots = compiled or self._roots

    def __call__(
        self, ratings: Floats, tolerance: float = TOLERANCE, start: Floats | None = None
    ) -> Floats:
        """Return f(ratings), shape (N,); NaN for players without games, and with 0 % or 100 %.

        ratings : shape (N,), finite for all players with games
        tolerance : length of the last step, rating points over the scale
        start : start of the search; None: `ratings`
        Raises : ConvergenceError
        """
        known = bool(np.all(np.isfinite(ratings[self._plays])))
        require(known, "ratings", "numbers for all players with games", "NaN or infinity")
        middle = float(np.mean(ratings[self._plays])) if np.any(self._plays) else 0.0
        x = np.where(self._plays, ratings - middle, 0.0) / self._scale
        begin = x if start is None else (start - middle) / self._scale
        roots = self._roots(x, np.where(self._defined, begin, 0.0), self._defined, tolerance)
        return np.where(self._defined, self._scale * roots + middle, np.nan)
