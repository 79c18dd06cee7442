"""Average opponent, complete, linear and FIDE's performance rating."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.errors import InvalidParameterError
from equipoise.tournament.formulas import (
    RATING_DIFFERENCE,
    Results,
    average_opponent,
    complete_performance,
    fide_performance,
    linear_performance,
    rating_difference,
    results_of,
    results_of_player,
    tally_of,
    tournament_performance,
)
from reference import performance as slow
from tournament.tournaments import tournaments

Formula = Callable[[Results], Floats]
FORMULAS: list[Formula] = [complete_performance, linear_performance, fide_performance]


def of(formula: Formula, opponents: list[float], points: list[float]) -> float:
    return float(formula(results_of_player(opponents, points))[0])


def scored(points: float, games: int) -> list[float]:
    """Return the points of every game of a score."""
    whole = [1.0] * int(points) + [points % 1] * (points % 1 > 0)
    return whole + [0.0] * (games - len(whole))


def test_the_average_opponent_counts_every_game() -> None:
    results = results_of_player([1000, 1600, np.nan], [1, 1, 1], [2, 1, 5])
    assert average_opponent(results).tolist() == [1200]


@pytest.mark.parametrize(
    ("points", "games", "expected"),
    [
        # 2000 - 2 * 400 log10(0.5/1.5) = 2000 + 800 log10(3)
        (1, 1, 2381.6970),
        (0, 1, 1618.3030),
        (0.5, 1, 2000.0),
        # 2000 - (11/10) 400 log10(0.5/10.5)
        (10, 10, 2581.7765),
        # 2000 - (5/4) 400 log10(1.5/3.5)
        (3, 4, 2183.9884),
    ],
)
def test_complete_by_hand(points: float, games: int, expected: float) -> None:
    found = of(complete_performance, [2000] * games, scored(points, games))
    assert found == pytest.approx(expected, abs=5e-5)


@given(st.lists(st.integers(800, 2800), min_size=1, max_size=9), st.data())
def test_complete_is_what_a_draw_against_an_equal_leaves_unchanged(
    opponents: list[int], data: st.DataObject
) -> None:
    """The definition of [CPR]_, solved by halving; 1e-8 for the digits of a score near 0 or k."""
    points = data.draw(st.integers(0, 2 * len(opponents))) / 2
    found = of(
        complete_performance, [float(one) for one in opponents], scored(points, len(opponents))
    )
    assert found == pytest.approx(slow.complete_performance(opponents, points), abs=1e-8)


def test_linear_by_hand() -> None:
    """Two wins and a loss against 1500 on average: 1500 + 400/3."""
    assert of(linear_performance, [1400, 1500, 1600], [1, 0, 1]) == pytest.approx(1500 + 400 / 3)
    assert of(linear_performance, [1500], [1]) == 1900
    assert of(linear_performance, [1500], [0]) == 1100


def test_the_table_of_fide_is_antisymmetric_and_rises() -> None:
    """[FIDE]_ B.02: 51 rows from 100 % (800) to 50 % (0), and their mirror image."""
    assert len(RATING_DIFFERENCE) == 101
    assert np.array_equal(RATING_DIFFERENCE, -RATING_DIFFERENCE[::-1])
    assert (np.diff(RATING_DIFFERENCE) > 0).all()
    assert RATING_DIFFERENCE[[0, 50, 100]].tolist() == [-800, 0, 800]


def test_the_table_of_fide_is_a_normal_curve() -> None:
    """With deviation 2000/7, to the point from 3 % to 97 %: so no row is misprinted here.

    At 1 %, 2 % and their mirror images
    FIDE's numbers are 12 and 2 points further out.
    """
    curve = NormalDist(sigma=2000 / 7)
    exact = [curve.inv_cdf(percent / 100) for percent in range(3, 98)]
    assert np.abs(RATING_DIFFERENCE[3:98] - exact).max() < 1
    assert RATING_DIFFERENCE[[98, 99]].tolist() == [589, 677]


@pytest.mark.parametrize(
    ("opponent", "points", "games", "expected"),
    [
        # Carlsen in Nanjing 2009 and Ivanchuk in Sofia 2008, in Chess Life, November 2014.
        (2762, 8, 10, 3002),
        (2737, 8, 10, 2977),
        # "6 points in 9 rounds ... 125 points above" on the page of the authors of [RP]_.
        (2000, 6, 9, 2125),
        # Halves of per cent go up: 62.5 % is 63 %, 37.5 % is 38 %.
        (2000, 5, 8, 2095),
        (2000, 3, 8, 1913),
        (2000, 0, 3, 1200),
        (2000, 3, 3, 2800),
    ],
)
def test_fide_examples(opponent: float, points: float, games: int, expected: float) -> None:
    assert of(fide_performance, [opponent] * games, scored(points, games)) == expected


def test_fide_rounds_the_average_opponent_and_halves_go_up() -> None:
    """Table B.02 by hand: 50 %, so the average shows itself."""
    results = results_of_player([2000, 2001], [0.5, 0.5])
    assert fide_performance(results).tolist() == [2001]
    assert fide_performance(results, rounded=False).tolist() == [2000.5]


def test_scores_in_per_cent_are_rounded_exactly() -> None:
    """All scores in half points of up to 200 games, against whole numbers."""
    for games in range(1, 201):
        half_points = np.arange(2 * games + 1)
        # 100 m/k + 1/2 with m = half_points/2, over the common denominator 2 k.
        percent = (100 * half_points + games) // (2 * games)
        found = rating_difference(half_points / 2, np.full(len(half_points), float(games)))
        assert np.array_equal(found, RATING_DIFFERENCE[percent])


@pytest.mark.parametrize("formula", [*FORMULAS, average_opponent, tournament_performance])
def test_nothing_is_said_without_a_rated_opponent(formula: Formula) -> None:
    assert np.isnan(of(formula, [np.nan], [1]))
    assert np.isnan(of(formula, [], []))


@pytest.mark.parametrize("formula", [*FORMULAS, tournament_performance])
@examples(40)
@given(games=tournaments(rated=False), by=st.integers(-3000, 3000))
def test_every_formula_moves_with_all_ratings(formula: Formula, games: Games, by: int) -> None:
    moved = dataclasses.replace(games, rating=games.initial + by)
    before, after = formula(results_of(games)), formula(results_of(moved))
    np.testing.assert_allclose(after, before + by, rtol=0, atol=1e-8)


@pytest.mark.parametrize("formula", FORMULAS)
@examples(40)
@given(games=tournaments(rated=False))
def test_one_player_is_as_all_players(formula: Formula, games: Games) -> None:
    results = results_of(games)
    every = formula(results)
    for player in range(games.players):
        own = results.player == player
        alone = results_of_player(
            results.opponent[own], results.points[own], (results.points + results.lost)[own]
        )
        np.testing.assert_allclose(formula(alone)[0], every[player], rtol=1e-13)


@pytest.mark.parametrize("formula", FORMULAS)
@given(st.lists(st.integers(800, 2800), min_size=1, max_size=9), st.data())
def test_more_points_never_mean_less(
    formula: Formula, opponents: list[int], data: st.DataObject
) -> None:
    field = [float(one) for one in opponents]
    points = data.draw(st.integers(0, 2 * len(field) - 1)) / 2
    fewer = of(formula, field, scored(points, len(field)))
    assert fewer <= of(formula, field, scored(points + 0.5, len(field)))


@pytest.mark.parametrize("formula", [complete_performance, linear_performance])
def test_scale_stretches_distances(formula: Callable[..., Floats]) -> None:
    results = results_of_player([2000, 2000], [1, 0.5])
    once, twice = formula(results) - 2000, formula(results, scale=2) - 2000
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)
    with pytest.raises(InvalidParameterError, match="scale must be a number above 0"):
        formula(results, scale=0)


def test_a_win_can_lower_linear_and_fide_performance() -> None:
    """A win against 2400 gives 2800; one more, against 1200, takes 600 of it."""
    assert of(linear_performance, [2400], [1]) == 2800
    assert of(linear_performance, [2400, 1200], [1, 1]) == 2200
    assert of(fide_performance, [2400], [1]) == 3200
    assert of(fide_performance, [2400, 1200], [1, 1]) == 2600


# --- results: who is counted, and what is refused ----------------------------------------------


def test_a_tally_counts_games_against_rated_opponents() -> None:
    """By hand: a beats b (1600) twice in one row, draws c (unrated), loses to d (1900)."""
    games = Games.from_arrays(
        ["a", "c", "d"],
        ["b", "a", "a"],
        [2, 0.5, 1],
        weight=[2, 1, 1],
        rating={"a": 1700, "b": 1600, "d": 1900},
    )
    tally = tally_of(results_of(games))
    assert games.player_ids.tolist() == ["a", "b", "c", "d"]
    assert tally.games.tolist() == [3, 2, 1, 1]
    assert tally.points.tolist() == [2, 0, 0.5, 1]
    assert tally.lost.tolist() == [1, 2, 0.5, 0]
    assert tally.average.tolist() == [1700, 1700, 1700, 1700]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (([[2000.0]], [1.0]), "opponents must be one rating for each game"),
        (([2000.0], [1.0, 0.0]), "points must be of shape"),
        (([2000.0], [1.0], [1.0, 1.0]), "weights must be of shape"),
        (([2e6], [1.0]), "opponents must be within 1000000"),
        (([2000.0], [1.5]), "points must be from 0 to the number of games"),
        (([2000.0], [np.nan]), "points must be from 0 to the number of games"),
        (([2000.0], [0.0], [0.0]), "weights must be numbers above 0"),
    ],
)
def test_results_that_cannot_be_are_refused(arguments: Any, rule: str) -> None:
    with pytest.raises(InvalidParameterError, match=rule):
        results_of_player(*arguments)
