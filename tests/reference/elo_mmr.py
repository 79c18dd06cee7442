"""Elo-MMR, slow and obvious: Algorithms 1 to 3 as the paper prints them, on plain numbers.

Source: [EM]_ Algorithms 1-3, Theorem 3.2, equations (8) and (9), READINGS B1-B8. Every equation is
solved by bisection to the last bit, every player's separately, and every term is kept for good.
Nothing is imported from the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

#: delta_bar/delta (READINGS B1).
BAR = math.sqrt(3.0) / math.pi


def hazard(z: float) -> float:
    """Return density/(1 - distribution) of the standard normal: the hazard, about z for large z."""
    if z < 20.0:
        density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        return density / (0.5 * math.erfc(z / math.sqrt(2)))
    # Laplace's continued fraction; ten levels are exact to the last bit from 20 on.
    fraction = z
    for level in range(10, 0, -1):
        fraction = z + level / fraction
    return fraction


@dataclass
class Term:
    """A logistic factor of the posterior (7): performance p_k, weight w_k, deviation beta_k."""

    performance: float
    weight: float
    beta: float


@dataclass
class Player:
    """What is believed of a player; p_0 and w_0 are those of the Gaussian factor."""

    rating: float
    deviation: float
    p_0: float
    w_0: float
    terms: list[Term] = field(default_factory=list)
    last_time: float | None = None
    matches: int = 0


@dataclass
class Round:
    """What one contest did to its players, in the order in which they were given."""

    rating_before: list[float]
    deviation_before: list[float]
    expected: list[float]
    performance: list[float]
    rating: list[float]
    deviation: list[float]


def zero(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function is zero, to the last bit, from any bracket."""
    step = 1.0
    while increasing(low) > 0:
        low, step = low - step, 2 * step
    step = 1.0
    while increasing(high) < 0:
        high, step = high + step, 2 * step
    while low < (middle := low + (high - low) / 2) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return high


def logistic_distribution(x: float, mean: float, delta_bar: float) -> float:
    """Return F(x) [EM]_ section 3.1, its sign slip mended (READINGS B1)."""
    return 0.5 * (1.0 + math.tanh((x - mean) / (2.0 * delta_bar)))


def beyond(x: float, mean: float, delta_bar: float, share: float, *, of: float) -> list[float]:
    """Return the terms of share (tanh((x - mean)/(2 delta_bar)) + of)/delta_bar, of being 1 or -1.

    With tail = 1/(1 + e^|z|), tanh(z/2) is 1 - 2 tail above the mean and 2 tail - 1 below. The
    whole numbers and the tail are terms of their own, so that summing them exactly loses nothing.
    """
    z = (x - mean) / delta_bar
    tail = math.exp(-abs(z)) / (1.0 + math.exp(-abs(z)))
    sign = 1.0 if z >= 0 else -1.0
    height = share / delta_bar
    return [sign * height, of * height, -2.0 * sign * tail * height]


