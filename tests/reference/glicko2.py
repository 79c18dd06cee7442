"""Glicko-2 as Glickman writes it down, a period at a time: slow and obvious.

Source: [G2] steps 2-8, with the deviation capped at 350 (ours).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SCALE = 173.7178


@dataclass(frozen=True)
class Player:
    """Rating and deviation in points, volatility on the internal scale."""

    rating: float
    deviation: float
    volatility: float

    def after_games(self, games: list[tuple[Player, float]], tau: float) -> Player:
        """Return the player after a period with these (opponent, score) games."""
        mu, phi = (self.rating - 1500) / SCALE, self.deviation / SCALE
        total, v_inverse = 0.0, 0.0
        for opponent, score in games:
            phi_j = opponent.deviation / SCALE
            g = 1 / math.sqrt(1 + 3 * phi_j**2 / math.pi**2)
            expected = 1 / (1 + math.exp(-g * (mu - (opponent.rating - 1500) / SCALE)))
            v_inverse += g**2 * expected * (1 - expected)
            total += g * (score - expected)
        v = 1 / v_inverse
        delta = v * total
        sigma = _volatility(phi, v, delta, self.volatility, tau)
        phi_star2 = phi**2 + sigma**2
        phi_new = 1 / math.sqrt(1 / phi_star2 + 1 / v)
        return Player(self.rating + SCALE * phi_new**2 * total, min(SCALE * phi_new, 350.0), sigma)

    def after_rest(self) -> Player:
        """Return the player after a period without games (step 6)."""
        phi = math.hypot(self.deviation / SCALE, self.volatility)
        return Player(self.rating, min(SCALE * phi, 350.0), self.volatility)


def _volatility(phi: float, v: float, delta: float, sigma: float, tau: float) -> float:
    """Bisect the equation of step 5."""
    a = math.log(sigma**2)

    def f(x: float) -> float:
        e = math.exp(x)
        top = e * (delta**2 - phi**2 - v - e)
        return top / (2 * (phi**2 + v + e) ** 2) - (x - a) / tau**2

    if delta**2 > phi**2 + v:
        low, high = sorted((a, math.log(delta**2 - phi**2 - v)))
    else:
        low, high = a - tau, a
        while f(low) < 0:
            low -= tau
    for _ in range(200):
        middle = (low + high) / 2
        if f(middle) > 0:
            low = middle
        else:
            high = middle
    return math.exp(low / 2)


def rate_periods(
    games: list[tuple[float, int, int, float]],
    players: int,
    period: float,
    tau: float,
    end: float,
) -> list[Player]:
    """Return all players at time `end`, the period that it lies in not yet a rest.

    games : (day, first, second, score of the first); a player exists from the first game on
    """
    pool = [Player(1500, 350, 0.06) for _ in range(players)]
    born: dict[int, int] = {}
    last = math.floor(end / period)
    first = min(math.floor(day / period) for day, *_ in games)
    for number in range(first, last + 1):
        now = [game for game in games if math.floor(game[0] / period) == number]
        before = list(pool)
        for row in range(players):
            mine = [(before[b], s) for _, a, b, s in now if a == row]
            mine += [(before[a], 1 - s) for _, a, b, s in now if b == row]
            if mine:
                born.setdefault(row, number)
                pool[row] = before[row].after_games(mine, tau)
            elif row in born and number < last:
                pool[row] = before[row].after_rest()
    return pool
