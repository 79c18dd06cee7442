"""Codeforces' system, slow and obvious: READINGS B12 as it is printed, on plain numbers.

Every sum runs over all players and every equation is solved by bisection to the last bit. Nothing
is imported from the package.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


@dataclass
class Round:
    """What one contest did to its players, in the order in which they were given."""

    expected: list[float]
    rating_before: list[float]
    rating: list[float]
    performance: list[float]


def logistic(z: float) -> float:
    """Return 1/(1 + exp(-z)) without overflow."""
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


@dataclass
class SlowCodeforces:
    """Parameters as the package names them; ratings by player."""

    beta: float = 400.0 * math.pi / (math.sqrt(3.0) * math.log(10.0))
    weight: float = 1.0
    initial_rating: float = 1500.0
    rate_all_ties: bool = False
    ratings: dict[Hashable, float] = field(default_factory=dict)

    def rating(self, player: Hashable) -> float:
        """Return the rating of a player."""
        return self.ratings.get(player, self.initial_rating)

    def rate(
        self,
        players: Sequence[Hashable],
        ranks: Sequence[int],
        weight: float = 1.0,
        ceiling: float = math.inf,
    ) -> Round | None:
        """Rate one contest; None where it changes nothing."""
        n = len(players)
        if n < 2 or (n > 2 and len(set(ranks)) == 1 and not self.rate_all_ties):
            return None
        mu = [self.rating(player) for player in players]
        beta = self.beta / math.sqrt(weight)
        done = Round([], mu, [], [])
        for i in range(n):
            better = sum(rank < ranks[i] for rank in ranks)
            worse = sum(rank > ranks[i] for rank in ranks)
            r = (better - worse + n + 1) / 2
            s = 0.5 + self.seen_above(mu, mu[i], beta)
            x = min(self.where(mu, beta, math.sqrt(r * s)), ceiling)
            w = self.weight * weight
            done.expected.append((n - s) / (n - 1))
            done.performance.append(x)
            done.rating.append((mu[i] + w * x) / (1 + w))
        self.ratings.update(zip(players, done.rating, strict=True))
        return done

    def seen_above(self, mu: Sequence[float], x: float, beta: float) -> float:
        """Return the sum over all of W(mu_j, x)."""
        scale = math.sqrt(3) * beta / math.pi
        return math.fsum(logistic((one - x) / scale) for one in mu)

    def where(self, mu: Sequence[float], beta: float, place: float) -> float:
        """Return the x that 1/2 + sum W(mu_j, x) = place."""
        step = 1.0
        low = high = mu[0]
        while 0.5 + self.seen_above(mu, low, beta) < place:
            low, step = low - step, 2 * step
        while 0.5 + self.seen_above(mu, high, beta) > place:
            high, step = high + step, 2 * step
        while low < (middle := low + (high - low) / 2) < high:
            if 0.5 + self.seen_above(mu, middle, beta) > place:
                low = middle
            else:
                high = middle
        return high


@dataclass
class SlowPlatform:
    """The rules that Codeforces publishes [CF], pair by pair, in Python's whole numbers."""

    initial_rating: int = 1500
    rate_all_ties: bool = False
    ratings: dict[Hashable, int] = field(default_factory=dict)

    def rate(
        self, players: Sequence[Hashable], ranks: Sequence[int], scale: float = 400.0
    ) -> Round | None:
        """Rate one contest; None where it changes nothing."""
        n = len(players)
        if n < 2 or (n > 2 and len(set(ranks)) == 1 and not self.rate_all_ties):
            return None
        old = [self.ratings.get(player, self.initial_rating) for player in players]
        done = Round([], [float(one) for one in old], [], [])
        changes, places = [], []
        for i in range(n):
            rivals = old[:i] + old[i + 1 :]
            seed = self.place(rivals, old[i], scale)
            places.append(sum(rank <= ranks[i] for rank in ranks))
            needed = self.needed(rivals, math.sqrt(places[i] * seed), scale)
            changes.append(toward_zero(needed - old[i], 2))
            done.expected.append((n - seed) / (n - 1))
            done.performance.append(float(needed))
        changes = self.with_sum_below_zero(changes)
        changes = self.with_the_best_at_zero(changes, old, places)
        done.rating.extend(float(one + change) for one, change in zip(old, changes, strict=True))
        self.ratings.update(zip(players, (int(new) for new in done.rating), strict=True))
        return done

    def place(self, rivals: Sequence[int], rating: int, scale: float) -> float:
        """Return the place that somebody of this rating is expected in."""
        return 1.0 + math.fsum(1.0 / (1.0 + 10.0 ** ((rating - one) / scale)) for one in rivals)

    def needed(self, rivals: Sequence[int], place: float, scale: float) -> int:
        """Return the rating that makes one be expected in this place, by bisection."""
        left, right = 1, 8000
        while right - left > 1:
            middle = (left + right) // 2
            if self.place(rivals, middle, scale) < place:
                right = middle
            else:
                left = middle
        return left

    def with_sum_below_zero(self, changes: Sequence[int]) -> list[int]:
        """Return the changes with the first correction."""
        more = toward_zero(-sum(changes), len(changes)) - 1
        return [change + more for change in changes]

    def with_the_best_at_zero(
        self, changes: Sequence[int], old: Sequence[int], places: Sequence[int]
    ) -> list[int]:
        """Return the changes with the second correction; of equals who finished first is best."""
        n = len(changes)
        best = sorted(range(n), key=lambda i: (-old[i], places[i]))
        best = best[: min(n, 4 * round(math.sqrt(n)))]
        more = min(max(toward_zero(-sum(changes[i] for i in best), len(best)), -10), 0)
        return [change + more for change in changes]


def toward_zero(number: int, by: int) -> int:
    """Return number/by without its fraction, as C divides."""
    return number // by if number >= 0 else -(-number // by)
