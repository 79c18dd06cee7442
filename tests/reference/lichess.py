"""Glicko-2 as scalachess computes it, a game at a time: slow and obvious.

Source: [LI], with the equations of [G2] steps 3 to 7. Volatility is bisected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from reference.glicko2 import SCALE, _volatility


@dataclass(frozen=True)
class Player:
    """Rating and deviation in points, volatility on the internal scale; last time in days."""

    rating: float = 1500.0
    deviation: float = 500.0
    volatility: float = 0.09
    last: float = math.nan

    def at(self, day: float) -> Player:
        """Return the player at a time: step 6 for a fraction of a period, and the limits."""
        periods = 0.0 if math.isnan(self.last) else 0.21436 * (day - self.last)
        phi = math.sqrt((self.deviation / SCALE) ** 2 + periods * self.volatility**2)
        return Player(self.rating, SCALE * phi, self.volatility, self.last).limited()

    def limited(self) -> Player:
        """Return the player within the limits of Lichess."""
        return Player(
            max(self.rating, 400.0),
            min(max(self.deviation, 45.0), 500.0),
            min(self.volatility, 0.1),
            self.last,
        )

    def after(self, other: Player, score: float, head_start: float, day: float) -> Player:
        """Return the player after a game; both players are as of its time.

        head_start : what the own side is worth more than the other, rating points
        """
        phi, phi_j = self.deviation / SCALE, other.deviation / SCALE
        g = 1 / math.sqrt(1 + 3 * phi_j**2 / math.pi**2)
        difference = (self.rating + head_start - other.rating) / SCALE
        expected = 1 / (1 + math.exp(-g * difference))
        v = 1 / (g**2 * expected * (1 - expected))
        total = g * (score - expected)
        sigma = _volatility(phi, v, v * total, self.volatility, 0.75)
        phi_new = 1 / math.sqrt(1 / phi**2 + 1 / v)
        change = max(-700.0, min(700.0, SCALE * phi_new**2 * total))
        return Player(self.rating + change, SCALE * phi_new, sigma, day).limited()


def rate(
    games: list[tuple[float, int, int, float]], players: int, head_start: float
) -> list[Player]:
    """Return all players after games (day, white, black, score of white)."""
    pool = [Player() for _ in range(players)]
    for day, a, b, score in games:
        white, black = pool[a].at(day), pool[b].at(day)
        pool[a] = white.after(black, score, head_start, day)
        pool[b] = black.after(white, 1 - score, -head_start, day)
    return pool
