"""Games as each of their players saw them: whom one met, how strong that one was, what it brought.

The formulas of this package ask for nothing else. Games against an opponent without a rating are
left out here, with their points, as FIDE does (Handbook B.02): they can tell nothing about how
strong a player was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.arguments import as_array, checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.games import LARGEST, Games
from equipoise.errors import require


class Results(NamedTuple):
    """E results against rated opponents; a game between two rated players is two of them.

    player : shape (E,), row of the player whose result it is, below `players`
    opponent : shape (E,), rating of the opponent before the game
    points, lost : shape (E,), points that the player took and did not take, not both 0
    players : N, with those who have no results
    """

    player: Ints
    opponent: Floats
    points: Floats
    lost: Floats
    players: int

    def total(self, values: Floats) -> Floats:
        """Return the sum of values, shape (E,), over each player's results, shape (N,)."""
        sums = np.bincount(self.player, values, self.players)
        return np.asarray(sums, dtype=np.float64)


class Tally(NamedTuple):
    """What N players have after all their games against rated opponents; each of shape (N,).

    average : mean rating of the opponents, every game counted, NaN without one
    games, points, lost : k, m and k - m
    """

    average: Floats
    games: Floats
    points: Floats
    lost: Floats


def results_of(games: Games) -> Results:
    """Return the results of all players of a tournament.

    An opponent's rating is that which the game gives, else that before the tournament.
    """
    weight = games.weights
    white = _rating(games.white_rating, games.initial[games.white])
    black = _rating(games.black_rating, games.initial[games.black])
    every = Results(
        player=np.concatenate([games.white, games.black]),
        opponent=np.concatenate([black, white]),
        points=np.concatenate([games.points, weight - games.points]),
        lost=np.concatenate([weight - games.points, games.points]),
        players=games.players,
    )
    return _rated(every)


def as_results(source: Results | Games) -> Results:
    """Return results, made of games where they are given."""
    return results_of(source) if isinstance(source, Games) else source


@checks_arguments("opponents", "points", "weights")
def results_of_player(
    opponents: Sequence[float] | Floats,
    points: Sequence[float] | Floats,
    weights: Sequence[float] | Floats | None = None,
) -> Results:
    """Return the results of one player, who has row 0.

    opponents : shape (G,), ratings, NaN where an opponent has none
    points : shape (G,), points taken in each game, from 0 to its weight
    weights : shape (G,), number of games of each result, above 0; None: 1 each
    Raises : InvalidParameterError   a rule is broken
    """
    opponent = as_array("opponents", opponents, np.float64)
    taken = as_array("points", points, np.float64)
    weight = np.ones(taken.shape) if weights is None else as_array("weights", weights, np.float64)
    shape = opponent.shape
    require(opponent.ndim == 1, "opponents", "one rating a game", shape)
    require(taken.shape == shape, "points", f"of shape {shape}", taken.shape)
    require(weight.shape == shape, "weights", f"of shape {shape}", weight.shape)
    require(not (np.abs(opponent) > LARGEST).any(), "opponents", f"within {LARGEST:.0f}", opponents)
    require(bool(((weight > 0) & (weight < np.inf)).all()), "weights", "numbers above 0", weights)
    within = (taken >= 0) & (taken <= weight)
    require(bool(within.all()), "points", "from 0 to the number of games", points)
    return _rated(Results(np.zeros(len(taken), np.int64), opponent, taken, weight - taken, 1))


def tally_of(results: Results) -> Tally:
    """Return the average opponent, games and points of every player."""
    weight = results.points + results.lost
    games = results.total(weight)
    with np.errstate(invalid="ignore"):
        average = results.total(weight * results.opponent) / games
    return Tally(average, games, results.total(results.points), results.total(results.lost))


def _rating(of_game: Floats | None, of_player: Floats) -> Floats:
    """Return ratings as games give them, and those of players where they give none."""
    if of_game is None:
        return of_player
    return np.asarray(np.where(np.isnan(of_game), of_player, of_game))


def _rated(results: Results) -> Results:
    """Return the results against opponents with a rating."""
    known = ~np.isnan(results.opponent)
    if known.all():
        return results
    player, opponent = results.player[known], results.opponent[known]
    return Results(player, opponent, results.points[known], results.lost[known], results.players)
