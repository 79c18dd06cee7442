"""What Elo-MMR does not rate (READINGS B7), and its parameters (READINGS B4)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidParameterError
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.replay import replay
from rating.histories import (
    Contest,
    assert_same_bits,
    contests,
    history_of,
    run,
)

#: Rating points: the same equations, from parameters that differ by rounding.
ROUNDING = 1e-9


# --- contests that change nothing ------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 4, 30])
def test_a_contest_in_which_all_tie_is_skipped_unless_asked_for(size: int) -> None:
    """READINGS B7: skipped and reported; `rate_all_ties` rates it by Theorem 3.2."""
    history = history_of([Contest((0, 1), (0, 1)), Contest(tuple(range(size)), (0,) * size)])
    first = replay(EloMMR(), history.slice(0, 1))
    skipped = replay(EloMMR(), history, trace=True)
    assert skipped.all_tied.tolist() == [1]
    assert skipped.rated_matches == 1
    np.testing.assert_array_equal(skipped.ratings.matches, [1, 1] + [0] * (size - 2))
    # The first contest alone counts.
    np.testing.assert_array_equal(skipped.ratings.rating, first.ratings.rating)
    rated = replay(EloMMR(rate_all_ties=True), history)
    assert rated.all_tied.tolist() == []
    np.testing.assert_array_equal(rated.ratings.matches, [2, 2] + [1] * (size - 2))
    # All show the same performance, between the loser's rating and the winner's.
    assert rated.ratings.rating[0] < first.ratings.rating[0]
    assert rated.ratings.rating[1] > first.ratings.rating[1]


def test_a_tie_between_two_is_a_result() -> None:
    """READINGS B7: it draws two ratings together and is always rated."""
    history = history_of([Contest((0, 1), (0, 1)), Contest((0, 1), (0, 0))])
    first, tied = replay(EloMMR(), history.slice(0, 1)), replay(EloMMR(), history)
    assert tied.all_tied.tolist() == []
    assert tied.ratings.matches.tolist() == [2, 2]
    gap = np.diff(first.ratings.rating)[0], np.diff(tied.ratings.rating)[0]
    assert gap[0] < gap[1] < 0


# --- the passing of time ---------------------------------------------------------------------


def test_reading_a_rating_later_grows_its_deviation_by_drift_and_writes_nothing() -> None:
    """READINGS B4: the variance grows by drift x days since the last round, never before it."""
    system = EloMMR(drift_per_day=7.0)
    state, _ = run(system, [Contest((0, 1), (0, 1), time=100.0)], players=3)
    before = state.copy()
    rows, variance = np.arange(3), state.column("deviation") ** 2
    for time, days in ((None, 0.0), (90.0, 0.0), (100.0, 0.0), (150.5, 50.5)):
        read = system.at(state, rows, time)
        # The third has not played, so nothing has begun to drift.
        expected = variance + 7.0 * days * np.array([1, 1, 0])
        # Rounding of a square and a square root.
        np.testing.assert_allclose(read["deviation"] ** 2, expected, rtol=1e-14)
        np.testing.assert_array_equal(read["rating"], state.column("rating"))
    assert_same_bits(state, before)


# --- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mixed",
    [
        {"weight_limit": 0.2, "beta": 200.0},
        {"sigma_limit": 80.0, "gamma": 35.0},
        {"weight_limit": 0.2, "sigma_limit": 80.0, "beta": 200.0, "gamma": 35.0},
        {"beta": 200.0},
        {"gamma": 35.0},
    ],
)
def test_the_two_spellings_of_parameters_do_not_mix(mixed: dict[str, float]) -> None:
    """READINGS B4: wrong usage, also half of the paper's spelling."""
    with pytest.raises(InvalidParameterError, match="beta and gamma"):
        EloMMR(**mixed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weight_limit", 0.0),
        ("sigma_limit", -80.0),
        ("beta", math.inf),
        ("gamma", math.nan),
        ("rho", -0.1),
        ("rho", math.nan),
        ("drift_per_day", -1.0),
        ("drift_per_day", math.inf),
        ("initial_rating", math.nan),
        ("initial_deviation", 0.0),
        ("remembered", 0),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    """The message says which parameter, what must hold, and what came."""
    both = {"beta": 200.0, "gamma": 35.0} if name in ("beta", "gamma") else {}
    with pytest.raises(InvalidParameterError, match=name):
        EloMMR(**{**both, name: value})


@examples(60)
@given(contests(), st.floats(0.02, 1.5), st.floats(20, 150))
def test_the_two_spellings_of_parameters_say_the_same(
    played: list[Contest], weight: float, limit: float
) -> None:
    """READINGS B4: gamma^2 = w L^2, beta^2 = (1 + 1/w) L^2, and back."""
    gamma, beta = math.sqrt(weight) * limit, math.sqrt((1 + 1 / weight) * limit**2)
    _, limits = run(EloMMR(weight_limit=weight, sigma_limit=limit), played)
    _, paper = run(EloMMR(beta=beta, gamma=gamma), played)
    for name in ("rating", "deviation", "performance"):
        np.testing.assert_allclose(paper[name], limits[name], rtol=0, atol=ROUNDING)


def test_the_defaults_are_those_of_the_paper() -> None:
    """READINGS B4: w 0.2 and L 80 are beta 195.96 and gamma 35.78; the limit is a fixed point."""
    weight, limit = EloMMR().limits()
    assert math.sqrt(weight) * limit == pytest.approx(35.78, abs=0.005)
    assert math.sqrt((1 + 1 / weight) * limit**2) == pytest.approx(195.96, abs=0.005)
    # L is the deviation that many rounds lead to: 1/L^2 = 1/(L^2 + gamma^2) + 1/beta^2.
    state, _ = run(EloMMR(), [Contest((0, 1), (m % 2, 1 - m % 2)) for m in range(200)])
    np.testing.assert_allclose(state.column("deviation"), 80.0, rtol=0, atol=1e-9)
