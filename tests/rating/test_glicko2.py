"""Glicko-2 against Glickman's example and against a slow, obvious reference."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.data.outlook import GLICKO2_SCALE
from equipoise.formats import read_history
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.systems.glicko2 import (
    Glicko2,
    game,
    new_volatility,
    updated,
)
from rating.histories import Contest, history_of, shared_file, standing
from reference import team_glicko2 as reference
from reference.glicko2 import rate_periods


def duels(games: list[tuple[float, int, int, float]], players: int) -> History:
    """Return a history of (day, first, second, score of the first)."""
    ranks = {1.0: (0, 1), 0.5: (0, 0), 0.0: (1, 0)}
    return history_of([Contest((a, b), ranks[score], day) for day, a, b, score in games], players)


def test_glickmans_worked_example() -> None:
    """[G2] section "Example": one player, three games in one period, to every printed digit.

    The paper prints mu' = -0.2069, phi' = 0.8722, sigma' = 0.05999, RD' = 151.52 and
    r' = 1464.06. The last is 173.7178 times the rounded -0.2069; unrounded it is 1464.05.
    """
    system = Glicko2(tau=0.5, period_days=1)
    state = standing(system, rating=[1500, 1400, 1550, 1700], deviation=[200, 30, 100, 300])
    history = duels([(0, 0, 1, 1.0), (0, 0, 2, 0.0), (0, 0, 3, 0.0)], players=4)
    system.run(state, history, 0, 3)
    hero = {name: column[0] for name, column in system.at(state, np.array([0]), None).items()}
    mu = (hero["rating"] - 1500) / GLICKO2_SCALE
    assert round(mu, 4) == -0.2069
    assert round(1500 + GLICKO2_SCALE * round(mu, 4), 2) == 1464.06
    assert hero["rating"] == pytest.approx(1464.0506705393013, abs=1e-9)
    assert round(hero["deviation"] / GLICKO2_SCALE, 4) == 0.8722
    assert round(hero["deviation"], 2) == 151.52
    # The paper cuts 0.0599960 off after five digits.
    assert math.floor(hero["volatility"] * 1e5) / 1e5 == 0.05999


@st.composite
def seasons(draw: st.DrawFn) -> list[tuple[float, int, int, float]]:
    """Return games in time order between five players."""
    day, games = 0.0, []
    for _ in range(draw(st.integers(1, 15))):
        day += draw(st.sampled_from([0.0, 0.25, 1.0, 3.0, 40.0]))
        a, b = draw(st.permutations(range(5)))[:2]
        games.append((day, a, b, draw(st.sampled_from([1.0, 0.5, 0.0]))))
    return games


@given(games=seasons(), tau=st.sampled_from([0.2, 0.5, 1.2]), later=st.sampled_from([0, 3, 90]))
@examples(60)
def test_periods_equal_the_reference(
    games: list[tuple[float, int, int, float]], tau: float, later: int
) -> None:
    """The streaming form equals Glickman's steps taken a period at a time.

    Tolerance: the reference bisects the volatility to 1e-13, which moves ratings by far less.
    """
    system = Glicko2(tau=tau, period_days=2.0)
    history = duels(games, players=5)
    state = system.initial(5)
    system.run(state, history, 0, history.matches)
    end = games[-1][0] + later
    ours = system.at(state, np.arange(5), end)
    theirs = rate_periods(games, players=5, period=2.0, tau=tau, end=end)
    for row, player in enumerate(theirs):
        assert ours["rating"][row] == pytest.approx(player.rating, abs=1e-8)
        assert ours["deviation"][row] == pytest.approx(player.deviation, abs=1e-8)
        assert ours["volatility"][row] == pytest.approx(player.volatility, abs=1e-12)


def test_a_weight_of_two_is_the_game_twice() -> None:
    """In one period two equal games and one of weight two are the same evidence."""
    system = Glicko2(period_days=1)
    twice = duels([(0, 0, 1, 1.0), (0, 0, 1, 1.0)], players=2)
    once = duels([(0, 0, 1, 1.0)], players=2)
    results = []
    for history in (twice, dataclasses.replace(once, weight=np.array([2.0]))):
        state = system.initial(2)
        system.run(state, history, 0, history.matches)
        results.append(system.at(state, np.arange(2), None))
    np.testing.assert_allclose(results[0]["rating"], results[1]["rating"], rtol=1e-13)
    np.testing.assert_allclose(results[0]["deviation"], results[1]["deviation"], rtol=1e-13)


# Without the compiler NumPy warns of the infinities that kernels are written for.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("weight", [1e3, 1e9])
def test_the_volatility_is_capped(weight: float) -> None:
    """Matches of large weights, lost and won by turns, drive it; the rating stays a number."""
    history = history_of(
        [
            Contest((0, 1), (m % 2, 1 - m % 2), weight=weight if m % 3 == 0 else 1.0)
            for m in range(60)
        ]
    )
    for name in ("glicko2", "team-glicko2"):
        for settings, most in (
            ({}, 2.0),
            ({"max_volatility": 0.5}, 0.5),
            # A larger initial one is its own cap.
            ({"max_volatility": 0.5, "initial_volatility": 0.7}, 0.7),
        ):
            done = replay(make_system(name, settings), history, trace=True)
            assert np.all(np.isfinite(done.ratings.rating))
            assert done.trace.columns["volatility"].max() == most


def test_real_volatilities_are_far_below_the_cap() -> None:
    """With and without it every rating of a real league has the same bits."""
    history = read_history(shared_file("data", "football.parquet")).slice(0, 3_000)
    found = [
        replay(make_system("glicko2", settings), history).ratings
        for settings in ({}, {"max_volatility": 1e300}, {"max_volatility": 0.061})
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].rating, other.rating)
        np.testing.assert_array_equal(found[0].deviation, other.deviation)


# --- the update that two systems share -------------------------------------------------------


@examples(400)
@given(
    sigma=st.floats(0.01, 0.2),
    phi=st.floats(0.1, 3.0),
    difference=st.floats(-6.0, 6.0),
    phi_opponent=st.floats(0.05, 3.0),
    score=st.sampled_from([0.0, 0.5, 1.0]),
    games=st.sampled_from([0.25, 1.0, 30.0]),
    tau=st.floats(0.1, 1.0),
)
def test_the_volatility_is_that_of_bisection(
    sigma: float,
    phi: float,
    difference: float,
    phi_opponent: float,
    score: float,
    games: float,
    tau: float,
) -> None:
    """Equation (19) of [TG2], step 5 of [G2]: one game, part of one, or thirty equal ones.

    Tolerance: the reference stops at a bracket of some 1e-14 and subtracts numbers that nearly
    cancel; ours looks for the same zero from its other side.
    """
    _, information, surprise = game(difference, 0.0, phi_opponent, score)
    information, surprise = games * information, games * surprise
    found, residual = new_volatility(sigma, phi * phi, information, surprise, tau)
    slow = reference.new_volatility(phi, sigma, 1 / information, surprise / information, tau)
    assert residual < 0.0
    assert found == pytest.approx(slow, rel=1e-10)


@pytest.mark.parametrize("difference", [60.0, 600.0, 6000.0, -60.0, -600.0, -6000.0])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_no_game_is_without_information(difference: float, score: float) -> None:
    """READINGS A6: E (1 - E) is never 0, and an update with it is finite.

    10^4 rating points are 58 internal units, 10^6 are 5,757.
    """
    expected, information, surprise = game(difference, 0.0, 2.0, score)
    assert 0.0 < information < 1e-10
    assert 0.0 <= expected <= 1.0
    change, phi, sigma, residual = updated(2.0, 0.06, information, surprise, 0.5)
    assert residual < 0.0
    assert all(math.isfinite(number) for number in (change, phi, sigma))
    # Nothing was learned, so the deviation grows by the volatility and no further.
    assert phi == pytest.approx(math.hypot(2.0, sigma), rel=1e-9)
