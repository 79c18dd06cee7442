"""Uncertainty of the ratings of an equilibrium: errors, covariances, superiority.

The ratings solve m - E(x) = 0, so to first order x - x_true = H^+ (m - E), with the Hessian
H = sum w psi' L / beta of -P ([PRE]_ (4); L is the Laplacian of one game). m varies by
V = sum w variance L, hence the covariance H^+ V H^+. For the Elo curve, and Davidson's, psi' is
rate times variance, and this is the inverse of Fisher's information.

The variance of a curve without draws is that of a coin, psi (1 - psi), the largest that a score
with that mean can have. Draws make it smaller, so the covariance is multiplied by the dispersion
phi of the component, as in McCullagh and Nelder, Generalized Linear Models, 4.5. It is estimated
from the scores s of the results, of weight w, as the solution in (0, 1] of

    sum w (s - E)^2 + 1/4 = phi (sum E (1 - E) (1 - h)/(1 - phi h) + 1/4).

h is the leverage of a result: ratings that are fitted to it make its residual smaller by 1 - h, and
E (1 - E), on average, by 1 - phi h. Results with h = 1 are left out: they are always fitted. The
1/4 is one more game between equals, a coin: it keeps phi above 0 if all games are drawn, and at
1 if no result can differ from what the ratings expect. Phi is never above 1: if results differ more
than those of coins, the ratings do not explain them, and the covariance is not changed.

Errors are relative to the mean of the component, or to the held players. Advantage of colours and
draw parameter count as known.

Players found on top are often there by luck. So superiority has a prior: before the tournament, the
players of a component are normal with a common mean and a spread tau, which the ratings x, of
variance v, tell: their likelihood is that of x - mean ~ N(0, tau^2 + v), with a flat mean. The
prior of tau is half of a Cauchy distribution with the scale 3 sqrt(c), for the harmonic mean c of
v: almost flat up to there, and proper (A. Gelman, Prior distributions for variance parameters in
hierarchical models, Bayesian Analysis 1, 2006). The posterior of two players, for each tau, is that
from their ratings and covariances; over all tau, it is taken to be normal. In components that are
inverted, x and its covariances are those of Newton's step from the strengths so expected, since
scores say less of ratings that lie far out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from equipoise.arguments import as_array
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import Games
from equipoise.errors import ConvergenceError, require
from equipoise.tournament.curves import ELO_RATE, Curve, DavidsonCurve, EloCurve, erfc
from equipoise.tournament.newton import LEAST_SLOPE, laplacian
from equipoise.tournament.pairs import Pairs

if TYPE_CHECKING:
    from equipoise.tournament.network import NetworkEngine


#: Players of a component up to which the matrix is inverted, in a few seconds and half a gigabyte.
#: In larger components a system is solved for every requested player.
DENSE_PLAYERS = 3_000
#: Largest ratio of the stiffness of two pairs. Beyond, elimination loses the digits of the weaker
#: one, and errors are NaN instead of wrong.
MOST_UNEVEN = 1e11
#: What superiority takes players for before the tournament: of one field, or of any strength.
SuperiorityPrior: TypeAlias = Literal["field", "flat"]
#: Shares of the prior of the spread below the nodes of the integral, and weights, by Gauss.
_NODES, _WEIGHTS = 0.5 * np.array(np.polynomial.legendre.leggauss(24)) + [[0.5], [0.0]]
#: Scale of the prior of the spread, over the error of a typical player.
_SPREAD = 3.0
#: Times that errors are computed again at the strengths that are expected, for superiority.
_LINEAR_STEPS = 2
#: Variance of the game that is added to estimate the dispersion: a coin between equals.
_COIN = 0.25
#: A result with a leverage above this is fitted exactly, to rounding.
_FITTED = 1.0 - 1e-9
#: Newton's steps for the dispersion; the equation is convex, so it takes about six.
_MAX_STEPS, _LAST_STEP = 60, 1e-12


def player_rows(rows: object, players: int) -> Ints:
    """Return rows of players as an array. Raises : InvalidParameterError if they are not rows."""
    numbers: Ints = as_array("rows", rows, np.int64)
    fits = numbers.ndim == 1 and bool(np.all((numbers >= 0) & (numbers < players)))
    rule = f"rows of players, from 0 to {players - 1}, not ids"
    require(fits, "rows", rule, numbers.tolist())
    return numbers


class Uncertainty:
    """Errors, covariances and superiority of the ratings of an equilibrium, on demand.

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> found = eq.performance_equilibrium(games, anchor=2557).uncertainty
    >>> round(float(found.errors().max()), 1)
    59.2
    """

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
        games: Games | None = None,
        threads: int = 1,
        dense_players: int = DENSE_PLAYERS,
    ) -> None:
        """Keep the equilibrium; nothing is computed yet.

        games : results from which the dispersion is estimated; None sets it to 1. It is also 1 with
          Davidson's curve, which models draws
        ratings : shape (N,), the equilibrium, NaN for players without
        component : shape (N,), from 0; -1 for players without games
        held : shape (N,), players whose rating is given
        dense_players : number of players of a component up to which the matrix is inverted
        """
        self._dense_players = dense_players
        self._pairs, self._ratings = pairs, ratings
        self._component = np.where(np.isnan(ratings), -1, component)
        self._curve, self._scale, self._advantage = curve, scale, advantage
        self._held = np.zeros(len(ratings), np.bool_) if held is None else held
        self._results = None if isinstance(curve, DavidsonCurve) else games
        self._dispersions: dict[int, float] = {}
        self._threads = threads
        self._kept: tuple[int, Floats] | None = None

    def errors(self, rows: Ints | None = None) -> Floats:
        """Return standard errors, rating points; 0 for players who are held.

        rows : requested players; None means all N, with NaN in components of more than 3,000
          players
        Raises : ConvergenceError
        """
        players = len(self._ratings)
        wanted = np.arange(players) if rows is None else player_rows(rows, players)
        errors = np.full(len(wanted), np.nan)
        for number, places in self._grouped(wanted):
            members = self._of(number)
            if len(members) > self._dense_players and rows is None:
                continue
            columns = self._covariance(number, wanted[places])
            at = np.searchsorted(members, wanted[places])
            errors[places] = np.sqrt(np.maximum(columns[at, np.arange(len(at))], 0.0))
        return errors

    def covariance(self, rows: Ints) -> Floats:
        """Return the covariances of some players, shape (len(rows), len(rows)), points squared.

        NaN between components. Raises : ConvergenceError
        """
        wanted = player_rows(rows, len(self._ratings))
        matrix = np.full((len(wanted), len(wanted)), np.nan)
        for number, places in self._grouped(wanted):
            columns = self._covariance(number, wanted[places])
            at = np.searchsorted(self._of(number), wanted[places])
            matrix[np.ix_(places, places)] = columns[at]
        return matrix

    def dispersion(self, row: int) -> float:
        """Return the dispersion of scores in a player's component: above 0, at most 1.

        NaN without a rating, and where errors are NaN. Raises : ConvergenceError
        """
        for number, _ in self._grouped(player_rows([row], len(self._ratings))):
            self._covariance(number, np.array([row]))
            return self._dispersions.get(number, math.nan)
        return math.nan

    def superiority(self, rows: Ints, prior: SuperiorityPrior = "field") -> Floats:
        """Return the probability that rows[i] is better than rows[j], a normal approximation.

        prior : "field", the players of a component are normal with the spread that their ratings
          show; "flat", they may be of any strength
        Shape (len(rows), len(rows)); NaN on the diagonal and between components.
        Raises : ConvergenceError
        """
        require(prior in ("field", "flat"), "prior", "field or flat", prior)
        wanted = player_rows(rows, len(self._ratings))
        covariance, ratings = self.covariance(rows), self._ratings[wanted]
        own = np.diag(covariance)
        mean = ratings[:, None] - ratings[None, :]
        variance = own[:, None] + own[None, :] - 2.0 * covariance
        if prior == "field":
            for number, places in self._grouped(wanted):
                at = np.ix_(places, places)
                mean[at], variance[at] = self._posterior(number, wanted[places])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = mean / np.sqrt(np.maximum(variance, 0.0))
        # Two held players have no error, so the order of their ratings is certain.
        chance = 0.5 * np.asarray(erfc(-z / math.sqrt(2.0)), dtype=np.float64)
        return np.asarray(np.where(np.eye(len(wanted), dtype=np.bool_), np.nan, chance))

    def _posterior(self, number: int, rows: Ints) -> tuple[Floats, Floats]:
        """Return mean and variance of the differences of some players of a component."""
        members = self._of(number)
        at = np.searchsorted(members, rows)
        field = self._ratings[members]
        if len(members) <= self._dense_players:
            whole = self._covariance(number, members)
            for _ in range(_LINEAR_STEPS):
                field, whole = self._linear(number, members, _shrunk(field, np.diag(whole)))
            errors, covariance = np.diag(whole), whole[np.ix_(at, at)]
        else:
            errors, covariance = self._variances(number, members), self.covariance(rows)
        weights, spreads, centres = _field(field, errors)
        ratings, own = field[at], np.diag(covariance)
        one, other = own[:, None], own[None, :]
        mean, squares = np.zeros((2, *covariance.shape))
        for weight, spread, centre in zip(weights, spreads, centres, strict=True):
            # The inverse of the covariances of two players, spread I + [[one, c], [c, other]].
            scale = spread / ((spread + one) * (spread + other) - covariance**2)
            first, second = (ratings - centre)[:, None], (ratings - centre)[None, :]
            values = scale * (
                (spread + other + covariance) * first - (spread + one + covariance) * second
            )
            left = spread * (one + other - 2.0 * covariance)
            variance = scale * (left + 2.0 * (one * other - covariance**2))
            mean += weight * values
            squares += weight * (variance + values**2)
        return mean, squares - mean**2

    def _linear(self, number: int, members: Ints, strengths: Floats) -> tuple[Floats, Floats]:
        """Return ratings and covariances of a component by the slopes at these strengths.

        Newton's step from there gives the ratings.
        """
        moved = copy(self)
        moved._ratings = self._ratings.copy()
        moved._ratings[members] = strengths
        pairs, t = moved._part(number, members)
        inverse = self._inverse(pairs, t, self._held[members])
        missing = pairs.points - pairs.weight * self._curve.expected(t)
        step = self._scale * (inverse @ pairs.summed(missing, -missing, len(members)))
        covariance = self._spread_out(pairs, t, inverse) * self._dispersions[number]
        return strengths + step, covariance

    def _variances(self, number: int, members: Ints) -> Floats:
        """Return the variances of a large component, as if the opponents of each were held."""
        pairs, t = self._part(number, members)
        size, held = len(members), self._held[members]
        slope = pairs.weight * self._curve.slope(t)
        score = pairs.weight * self._curve.variance(t)
        variances = pairs.summed(score, score, size) / pairs.summed(slope, slope, size) ** 2
        return np.where(held, 0.0, self._scale**2 * self._dispersions[number] * variances)

    def _grouped(self, rows: Ints) -> list[tuple[int, Ints]]:
        """Return components with the places in `rows` of their players."""
        numbers = self._component[rows]
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-2))
        groups = np.split(order, starts[1:]) if len(order) else []
        return [
            (int(numbers[members[0]]), members) for members in groups if numbers[members[0]] >= 0
        ]

    @cached_property
    def _players(self) -> tuple[Ints, Ints]:
        """Players in the order of their components, and these."""
        return _ordered(self._component)

    @cached_property
    def _games(self) -> tuple[Ints, Ints]:
        """Pairs in the order of their components, and these."""
        return _ordered(self._component[self._pairs.first])

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
        first, second = (np.searchsorted(members, rows) for rows in (pairs.first, pairs.second))
        return pairs._replace(first=first, second=second), t

    def _covariance(self, number: int, rows: Ints) -> Floats:
        """Return columns of a component's covariance matrix, a row for each of its players."""
        members = self._of(number)
        at = np.searchsorted(members, rows)
        if len(members) <= self._dense_players:
            if self._kept is None or self._kept[0] != number:
                self._kept = number, self._inverted(number, members)
            return self._kept[1][:, at]
        return self._solved(number, members, at)

    def _inverted(self, number: int, members: Ints) -> Floats:
        """Return the covariance matrix of a component by inversion."""
        pairs, t = self._part(number, members)
        inverse = self._inverse(pairs, t, self._held[members])
        own = np.diag(inverse)

        def resistance(one: Ints, other: Ints) -> Floats:
            return np.asarray(own[one] + own[other] - 2.0 * inverse[one, other])

        return self._spread_out(pairs, t, inverse) * self._dispersion(number, members, resistance)

    def _inverse(self, pairs: Pairs, t: Floats, held: Flags) -> Floats:
        """Return H^+ of a component, whose pairs have these differences over the scale."""
        size = len(held)
        stiffness = pairs.weight * self._curve.slope(t)
        if float(stiffness.max()) > MOST_UNEVEN * float(stiffness.min()):
            return np.full((size, size), np.nan)
        hessian = laplacian(pairs, stiffness, size)
        free = np.flatnonzero(~held)
        inverse = np.zeros((size, size))
        if np.any(held):
            inverse[np.ix_(free, free)] = np.linalg.inv(hessian[np.ix_(free, free)])
        else:
            # Adding a constant makes the matrix regular; its inverse is then subtracted again.
            lift = max(float(np.mean(np.diag(hessian))), LEAST_SLOPE) / size
            inverse[:] = np.linalg.inv(hessian + lift) - 1.0 / (lift * size * size)
        return inverse

    def _spread_out(self, pairs: Pairs, t: Floats, inverse: Floats) -> Floats:
        """Return the covariances of ratings whose H^+ is `inverse`, for scores like coins."""
        if _is_fisher(self._curve):
            return np.asarray(inverse * (self._scale**2 / ELO_RATE))
        variance = laplacian(pairs, pairs.weight * self._curve.variance(t), len(inverse))
        return np.asarray(self._scale**2 * (inverse @ variance @ inverse))

    def _dispersion(
        self, number: int, members: Ints, resistance: Callable[[Ints, Ints], Floats]
    ) -> float:
        """Return the dispersion of a component.

        resistance : of two rows of `members`, e^T H^+ e for the difference e of the two
        Raises : ConvergenceError
        """
        results = self._results
        if results is None:
            self._dispersions[number] = 1.0
            return 1.0
        rows = _run(*self._rows, number)
        white, black, weight = results.white[rows], results.black[rows], results.weights[rows]
        t = (self._ratings[white] - self._ratings[black] + self._advantage) / self._scale
        one, other = np.searchsorted(members, white), np.searchsorted(members, black)
        leverage = weight * self._curve.slope(t) * resistance(one, other)
        residual = results.points[rows] / weight - self._curve.expected(t)
        free = leverage < _FITTED
        dispersion = _solved_dispersion(
            float(np.sum((weight * residual**2)[free])),
            self._curve.variance(t)[free],
            leverage[free],
        )
        self._dispersions[number] = dispersion
        return dispersion

    @cached_property
    def _rows(self) -> tuple[Ints, Ints]:
        """Results in the order of their components, and these."""
        white = np.empty(0, np.int64) if self._results is None else self._results.white
        return _ordered(self._component[white])

    def _solved(self, number: int, members: Ints, at: Ints) -> Floats:
        """Return columns of the covariance matrix of a large component, a system for each."""
        from equipoise.numeric.workers import Workers
        from equipoise.tournament.network import NetworkEngine

        pairs, t = self._part(number, members)
        size, held = len(members), self._held[members]
        columns = np.zeros((size, len(at)))
        stiffness = pairs.weight * self._curve.slope(t)
        # As if the opponents of each of the two players were held: it equals what the inverse gives
        # up to a share of one over the games of a player.
        own = np.where(held, 0.0, 1.0 / pairs.summed(stiffness, stiffness, size))
        factor = self._scale**2 * self._dispersion(number, members, lambda i, j: own[i] + own[j])
        with Workers(self._threads) as workers:
            engine = NetworkEngine(pairs, self._curve, self._advantage / self._scale, held, workers)
            engine.evaluate((self._ratings[members] - self._ratings[members[0]]) / self._scale)
            for column, row in enumerate(at.tolist()):
                columns[:, column] = self._influence(engine, row, held)
            if _is_fisher(self._curve):
                return np.asarray(columns * (factor / ELO_RATE))
            conductance = pairs.weight * self._curve.variance(t)
            for column in range(len(at)):
                u = columns[:, column]
                flow = conductance * (u[pairs.first] - u[pairs.second])
                shaken = pairs.summed(flow, -flow, size)
                columns[:, column] = _centred(engine.solve(_balanced(shaken, held)), held)
        return np.asarray(factor * columns)

    @staticmethod
    def _influence(engine: NetworkEngine, row: int, held: Flags) -> Floats:
        """Return H^+ e_row."""
        unit = np.zeros(len(held))
        if held[row]:
            return unit
        unit[row] = 1.0
        return _centred(engine.solve(_balanced(unit, held)), held)


