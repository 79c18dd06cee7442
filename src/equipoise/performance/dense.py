"""Newton steps of a small tournament by elimination; plain NumPy, nothing to compile or to load."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.performance.curves import Curve
from equipoise.performance.pairs import Pairs

#: Keeps the matrix regular where all slopes of a player underflow.
LEAST_SLOPE = 1e-290


class DenseEngine:
    """A tournament as a full matrix; see `newton.Engine`.

    held : shape (N,), players whose rating is given
    label : shape (N,), component; where nobody in it is held, its first player stands still
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
        """Return (H + lift)^-1 residual, 0 for players who are held or stand still."""
        moving = self._moving
        diagonal = np.maximum(self.diagonal + lift, LEAST_SLOPE)
        matrix = laplacian(self._pairs, self._slope, self._players)[np.ix_(moving, moving)]
        np.fill_diagonal(matrix, diagonal[moving])
        step = np.zeros(self._players)
        try:
            step[moving] = np.linalg.solve(matrix, residual[moving])
        except np.linalg.LinAlgError:  # groups so far apart that float64 sees no games between
            np.fill_diagonal(matrix, diagonal[moving] * (1.0 + 1e-12))
            step[moving] = np.linalg.solve(matrix, residual[moving])
        return step


def surplus(pairs: Pairs, curve: Curve, t: Floats) -> Floats:
    """Return y - w psi(t) of every pair, the points of the first beyond what was expected.

    As y psi(-t) - (w - y) psi(t), which does not cancel where one of the two is nearly certain.
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
