"""TopCoder's system, slow and obvious: READINGS B12 as it is printed, on plain numbers.

The normal distribution is the standard library's. Nothing is imported from the package.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist


def cdf(z: float) -> float:
    """Return P(Z <= z), in the lower tail too."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


#: P(Z <= inverse(p)) = p, to 1e-16 of z (Wichura's algorithm AS 241).
inverse = NormalDist().inv_cdf


@dataclass
class Player:
    """What is known of a player."""

    rating: float
    volatility: float
    contests: int = 0


@dataclass
class Round:
    """What one contest did to its players, in the order in which they were given."""

    expected: list[float]
    rating_before: list[float]
    deviation_before: list[float]
    rating: list[float]
    deviation: list[float]
    performance: list[float]


@dataclass
class SlowTopCoder:
    """Parameters as the package names them."""

    weight_noob: float = 0.6
    weight_limit: float = 0.18
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    rate_all_ties: bool = False
    players: dict[Hashable, Player] = field(default_factory=dict)

    def player(self, name: Hashable) -> Player:
        """Return a player, who may be new."""
        new = Player(self.initial_rating, self.initial_deviation)
        return self.players.setdefault(name, new)

    def rate(
        self,
        names: Sequence[Hashable],
        ranks: Sequence[int],
        weight: float = 1.0,
        ceiling: float = math.inf,
    ) -> Round | None:
        """Rate one contest; None where it changes nothing."""
        n = len(names)
        if n < 2 or (n > 2 and len(set(ranks)) == 1 and not self.rate_all_ties):
            return None
        before = [Player(**vars(self.player(name))) for name in names]
        m = math.fsum(player.rating for player in before) / n
        c = math.sqrt(
            math.fsum(player.volatility**2 for player in before) / n
            + math.fsum((player.rating - m) ** 2 for player in before) / (n - 1)
        )
        done = Round([], [], [], [], [], [])
        for i, name in enumerate(names):
            mu, sigma = before[i].rating, before[i].volatility
            e = math.fsum(
                cdf(math.sqrt(weight) * (player.rating - mu) / math.hypot(sigma, player.volatility))
                for player in before
            )
            first = sum(rank < ranks[i] for rank in ranks)
            last = sum(rank <= ranks[i] for rank in ranks) - 1
            a = (1 + first + last) / 2
            performance = min(mu + c * (inverse(e / n) - inverse(a / n)), ceiling)
            after = self.moved(before[i], performance, weight)
            self.players[name] = after
            done.expected.append(1 - (e - 0.5) / (n - 1))
            done.rating_before.append(mu)
            done.deviation_before.append(sigma)
            done.rating.append(after.rating)
            done.deviation.append(after.volatility)
            done.performance.append(performance)
        return done

    def moved(self, before: Player, performance: float, match_weight: float) -> Player:
        """Return the player after a contest with this performance."""
        k = before.contests + 1
        mu, sigma = before.rating, before.volatility
        w = self.weight_limit + (self.weight_noob - self.weight_limit) / k
        cap = (150 + 1500 / (k + 1)) * w / (0.18 + 0.42 / k)
        w = match_weight * w / (1 - w)
        if mu >= 2500:
            w *= 0.8
        elif mu >= 2000:
            w *= 0.9
        target = (mu + w * performance) / (1 + w)
        volatility = math.sqrt((target - mu) ** 2 / w + sigma**2 / (1 + w))
        return Player(min(max(target, mu - cap), mu + cap), volatility, k)
