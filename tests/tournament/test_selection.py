"""The additive constant: [PRE]_ sec. 4 and READINGS C2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.tournament.equilibrium import (
    average_rating,
    performance_equilibrium,
)
from equipoise.tournament.tournament import performance
from reference.equilibrium import iterated
from tournament.tournaments import random_games, side_by_side, triples


@pytest.mark.parametrize("select", ["equal", "initial"])
def test_the_constant_is_that_of_the_plain_iteration(select):
    """Truth: 60 plain iterations in plain Python, from equal or from initial ratings."""
    rating = np.array([2400.0, 2100.0, np.nan, 1800.0, 2000.0, 2250.0])
    games = replace(random_games(6, 30, seed=8), rating=rating)
    average = np.nanmean(rating)
    start = np.full(6, average) if select == "equal" else np.nan_to_num(rating, nan=average)
    slow = iterated(start.tolist(), triples(games), 60)[-1]
    found = performance_equilibrium(games, select=select)
    # About a millionth of a point a step is left after ten; from initial ratings it starts further.
    assert np.allclose(found.rating, slow, rtol=0, atol=1e-4)
    assert not found.relative
    mean = performance_equilibrium(games, select="mean")
    assert np.mean(mean.rating) == pytest.approx(average, abs=1e-9)
    assert abs(np.mean(found.rating) - average) > 0.1  # they are different selections


def test_where_two_teams_meet_the_iteration_swings_and_the_constant_is_there_all_the_same():
    """Two players alone: x <- f(x) swaps their ratings for ever; symmetry says the mean stays."""
    games = Games(player_ids=np.arange(2), white=[0], black=[1], points=[3], weight=[4])
    places = iterated([1500.0, 1500.0], triples(games), 21)
    assert np.allclose(places[20], [1500.0, 1500.0], rtol=0, atol=1e-6)
    assert abs(places[21][0] - 1500.0) > 100
    found = performance_equilibrium(games, anchor=1500.0)
    half = 200 * np.log10(3)
    assert np.allclose(found.rating, [1500 + half, 1500 - half], rtol=0, atol=1e-9)


def test_without_any_rating_ratings_are_relative():
    """Mean 0 (READINGS C2), and said so; an anchor or a held player makes them absolute."""
    games = random_games(8, 40)
    found = performance_equilibrium(games)
    assert found.relative
    assert np.mean(found.rating) == pytest.approx(0.0, abs=1e-9)
    assert not performance_equilibrium(games, anchor=1500.0).relative
    assert not performance_equilibrium(games, anchors={3: 1500.0}).relative


def test_averages_are_over_rated_players_of_the_component_each_once():
    """By hand: players 0-2 and 3-4 and 5-6 are components; 7 plays nobody."""
    initial = np.array([2000, np.nan, 2200, 1000, 1600, np.nan, np.nan, 9999])
    component = np.array([0, 0, 0, 1, 1, 2, 2, -1])
    average, relative = average_rating(initial, component)
    assert average[:5].tolist() == [2100, 2100, 2100, 1300, 1300]
    assert average[5:7].tolist() == [1700, 1700]  # of 2000, 2200, 1000, 1600
    assert not relative
    everyone, relative = average_rating(initial, component, 1500.0)
    assert set(everyone) == {1500.0}
    assert not relative
    nobody, relative = average_rating(np.full(8, np.nan), component)
    assert set(nobody) == {0.0}
    assert relative


def test_components_move_apart_from_each_other():
    """Two tournaments at once are selected as each by itself."""
    one, two = random_games(6, 30, 1), random_games(9, 50, 2)
    parts = replace(one, rating=np.full(6, 1500.0)), replace(two, rating=np.full(9, 2400.0))
    found = performance_equilibrium(side_by_side(*parts)).rating
    alone = [performance_equilibrium(part).rating for part in parts]
    assert np.allclose(found, np.concatenate(alone), rtol=0, atol=2e-5)


def test_the_earlier_name_of_the_default_is_still_accepted():
    """`document` is an earlier name of `equal`, which is the default."""
    games = replace(random_games(6, 30, 1), rating=np.linspace(1400.0, 1900.0, 6))
    found = performance_equilibrium(games).rating
    for name in ("equal", "document"):
        assert np.array_equal(performance_equilibrium(games, select=name).rating, found)
        table = performance(games, select=name).standing
        assert np.array_equal(table.ppr, performance(games).standing.ppr)
