"""f, P and the iteration x <- f(x) of the document.

Source: [PRE]_ Lemma 1 (1), section 3 and section 4. The equilibrium itself is found by Newton's
method and does not need them (`performance_equilibrium`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.errors import InvalidDataError, Problem
from equipoise.tournament.curves import (
    ELO_RATE,
    Curve,
    CurveName,
    EloCurve,
    NormalCurve,
    curve_of,
)
from equipoise.tournament.pairs import gather_pairs
from equipoise.tournament.solving import PerformanceFunction

#: Ratings before the tournament, one for everybody, or by player.
Start = float | Mapping[Any, float] | None


class PerformancePotential(NamedTuple):
    """The potential P at some ratings, whose only maximum is the equilibrium.

    value : P, rating points times games; adding a number to all ratings does not change it
    gradient : shape (N,), points scored minus points expected; 0 at the equilibrium
    curvature : shape (N, N), second derivatives of P, 1/rating points
    """

    value: float
    gradient: Floats
    curvature: Floats


class PerformanceIteration(NamedTuple):
    """The ratings at every step of x <- f(x).

    ratings : shape (steps + 1, N); the first row is the start
    changes : shape (steps,), the largest change of a rating in every step, rating points
    settled_at : the first step, from 1, that changes no rating by `settled` points; None: none did
    """

    ratings: Floats
    changes: Floats
    settled_at: int | None


def performance_function(
    games: Games,
    ratings: Start = None,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> Floats:
    """Return f(x), the ratings at which every player's score would have been expected, shape (N,).

    Each player is compared with opponents rated x; a player with no points or all of them has NaN.

    ratings : x: one for all players, or id -> rating; None: those before the tournament, so that
        the result is the TPR
    curve, scale : as `performance` takes them
    Raises : InvalidDataError   a player with games has no rating
    Raises : ConvergenceError
    """
    return _function(games, curve, scale)(_start(games, ratings))


def performance_potential(
    games: Games,
    ratings: Start = None,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> PerformancePotential:
    """Return P at some ratings, with its first and second derivatives.

    For Elo's curve it is, up to a factor of 400/ln 10 and a constant, the logarithm of the
    likelihood of the results in the model of Bradley and Terry.

    ratings, curve, scale : as `performance_function` takes them
    Raises : InvalidDataError
    """
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
    return PerformancePotential(value, pairs.summed(over, -over, games.players), curvature)


def performance_iteration(
    games: Games,
    start: Start = None,
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
    steps : at most so many, from 1
    settled : rating points; 0 takes all steps
    curve, scale : as `performance` takes them
    Raises : InvalidDataError   a player with games has no rating, no points, or all points
    Raises : ConvergenceError
    """
    played, scored = games.played(), games.scored()
    extreme = games.player_ids[(played > 0) & ((scored <= 0) | (scored >= played))].tolist()
    if extreme:
        raise _refused("some points, but not all", extreme[0], "none, or all of them")
    function = _function(games, curve, scale)
    rows, changes = [_start(games, start)], []
    found = None
    for step in range(1, steps + 1):
        rows.append(function(rows[-1]))
        changes.append(float(np.max(np.abs(rows[-1] - rows[-2])[played > 0], initial=0.0)))
        if changes[-1] < settled:
            found = step
            break
    return PerformanceIteration(np.array(rows), np.array(changes), found)


def _function(
    games: Games, curve: CurveName | Curve | Callable[[Floats], Floats], scale: float
) -> PerformanceFunction:
    return PerformanceFunction(
        gather_pairs(games), games.players, curve=curve_of(curve), scale=scale
    )


def _start(games: Games, ratings: Start) -> Floats:
    """Return a rating for every player, NaN for those without games, shape (N,)."""
    if ratings is None:
        x = games.initial.astype(np.float64)
    elif isinstance(ratings, Mapping):
        x = np.array([float(ratings.get(one, np.nan)) for one in games.player_ids.tolist()])
    else:
        x = np.full(games.players, float(ratings))
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


def potential_of(curve: Curve, t: Floats) -> Floats:
    """Return A(t), the integral of psi from 0 to t ([PRE]_ sec. 3), shape of t.

    Elo's and the normal curve have a formula; others are integrated numerically, with a relative
    error below 1e-12 for smooth curves.
    """
    t = np.asarray(t, dtype=np.float64)
    # A(t) = t/2 + B(|t|), because psi - 1/2 is odd; B is its integral.
    far = np.abs(t)
    if isinstance(curve, EloCurve):
        area = (np.logaddexp(0.0, -ELO_RATE * far) - math.log(2.0)) / ELO_RATE + far / 2.0
    elif isinstance(curve, NormalCurve):
        rise = curve.deviation**2 * (curve.slope(far) - curve.slope(np.zeros(1)))
        area = far * (curve.expected(far) - 0.5) + rise
    else:
        area = _area(curve, far)
    return np.asarray(0.5 * t + area)


def _area(curve: Curve, far: Floats) -> Floats:
    """Return the integral of psi - 1/2 from 0 to `far`, by Gauss and Legendre in 64 parts."""
    node, weight = np.polynomial.legendre.leggauss(12)
    # Parts grow with the distance from 0, where curves bend most.
    edge = np.linspace(0.0, 1.0, 65) ** 3
    middle, half = 0.5 * (edge[1:] + edge[:-1]), 0.5 * np.diff(edge)
    at = (middle[:, None] + half[:, None] * node).ravel()
    share = (half[:, None] * weight).ravel()
    above = curve.expected(far[..., None] * at) - 0.5
    return np.asarray(far * (above @ share))
