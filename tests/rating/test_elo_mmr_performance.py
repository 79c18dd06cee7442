"""Phase one of both models: closed forms, and its accuracy in large fields."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats, Ints
from equipoise.numeric.sums import NODES, interval_points
from equipoise.rating.elo_mmr.direct import DIRECT_BELOW, solve_directly, ties_of
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
from equipoise.rating.elo_mmr.gaussian import gaussian_on_one_thread, is_sparse, set_up
from equipoise.rating.elo_mmr.performance import order_by_place
from rating.fields import (
    DOCUMENTED,
    Model,
    counts,
    delta,
    delta_bar,
    field_of,
    misplaced,
    two_groups,
)
from rating.histories import (
    Entrants,
    dense,
    every_model,
    needs_jit,
    performances,
    places,
)


@examples(60)
@given(st.integers(2, 60).flatmap(places), st.booleans())
def test_among_equals_the_performance_has_a_closed_form(ranks: list[int], split_ties: bool) -> None:
    """All terms of Theorem 3.2 have one argument, so tanh of it is a ratio of counts.

    With b players better, k tied (oneself included) and w worse, tanh z (b + w + 2k) = w - b,
    and z = (p - mu)/(2 delta_bar): p = mu + delta_bar ln((w + k)/(b + k)). Half ties have
    tanh z (b + w + k) = w - b: p = mu + delta_bar ln((2w + k)/(2b + k)).
    """
    system = EloMMR(split_ties=split_ties, rate_all_ties=True)
    count = len(ranks)
    better, tied, worse = counts(np.array(ranks))
    counted = 2 if split_ties else 1
    ratio = (counted * worse + tied) / (counted * better + tied)
    scale = delta_bar(system, np.full(count, 350.0))
    found = performances(system, Entrants([1500.0] * count, [350.0] * count, ranks))
    np.testing.assert_allclose(found, 1500 + scale * np.log(ratio), rtol=0, atol=DOCUMENTED)


@every_model
@examples(40)
@given(st.floats(0, 5000), st.floats(30, 350), st.booleans())
def test_equals_who_tie_perform_halfway_however_far_apart(
    model: Model, gap: float, deviation: float, split_ties: bool
) -> None:
    """Halfway between the two, Q_i is flat to all digits but those of its tails (NUMERICS 2)."""
    field = Entrants([1000.0, 1000.0 + gap], [deviation] * 2, [0, 0])
    found = performances(model(split_ties=split_ties), field)
    np.testing.assert_allclose(found, 1000 + gap / 2, rtol=0, atol=DOCUMENTED)


@every_model
@pytest.mark.parametrize(
    ("n", "spread", "seed"),
    [
        (DIRECT_BELOW - 1, 300.0, 9),
        (DIRECT_BELOW, 300.0, 9),
        (DIRECT_BELOW + 1, 300.0, 9),
        (60, 300.0, 1),
        (1000, 300.0, 2),
        (1000, 40.0, 3),
        pytest.param(5000, 350.0, 4, marks=[needs_jit, pytest.mark.nightly]),
        pytest.param(5000, 1500.0, 5, marks=[needs_jit, pytest.mark.slow]),
    ],
)
@pytest.mark.parametrize("split_ties", [False, True])
def test_large_fields_are_solved_as_exactly_as_small_ones(
    model: Model, n: int, spread: float, seed: int, split_ties: bool
) -> None:
    """Every place, against all opponents summed directly, to 1e-9 (READINGS B6, NUMERICS 2)."""
    system = model(split_ties=split_ties)
    ratings, deviations, ranks = field_of(n, spread, seed)
    found = performances(system, Entrants(ratings, deviations, ranks))
    first_of_place = np.unique(ranks, return_index=True)[1]
    assert len(first_of_place) < n, "nobody ties"
    assert misplaced(found, (ratings, deviations, ranks), system) == []
    np.testing.assert_array_equal(found, found[first_of_place][ranks])


@needs_jit
@every_model
@pytest.mark.parametrize("narrow", [40.0, 90.0])
def test_narrow_performances_and_any_order_are_solved_exactly(model: Model, narrow: float) -> None:
    """Narrow curves mean many intervals; places that defy the ratings, far roots."""
    rng = np.random.default_rng(6)
    system = model(beta=narrow, gamma=5.0)
    ratings, deviations, _ = field_of(1000, 500.0, 7)
    for ranks in (dense(rng.integers(0, 400, 1000)), dense(ratings), dense(-ratings)):
        found = performances(system, Entrants(ratings, deviations, ranks))
        assert misplaced(found, (ratings, deviations, ranks), system) == []


@needs_jit
@every_model
@pytest.mark.slow
@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_a_field_of_a_hundred_thousand_is_solved_as_exactly(model: Model, n: int) -> None:
    """Two hundred places from the first to the last, to the same 1e-9."""
    system = model()
    ratings, deviations, ranks = field_of(n, 350.0, 8)
    found = performances(system, Entrants(ratings, deviations, ranks))
    first_of_place = np.unique(ranks, return_index=True)[1]
    which = first_of_place[np.linspace(0, len(first_of_place) - 1, 200).astype(np.int64)]
    assert misplaced(found, (ratings, deviations, ranks), system, which) == []


@pytest.mark.parametrize(
    ("model", "n"), [(EloMMR, 30), (EloMMX, 30), pytest.param(EloMMX, 300, marks=needs_jit)]
)
@pytest.mark.parametrize("split_ties", [False, True])
def test_groups_fifty_thousand_points_apart_are_solved_exactly(
    model: Model, n: int, split_ties: bool
) -> None:
    """Whoever wins: the roots lie in one group, in the other, or in the gap between them.

    Large fields are for the Gaussian model alone: in such gaps the logistic Q is so flat that the
    rounding of its sums (NUMERICS 2) shows, 7e-9 points with 3,000 players.
    """
    system = model(split_ties=split_ties)
    ratings, deviations, orders = two_groups(n, 50_000.0)
    for kind, ranks in orders.items():
        found = performances(system, Entrants(ratings, deviations, ranks))
        assert misplaced(found, (ratings, deviations, ranks), system) == [], kind


@pytest.mark.parametrize("n", [120, pytest.param(2000, marks=needs_jit)])
@pytest.mark.parametrize("split_ties", [False, True])
def test_a_giant_tie_among_many_is_solved_exactly(n: int, split_ties: bool) -> None:
    """Three quarters of the field share one place, above it and below it are single players."""
    rng = np.random.default_rng(13)
    ratings, deviations, _ = field_of(n, 300.0, 14)
    ranks = dense(np.where(rng.random(n) < 0.75, 0, rng.permutation(n) - n // 3))
    for model in (EloMMR, EloMMX):
        system = model(split_ties=split_ties)
        found = performances(system, Entrants(ratings, deviations, ranks))
        assert misplaced(found, (ratings, deviations, ranks), system) == []


# --- the Gaussian model ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, DIRECT_BELOW - 1, DIRECT_BELOW, 300])
def test_who_all_tie_in_the_gaussian_model_perform_at_their_weighted_mean(n: int) -> None:
    """Every term of Q is -(x - mu_j)/delta_j^2: the mean of the ratings with weights 1/delta^2."""
    rng = np.random.default_rng(n)
    system = EloMMX(rate_all_ties=True)
    ratings, deviations = rng.normal(1500, 400, n), rng.uniform(30, 350, n)
    found = performances(system, Entrants(ratings, deviations, [0] * n))
    expected = np.average(ratings, weights=delta(system, deviations) ** -2.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=DOCUMENTED)


def equations(ratings: Floats, deviations: Floats, ranks: Ints) -> tuple[Floats, Floats, Ints]:
    """Return (ratings, 1/delta, places) in the order of the places, as kernels take them."""
    order, places_ = order_by_place(ranks)
    return ratings[order], 1 / delta(EloMMX(), deviations)[order], places_


@needs_jit
@pytest.mark.parametrize("node", [1, 7, NODES // 2, NODES - 2])
def test_a_root_on_a_node_is_as_exact_as_beside_it(node: int) -> None:
    """The interpolant has 1/distance to every node in it; a root is led onto one by bisection.

    The winner's rating moves until the winner's root, as a distance from the centre, is a node of
    its interval; there, and nearer and nearer to it, every root is the directly summed one.
    """
    ratings, slopes, _ = equations(*field_of(60, 300.0, 22))
    places_ = np.arange(61)
    points = np.empty(NODES)
    interval_points(1.0, points)

    def shown(rating: float) -> float:
        moved = ratings.copy()
        moved[0] = rating
        contest = set_up(moved, slopes, places_, False)
        assert not is_sparse(contest)
        found, _ = gaussian_on_one_thread(moved, slopes, places_, False)
        direct, _ = solve_directly(moved, slopes, places_, ties_of(False, True), True)
        np.testing.assert_allclose(found, direct, rtol=0, atol=DOCUMENTED)
        return (found[0] - contest.centre) / contest.width

    low, high = ratings[0] - 3000.0, ratings[0] + 3000.0
    target = math.floor(shown(low)) + 1 + points[node]
    assert shown(high) > target
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if shown(middle) < target else (low, middle)
    # A root is known to about 1e-13 of its size, and so is how near it came.
    assert shown(high) == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("split_ties", [False, True])
def test_sparse_fields_of_the_gaussian_model_are_summed_directly(split_ties: bool) -> None:
    """Few players, or a gap that would take more intervals than they save: the same bits."""
    few = field_of(DIRECT_BELOW - 1, 300.0, 16)
    ratings, deviations, orders = two_groups(30, 50_000.0)
    for field in (few, (ratings, deviations, orders["at random"])):
        ratings, slopes, places_ = equations(*field)
        assert is_sparse(set_up(ratings, slopes, places_, split_ties))
        found, residual = gaussian_on_one_thread(ratings, slopes, places_, split_ties)
        direct, _ = solve_directly(ratings, slopes, places_, ties_of(split_ties, True), True)
        assert residual < 0
        np.testing.assert_array_equal(found, direct)
