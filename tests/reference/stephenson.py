"""Stephenson's system as its appendix states it: period by period, game by game, nothing kept.

Source: A. Stephenson, "Comparing predictive performance of chess ratings with the PlayerRatings
package", appendix (the letters are its letters).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Q = math.log(10.0) / 400.0


@dataclass
class Player:
    r: float
    v: float
    #: The period of the last game; None before the first.
    last: int | None = None
    #: Of the period in progress: (r_j, v_j, s_j, w_j) of every game.
    games: list[tuple[float, float, float, int]] = field(default_factory=list)


def rate_periods(
    players: list[Player],
    periods: list[list[tuple[int, int, float]]],
    *,
    c: float,
    h: float,
    b: float,
    pull: float,
    gamma: float,
    most: float,
) -> None:
    """Rate periods of games (white, black, score of white) in order; players are changed."""
    for number, games in enumerate(periods):
        active = {one for white, black, _ in games for one in (white, black)}
        for one in active:
            player = players[one]
            if player.last is not None:
                waited = number - player.last
                player.v = min(player.v + c * waited, max(most**2, player.v))
            player.last = number
            player.games = []
        for white, black, score in games:
            first, second = players[white], players[black]
            first.games.append((second.r, second.v, score, 1))
            second.games.append((first.r, first.v, 1.0 - score, -1))
        after = {one: _updated(players[one], h, b, pull, gamma) for one in active}
        for one, (r, v) in after.items():
            players[one].r, players[one].v = r, v


def _updated(player: Player, h: float, b: float, pull: float, gamma: float) -> tuple[float, float]:
    m = len(player.games)
    d, surprise = 0.0, 0.0
    for r_j, v_j, s_j, w_j in player.games:
        k_j = 1.0 / math.sqrt(1.0 + 3.0 * Q**2 * v_j / math.pi**2)
        e_j = 1.0 / (1.0 + 10.0 ** (-k_j * (player.r - r_j + gamma * w_j) / 400.0))
        d += Q**2 * k_j**2 * e_j * (1.0 - e_j)
        surprise += k_j * (s_j - e_j + b)
    v = 1.0 / (1.0 / (player.v + h * m) + d)
    mean = sum(r_j for r_j, *_ in player.games) / m
    return player.r + Q * v * surprise + pull * (mean - player.r), v
