"""How sure the ratings of an equilibrium are: errors, covariances, who is better than whom.

The ratings solve m - E(x) = 0, so to first order x - x_true = H^+ (m - E), with the Hessian
H = sum w psi' L / beta of -P ([PRE]_ (4); L is the Laplacian of one game). m varies by
V = sum w variance L, hence the covariance H^+ V H^+. For the Elo curve, and Davidson's, psi' is
rate times variance, and this is the inverse of Fisher's information.

Deviations are relative to the mean of the component, or to the players who are held. Advantage of
colours and draw parameter count as known.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import require
from equipoise.performance.curves import ELO_RATE, Curve, DavidsonCurve, EloCurve
from equipoise.performance.dense import LEAST_SLOPE, laplacian
from equipoise.performance.pairs import Pairs

if TYPE_CHECKING:
    from equipoise.performance.network import NetworkEngine

#: Up to so many players of a component the matrix is inverted: some seconds, half a gigabyte.
#: In larger ones a system is solved for every player that is asked for.
DENSE_PLAYERS = 3_000
#: How much more one pair may tell than another: beyond, elimination loses the digits of the latter,
#: and no error is better than a wrong one.
MOST_UNEVEN = 1e11

_erfc = np.frompyfunc(math.erfc, 1, 1)


class Uncertainty:
    """Of the ratings of an equilibrium, on demand."""

    def __init__(
        self,
        pairs: Pairs,
        ratings: Floats,
        component: Ints,
        *,
        curve: Curve,
        scale: float = 1.0,
        advantage: float = 0.0,
        held: Flags | None = None,
        threads: int = 1,
    ) -> None:
        """Keep what is needed.

        ratings : shape (N,), the equilibrium, NaN for players without
        component : shape (N,), from 0; -1 for players without games
        held : shape (N,), players whose rating is given
        """
        self._pairs, self._ratings = pairs, ratings
        self._component = np.where(np.isnan(ratings), -1, component)
        self._curve, self._scale, self._advantage = curve, scale, advantage
        self._held = np.zeros(len(ratings), np.bool_) if held is None else held
        self._threads = threads
        self._kept: tuple[int, Floats] | None = None

    def errors(self, rows: Ints | None = None) -> Floats:
        """Return standard errors, rating points; 0 for players who are held.

        rows : players asked for; None: all N, NaN in components of more than 3,000 players
        Raises : ConvergenceError
        """
        wanted = np.arange(len(self._ratings)) if rows is None else np.asarray(rows)
        found = np.full(len(wanted), np.nan)
        for number, places in self._grouped(wanted):
            members = self._of(number)
            if len(members) > DENSE_PLAYERS and rows is None:
                continue
            columns = self._covariance(number, wanted[places])
            at = np.searchsorted(members, wanted[places])
            found[places] = np.sqrt(np.maximum(columns[at, np.arange(len(at))], 0.0))
        return found

    def covariance(self, rows: Ints) -> Floats:
        """Return the covariances of some players, shape (len(rows), len(rows)), points squared.

        NaN between components. Raises : ConvergenceError
        """
        wanted = np.asarray(rows)
        found = np.full((len(wanted), len(wanted)), np.nan)
        for number, places in self._grouped(wanted):
            columns = self._covariance(number, wanted[places])
            at = np.searchsorted(self._of(number), wanted[places])
            found[np.ix_(places, places)] = columns[at]
        return found

    def difference_error(self, one: int, other: int) -> float:
        """Return the standard error of one player's rating minus another's; NaN: no telling."""
        return float(self._difference_errors(np.array([one, other]))[0, 1])

    def superiority(self, rows: Ints) -> Floats:
        """Return the probability that rows[i] is better than rows[j], a normal approximation.

        Shape (len(rows), len(rows)); NaN on the diagonal and between components.
        """
        wanted = np.asarray(rows)
        error = self._difference_errors(wanted)
        ratings = self._ratings[wanted]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (ratings[:, None] - ratings[None, :]) / error
        # Two players who are both held have no error: the better one is better.
        found = 0.5 * np.asarray(_erfc(-z / math.sqrt(2.0)), dtype=np.float64)
        return np.asarray(np.where(np.eye(len(wanted), dtype=np.bool_), np.nan, found))

    def _difference_errors(self, rows: Ints) -> Floats:
        covariance = self.covariance(rows)
        own = np.diag(covariance)
        return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0))

    def _grouped(self, rows: Ints) -> list[tuple[int, Ints]]:
        """Return components with the places in `rows` of their players."""
        require(
            bool(np.all((rows >= 0) & (rows < len(self._ratings)))),
            "rows",
            f"rows of players, from 0 to {len(self._ratings) - 1}",
            rows.tolist(),
        )
        numbers = self._component[rows]
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-2))
        groups = np.split(order, starts[1:]) if len(order) else []
        return [(int(numbers[one[0]]), one) for one in groups if numbers[one[0]] >= 0]

    @cached_property
    def _players(self) -> tuple[Ints, Ints]:
        """Players in the order of their components, and these."""
        order = np.argsort(self._component, kind="stable")
        return order, self._component[order]

    @cached_property
    def _games(self) -> tuple[Ints, Ints]:
        """Pairs in the order of their components, and these."""
        component = self._component[self._pairs.first]
        order = np.argsort(component, kind="stable")
        return order, component[order]

    def _of(self, number: int) -> Ints:
        """Return the players of a component, ascending."""
        return _run(*self._players, number)

    def _part(self, number: int, members: Ints) -> tuple[Pairs, Floats]:
        """Return a component's pairs, players renumbered, and its differences over the scale."""
        kept = _run(*self._games, number)
        pairs = self._pairs.where(kept)
        ratings = self._ratings
        t = (ratings[pairs.first] - ratings[pairs.second] + self._advantage) / self._scale
        # Rows in the order of `members`; an array of all players would cost each tiny component.
        first, second = (np.searchsorted(members, one) for one in (pairs.first, pairs.second))
        return pairs._replace(first=first, second=second), t

    def _covariance(self, number: int, rows: Ints) -> Floats:
        """Return columns of a component's covariance matrix, a row for each of its players."""
        members = self._of(number)
        at = np.searchsorted(members, rows)
        if len(members) <= DENSE_PLAYERS:
            if self._kept is None or self._kept[0] != number:
                self._kept = number, self._inverted(number, members)
            return self._kept[1][:, at]
        return self._solved(number, members, at)

    def _inverted(self, number: int, members: Ints) -> Floats:
        """Return the covariance matrix of a component by inversion."""
        pairs, t = self._part(number, members)
        size, held = len(members), self._held[members]
        stiffness = pairs.weight * self._curve.slope(t)
        if float(stiffness.max()) > MOST_UNEVEN * float(stiffness.min()):
            return np.full((size, size), np.nan)
        hessian = laplacian(pairs, stiffness, size)
        free = np.flatnonzero(~held)
        inverse = np.zeros((size, size))
        if np.any(held):
            inverse[np.ix_(free, free)] = np.linalg.inv(hessian[np.ix_(free, free)])
        else:
            # Lifting the constants off 0 makes the matrix regular; then they are taken out again.
            lift = max(float(np.mean(np.diag(hessian))), LEAST_SLOPE) / size
            inverse[:] = np.linalg.inv(hessian + lift) - 1.0 / (lift * size * size)
        if _is_fisher(self._curve):
            return np.asarray(inverse * (self._scale**2 / ELO_RATE))
        variance = laplacian(pairs, pairs.weight * self._curve.variance(t), size)
        return np.asarray(self._scale**2 * (inverse @ variance @ inverse))

    def _solved(self, number: int, members: Ints, at: Ints) -> Floats:
        """Return columns of the covariance matrix of a large component, a system for each."""
        from equipoise.numeric.workers import Workers
        from equipoise.performance.network import NetworkEngine

        pairs, t = self._part(number, members)
        size, held = len(members), self._held[members]
        columns = np.zeros((size, len(at)))
        with Workers(self._threads) as workers:
            engine = NetworkEngine(pairs, self._curve, self._advantage / self._scale, held, workers)
            engine.evaluate((self._ratings[members] - self._ratings[members[0]]) / self._scale)
            for column, row in enumerate(at.tolist()):
                columns[:, column] = self._influence(engine, row, held)
            if _is_fisher(self._curve):
                return np.asarray(columns * (self._scale**2 / ELO_RATE))
            conductance = pairs.weight * self._curve.variance(t)
            for column in range(len(at)):
                u = columns[:, column]
                flow = conductance * (u[pairs.first] - u[pairs.second])
                shaken = pairs.summed(flow, -flow, size)
                columns[:, column] = _centred(engine.solve(_balanced(shaken, held)), held)
        return np.asarray(self._scale**2 * columns)

    @staticmethod
    def _influence(engine: NetworkEngine, row: int, held: Flags) -> Floats:
        """Return H^+ e_row."""
        unit = np.zeros(len(held))
        if held[row]:
            return unit
        unit[row] = 1.0
        return _centred(engine.solve(_balanced(unit, held)), held)


def _run(order: Ints, numbers: Ints, number: int) -> Ints:
    """Return the part of `order` whose `numbers`, which ascend, are `number`."""
    low, high = np.searchsorted(numbers, [number, number + 1])
    return order[low:high]


def _is_fisher(curve: Curve) -> bool:
    """Return whether psi' is ELO_RATE times the variance."""
    return isinstance(curve, EloCurve | DavidsonCurve)


def _balanced(right: Floats, held: Flags) -> Floats:
    """Return a right side that a connected component without held players can have."""
    return right if np.any(held) else right - np.mean(right)


def _centred(found: Floats, held: Flags) -> Floats:
    return found if np.any(held) else found - np.mean(found)
