"""Phase one of the Gaussian model: closed forms, and the intervals of the fast way."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from equipoise.arrays import Floats, Ints
from equipoise.numeric.sums import NODES, interval_points
from equipoise.rating.elo_mmr.direct import DIRECT_BELOW, solve_directly
from equipoise.rating.elo_mmr.elo_mmr import EloMMX
from equipoise.rating.elo_mmr.gaussian import (
    HALF_WIDTH,
    Scratch,
    _interpolate,
    gaussian_on_one_thread,
    intervals_of,
    is_sparse,
    set_up,
)
from equipoise.rating.elo_mmr.performance import order_by_place
from rating.fields import (
    DOCUMENTED,
    counts,
    delta,
    field_of,
    two_groups,
)
from rating.histories import (
    Entrants,
    dense,
    needs_jit,
    performances,
)


def balance_of_equals(better: int, tied: int, worse: int, split_ties: bool) -> float:
    """Return where normal terms of one argument balance: b hazard(z) + k z = w hazard(-z)."""
    share = 0.5 if split_ties else 0.0

    def balance(z: mpmath.mpf) -> mpmath.mpf:
        losing = mpmath.npdf(z) / (mpmath.erfc(z / mpmath.sqrt(2)) / 2)
        winning = mpmath.npdf(z) / (mpmath.erfc(-z / mpmath.sqrt(2)) / 2)
        own = 0 if split_ties else tied * z
        return (better + share * tied) * losing + own - (worse + share * tied) * winning

    return float(mpmath.findroot(balance, (-8, 8), solver="anderson", tol=1e-25))


@pytest.mark.parametrize("split_ties", [False, True])
@pytest.mark.parametrize("n", [2, 10, DIRECT_BELOW - 1, DIRECT_BELOW, DIRECT_BELOW + 1, 400])
def test_equals_of_the_gaussian_model_balance_where_one_argument_does(
    n: int, split_ties: bool
) -> None:
    """All terms of Theorem 3.2 have one argument again: a root of one equation, by mpmath.

    On both sides of the size from which fields are no longer summed directly. The places are a
    few singles, a tie of half the field, and pairs.
    """
    pairs = (np.arange(n - n // 4 - n // 2) + 2) // 2
    ranks = dense(np.concatenate([np.arange(n // 4), np.full(n // 2, n), n + pairs]))
    system = EloMMX(split_ties=split_ties, rate_all_ties=True)
    found = performances(system, Entrants([1500.0] * n, [350.0] * n, ranks.tolist()))
    every = set(zip(*(column.tolist() for column in counts(ranks)), strict=True))
    with mpmath.workdps(30):
        roots = {one: balance_of_equals(*one, split_ties) for one in every}
    scale = delta(system, np.full(n, 350.0))[0]
    expected = [
        1500 + scale * roots[one]
        for one in zip(*(column.tolist() for column in counts(ranks)), strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=DOCUMENTED)


def test_the_winner_of_a_first_duel_performs_where_hazard_and_distance_agree() -> None:
    """The smallest Gaussian contest: hazard(-z) = z, at z = 0.506054 (worked out by mpmath)."""
    assert balance_of_equals(0, 1, 1, split_ties=False) == pytest.approx(0.506054, abs=5e-7)
    gain = 0.506054 * math.sqrt(162_180.0)
    found = performances(EloMMX(), Entrants([1500.0] * 2, [350.0] * 2, [0, 1]))
    np.testing.assert_allclose(found, [1500 + gain, 1500 - gain], rtol=0, atol=5e-7 * 403)


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


@pytest.mark.parametrize(
    ("n", "spread"),
    [
        (200, 300.0),
        pytest.param(1000, 40.0, marks=needs_jit),
        pytest.param(1000, 1500.0, marks=needs_jit),
    ],
)
@pytest.mark.parametrize("split_ties", [False, True])
def test_intervals_hold_the_roots_and_no_more(n: int, spread: float, split_ties: bool) -> None:
    """Every root lies in the interval it is looked for in; an interval without roots is left out.

    There are as many as the range of the roots needs, counted in widths, and one more.
    """
    ratings, slopes, places_ = equations(*field_of(n, spread, 15))
    contest = set_up(ratings, slopes, places_, split_ties)
    assert not is_sparse(contest)
    assert contest.width == pytest.approx(2 * HALF_WIDTH / slopes.max(), rel=1e-15)
    found = intervals_of(contest)
    assert found.first[0] == 0
    assert found.first[-1] == len(places_) - 1
    assert np.all(np.diff(found.first) > 0)
    assert np.all(np.diff(found.low) <= -contest.width * (1 - 1e-12))
    roots, _ = solve_directly(ratings, slopes, places_, split_ties, True)
    interval = np.repeat(np.arange(len(found.low)), np.diff(found.first))
    depth = (roots - contest.centre - found.low[interval]) / contest.width
    # What rounding may put a root outside of its interval (elo_mmr_gaussian).
    assert np.all((depth > -1e-6) & (depth < 1 + 1e-6))
    assert len(found.low) <= np.ptp(roots) / contest.width + 2


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
        direct, _ = solve_directly(moved, slopes, places_, False, True)
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
        direct, _ = solve_directly(ratings, slopes, places_, split_ties, True)
        assert residual < 0
        np.testing.assert_array_equal(found, direct)


@needs_jit
def test_a_large_contest_is_invariant_under_scale_direction_and_order() -> None:
    """Intervals move with the scale: performances times 3 and shifted, mirrored, or permuted."""
    ratings, deviations, ranks = field_of(3000, 300.0, 17)
    rng = np.random.default_rng(18)
    plain = EloMMX(beta=200.0, gamma=40.0)
    found = performances(plain, Entrants(ratings, deviations, ranks))
    scaled = performances(
        EloMMX(beta=600.0, gamma=120.0), Entrants(3 * ratings - 700, 3 * deviations, ranks)
    )
    np.testing.assert_allclose(scaled, 3 * found - 700, rtol=0, atol=3 * DOCUMENTED)
    mirrored = performances(plain, Entrants(-ratings, deviations, ranks.max() - ranks))
    np.testing.assert_allclose(mirrored, -found, rtol=0, atol=DOCUMENTED)
    order = rng.permutation(len(ranks))
    permuted = performances(plain, Entrants(ratings[order], deviations[order], ranks[order]))
    np.testing.assert_allclose(permuted, found[order], rtol=0, atol=DOCUMENTED)


@pytest.mark.parametrize("off", [0.0, 1e-14, -1e-13, 1e-11, 1e-8])
def test_next_to_a_node_the_slope_keeps_its_digits(off: float) -> None:
    """A cubic is its own interpolant; its slope is known. The barycentric one divides 0 by 0 there.

    A step aside of 1e-6 widths costs as much of the slope, which is all that a search needs.
    """
    width = 600.0
    scratch = Scratch(*np.empty((5, NODES)))
    interval_points(width, scratch.nodes)
    scratch.values[:] = (scratch.nodes / width) ** 3 - scratch.nodes / width
    y = float(scratch.nodes[9]) + off * width
    value, slope = _interpolate(y, width, scratch)
    assert value == pytest.approx((y / width) ** 3 - y / width, abs=1e-14)
    assert slope * width == pytest.approx(3 * (y / width) ** 2 - 1, rel=1e-4)
