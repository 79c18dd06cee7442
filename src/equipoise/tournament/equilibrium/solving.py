"""The equilibrium of a tournament: ratings at which all expected scores are the actual scores.

Source: [PRE]_. One solution covers any number of components, even thousands of tiny ones.

The result is guaranteed to have |m_i - E_i| <= 1e-9 k_i. The goal, which is missed only by rounding
in very long sums, is |m_i - E_i| <= 1e-9 min(1, k_i) for players of up to 300,000 games, 3e-15 k_i
beyond, and a next step that would move no player by more than 1e-7 points.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import ConvergenceError, require
from equipoise.tournament.curves import ELO_RATE, Curve
from equipoise.tournament.equilibrium.newton import (
    LIMITS,
    DenseEngine,
    Engine,
    Limits,
    Task,
    maximise,
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
    check_scale(scale)
    require(0 < tolerance < 1, "tolerance", "in (0, 1)", tolerance)
    played = pairs.played(players)
    begin = start
    if begin is None:
        begin = scale * against_equals(played, pairs.scored(players), _SLACK)
    given = np.full(players, np.nan) if fixed is None else fixed
    rows = np.flatnonzero(played > 0)
    if len(rows) < players:
        pairs = renumbered(pairs, rows, players)
        given, begin, played, component = given[rows], begin[rows], played[rows], component[rows]
    held = ~np.isnan(given)
    origin = _origin(given, held, component)
    place = np.where(held, given - origin, begin if start is None else begin - origin) / scale
    task = Task(component, held.astype(np.float64), played, tolerance)
    with engine_for(pairs, curve, advantage / scale, held, component, threads, limits) as engine:
        found, steps = maximise(engine, task, _usable(place, held, component), limits.steps)
        inner = engine.inner_iterations
    free = np.bincount(component, held)[component] == 0
    _check_gaps(pairs, curve, advantage / scale, np.where(free, found.x, 0.0), component, steps)
    ratings = np.full(players, np.nan)
    ratings[rows] = np.where(held, given, scale * found.x + origin)
    left = float(np.max(np.abs(found.residual), initial=0.0))
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
    from equipoise.tournament.equilibrium.network import NetworkEngine

    with Workers(threads) as workers:
        yield NetworkEngine(pairs, curve, advantage, held, workers, limits)


def against_equals(played: Floats, scored: Floats, slack: float = 0.0) -> Floats:
    """Return ratings by score against equals on the Elo curve, rating points over the scale.

    They are a suitable start for any curve.

    slack : share of the games that is added as draws
    """
    more = 0.5 * slack * played + 1e-300
    return np.asarray(np.log((scored + more) / (played - scored + more)) / ELO_RATE)


def _origin(given: Floats, held: Flags, label: Ints) -> Floats:
    """Return the mean rating of the component's held players, 0 without held players."""
    count = np.bincount(label, held)
    total = np.bincount(label, np.where(held, given, 0.0))
    return np.asarray((total / np.maximum(count, 1.0))[label], dtype=np.float64)


def _usable(place: Floats, held: Flags, label: Ints) -> Floats:
    """Return the start of the search: 0 for unknown and for excessive ratings."""
    place = np.where(np.isnan(place), 0.0, place)
    size = np.bincount(label)
    place -= np.where(
        np.bincount(label, held)[label] > 0,
        0.0,
        (np.bincount(label, place) / np.maximum(size, 1))[label],
    )
    return np.where(held | (np.abs(place) < _FURTHEST_START), place, 0.0)
