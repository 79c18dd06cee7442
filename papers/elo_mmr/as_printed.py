"""Algorithms 1 to 3 of Elo-MMR as the paper prints them, on lists of plain numbers.

Source: [EM]_ Algorithms 1-3; the only change is the initial deviation, which is an argument
(READINGS B4). Equations are solved by bisection to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

#: sqrt(3)/pi, from a deviation to the scale of a logistic variable.
BAR = math.sqrt(3.0) / math.pi


def zero(increasing: Callable[[float], float], near: float) -> float:
    """Return where an increasing function is zero."""
    low, high, step = near, near, 1.0
    while increasing(low) > 0:
        low, step = low - step, 2 * step
    step = 1.0
    while increasing(high) < 0:
        high, step = high + step, 2 * step
    while low < (middle := 0.5 * (low + high)) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return low


@dataclass
class Player:
    """mu_i, sigma_i, and the lists p_i and w_i, whose first entries are the Gaussian term.

    beta : of the rounds of the other terms
    """

    mu: float
    sigma: float
    p: list[float] = field(default_factory=list)
    w: list[float] = field(default_factory=list)
    beta: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the prior."""
        self.p, self.w = [self.mu], [1.0 / self.sigma**2]

    def diffuse(self, gamma: float, rho: float) -> None:
        """Algorithm 2."""
        kappa = 1.0 / (1.0 + gamma**2 / self.sigma**2)
        kept = 0.0 if math.isinf(rho) else kappa**rho
        w_g = kept * self.w[0]
        w_l = (1.0 - kept) * sum(self.w)
        self.p[0] = (w_g * self.p[0] + w_l * self.mu) / (w_g + w_l)
        self.w[0] = kappa * (w_g + w_l)
        for k in range(1, len(self.w)):
            self.w[k] *= kappa * kept
        self.sigma /= math.sqrt(kappa)

    def slope(self, s: float) -> float:
        """Return dL/ds of (8), with the weights of section 4.1."""
        total = self.w[0] * (s - self.p[0])
        for p, w, beta in zip(self.p[1:], self.w[1:], self.beta, strict=True):
            bar = BAR * beta
            total += w * beta**2 / bar * math.tanh((s - p) / (2 * bar))
        return total

    def update(self, p: float, beta: float) -> None:
        """Algorithm 3, second half; sigma is (9)."""
        self.p.append(p)
        self.w.append(1.0 / beta**2)
        self.beta.append(beta)
        self.mu = zero(self.slope, self.mu)
        self.sigma = sum(self.w) ** -0.5


def performance(i: int, ranks: Sequence[int], mu: Sequence[float], bar: Sequence[float]) -> float:
    """Algorithm 3, first half: the zero over all players, oneself among them as a tie.

    mu, bar : before the round, and delta_bar
    """

    def balance(x: float) -> float:
        terms = []
        for j, rank in enumerate(ranks):
            tanh = math.tanh((x - mu[j]) / (2 * bar[j]))
            if rank >= ranks[i]:
                terms.append((tanh - 1.0) / bar[j])
            if rank <= ranks[i]:
                terms.append((tanh + 1.0) / bar[j])
        return math.fsum(terms)

    return zero(balance, mu[i])


def rate_round(
    players: Sequence[Player], ranks: Sequence[int], beta: float, gamma: float, rho: float
) -> list[float]:
    """Algorithm 1 for one round of these players; return their performances."""
    for one in players:
        one.diffuse(gamma, rho)
    mu = [one.mu for one in players]
    bar = [BAR * math.sqrt(one.sigma**2 + beta**2) for one in players]
    found = [performance(i, ranks, mu, bar) for i in range(len(players))]
    for one, p in zip(players, found, strict=True):
        one.update(p, beta)
    return found
