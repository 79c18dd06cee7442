"""Newton's method for the equilibrium, and the roots of [PRE]_ Lemma 1 (1) side by side.

Newton's steps stay inside a bracket that the signs found so far leave. The search bisects if a step
leaves the bracket, and in every other step after the first PATIENCE. `network` searches in the
same way, player by player.

Source: [PRE]_ sec. 3. P is concave, its gradient is m - E, its Hessian (4) is minus the Laplacian
of the network of games with weights w psi'. So a step solves one Laplacian system. An `Engine`
solves it: `DenseEngine` by elimination in NumPy, which has nothing to compile, for small
tournaments; `NetworkEngine` of `network` for large ones.

Two rules make it converge from any start:
- far from the equilibrium psi' may be almost 0 and a step extremely long. The Hessian's diagonal is
  lifted so that no single player moves by more than REACH points; the lift is 0 once
  |m_i - E_i| < REACH H_ii, so the last steps are Newton's own;
- every component has its own step length, which is shortened until the slope of P along the step
  is not clearly negative at its end. P is concave, so this needs no value of P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import ConvergenceError
from equipoise.tournament.curves import Curve
from equipoise.tournament.pairs import Pairs

MAX_STEPS = 128
#: Longest first step of Newton's method; it doubles with every step, to reach distant roots.
FIRST_REACH = 500.0
#: Steps before every other one bisects.
PATIENCE = 12

#: Largest number of shortenings of one step.
MAX_SHORTER = 60
#: Longest move of a player in one step, rating points over the scale.
REACH = 1000.0
#: Longest move of a player in the next step, extrapolated, when the method ends; points.
SETTLED = 1e-7
#: Times the tolerance, the error of sums of k games that is always accepted, relative to k: 3e-15.
_ROUNDING = 3e-6
#: Steps that fail to halve the residual before rounding is assumed to be the reason.
_PATIENCE = 3
#: Keeps the matrix regular if all slopes of a player underflow.
LEAST_SLOPE = 1e-290


#: Solves (1) for every player: (x, begin, defined, tolerance) -> z with m_i = sum w psi(z_i - x_j)
#: where defined. The search starts from `begin` and ends with a step of at most the tolerance;
#: ratings are over the scale.
Roots: TypeAlias = Callable[[Floats, Floats, Flags, float], Floats]


def plain_roots(
    pairs: Pairs,
    curve: Curve,
    advantage: float,
    x: Floats,
    begin: Floats,
    defined: Flags,
    tolerance: float,
) -> Floats:
    """Return the roots of all players' equations, searched side by side in NumPy; see `Roots`."""
    z = begin.copy()
    low, high = np.full(len(z), -np.inf), np.full(len(z), np.inf)
    unsolved = defined.copy()
    for number in range(MAX_STEPS):
        over, slope = _equations(pairs, x, z, curve, advantage)
        low, high = np.where(over > 0, z, low), np.where(over < 0, z, high)
        moved_to = _next(z, over, slope, low, high, number)
        z, moved = np.where(unsolved, moved_to, z), np.abs(moved_to - z)
        unsolved &= moved > tolerance
        if not np.any(unsolved):
            return z
    worst = float(np.max(np.abs(np.where(unsolved, over, 0.0))))
    raise ConvergenceError("a performance rating", MAX_STEPS, worst)


def _next(z: Floats, over: Floats, slope: Floats, low: Floats, high: Floats, number: int) -> Floats:
    """Return z after step `number`, elementwise."""
    reach = FIRST_REACH * 2.0**number
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = z + np.clip(np.where(over == 0, 0.0, over / slope), -reach, reach)
        bracketed = np.isfinite(low) & np.isfinite(high)
        patient = number <= PATIENCE or number % 2 == 1
        kept = (ahead >= low) & (ahead <= high) & patient
        return np.where(bracketed & ~kept, 0.5 * (low + high), ahead)


def _equations(
    pairs: Pairs, x: Floats, z: Floats, curve: Curve, advantage: float
) -> tuple[Floats, Floats]:
    """Return m_i minus the score expected at z_i, and the slope of that score, of every player."""
    players = len(x)
    first, second, won = pairs.first, pairs.second, pairs.points
    lost = pairs.weight - won
    here = z[first] - x[second] + advantage
    difference = z[second] - x[first] - advantage
    over = pairs.summed(
        won * curve.expected(-here) - lost * curve.expected(here),
        lost * curve.expected(-difference) - won * curve.expected(difference),
        players,
    )
    weight = pairs.weight
    slope = pairs.summed(weight * curve.slope(here), weight * curve.slope(difference), players)
    return over, slope