def _field(ratings: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return weights, squares of the spread and means of a field, over its possible spreads."""
    known = variance[variance > 0]
    typical = 1.0 / float(np.mean(1.0 / known)) if len(known) else 1.0
    spreads = typical * (_SPREAD * np.tan(0.5 * math.pi * _NODES)) ** 2
    precision = 1.0 / (spreads[:, None] + variance)
    whole = np.sum(precision, axis=1)
    means = np.sum(precision * ratings, axis=1) / whole
    fit = np.sum(np.log(precision) - precision * (ratings - means[:, None]) ** 2, axis=1)
    fit = 0.5 * (fit - np.log(whole))
    weights = _WEIGHTS * np.exp(fit - np.max(fit))
    return weights / np.sum(weights), spreads, means


def _shrunk(ratings: Floats, variance: Floats) -> Floats:
    """Return the strengths that are expected in a field."""
    weights, spreads, means = _field(ratings, variance)
    kept = spreads[:, None] / (spreads[:, None] + variance)
    return np.asarray(weights @ (means[:, None] + kept * (ratings - means[:, None])))


def _ordered(numbers: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(numbers, kind="stable")
    return order, numbers[order]


def _run(order: Ints, numbers: Ints, number: int) -> Ints:
    """Return the part of `order` whose `numbers`, which ascend, are `number`."""
    low, high = np.searchsorted(numbers, [number, number + 1])
    return order[low:high]


def _solved_dispersion(squares: float, variance: Floats, leverage: Floats) -> float:
    """Return the dispersion of results; see the head of this file.

    squares : the sum of w (s - E)^2; variance, leverage : shape (G,), below 1
    Raises : ConvergenceError
    """
    if squares >= float(np.sum(variance)):
        return 1.0
    kept = variance * (1.0 - leverage)
    dispersion, step = 1.0, 1.0
    for _ in range(_MAX_STEPS):
        left = 1.0 - dispersion * leverage
        value = dispersion * (float(np.sum(kept / left)) + _COIN) - squares - _COIN
        step = value / (float(np.sum(kept / left**2)) + _COIN)
        dispersion -= step
        if abs(step) <= _LAST_STEP:
            return dispersion
    raise ConvergenceError("the dispersion of scores", _MAX_STEPS, abs(step))


def _is_fisher(curve: Curve) -> bool:
    """Return whether psi' is ELO_RATE times the variance."""
    return isinstance(curve, EloCurve | DavidsonCurve)


def _balanced(right: Floats, held: Flags) -> Floats:
    """Return a right side that a connected component without held players can have."""
    return right if np.any(held) else right - np.mean(right)


def _centred(values: Floats, held: Flags) -> Floats:
    return values if np.any(held) else values - np.mean(values)
