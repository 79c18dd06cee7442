"""The same reference for thousands of players: plain formulas on whole NumPy arrays.

Source: [EM]_ Algorithms 1-3, both models. No options: every opponent and every past performance
counts, no ceilings, weights or drift. Each equation is still solved or proved by a change of sign,
all of a contest at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BAR = np.sqrt(3.0) / np.pi

#: Halves a bracket of 2^14 rating points down to 2^-46, below the spacing of floats at 1500.
HALVINGS = 60


def zeros(
    increasing: Callable[[Floats], Floats], low: Floats, high: Floats, halvings: int = HALVINGS
) -> Floats:
    """Return where each of many increasing functions is zero, by bisection."""
    assert np.all(increasing(low) <= 0)
    assert np.all(increasing(high) >= 0)
    for _ in range(halvings):
        middle = (low + high) / 2
        below = increasing(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


#: Where the hazard is tabulated, and how far apart; below it is the density to 19 digits.
LOWEST, HIGHEST, STEP = -9, 20, 1 / 128

#: Terms of its Taylor series between: its poles are 2.8 off, so (1/256/2.8)^6 = 8e-18 is left.
TERMS = 6


@cache
def hazard_table() -> NDArray[np.longdouble]:
    """Return the hazard's Taylor coefficients at every point, shape (points, TERMS).

    The values are mpmath's; the rest follows from h' = h (h - z).
    """
    points = np.arange(round((HIGHEST - LOWEST) / STEP) + 1) * STEP + LOWEST
    table = np.zeros((len(points), TERMS), dtype=np.longdouble)
    with mpmath.workdps(40):
        for row, z in zip(table, map(mpmath.mpf, points.tolist()), strict=True):
            exact = 2 * mpmath.npdf(z) / mpmath.erfc(z / mpmath.sqrt(2))
            row[0] = np.longdouble(mpmath.nstr(exact, 30))
    for k in range(TERMS - 1):
        square = sum(table[:, i] * table[:, k - i] for i in range(k + 1))
        shifted = points * table[:, k] + (table[:, k - 1] if k else 0)
        table[:, k + 1] = (square - shifted) / (k + 1)
    return table


def hazards(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return density/(1 - distribution) of the standard normal, in the precision of z."""
    table = hazard_columns(z.dtype)
    nearest = np.rint((np.clip(z, LOWEST, HIGHEST) - LOWEST) / STEP).astype(np.int64)
    t = z - (nearest * STEP + LOWEST)
    found = table[TERMS - 1].take(nearest)
    for k in range(TERMS - 2, -1, -1):
        found *= t
        found += table[k].take(nearest)
    outside = (z <= LOWEST) | (z >= HIGHEST)
    if np.any(outside):
        found[outside] = hazards_outside(z[outside])
    return found


@cache
def hazard_columns(precision: np.dtype[np.floating]) -> NDArray[np.floating]:
    """Return the table in this precision, shape (TERMS, points)."""
    return np.ascontiguousarray(hazard_table().T.astype(precision))