class Limits(NamedTuple):
    """Limits between the ways to solve; they change results by rounding only.

    dense_players : number of players with games up to which a full matrix is used
    steps : of Newton's method; from equal ratings it takes about five, extreme scores about thirty
    iterations : of conjugate gradients for one step
    before_multigrid : iterations after which building multigrid is worthwhile
    chunk : rows computed at once by one thread; the rounding of sums depends on it
    """

    dense_players: int = 500
    steps: int = 200
    iterations: int = 5_000
    before_multigrid: int = 300
    chunk: int = 8_192


#: The default limits.
LIMITS = Limits()


class Engine(Protocol):
    """Evaluates and solves the equations of one tournament; ratings are over the scale."""

    inner_iterations: int
    diagonal: Floats
    #: Added to the message if Newton's method fails; may be empty.
    advice: str

    def evaluate(self, x: Floats) -> Floats:
        """Return m - E(x), 0 for players who are held; remember the Hessian at x."""

    def step(self, residual: Floats, lift: Floats, forcing: float) -> Floats:
        """Return about (H + lift)^-1 residual, 0 for players who are held."""


@dataclass(frozen=True, slots=True)
class Task:
    """The problem to solve.

    label : shape (N,), component from 0; all players have games
    held : shape (N,), whether a player's rating is given
    played : shape (N,), k; tolerance : of |m - E|
    """

    label: Ints
    held: Floats
    played: Floats
    tolerance: float

    def centred(self, x: Floats) -> Floats:
        """Return ratings minus the mean of their component, unless a player in it is held."""
        anchored = np.bincount(self.label, self.held)[self.label] > 0
        return np.asarray(x - np.where(anchored, 0.0, means_by(self.label, x)))


