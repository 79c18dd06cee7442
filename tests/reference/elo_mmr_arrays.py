"""The same reference for thousands of players: plain formulas on whole NumPy arrays.

Source: [EM]_ Algorithms 1-3. No options: every opponent and every past performance counts, no
ceilings, weights or drift. Each equation is still solved by bisection, all of a contest at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BAR = np.sqrt(3.0) / np.pi

#: Halves a bracket of 2^14 rating points down to 2^-46, below the spacing of floats at 1500.
HALVINGS = 60


def zeros(increasing: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return where each of many increasing functions is zero, by bisection."""
    assert np.all(increasing(low) <= 0)
    assert np.all(increasing(high) >= 0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = increasing(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def performances(means: Floats, delta_bars: Floats, rank: Ints) -> Floats:
    """Return every player's performance; those who tie share one equation (Algorithm 3)."""
    places = np.unique(rank)
    wins = np.where(rank[None, :] >= places[:, None], 1.0, 0.0)
    losses = np.where(rank[None, :] <= places[:, None], 1.0, 0.0)

    def balance(x: Floats) -> Floats:
        tanh = np.tanh((x[:, None] - means) / (2 * delta_bars))
        return ((wins * (tanh - 1) + losses * (tanh + 1)) / delta_bars).sum(axis=1)

    start = np.full(len(places), means.mean())
    return zeros(balance, start - 8000.0, start + 8000.0)[np.searchsorted(places, rank)]


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
