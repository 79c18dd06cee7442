"""Performance rating equilibrium, slow and obvious: plain Python, bisection, the plain iteration.

Games are triples (first, second, points of first) or quadruples with a weight; players 0 to n - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Game = tuple[int, int, float] | tuple[int, int, float, float]


def elo(t: float) -> float:
    """Return the expected score at a difference of t points."""
    return 1.0 / (1.0 + 10.0 ** (-t / 400.0))


def normal(t: float) -> float:
    """Return the same for normal performances, 200 points each."""
    return 0.5 * math.erfc(-t / 400.0)


def games_of(player: int, games: list[Game]) -> list[tuple[int, float, float]]:
    """Return opponent, points and weight of every game of a player."""
    found = []
    for first, second, points, *rest in games:
        weight = rest[0] if rest else 1.0
        if first == player:
            found.append((second, points, weight))
        if second == player:
            found.append((first, weight - points, weight))
    return found


def performance(
    player: int, ratings: list[float], games: list[Game], psi: Callable[[float], float] = elo
) -> float:
    """Return f_i(x): the rating that explains a player's score, by bisection."""
    own = games_of(player, games)
    scored = sum(points for _, points, _ in own)
    low, high = min(ratings) - 1e5, max(ratings) + 1e5
    for _ in range(200):
        middle = (low + high) / 2
        expected = sum(weight * psi(middle - ratings[other]) for other, _, weight in own)
        low, high = (middle, high) if expected < scored else (low, middle)
    return (low + high) / 2


def step(
    ratings: list[float], games: list[Game], psi: Callable[[float], float] = elo
) -> list[float]:
    """Return f(x)."""
    return [performance(player, ratings, games, psi) for player in range(len(ratings))]


def iterated(
    start: list[float], games: list[Game], steps: int, psi: Callable[[float], float] = elo
) -> list[list[float]]:
    """Return x, f(x), f(f(x)) and so on."""
    places = [start]
    for _ in range(steps):
        places.append(step(places[-1], games, psi))
    return places


def equilibrium(
    n: int, games: list[Game], psi: Callable[[float], float] = elo, steps: int = 3000
) -> list[float]:
    """Return the equilibrium of mean 0: half way to f(x) each time, so that nothing swings."""
    x = [0.0] * n
    for _ in range(steps):
        there = step(x, games, psi)
        moved = max(abs(a - b) for a, b in zip(x, there, strict=True))
        x = [(a + b) / 2 for a, b in zip(x, there, strict=True)]
        mean = sum(x) / n
        x = [a - mean for a in x]
        if moved < 1e-11:
            break
    return x


def residual(ratings: list[float], games: list[Game], psi: Callable[[float], float] = elo) -> float:
    """Return the largest |m_i - E_i|."""
    worst = 0.0
    for player, rating in enumerate(ratings):
        own = games_of(player, games)
        expected = sum(weight * psi(rating - ratings[other]) for other, _, weight in own)
        worst = max(worst, abs(sum(points for _, points, _ in own) - expected))
    return worst
