"""The tournament performance rating."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.errors import ConvergenceError, InvalidParameterError
from equipoise.tournament.curves import EloCurve
from equipoise.tournament.formulas import (
    Results,
    results_of,
    results_of_player,
    solve_tpr,
    tournament_performance,
)
from reference import performance as slow
from tournament.tournaments import tournaments

#: Points: both methods stop within 1e-10, and rounding of ratings about 2000 adds as much.
CLOSE = {"rtol": 0, "atol": 2e-9}


def of(opponents: list[float], points: list[float], **choices: object) -> float:
    """Return the TPR of one player."""
    found = tournament_performance(results_of_player(opponents, points), **choices)  # type: ignore[arg-type]
    assert found.shape == (1,)
    return float(found[0])


def test_caruana_in_saint_louis_2014_is_as_reported() -> None:
    """8.5 of 10 against 2802 on average: 3103 (Chess Life, November 2014)."""
    assert round(of([2802.0] * 10, [1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5])) == 3103


def test_ratings_of_a_game_come_before_ratings_of_a_player() -> None:
    games = Games.from_arrays(["a", "b"], ["b", "a"], [0.5, 0.5], rating={"a": 2000, "b": 2100})
    given_once = dataclasses.replace(games, black_rating=np.array([2300, np.nan]))
    found = tournament_performance(results_of(given_once))
    # a met b at 2300, then at 2100; b met a at 2000 twice.
    assert found == pytest.approx([2200, 2000], abs=1e-9)


@given(tournaments(rated=False))
def test_it_agrees_with_the_definition(games: Games) -> None:
    found = tournament_performance(results_of(games))
    for player in range(games.players):
        opponents, weights, points = [], [], 0.0
        for row in range(games.rows):
            pair = int(games.white[row]), int(games.black[row])
            if player not in pair or np.isnan(games.initial[pair[1 - pair.index(player)]]):
                continue
            opponents.append(float(games.initial[pair[1 - pair.index(player)]]))
            weights.append(float(games.weights[row]))
            got = float(games.points[row])
            points += got if pair[0] == player else weights[-1] - got
        if not 0 < points < sum(weights):
            assert np.isnan(found[player])
        else:
            by_halving = slow.tournament_performance(opponents, points, weights)
            assert found[player] == pytest.approx(by_halving, rel=0, abs=2e-9)


@examples(40)
@given(tournaments(), st.sampled_from([0.5, 2.0, 10.0]))
def test_scale_stretches_it_with_the_ratings(games: Games, scale: float) -> None:
    """Only difference/scale counts [PRE]_ Def. 3."""
    wider = dataclasses.replace(games, rating=games.initial * scale)
    before = tournament_performance(results_of(games))
    after = tournament_performance(results_of(wider), scale=scale)
    np.testing.assert_allclose(after, scale * before, rtol=0, atol=2e-8)


def test_a_long_way_from_half_it_is_still_exact() -> None:
    """999.5 of 1000 against equals; a sum near 1000 would have lost three digits."""
    points = [1.0] * 999 + [0.5]
    assert of([2000.0] * 1000, points) == pytest.approx(2000 + 400 * np.log10(1999), abs=1e-9)


def test_a_curve_with_heavy_tails_is_solved_too() -> None:
    """Its logarithm is not concave, so Newton's method needs the bracket."""

    class Cauchy(EloCurve):
        def expected(self, t: Floats) -> Floats:
            return 0.5 + np.arctan(t / 50) / np.pi

        def slope(self, t: Floats) -> Floats:
            return 1 / (50 * np.pi * (1 + (t / 50) ** 2))

    opponents = [1000.0, 1400.0, 1410.0, 2600.0]
    (found,) = solve_tpr(results_of_player(opponents, [1, 1, 1, 0.5]), Cauchy(), 1.0)
    assert Cauchy().expected(found - np.array(opponents)).sum() == pytest.approx(3.5, abs=1e-12)


def test_what_is_not_solved_is_an_error() -> None:
    results = results_of_player([1000, 2600], [1, 0.2])
    with pytest.raises(ConvergenceError, match="tournament performance"):
        solve_tpr(results, EloCurve(), 1.0, most_steps=1)


def test_many_players_at_once_are_as_one_by_one() -> None:
    """Many players leave the iteration early; a sample of them is looked at."""
    rng = np.random.default_rng(5)
    opponent = rng.normal(1800, 300, 40_000)
    points = rng.choice([0.0, 0.5, 1.0], 40_000)
    player = rng.integers(0, 8000, 40_000)
    every = tournament_performance(Results(player, opponent, points, 1 - points, 8000))
    for row in range(0, 8000, 800):
        own = player == row
        alone = tournament_performance(results_of_player(opponent[own], points[own]))
        np.testing.assert_allclose(alone[0], every[row], **CLOSE)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(InvalidParameterError, match="scale must be a number above 0"):
        of([2000], [0.5], scale=scale)


@pytest.mark.parametrize("points", [[0, 0], [1, 1]])
def test_it_is_undefined_at_0_and_100_per_cent(points: list[float]) -> None:
    """[PRE]_ sec. 2.1: Elo noted it."""
    assert np.isnan(of([2000, 2100], points))
