"""Anchors set the level of ratings: if they move by a constant, all ratings move by it.

Ratings are differences, so neither an average (`anchor`) nor held players (`anchors`) have another
effect than the level, as long as all of them move together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.data.tournament import TournamentPerformance
from equipoise.tournament.curves import EloCurve
from equipoise.tournament.equilibrium import performance_equilibrium
from equipoise.tournament.tournament import performance
from tournament.solved_tournaments import random_games

#: A club evening of 8 players; player 7 lost every game.
CLUB = random_games(8, 40, seed=3)
LOST = Games(
    player_ids=np.arange(8),
    white=CLUB.white,
    black=CLUB.black,
    points=np.where(CLUB.white == 7, 0.0, np.where(CLUB.black == 7, 1.0, CLUB.points)),
    coloured=True,
)
SHIFT = 1234.5
#: Columns of ratings on the scale of the anchors.
LEVELS = ("ppr", "class_ppr", "lower", "upper")
#: Columns that a shift of anchors leaves as they are.
SAME = ("games", "points", "expected", "error", "component", "class_of", "status")


def check_shift(games: Games, anchors: dict[Any, float], anchor: float | None, **more: Any) -> None:
    """Compare the table with that of anchors that are SHIFT points higher."""
    low = performance(games, anchors=anchors, anchor=anchor, **more)
    moved = {player: rating + SHIFT for player, rating in anchors.items()}
    high = performance(
        games, anchors=moved, anchor=None if anchor is None else anchor + SHIFT, **more
    )
    for name in LEVELS:
        below, above = getattr(low.standing, name), getattr(high.standing, name)
        np.testing.assert_allclose(above, below + SHIFT, rtol=0, atol=1e-6, err_msg=name)
    for name in SAME:
        below, above = getattr(low.standing, name), getattr(high.standing, name)
        np.testing.assert_allclose(above, below, rtol=1e-8, atol=1e-6, err_msg=name)
    assert low.relative == high.relative


@pytest.mark.parametrize("games", [CLUB, LOST], ids=["equilibrium", "sweep"])
@pytest.mark.parametrize("prior", [0.0, 1e-6, 1.0, 50.0])
@pytest.mark.parametrize(
    ("anchors", "anchor"),
    [({}, 1500.0), ({0: 1707.0}, None), ({0: 1707.0, 3: 1600.0}, None), ({2: 1400.0}, 1500.0)],
    ids=["average", "one", "two", "both"],
)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"select": "mean"},
        {"curve": "normal", "scale": 2.0},
        {"colour_advantage": "estimate", "draws": "davidson"},
    ],
    ids=["default", "mean", "normal", "draws"],
)
def test_a_shift_of_the_anchors_shifts_all_ratings(
    games: Games, prior: float, anchors: dict[Any, float], anchor: float | None, more: Any
) -> None:
    check_shift(games, anchors, anchor, prior=prior, **more)


@pytest.mark.parametrize("games", [CLUB, LOST], ids=["equilibrium", "sweep"])
@pytest.mark.parametrize("prior", [1e-6, 1.0, 50.0])
def test_one_held_player_only_sets_the_constant_of_a_prior(games: Games, prior: float) -> None:
    """The ratings are those without an anchor, moved; so the average player moves with them."""
    free = performance_equilibrium(games, prior=prior)
    held = performance_equilibrium(games, prior=prior, anchors={0: 1707.0})
    assert held.rating[0] == 1707.0
    moved = free.rating + (1707.0 - free.rating[0])
    np.testing.assert_allclose(held.rating, moved, rtol=0, atol=1e-5)
    np.testing.assert_allclose(held.expected, free.expected, rtol=0, atol=1e-8)
    assert free.relative
    assert not held.relative


def test_the_average_player_has_half_the_points_of_all() -> None:
    """Two held players, by hand: v solves the sum of psi(x - v) = N/2; the others fit to it."""
    held = {0: 1900.0, 1: 1500.0}
    found = performance_equilibrium(CLUB, prior=2.0, anchors=held)
    x, curve = found.rating, EloCurve()
    low, high = x.min(), x.max()
    for _ in range(200):
        v = (low + high) / 2
        low, high = (v, high) if curve.expected(x - v).sum() > 4.0 else (low, v)
    more = found.expected + 2.0 * curve.expected(x - v)
    np.testing.assert_allclose(more[2:], found.scored[2:] + 1.0, rtol=0, atol=1e-8)


def test_a_held_player_gives_the_level_of_a_prior_before_ratings_do() -> None:
    """The held rating may be on another scale than the ratings before the tournament."""
    rated = Games(
        player_ids=np.arange(8),
        white=CLUB.white,
        black=CLUB.black,
        points=CLUB.points,
        rating=np.full(8, 2400.0),
    )
    plain = performance_equilibrium(CLUB, prior=1.0, anchors={0: 1707.0})
    found = performance_equilibrium(rated, prior=1.0, anchors={0: 1707.0})
    np.testing.assert_allclose(found.rating, plain.rating, rtol=0, atol=1e-6)
    # An explicit average holds the average player there.
    both = performance_equilibrium(rated, prior=1e6, anchors={0: 1707.0}, anchor=1500.0)
    np.testing.assert_allclose(both.rating[1:], 1500.0, rtol=0, atol=0.1)


def test_a_held_player_without_games_gives_no_level() -> None:
    """Nothing links such a player to the others, so they stay relative."""
    games = Games(player_ids=np.arange(9), white=CLUB.white, black=CLUB.black, points=CLUB.points)
    found: TournamentPerformance = performance(games, prior=1.0, anchors={8: 1707.0})
    free = performance(CLUB, prior=1.0)
    np.testing.assert_allclose(found.standing.ppr[:8], free.standing.ppr, rtol=0, atol=1e-6)
    assert found.relative