def means_by(label: Ints, values: Floats, counts: Flags | None = None) -> Floats:
    """Return the mean value of every player's component, shape (N,); 0 if no value counts.

    label : component, from 0; counts : which values do, None: all
    """
    size = np.bincount(label, counts)
    total = np.bincount(label, values if counts is None else np.where(counts, values, 0.0))
    return np.asarray((total / np.maximum(size, 1.0))[label], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Place:
    """Ratings, their residual, and its size in multiples of the goal."""

    x: Floats
    residual: Floats
    size: float


def maximise(
    engine: Engine, task: Task, start: Floats, max_steps: int = LIMITS.steps
) -> tuple[Place, int]:
    """Return where P is greatest, and the number of steps.

    The goal is |m - E| <= tolerance min(1, k), or 3e-6 tolerance k for players with more games than
    float64 has digits for. If rounding prevents that, tolerance k is accepted.
    Raises : ConvergenceError   not even that was reached, or ratings kept diverging
    """
    goal = task.tolerance * np.maximum(np.minimum(task.played, 1.0), _ROUNDING * task.played)
    kept = task.tolerance * task.played
    here = best = _place(engine, task, task.centred(start), goal)
    forcing, settled, stale, steps = 0.1, False, 0, 0
    while not (here.size <= 1 and settled) and stale < _PATIENCE:
        if steps == max_steps:
            left = float(np.max(np.abs(here.residual)))
            raise ConvergenceError(f"the equilibrium{engine.advice}", steps, left)
        lift = np.maximum(np.abs(here.residual) / REACH - engine.diagonal, 0.0)
        step = engine.step(here.residual, lift, max(forcing, min(0.1, 0.1 / max(here.size, 1.0))))
        furthest = float(np.max(np.abs(step), initial=0.0))
        if furthest == 0.0:
            break
        before, steps = here.size, steps + 1
        here = _along(engine, task, here, step, goal)
        shrunk = here.size / before if before > 0 else 1.0
        settled = furthest * min(shrunk, 1.0) <= SETTLED
        # Eisenstat & Walker: solve as exactly as the last step was successful.
        forcing = min(0.1, 0.5 * shrunk * shrunk)
        promised = bool(np.all(np.abs(here.residual) <= kept))
        stale = stale + 1 if promised and here.size > 0.5 * best.size else 0
        best = here if here.size <= best.size else best
    return best, steps


def _place(engine: Engine, task: Task, x: Floats, goal: Floats) -> Place:
    residual = engine.evaluate(x)
    return Place(x, residual, float(np.max(np.abs(residual) / goal, initial=0.0)))


def _along(engine: Engine, task: Task, here: Place, step: Floats, goal: Floats) -> Place:
    """Return the place after a step, which is shortened in components where it is too long."""
    label = task.label
    rise = np.bincount(label, here.residual * step)
    noise = 1e-15 * np.bincount(label, task.played * np.abs(step))
    furthest = np.zeros(len(rise))
    np.maximum.at(furthest, label, np.abs(step))
    length = np.minimum(1.0, 2.0 * REACH / np.maximum(furthest, REACH))
    for _ in range(MAX_SHORTER):
        ahead = _place(engine, task, task.centred(here.x + length[label] * step), goal)
        slope = np.bincount(label, ahead.residual * step)
        far = slope < -0.1 * rise - noise
        if ahead.size <= 1 or not np.any(far):
            break
        # Where a straight line through both slopes is zero, but neither too near nor too far.
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip(rise / (rise - slope), 0.1, 0.5)
        length = np.where(far, length * share, length)
    return ahead


class DenseEngine:
    """An `Engine` that uses a full matrix.

    held : shape (N,), players whose rating is given
    label : shape (N,), component; if no player in it is held, its first player does not move
    advantage : over the scale
    """

    advice = ""

    def __init__(
        self, pairs: Pairs, curve: Curve, advantage: float, held: Flags, label: Ints
    ) -> None:
        self.inner_iterations = 0
        self._pairs, self._curve, self._advantage = pairs, curve, advantage
        self._players, self._held = len(label), held
        still = held.copy()
        anchored = np.bincount(label, held) > 0
        first = np.unique(label, return_index=True)[1]
        still[first[~anchored[label[first]]]] = True
        self._moving = np.flatnonzero(~still & (pairs.played(self._players) > 0))
        self.diagonal = np.zeros(self._players)
        self._slope = np.zeros(len(pairs.first))

    def evaluate(self, x: Floats) -> Floats:
        """Return m - E(x), 0 for players who are held; remember the Hessian at x."""
        pairs = self._pairs
        t = x[pairs.first] - x[pairs.second] + self._advantage
        self._slope = pairs.weight * self._curve.slope(t)
        self.diagonal = pairs.summed(self._slope, self._slope, self._players)
        over = surplus(pairs, self._curve, t)
        residual = pairs.summed(over, -over, self._players)
        residual[self._held] = 0.0
        return residual

    def step(self, residual: Floats, lift: Floats, forcing: float) -> Floats:
        """Return (H + lift)^-1 residual, 0 for players who are held or do not move."""
        moving = self._moving
        diagonal = np.maximum(self.diagonal + lift, LEAST_SLOPE)
        matrix = laplacian(self._pairs, self._slope, self._players)[np.ix_(moving, moving)]
        np.fill_diagonal(matrix, diagonal[moving])
        step = np.zeros(self._players)
        try:
            step[moving] = np.linalg.solve(matrix, residual[moving])
        except np.linalg.LinAlgError:  # in float64, groups so different are not connected
            np.fill_diagonal(matrix, diagonal[moving] * (1.0 + 1e-12))
            step[moving] = np.linalg.solve(matrix, residual[moving])
        return step


def surplus(pairs: Pairs, curve: Curve, t: Floats) -> Floats:
    """Return y - w psi(t) of every pair: the points of the first minus the expected points.

    It is computed as y psi(-t) - (w - y) psi(t), which does not cancel if a result is nearly
    certain.
    """
    lost = pairs.weight - pairs.points
    return np.asarray(pairs.points * curve.expected(-t) - lost * curve.expected(t))


def laplacian(pairs: Pairs, conductance: Floats, players: int) -> Floats:
    """Return the Laplacian of the network, shape (players, players): sum of c (e_i - e_j)^2."""
    cell = pairs.first * np.int64(players) + pairs.second
    half = np.bincount(cell, conductance, players * players).reshape(players, players)
    matrix = -(half + half.T)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return np.asarray(matrix, dtype=np.float64)
