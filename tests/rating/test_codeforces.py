"""Codeforces' system: published numbers, examples by hand, the slow reference, invariants."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats, Ints
from equipoise.rating.systems.codeforces import Codeforces
from rating.histories import (
    Contest,
    Trace,
    contests,
    dense,
    needs_jit,
    one_contest,
    rate,
    run,
    standing,
)
from reference.codeforces import SlowCodeforces

# Rating points; the documented tolerance. Both solve the same equations.
TOLERANCE = 1e-9


def one(system: Codeforces, ratings: Sequence[float] | Floats, ranks: Sequence[int]) -> Trace:
    """Rate one contest of players at these ratings."""
    return rate(system, standing(system, rating=ratings), one_contest(ranks))


# --- published, and by hand --------------------------------------------------------------------


def test_a_duel_of_newcomers_by_hand() -> None:
    """s = 3/2 for both; 2/(1 + e^y) = sqrt(r s) - 1/2 at y = (x - 1500) ln(10)/400, half of it."""
    trace = one(Codeforces(), [1500.0, 1500.0], [0, 1])
    for i, r in enumerate((1.0, 2.0)):
        y = math.log(2.0 / (math.sqrt(1.5 * r) - 0.5) - 1.0)
        performance = 1500.0 + 400.0 / math.log(10.0) * y
        assert trace["performance"][i] == pytest.approx(performance, abs=1e-10)
        assert trace["rating"][i] == pytest.approx((1500.0 + performance) / 2, abs=1e-10)
    # The geometric mean lies nearer to the better place: the winner gains more than was lost.
    assert trace["rating"].sum() > 3000.0


def test_deviations_stay_as_they_began() -> None:
    """READINGS B12: deviations play no part; those after any contest are the initial one."""
    for deviation in (350.0, 20.0):
        state, trace = run(Codeforces(initial_deviation=deviation), [Contest((0, 1, 2), (0, 1, 2))])
        assert trace["deviation"].tolist() == [deviation] * 3
        assert trace["deviation_before"].tolist() == [deviation] * 3
    played = run(Codeforces(initial_deviation=20.0), [Contest((0, 1, 2), (0, 1, 2))])[1]
    np.testing.assert_array_equal(played["rating"], trace["rating"])
    assert state.players == 3


# --- the slow reference --------------------------------------------------------------------------


@examples(200)
@given(
    contests(timed=None, weighted=True, capped=True, max_contests=8),
    st.floats(20.0, 900.0),
    st.floats(0.05, 20.0),
    st.booleans(),
)
def test_every_rating_equals_that_of_the_slow_reference(
    played: list[Contest], beta: float, weight: float, rate_all_ties: bool
) -> None:
    """Duels, ties, weights, contests that are skipped (B7, B12), ceilings (B8)."""
    options = {"beta": beta, "weight": weight, "rate_all_ties": rate_all_ties}
    slow = SlowCodeforces(**options)
    state, trace = run(Codeforces(**options), played)
    start = 0
    for contest in played:
        ceiling = math.inf if contest.ceiling is None else contest.ceiling
        done = slow.rate(contest.players, contest.ranks, contest.weight, ceiling)
        rows = slice(start, start + len(contest.players))
        for name in ("expected", "rating_before", "rating", "performance"):
            expected = getattr(done, name) if done else math.nan
            np.testing.assert_allclose(trace[name][rows], expected, rtol=0, atol=TOLERANCE)
        start = rows.stop
    for row, rating in enumerate(state.column("rating")):
        assert rating == pytest.approx(slow.rating(row), abs=TOLERANCE)


def random_field(n: int, spread: float, seed: int) -> tuple[Floats, Ints]:
    """Return (ratings, ranks), many newcomers, many ties."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(1500, spread, n)
    ratings[rng.random(n) < 0.2] = 1500.0
    shown = rng.logistic(ratings, 150)
    return ratings, dense(-np.where(rng.random(n) < 0.5, np.round(shown, -2), np.round(shown)))


@pytest.mark.parametrize(
    ("n", "spread", "beta"),
    [
        (49, 300.0, 315.0),
        (50, 300.0, 315.0),
        (51, 300.0, 20.0),
        (60, 1e6, 315.0),  # sparse: more intervals than a series is worth
        pytest.param(400, 300.0, 65.0, marks=needs_jit),
    ],
)
def test_fields_on_both_sides_of_the_series_equal_the_slow_reference(
    n: int, spread: float, beta: float
) -> None:
    """Small and sparse fields are summed directly, others by series."""
    ratings, ranks = random_field(n, spread, seed=n)
    slow = SlowCodeforces(beta=beta, ratings=dict(enumerate(ratings.tolist())))
    done = slow.rate(range(n), ranks.tolist())
    assert done is not None
    trace = one(Codeforces(beta=beta), ratings, ranks.tolist())
    for name in ("rating", "performance", "expected"):
        np.testing.assert_allclose(
            trace[name], getattr(done, name), rtol=4e-16, atol=TOLERANCE, err_msg=name
        )