def hazards_outside(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the hazard up to LOWEST and from HIGHEST on."""
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * z.dtype.type(np.pi))
    # Laplace's continued fraction; twelve levels are exact to 20 digits from 20 on.
    above = np.maximum(z, HIGHEST)
    fraction = above
    for level in range(12, 0, -1):
        fraction = above + level / fraction
    return np.where(z <= LOWEST, density, fraction)


def gaussian_balance(
    x: NDArray[np.floating], means: Floats, deltas: Floats, order: Ints
) -> tuple[NDArray[np.floating], Callable[[], NDArray[np.floating]]]:
    """Return -Q at x, shape (k,), of Theorem 3.2 with normal performances, and what gives -Q'.

    order : shape (k, n); 1 beaten, 0 tied, -1 lost to
    """
    z = (x[:, None] - means) / deltas
    # v = f/F is hazard(-z), l = -f/(1 - F) is -hazard(z), d = f'/f is -z, each over delta.
    hazard = hazards(-order * z)

    def slope() -> NDArray[np.floating]:
        terms = np.where(order == 0, 1, hazard * (hazard + order * z)) / deltas**2
        return terms.sum(axis=1)

    terms = np.where(order == 0, z, -order * hazard) / deltas
    return terms.sum(axis=1), slope


def gaussian_performances(means: Floats, deltas: Floats, rank: Ints) -> Floats:
    """Return every player's performance in the Gaussian model.

    Hazards are dear: after eight halvings four steps of Newton's lead to where a change of sign
    proves the zero to 1e-10 rating points.
    """
    places = np.unique(rank)
    order = np.sign(rank[None, :] - places[:, None])
    start = np.full(len(places), means.mean())

    def balance(x: Floats) -> Floats:
        return gaussian_balance(x, means, deltas, order)[0]

    found = zeros(balance, start - 8000.0, start + 8000.0, halvings=8)
    for _ in range(4):
        value, slope = gaussian_balance(found, means, deltas, order)
        found = found - value / slope()
    return proved(balance, found)[np.searchsorted(places, rank)]


def performances(means: Floats, delta_bars: Floats, rank: Ints) -> Floats:
    """Return every player's performance; those who tie share one equation (Algorithm 3).

    After twenty halvings two steps of Newton's lead to where a change of sign proves the zero.
    """
    places = np.unique(rank)
    wins = np.where(rank[None, :] >= places[:, None], 1.0, 0.0)
    losses = np.where(rank[None, :] <= places[:, None], 1.0, 0.0)

    def tanh(x: Floats) -> Floats:
        return np.tanh((x[:, None] - means) / (2 * delta_bars))

    def balance(x: Floats) -> Floats:
        at = tanh(x)
        return ((wins * (at - 1) + losses * (at + 1)) / delta_bars).sum(axis=1)

    def slope(x: Floats) -> Floats:
        return ((wins + losses) * (1 - tanh(x) ** 2) / (2 * delta_bars**2)).sum(axis=1)

    start = np.full(len(places), means.mean())
    found = zeros(balance, start - 8000.0, start + 8000.0, halvings=20)
    for _ in range(2):
        found = found - balance(found) / slope(found)
    return proved(balance, found)[np.searchsorted(places, rank)]


def proved(increasing: Callable[[Floats], Floats], found: Floats) -> Floats:
    """Return `found` if the functions change their sign there, to 1e-10 rating points."""
    assert np.all(increasing(found - 1e-10) < 0)
    assert np.all(increasing(found + 1e-10) > 0)
    return found


class Table:
    """Elo-MMR of all players of a history: row i holds what is believed of player i.

    performance, weight : shape (players, rounds + 1); column 0 is the Gaussian term
    """

    def __init__(self, players: int, rounds: int, beta: float, gamma: float, rho: float) -> None:
        self.beta, self.gamma, self.rho = beta, gamma, rho
        self.rating = np.full(players, 1500.0)
        self.deviation = np.full(players, 350.0)
        self.performance = np.full((players, rounds + 1), 1500.0)
        self.weight = np.zeros((players, rounds + 1))
        self.weight[:, 0] = 1 / 350.0**2
        self.matches = np.zeros(players, dtype=np.int64)

    def rate(self, players: Ints, rank: Ints) -> None:
        """Algorithm 1."""
        self.diffuse(players)
        delta_bars = BAR * np.sqrt(self.deviation[players] ** 2 + self.beta**2)
        self.update(players, performances(self.rating[players], delta_bars, rank))

    def diffuse(self, players: Ints) -> None:
        """Algorithm 2."""
        weight, rating = self.weight[players], self.rating[players]
        kappa = 1 / (1 + self.gamma**2 / self.deviation[players] ** 2)
        kappa_rho = kappa**self.rho
        w_g = kappa_rho * weight[:, 0]
        w_l = (1 - kappa_rho) * weight.sum(axis=1)
        p_0 = self.performance[players, 0]
        self.performance[players, 0] = (w_g * p_0 + w_l * rating) / (w_g + w_l)
        self.weight[players] = weight * (kappa * kappa_rho)[:, None]
        self.weight[players, 0] = kappa * (w_g + w_l)
        self.deviation[players] /= np.sqrt(kappa)

    def update(self, players: Ints, performance: Floats) -> None:
        """Algorithm 3, phase two, equations (8) and (9)."""
        self.matches[players] += 1
        newest = self.matches[players]
        self.performance[players, newest] = performance
        self.weight[players, newest] = 1 / self.beta**2
        longest = newest.max() + 1
        p, w = self.performance[players, :longest], self.weight[players, :longest]
        beta_bar = BAR * self.beta
        pull = w[:, 1:] * self.beta**2 / beta_bar

        def slope(x: Floats) -> Floats:
            tanh = np.tanh((x[:, None] - p[:, 1:]) / (2 * beta_bar))
            return w[:, 0] * (x - p[:, 0]) + (pull * tanh).sum(axis=1)

        self.rating[players] = zeros(slope, p.min(axis=1), p.max(axis=1))
        self.deviation[players] = 1 / np.sqrt(w.sum(axis=1))


class GaussianTable(Table):
    """Elo-MMR-chi: the posterior stays Gaussian, so column 0 is all of it."""

    def rate(self, players: Ints, rank: Ints) -> None:
        """Algorithm 1."""
        self.diffuse(players)
        deltas = np.sqrt(self.deviation[players] ** 2 + self.beta**2)
        self.update(players, gaussian_performances(self.rating[players], deltas, rank))

    def update(self, players: Ints, performance: Floats) -> None:
        """Phase two: the product of two normal densities."""
        self.matches[players] += 1
        old, new = self.weight[players, 0], 1 / self.beta**2
        mean = (old * self.performance[players, 0] + new * performance) / (old + new)
        self.performance[players, 0] = self.rating[players] = mean
        self.weight[players, 0] = old + new
        self.deviation[players] = 1 / np.sqrt(old + new)
