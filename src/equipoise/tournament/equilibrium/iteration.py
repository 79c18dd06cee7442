"""f, P and the iteration x <- f(x) of the document, for those who want to look at them.

Source: [PRE]_ Lemma 1 (1), section 3 and section 4. The equilibrium itself is found by Newton's
method and does not need them (`performance_equilibrium`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids
from equipoise.data.tournaments.games import LARGEST, Games
from equipoise.display import Tabular
from equipoise.errors import InvalidDataError, NotFoundError, Problem, require
from equipoise.tournament.curves import Curve, CurveName, curve_of, potential_of
from equipoise.tournament.equilibrium.canonical import PerformanceFunction
from equipoise.tournament.equilibrium.solving import check_scale
from equipoise.tournament.pairs import gather_pairs
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl

#: Ratings before the tournament, one for everybody, or by player.
Start = float | Mapping[Any, float] | None
#: Largest number of steps; every one keeps the ratings of all players.
MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class PerformancePotential(Tabular):
    """The potential P at some ratings, whose only maximum is the equilibrium.

    player_ids : shape (N,)
    rating : shape (N,), where it was computed
    value : P, rating points times games; adding a number to all ratings does not change it
    gradient : shape (N,), points scored minus points expected; 0 at the equilibrium
    curvature : shape (N, N), second derivatives of P, 1/rating points

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann"], ["bob"], [6.5], weight=[10])
    >>> eq.performance_potential(games, {"ann": 1500, "bob": 1500}).gradient.tolist()
    [1.5, -1.5]
    """

    player_ids: Ids
    rating: Floats
    value: float
    gradient: Floats
    curvature: Floats

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player."""
        import polars as pl

        columns = {"rating": self.rating, "gradient": self.gradient}
        return pl.DataFrame({"player": self.player_ids.tolist(), **columns})

    def _in_words(self) -> str:
        return f"{self.value:.6g} at ratings of {counted(len(self.rating), 'player')}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class PerformanceIteration(Tabular):
    """The ratings at every step of x <- f(x).

    player_ids : shape (N,)
    ratings : shape (steps + 1, N); the first row is the start
    changes : shape (steps,), the largest change of a rating in every step, rating points
    settled_at : the first step, from 1, that changes no rating by `settled` points; None: none did
    settled : that limit, rating points

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> run = eq.performance_iteration(games, 2557)
    >>> run
    <PerformanceIteration: 24 players, 4 steps, settled at step 4>
    """

    player_ids: Ids
    ratings: Floats
    changes: Floats
    settled_at: int | None
    settled: float

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each step and player."""
        import polars as pl

        steps, players = self.ratings.shape
        return pl.DataFrame(
            {
                "step": np.repeat(np.arange(steps), players),
                "player": self.player_ids.tolist() * steps,
                "rating": self.ratings.ravel(),
            }
        )

    def _in_words(self) -> str:
        size = f"{counted(len(self.player_ids), 'player')}, {counted(len(self.changes), 'step')}"
        return f"{size}, " + (
            "not settled" if self.settled_at is None else f"settled at step {self.settled_at}"
        )


@checks_arguments("scale")
def performance_function(
    games: Games,
    ratings: float | Mapping[Any, float] | None = None,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> Floats:
    """Return f(x), the ratings at which every player's score would have been expected, shape (N,).

    Each player is compared with opponents rated x; a player with no points or all of them has NaN.

    ratings : x: one for all players, or id -> rating; None: those before the tournament, so that
        the result is the TPR
    curve, scale : as `performance` takes them
    Raises : InvalidDataError        a player with games has no rating
    Raises : NotFoundError           a rating is of a player who is not in the tournament
    Raises : InvalidParameterError, ConvergenceError

    Examples
    --------
    >>> before = {"A": 2450.0, "B": 2200.0, "C": 2000.0}
    >>> games = eq.Games.from_arrays(list("CCB"), list("BAA"), [0.5, 1, 0.5], rating=before)
    >>> dict(zip(games.player_ids.tolist(), eq.performance_function(games).round(2).tolist()))
    {'C': 2538.52, 'B': 2225.0, 'A': 1894.68}
    """
    check_scale(scale)
    function = PerformanceFunction(
        gather_pairs(games), games.players, curve=curve_of(curve), scale=scale
    )
    return function(_start(games, ratings))


@checks_arguments("scale")
def performance_potential(
    games: Games,
    ratings: float | Mapping[Any, float] | None = None,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> PerformancePotential:
    """Return P at some ratings, with its first and second derivatives.

    For Elo's curve it is, up to a factor of 400/ln 10 and a constant, the logarithm of the
    likelihood of the results in the model of Bradley and Terry.

    ratings, curve, scale : as `performance_function` takes them
    Raises : InvalidDataError, NotFoundError, InvalidParameterError

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> found = eq.performance_equilibrium(games)
    >>> best = dict(zip(found.player_ids.tolist(), found.rating.tolist()))
    >>> there = eq.performance_potential(games, best)
    >>> there.value > eq.performance_potential(games, 0).value
    True
    >>> float(abs(there.gradient).max()) < 1e-8
    True
    """
    check_scale(scale)
    pairs, model = gather_pairs(games), curve_of(curve)
    x = _start(games, ratings)
    here, there = x[pairs.first], x[pairs.second]
    t = (here - there) / scale
    # m'x - R(x), pair by pair: y x_i + (w - y) x_j - w (beta A(t) + x_j), with few cancellations.
    points, weight = pairs.points, pairs.weight
    value = float(np.sum(points * (here - there) - weight * scale * potential_of(model, t)))
    over = points * model.expected(-t) - (weight - points) * model.expected(t)
    stiff = weight * model.slope(t) / scale
    curvature = np.zeros((games.players, games.players))
    np.add.at(curvature, (pairs.first, pairs.second), stiff)
    curvature += curvature.T
    np.fill_diagonal(curvature, -curvature.sum(axis=1))
    return PerformancePotential(
        player_ids=games.player_ids,
        rating=x,
        value=value,
        gradient=pairs.summed(over, -over, games.players),
        curvature=curvature,
    )


@checks_arguments("scale")
def performance_iteration(
    games: Games,
    start: float | Mapping[Any, float] | None = None,
    *,
    steps: int = 100,
    settled: float = 0.5,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> PerformanceIteration:
    """Return the steps of x <- f(x), by which the document computes the equilibrium.

    It ends at the first step that changes no rating by `settled` points, or after `steps` steps. It
    need not settle: between two teams it alternates, and without an equilibrium it moves apart.

    start : x at the beginning, as `performance_function` takes it; the document starts with the
        average rating for everybody
    steps : at most so many, from 1 to 10,000
    settled : rating points; 0 takes all steps
    curve, scale : as `performance` takes them
    Raises : InvalidDataError   a player with games has no rating, no points, or all points
    Raises : NotFoundError, InvalidParameterError, ConvergenceError

    Examples
    --------
    >>> games = eq.Games.from_arrays(list("CCB"), list("BAA"), [0.5, 1, 0.5])
    >>> run = eq.performance_iteration(games, 2216.67)
    >>> run.settled_at
    8
    >>> run.changes.round(1).tolist()
    [190.8, 82.2, 32.2, 13.2, 5.3, 2.2, 0.9, 0.4]
    """
    require(1 <= steps <= MOST_STEPS, "steps", f"from 1 to {MOST_STEPS:,}", steps)
    require(0 <= settled <= LARGEST, "settled", f"from 0 to {LARGEST:g}", settled)
    check_scale(scale)
    played, scored = games.played(), games.scored()
    extreme = games.player_ids[(played > 0) & ((scored <= 0) | (scored >= played))].tolist()
    if extreme:
        raise _refused("some points, but not all", extreme[0], "none, or all of them")
    function = PerformanceFunction(
        gather_pairs(games), games.players, curve=curve_of(curve), scale=scale
    )
    plays = played > 0
    rows, changes = [_start(games, start)], []
    found = None
    for step in range(1, steps + 1):
        rows.append(function(rows[-1]))
        changes.append(float(np.max(np.abs(rows[-1] - rows[-2])[plays], initial=0.0)))
        if changes[-1] < settled:
            found = step
            break
    return PerformanceIteration(
        player_ids=games.player_ids,
        ratings=np.array(rows),
        changes=np.array(changes),
        settled_at=found,
        settled=float(settled),
    )


def _start(games: Games, ratings: Start) -> Floats:
    """Return a rating for every player, NaN for those without games, shape (N,)."""
    if ratings is None:
        x = games.initial.astype(np.float64)
    elif isinstance(ratings, Mapping):
        ids = games.player_ids.tolist()
        for player in ratings:
            if player not in ids:
                raise NotFoundError(f"player {player!r}, who has a rating, has no games")
        x = np.array([float(ratings.get(one, np.nan)) for one in ids])
    else:
        x = np.full(games.players, float(ratings))
    known = x[~np.isnan(x)]
    fits = bool(np.all(np.abs(known) <= LARGEST))
    require(fits, "ratings", f"from -{LARGEST:g} to {LARGEST:g}", "another value")
    plays = games.played() > 0
    missing = games.player_ids[plays & np.isnan(x)].tolist()
    if missing:
        raise _refused("a rating for every player with games", missing[0], "none")
    return np.where(plays, x, np.nan)


def _refused(rule: str, player: object, got: str) -> InvalidDataError:
    """Return the error about a player."""
    return InvalidDataError(
        [Problem("games", None, f"player {player}", f"must have {rule}", got)],
        "f(x) cannot be computed",
    )
