"""US Chess' rating of a whole event, step by step as its document states it, with both passes.

Source: Glickman and Doan, The US Chess Rating System, 2020. The special rating is found by its
iterative procedure. Left out, as in the system: floors, single matches of two players, two time
controls, and the rule that there is no bonus after three games against one opponent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

EPSILON = 1e-7


@dataclass
class Player:
    """A player before an event: a rating, or that of Step 1, and earlier games."""

    rating: float
    games: int
    wins: int = 0
    losses: int = 0


def rate_event(
    players: list[Player],
    listed: list[tuple[int, int, float]],
    *,
    passes: int,
    threshold: float = 14.0,
) -> list[float]:
    """Return the ratings after an event of games (first, second, score of the first).

    passes : 1 compares with the ratings before the event alone; 2 has Steps 3 and 5, too
    """
    results: list[list[tuple[int, float]]] = [[] for _ in players]
    for first, second, score in listed:
        results[first].append((second, score))
        results[second].append((first, 1.0 - score))
    before = [one.rating for one in players]
    opponents = list(before)
    if passes == 2:  # Step 3: those without games get a first estimate, of one effective game
        for number, one in enumerate(players):
            if one.games == 0 and results[number]:
                opponents[number] = _special(one, results[number], before, effective=1.0)
    estimates = opponents
    for _ in range(passes):  # Steps 4 and 5
        estimates = [
            _rated(one, results[number], opponents, threshold) if results[number] else one.rating
            for number, one in enumerate(players)
        ]
        opponents = estimates
    return estimates


def _rated(
    player: Player, results: list[tuple[int, float]], opponents: list[float], threshold: float
) -> float:
    only_one_result = player.games > 0 and player.games in (player.wins, player.losses)
    if player.games <= 8 or only_one_result:
        return _special(player, results, opponents, effective=_effective(player))
    m, score = len(results), sum(points for _, points in results)
    expected = sum(
        1.0 / (1.0 + 10.0 ** (-(player.rating - opponents[other]) / 400.0)) for other, _ in results
    )
    change = 800.0 / (_effective(player) + m) * (score - expected)
    bonus = max(0.0, change - threshold * math.sqrt(max(m, 4))) if m >= 3 else 0.0
    return player.rating + change + bonus


def _effective(player: Player) -> float:
    if player.rating > 2355.0:
        return min(player.games, 50.0)
    return min(player.games, 50.0 / math.sqrt(0.662 + 0.00000739 * (2569.0 - player.rating) ** 2))


def _special(
    player: Player, results: list[tuple[int, float]], opponents: list[float], effective: float
) -> float:
    score = sum(points for _, points in results)
    met = [opponents[other] for other, _ in results]
    prior, adjusted = player.rating, score + effective / 2.0
    if player.games > 0 and player.games == player.wins:
        prior, adjusted = player.rating - 400.0, score + effective
    elif player.games > 0 and player.games == player.losses:
        prior, adjusted = player.rating + 400.0, score

    def excess(rating: float) -> float:
        total = effective * _provisional(rating - prior)
        return total + sum(_provisional(rating - one) for one in met) - adjusted

    knots = sorted({one + side for one in [*met, prior] for side in (-400.0, 400.0)})
    m = len(met)
    guess = (effective * prior + sum(met) + 400.0 * (2.0 * score - m)) / (effective + m)
    while excess(guess) > EPSILON:
        below = max(one for one in knots if one < guess)
        guess = _secant(excess, guess, below)
    while excess(guess) < -EPSILON:
        above = min(one for one in knots if one > guess)
        guess = _secant(excess, guess, above)
    if not any(abs(guess - one) <= 400.0 for one in [prior, *met]):
        below = max(one for one in knots if one < guess)
        above = min(one for one in knots if one > guess)
        guess = min(max(player.rating, below), above)
    return min(guess, 2700.0)


def _secant(excess: object, guess: float, knot: float) -> float:
    """Return the root between a guess and the next knot, or the knot if there is none."""
    assert callable(excess)
    here, there = excess(guess), excess(knot)
    if abs(here - there) < EPSILON:
        return knot
    root = guess - here * (guess - knot) / (here - there)
    low, high = min(guess, knot), max(guess, knot)
    return float(min(max(root, low), high))


def _provisional(difference: float) -> float:
    return min(max(0.5 + difference / 800.0, 0.0), 1.0)
