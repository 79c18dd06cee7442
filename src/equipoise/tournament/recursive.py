"""The Recursive Performance: average of the opponents' recursive performances, plus a correction.

Source: [RP]_, and the authors' program PyRP for what the paper leaves open: the correction is
FIDE's rating difference of the score in per cent, minus its mean over all games.
Departures: their iteration starts from the players' ratings; here all start from the average
rating, each player counted once, so that ratings affect the result by one constant only, as for the
PPR (if all play equally many games, both starts are the same). It is solved as the linear system
that its limit satisfies. So it is also defined where the iteration alternates between two results,
as in a match of two teams: there it is the mean of the two.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.tournaments.games import Games
from equipoise.errors import ConvergenceError, require
from equipoise.numeric.graph import components
from equipoise.tournament.formulas import POINTS, rating_difference, require_scale
from equipoise.tournament.pairs import Pairs, gather_pairs

#: The rating points of a score p: by FIDE's table; by the inverse of the Elo curve, which is not
#: defined at 0 % and 100 %; or 400 (2 p - 1).
Correction: TypeAlias = Literal["fide", "elo", "linear"]

#: Largest error of a player's equation, rating points.
TOLERANCE = 1e-9
#: Players up to which the system is solved by elimination, else by conjugate gradients.
DENSE_PLAYERS = 400
MOST_STEPS = 20_000


@checks_arguments("anchor", "scale")
def recursive_performance(
    games: Games,
    *,
    correction: Correction = "fide",
    anchor: float | None = None,
    scale: float = 1.0,
) -> Floats:
    """Return the recursive performance [RP]_ of every player, shape (N,).

    In every component (players connected by games) the mean over games is `anchor`, else the
    average rating of its rated players, else 0. NaN without games, and with the Elo curve for all
    players of a component in which a player has 0 % or 100 %.

    scale : beta, above 0; it multiplies the corrections
    Raises : InvalidParameterError   `scale` or `correction` is out of range
    Raises : ConvergenceError        the system could not be solved

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> round(float(eq.recursive_performance(games, anchor=2557).max()), 1)
    2787.3
    """
    return solve_recursive(games, correction=correction, anchor=anchor, scale=scale)


def solve_recursive(
    games: Games,
    *,
    correction: Correction = "fide",
    anchor: float | None = None,
    scale: float = 1.0,
    dense_players: int = DENSE_PLAYERS,
    most_steps: int = MOST_STEPS,
) -> Floats:
    """Return what `recursive_performance` does, with limits of both ways to solve the system."""
    require_scale(scale)
    pairs = gather_pairs(games)
    played, points = games.played(), games.scored()
    component = components(pairs.first, pairs.second, games.players)
    worth = scale * _worth(points, played, correction)
    # Without the mean, which would be added in every iteration, the system has a solution.
    surplus = worth - _mean(worth, played, component)
    solvable = np.isfinite(surplus)
    centred = np.where(solvable, surplus, 0.0)
    if games.players <= dense_players:
        found = _eliminate(pairs, played, centred, component)
    else:
        found = _conjugate_gradients(pairs, played, centred, most_steps)
    level = _level(games.initial, component, anchor)
    found += level - _mean(found, played, component)
    return np.asarray(np.where(solvable, found, np.nan))


def _worth(points: Floats, played: Floats, correction: Correction) -> Floats:
    """Return the rating points of scores, NaN if they are not defined, shape (N,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if correction == "fide":
            return rating_difference(points, played)
        if correction == "linear":
            return np.asarray(POINTS * (2 * points - played) / played)
        worth = POINTS * np.log10(points / (played - points))
        return np.asarray(np.where(np.isfinite(worth), worth, np.nan))


def _mean(values: Floats, weight: Floats, component: Ints) -> Floats:
    """Return the weighted mean over each player's component, shape (N,); NaN of weight 0."""
    weighed = np.where(weight > 0, values, 0.0) * weight
    with np.errstate(invalid="ignore"):
        mean = np.bincount(component, weighed) / np.bincount(component, weight)
    return np.asarray(mean[component], dtype=np.float64)


def _level(initial: Floats, component: Ints, anchor: float | None) -> Floats:
    """Return the mean rating that each player's component is given, shape (N,)."""
    if anchor is not None:
        require(bool(np.isfinite(anchor)), "anchor", "a number", anchor)
        return np.full(len(initial), float(anchor))
    return np.nan_to_num(_mean(initial, (~np.isnan(initial)).astype(np.float64), component))


def _eliminate(pairs: Pairs, played: Floats, surplus: Floats, component: Ints) -> Floats:
    """Return x with x_i = (mean of x over the opponents of i) + surplus_i, up to constants.

    Multiplied by the number of games it is K x - W x = K surplus: symmetric, and singular by one
    constant for each component only.
    """
    matrix = np.diag(played)
    np.subtract.at(matrix, (pairs.first, pairs.second), pairs.weight)
    np.subtract.at(matrix, (pairs.second, pairs.first), pairs.weight)
    # Sets the sum of every component to 0; the right side does not determine it.
    same = component[:, None] == component[None, :]
    return np.asarray(np.linalg.solve(matrix + same, played * surplus))


def _conjugate_gradients(pairs: Pairs, played: Floats, surplus: Floats, most_steps: int) -> Floats:
    """Return a solution by conjugate gradients, each equation weighed by its number of games."""
    weight = np.where(played > 0, played, 1.0)
    x, rest = np.zeros(len(played)), played * surplus
    direction, before = np.zeros(len(played)), 1.0
    for _ in range(most_steps):
        scaled = rest / weight
        if np.abs(scaled).max() <= TOLERANCE:
            return x
        now = float(rest @ scaled)
        direction = scaled + (now / before) * direction
        product = played * direction - _over_games(pairs, direction)
        step = now / float(direction @ product)
        x, rest, before = x + step * direction, rest - step * product, now
    raise ConvergenceError("recursive performance", most_steps, float(np.abs(scaled).max()))


def _over_games(pairs: Pairs, values: Floats) -> Floats:
    """Return for each player the sum of a value of the opponents over the games."""
    size = len(values)
    total = np.bincount(pairs.first, pairs.weight * values[pairs.second], size)
    total += np.bincount(pairs.second, pairs.weight * values[pairs.first], size)
    return np.asarray(total, dtype=np.float64)