@dataclass(kw_only=True)
class SlowEloMMR:
    """Elo-MMR(rho) and the players it knows; the parameters are those of `EloMMR`."""

    weight_limit: float | None = None
    sigma_limit: float | None = None
    beta: float | None = None
    gamma: float | None = None
    rho: float = 1.0
    drift_per_day: float = 0.0
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    split_ties: bool = False
    rate_all_ties: bool = False
    opponents: int | None = None
    remembered: int | None = None
    players: dict[Hashable, Player] = field(default_factory=dict)

    #: Of a performance's distribution, over its standard deviation.
    scale: ClassVar[float] = BAR

    def distribution(self, x: float, mean: float, scale: float) -> float:
        """Return F(x) of a performance."""
        return logistic_distribution(x, mean, scale)

    def player(self, name: Hashable) -> Player:
        """Return what is believed of a player, new or known."""
        if name not in self.players:
            mean, deviation = self.initial_rating, self.initial_deviation
            self.players[name] = Player(mean, deviation, p_0=mean, w_0=1 / deviation**2)
        return self.players[name]

    def limits(self) -> tuple[float, float]:
        """Return (w, L) of READINGS B4."""
        if self.beta is None or self.gamma is None:
            return self.weight_limit or 0.2, self.sigma_limit or 80.0
        inner = self.gamma**4 + 4 * self.beta**2 * self.gamma**2
        limit = math.sqrt((math.sqrt(inner) - self.gamma**2) / 2)
        return self.gamma**2 / limit**2, limit

    def rate(
        self,
        names: Sequence[Hashable],
        ranks: Sequence[int],
        *,
        time: float | None = None,
        weight: float = 1.0,
        ceiling: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
    ) -> Round | None:
        """Algorithm 1: rate one contest; None where it changes nothing (READINGS B7)."""
        n = len(names)
        all_tied = len(set(ranks)) == 1
        if n < 2 or (n > 2 and all_tied and not self.rate_all_ties):
            return None
        field_of = [self.player(name) for name in names]
        rating_before = [player.rating for player in field_of]
        drifts = [self.drift(player, time) for player in field_of]
        deviation_before = [
            math.sqrt(player.deviation**2 + drift)
            for player, drift in zip(field_of, drifts, strict=True)
        ]
        w, limit = self.limits()
        w = w * weight
        # A deviation of the round's own takes the place of the system's (beta_t, gamma_t).
        if beta is None:
            beta = math.sqrt((1 + 1 / w) * limit**2 + self.drift_per_day / w)
        gamma2 = w * limit**2 if gamma is None else gamma**2
        for player, drift in zip(field_of, drifts, strict=True):
            self.diffuse(player, gamma2 + drift)
        means = [player.rating for player in field_of]
        delta_bars = [self.scale * math.sqrt(player.deviation**2 + beta**2) for player in field_of]
        expected = [
            math.fsum(
                self.distribution(means[i], means[j], delta_bars[j]) for j in range(n) if j != i
            )
            / (n - 1)
            for i in range(n)
        ]
        performances = [
            self.performance(i, self.window(i, means), means, delta_bars, ranks) for i in range(n)
        ]
        if ceiling is not None:
            performances = [min(performance, ceiling) for performance in performances]
        for player, performance in zip(field_of, performances, strict=True):
            self.update(player, performance, beta)
            player.last_time = time
            player.matches += 1
        return Round(
            rating_before,
            deviation_before,
            expected,
            performances,
            [player.rating for player in field_of],
            [player.deviation for player in field_of],
        )

    def drift(self, player: Player, time: float | None) -> float:
        """Return the variance that the days since the last round added (READINGS B4)."""
        if time is None or player.last_time is None:
            return 0.0
        return self.drift_per_day * (time - player.last_time)

    def diffuse(self, player: Player, gamma2: float) -> None:
        """Algorithm 2."""
        kappa = 1 / (1 + gamma2 / player.deviation**2)
        kappa_rho = 0.0 if self.rho == math.inf else kappa**self.rho
        total = player.w_0 + math.fsum(term.weight for term in player.terms)
        w_g = kappa_rho * player.w_0
        w_l = (1 - kappa_rho) * total
        if w_g + w_l > 0:
            player.p_0 = (w_g * player.p_0 + w_l * player.rating) / (w_g + w_l)
        player.w_0 = kappa * (w_g + w_l)
        for term in player.terms:
            term.weight *= kappa * kappa_rho
        player.deviation = player.deviation / math.sqrt(kappa)

    def window(self, i: int, means: Sequence[float]) -> list[int]:
        """Return the players who count for player i: all, or the nearest-rated (READINGS B6).

        Player i, as many as `opponents` says, and all who are as near as the last of those, to
        1e-6 rating points: what is mathematically as far may not be so after rounding.
        """
        n = len(means)
        if self.opponents is None or self.opponents >= n - 1:
            return list(range(n))
        distances = [abs(mean - means[i]) for mean in means]
        farthest = sorted(distances)[self.opponents]
        return [j for j in range(n) if distances[j] <= farthest + 1e-6]

    def performance(
        self,
        i: int,
        window: Sequence[int],
        means: Sequence[float],
        delta_bars: Sequence[float],
        ranks: Sequence[int],
    ) -> float:
        """Algorithm 3, phase one: the performance that balances wins, ties and losses.

        A tie, also with oneself, is a win plus a loss, or half of both (READINGS B3).
        """

        def balance(x: float) -> float:
            terms: list[float] = []
            for j in window:
                order = (ranks[j] > ranks[i]) - (ranks[j] < ranks[i])
                terms += self.terms(x, means[j], delta_bars[j], order)
            return -math.fsum(terms)

        return zero(balance, min(means), max(means))

    def terms(self, x: float, mean: float, delta_bar: float, order: int) -> list[float]:
        """Return terms of Q: beaten (order 1) adds (1 - tanh)/delta_bar, lost to -(1 + tanh)."""
        share = 0.5 if order == 0 and self.split_ties else 1.0
        lost = beyond(x, mean, delta_bar, -share, of=1.0) if order <= 0 else []
        won = beyond(x, mean, delta_bar, -share, of=-1.0) if order >= 0 else []
        return lost + won

    def update(self, player: Player, performance: float, beta: float) -> None:
        """Algorithm 3, phase two: the new mode (8) and deviation (9)."""
        if self.remembered is not None:
            self.forget(player, self.remembered - 1)
        player.terms.append(Term(performance, 1 / beta**2, beta))
        total = player.w_0 + math.fsum(term.weight for term in player.terms)
        player.deviation = 1 / math.sqrt(total)

        def slope(x: float) -> float:
            gaussian = player.w_0 * (x - player.p_0)
            logistic = [
                term.weight
                * term.beta
                / BAR
                * math.tanh((x - term.performance) / (2 * BAR * term.beta))
                for term in player.terms
            ]
            return math.fsum([gaussian, *logistic])

        performances = [term.performance for term in player.terms]
        player.rating = zero(slope, min(performances), max(performances))

    def forget(self, player: Player, kept: int) -> None:
        """Make all but the newest terms Gaussian, at equal weight (READINGS B6)."""
        while len(player.terms) > kept:
            oldest = player.terms.pop(0)
            weight = player.w_0 + oldest.weight
            player.p_0 = (player.w_0 * player.p_0 + oldest.weight * oldest.performance) / weight
            player.w_0 = weight


@dataclass(kw_only=True)
class SlowEloMMX(SlowEloMMR):
    """Elo-MMR-chi: Gaussian performances, so that a belief is one Gaussian."""

    scale: ClassVar[float] = 1.0

    def distribution(self, x: float, mean: float, scale: float) -> float:
        """Return F(x) of a normal performance."""
        return 0.5 * math.erfc((mean - x) / scale / math.sqrt(2))

    def terms(self, x: float, mean: float, delta: float, order: int) -> list[float]:
        """Return terms of Q: v = f/F, l = -f/(1 - F), d = f'/f; a split tie is half of both."""
        z = (x - mean) / delta
        won, lost = hazard(-z) / delta, -hazard(z) / delta
        if order == 0:
            return [won / 2, lost / 2] if self.split_ties else [-z / delta]
        return [won] if order > 0 else [lost]

    def update(self, player: Player, performance: float, beta: float) -> None:
        """The product of two normal densities: precisions add up."""
        weight = 1 / player.deviation**2
        total = weight + 1 / beta**2
        player.rating = (weight * player.rating + performance / beta**2) / total
        player.deviation = 1 / math.sqrt(total)
        player.p_0, player.w_0 = player.rating, total
