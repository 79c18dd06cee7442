"""TopCoder's system: examples by hand, the slow reference, what it keeps and what not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats, Ints
from equipoise.rating.systems.topcoder import TopCoder
from rating.histories import (
    Contest,
    Trace,
    contests,
    dense,
    history_of,
    one_contest,
    rate,
    run,
    standing,
)
from reference.topcoder import Player, SlowTopCoder

# Rating points; the documented tolerance. Both compute the same formulas.
TOLERANCE = 1e-9


def one(
    system: TopCoder,
    ratings: Sequence[float] | Floats,
    volatilities: Sequence[float] | Floats | float,
    ranks: Sequence[int],
) -> Trace:
    """Rate the first contest of players who stand like this."""
    state = standing(system, rating=ratings, deviation=volatilities)
    return rate(system, state, one_contest(ranks))


# --- by hand -------------------------------------------------------------------------------------


def test_a_duel_of_newcomers_by_hand() -> None:
    """C = 350, e/n = 1/2, a/n = 1/4: one quartile, 0.6745 C, of which w/(1 + w) = 0.6."""
    trace = one(TopCoder(), [1500.0, 1500.0], 350.0, [0, 1])
    apart = 350.0 * 0.6744897501960817
    np.testing.assert_allclose(trace["performance"], [1500 + apart, 1500 - apart], atol=1e-10)
    np.testing.assert_allclose(
        trace["rating"], [1500 + 0.6 * apart, 1500 - 0.6 * apart], atol=1e-10
    )
    volatility = math.sqrt((0.6 * apart) ** 2 / 1.5 + 350.0**2 / 2.5)
    np.testing.assert_allclose(trace["deviation"], volatility, atol=1e-10)


@pytest.mark.parametrize(("contest", "cap"), [(1, 900.0), (2, 650.0), (5, 400.0), (99, 165.0)])
def test_no_change_passes_the_cap(contest: int, cap: float) -> None:
    """[TC]_: 150 + 1500/(k + 1) in the k-th contest, which an outsider's win reaches."""
    system = TopCoder()
    ratings = [-9_000.0, *[1500.0] * 200]
    state = standing(system, rating=ratings, deviation=300.0, matches=contest - 1)
    trace = rate(system, state, one_contest(list(range(201))))
    assert trace["rating"][0] - ratings[0] == pytest.approx(cap, rel=1e-12)
    # The performance and the volatility are what they would be without it.
    assert trace["performance"][0] - ratings[0] > 2 * cap
    assert trace["deviation"][0] > 300.0


def test_high_ratings_move_less_from_2000_and_from_2500_on() -> None:
    """[TC]_: a performance weighs 0.9 and 0.8 times as much; the same contest at three heights.

    So the zero of the scale is not arbitrary, unless the two bounds move with it.
    """
    moved = {}
    for height in (1999.0, 2000.0, 2499.0, 2500.0, 6500.0):
        trace = one(TopCoder(), [height, height], 350.0, [0, 1])
        moved[height] = trace["rating"][0] - height
        along = TopCoder(high_rating=height + 500, top_rating=height + 1000)
        trace = one(along, [height, height], 350.0, [0, 1])
        assert trace["rating"][0] - height == pytest.approx(moved[1999.0], abs=1e-9)
    apart = 350.0 * 0.6744897501960817
    for height, factor in ((1999.0, 1.0), (2000.0, 0.9), (2499.0, 0.9), (2500.0, 0.8)):
        w = 1.5 * factor
        assert moved[height] == pytest.approx(apart * w / (1 + w), abs=1e-9)
    assert moved[6500.0] == pytest.approx(moved[2500.0], abs=1e-9)


def test_the_chance_to_win_is_that_of_two_normal_performances() -> None:
    """READINGS B12: Phi((mu_i - mu_j)/sqrt(sigma_i^2 + sigma_j^2))."""
    pairs = TopCoder().outlook(np.array([1600.0, 1500.0]), np.array([300.0, 400.0])).pairs()
    assert pairs[0, 1] == pytest.approx(NormalDist().cdf(100 / 500), abs=1e-15)


