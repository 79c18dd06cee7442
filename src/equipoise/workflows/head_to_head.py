"""Who took how many points of whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.games import Games


class HeadToHead(NamedTuple):
    """Points and games of every player (row) against every other (column), shape (N, N)."""

    points: Floats
    games: Floats


def head_to_head(games: Games, players: Sequence[Any]) -> HeadToHead:
    """Return who took how many points of whom.

    players : ids of all players, in the order wanted for rows and columns
    """
    place = {player: at for at, player in enumerate(players)}
    to = np.array([place[player] for player in games.player_ids.tolist()], dtype=np.int64)
    white, black, weight = to[games.white], to[games.black], games.weights
    points = np.zeros((len(players), len(players)))
    played = np.zeros_like(points)
    np.add.at(points, (white, black), games.points)
    np.add.at(points, (black, white), weight - games.points)
    np.add.at(played, (white, black), weight)
    np.add.at(played, (black, white), weight)
    return HeadToHead(points, played)
