"""The Glicko-2 update that two systems share, against bisection and in extreme games."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.rating.systems.glicko2 import game, new_volatility, opponent_weight, updated
from reference import team_glicko2 as reference


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


@examples(100)
@given(
    difference=st.floats(-20.0, 20.0),
    phi=st.floats(0.0, 3.0),
    score=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_a_game_is_as_the_equations_say(difference: float, phi: float, score: float) -> None:
    """[TG2] (13)-(16), written down; tolerance: 1 - E loses digits there and not in ours."""
    g = opponent_weight(phi)
    e = 1 / (1 + math.exp(-g * difference))
    expected, information, surprise = game(difference, 0.0, phi, score)
    assert expected == pytest.approx(e, rel=1e-14)
    assert information == pytest.approx(g * g * e * (1 - e), rel=1e-6, abs=1e-15)
    assert surprise == pytest.approx(g * (score - e), rel=1e-6, abs=1e-15)


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