# --- the slow reference --------------------------------------------------------------------------


@examples(200)
@given(
    contests(timed=None, weighted=True, capped=True, max_contests=8),
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
    st.sampled_from([800.0, 1500.0, 1990.0, 2490.0]),
    st.booleans(),
)
def test_every_rating_equals_that_of_the_slow_reference(
    played: list[Contest], noob: float, limit: float, initial: float, rate_all_ties: bool
) -> None:
    """Duels, ties, weights, caps, high ratings, ceilings, contests that are skipped (B7, B8)."""
    options = {
        "weight_noob": noob,
        "weight_limit": limit,
        "initial_rating": initial,
        "rate_all_ties": rate_all_ties,
    }
    slow = SlowTopCoder(**options)
    state, trace = run(TopCoder(**options), played)
    start = 0
    for contest in played:
        ceiling = math.inf if contest.ceiling is None else contest.ceiling
        done = slow.rate(contest.players, contest.ranks, contest.weight, ceiling)
        rows = slice(start, start + len(contest.players))
        for name, column in trace.items():
            expected = getattr(done, name) if done else math.nan
            np.testing.assert_allclose(column[rows], expected, rtol=0, atol=TOLERANCE, err_msg=name)
        start = rows.stop
    for row in range(state.players):
        player = slow.player(row)
        assert state.column("rating")[row] == pytest.approx(player.rating, abs=TOLERANCE)
        assert state.column("deviation")[row] == pytest.approx(player.volatility, abs=TOLERANCE)
        assert state.column("matches")[row] == player.contests


def random_field(n: int, spread: float, seed: int) -> tuple[Floats, Floats, Ints]:
    """Return (ratings, volatilities, ranks), many newcomers, many ties."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(1500, spread, n)
    volatilities = np.exp(rng.uniform(math.log(40), math.log(900), n))
    newcomers = rng.random(n) < 0.2
    ratings[newcomers], volatilities[newcomers] = 1500.0, 350.0
    shown = rng.normal(ratings, volatilities)
    ranks = dense(-np.where(rng.random(n) < 0.5, np.round(shown, -2), np.round(shown)))
    return ratings, volatilities, ranks


@pytest.mark.parametrize(
    ("n", "spread"), [(31, 300.0), (32, 300.0), (33, 1e6), (90, 300.0), (400, 300.0)]
)
def test_fields_with_and_without_waves_equal_the_slow_reference(n: int, spread: float) -> None:
    """Small and sparse fields are summed directly, others by waves."""
    ratings, volatilities, ranks = random_field(n, spread, seed=n)
    known = zip(ratings.tolist(), volatilities.tolist(), strict=True)
    slow = SlowTopCoder(players={i: Player(*values) for i, values in enumerate(known)})
    done = slow.rate(range(n), ranks.tolist())
    assert done is not None
    trace = one(TopCoder(), ratings, volatilities, ranks.tolist())
    for name, column in trace.items():
        np.testing.assert_allclose(
            column, getattr(done, name), rtol=4e-16, atol=TOLERANCE, err_msg=name
        )


# --- what it keeps, and what it does not ---------------------------------------------------------


def test_no_surprise_for_ever_leaves_a_positive_volatility() -> None:
    """Draws of equals shrink it by sqrt(1 + w) each; at 1e-6 points it is held."""
    history = history_of([Contest((0, 1), (0, 0))] * 300)
    system = TopCoder()
    state = system.initial(2)
    system.run(state, history, 0, 300)
    assert state.column("deviation").tolist() == [1e-6, 1e-6]
    trace = rate(system, state, history_of([Contest((0, 1), (0, 1))]))
    assert np.all(np.isfinite(trace["rating"]))
