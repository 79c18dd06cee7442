"""What Elo-MMR does not rate (READINGS B7), its parameters (READINGS B4), weights of ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.belief import SCALE_OF_DEVIATION
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from rating.histories import (
    Contest,
    assert_same_bits,
    contests,
    every_model,
    history_of,
    parameters,
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
    ],
)
def test_the_two_spellings_of_parameters_do_not_mix(mixed: dict[str, float]) -> None:
    """READINGS B4: wrong usage, also half of the paper's spelling."""
    with pytest.raises(InvalidParameterError, match="beta and gamma"):
        EloMMR(**mixed)


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


@every_model
@examples(60)
@given(
    contests(timed=True, weighted=True, capped=True),
    parameters(),
    st.sampled_from([0.01, 0.5, 3.0, 100.0]),
    st.sampled_from([-700.0, 0.0, 2500.0]),
)
def test_a_linear_change_of_scale_changes_results_likewise(
    model: type[EloMMRParameters],
    played: list[Contest],
    chosen: dict[str, float],
    factor: float,
    shift: float,
) -> None:
    """[EM]_ section 4.1: applied to all location and scale parameters, and to the outputs."""
    scaled = dict(chosen)
    for name in ("sigma_limit", "beta", "gamma", "initial_deviation"):
        if name in scaled:
            scaled[name] *= factor
    scaled["initial_rating"] = 1500 * factor + shift
    scaled["drift_per_day"] = chosen.get("drift_per_day", 0.0) * factor**2
    moved = [
        contest._replace(
            ceiling=None if contest.ceiling is None else contest.ceiling * factor + shift
        )
        for contest in played
    ]
    _, before = run(model(**chosen), played)
    _, after = run(model(**scaled), moved)
    # Rounding of numbers of size 1500 factor + |shift|, after six contests.
    tolerance = 1e-11 * (1500 * factor + abs(shift))
    for name in ("rating", "performance"):
        expected = before[name] * factor + shift
        np.testing.assert_allclose(after[name], expected, rtol=0, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(after["deviation"], before["deviation"] * factor, rtol=1e-12, atol=0)
    np.testing.assert_allclose(after["expected"], before["expected"], rtol=0, atol=1e-11)


# --- weights of a tie, w_l and w_v of footnote 2 of [EM]_ -------------------------------------


def tied_contests() -> History:
    """Return three contests of 7 with ties at the top, in the middle and at the end."""
    ranks = [[1, 1, 2, 3, 3, 4, 4], [1, 2, 2, 2, 3, 4, 4], [1, 1, 1, 2, 3, 3, 3]]
    players = list("abcdefg")
    return read_history(
        {
            "match": [match for match in range(3) for _ in players],
            "player": players * 3,
            "rank": [rank for row in ranks for rank in row],
        }
    )


def ratings_of(system: RatingSystem) -> np.ndarray:
    return replay(system, tied_contests()).ratings.rating


@every_model
def test_halves_are_split_ties(model):
    """[EM]_ footnote 2: in particular w_l = w_v = 1/2."""
    found = ratings_of(model(tie_loss=0.5, tie_win=0.5))
    assert np.allclose(found, ratings_of(model(split_ties=True)), rtol=0, atol=1e-8)


def test_ones_are_a_win_plus_a_loss():
    """For the logistic density f'/f is the loss plus the win; for the normal one it is not."""
    found = ratings_of(EloMMR(tie_loss=1.0, tie_win=1.0))
    assert np.allclose(found, ratings_of(EloMMR()), rtol=0, atol=1e-8)
    normal = ratings_of(EloMMX(tie_loss=1.0, tie_win=1.0))
    assert np.max(np.abs(normal - ratings_of(EloMMX()))) > 0.1


def test_performances_are_zeros_of_the_printed_sum():
    """Q of Theorem 3.2 with d = w_l l + w_v v, for the first contest of newcomers."""
    system = EloMMR(tie_loss=0.3, tie_win=0.8)
    trace = replay(system, tied_contests(), trace=True).trace
    weight, limit = system.limits()
    sigma2 = 350.0**2 + weight * limit**2
    bar = SCALE_OF_DEVIATION * np.sqrt(sigma2 + (1 + 1 / weight) * limit**2)
    rank = np.array([1, 1, 2, 3, 3, 4, 4])
    for i, p in enumerate(trace.columns["performance"][:7]):
        below = 1 / (1 + np.exp(-(p - 1500.0) / bar))
        terms = [
            0.3 * -below + 0.8 * (1 - below)
            if other == rank[i]
            else 1 - below
            if other > rank[i]
            else -below
            for other in rank
        ]
        assert sum(terms) == pytest.approx(0.0, abs=1e-9)
