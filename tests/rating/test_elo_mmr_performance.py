"""Phase one of Elo-MMR: closed forms, its limit, and its accuracy in large fields."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Floats, Ints
from equipoise.numeric.chebyshev import NODES, interval_points
from equipoise.rating.elo_mmr import EloMMR
from equipoise.rating.elo_mmr_direct import DIRECT_BELOW, solve_directly
from equipoise.rating.elo_mmr_gaussian import (
    HALF_WIDTH,
    gaussian_on_one_thread,
    intervals_of,
    is_sparse,
    set_up,
)
from equipoise.rating.elo_mmr_parameters import EloMMRParameters
from equipoise.rating.elo_mmr_performance import order_by_place
from equipoise.rating.elo_mmx import EloMMX
from rating.histories import (
    Contest,
    Entrants,
    dense,
    every_model,
    examples,
    needs_jit,
    newcomers,
    one_contest,
    performances,
    places,
    rate,
    run,
)
from reference.elo_mmr_arrays import gaussian_balance, hazards

#: The documented tolerance of Elo-MMR, in rating points (READINGS B6).
DOCUMENTED = 1e-9

BAR = math.sqrt(3.0) / math.pi

Model = type[EloMMRParameters]


def delta(system: EloMMRParameters, deviations: Floats) -> Floats:
    """Return delta of players who enter a round with these deviations."""
    weight, limit = system.limits()
    return np.sqrt(deviations**2 + weight * limit**2 + (1 + 1 / weight) * limit**2)


def delta_bar(system: EloMMRParameters, deviations: Floats) -> Floats:
    """Return delta_bar of the same."""
    return BAR * delta(system, deviations)


def counts(ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """Return how many did better than, as well as (oneself too) and worse than every player."""
    better = (ranks[None, :] < ranks[:, None]).sum(1)
    tied = (ranks[None, :] == ranks[:, None]).sum(1)
    return better, tied, len(ranks) - better - tied


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


def test_the_winner_of_a_first_duel_performs_at_delta_bar_ln_2_above() -> None:
    """The smallest contest by hand: 3 tanh z = 1, so z = atanh(1/3) = (ln 2)/2."""
    # delta^2 = 350^2 + gamma^2 + beta^2 = 122,500 + 1,280 + 38,400.
    gain = math.sqrt(3 * 162_180.0) / math.pi * math.log(2)
    assert gain == pytest.approx(153.9, abs=0.05)
    found = performances(EloMMR(), Entrants([1500.0] * 2, [350.0] * 2, [0, 1]))
    np.testing.assert_allclose(found, [1500 + gain, 1500 - gain], rtol=0, atol=DOCUMENTED)


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


@pytest.mark.parametrize("n", [2, 3, DIRECT_BELOW - 1, DIRECT_BELOW, 300])
def test_who_all_tie_in_the_gaussian_model_perform_at_their_weighted_mean(n: int) -> None:
    """Every term of Q is -(x - mu_j)/delta_j^2: the mean of the ratings with weights 1/delta^2."""
    rng = np.random.default_rng(n)
    system = EloMMX(rate_all_ties=True)
    ratings, deviations = rng.normal(1500, 400, n), rng.uniform(30, 350, n)
    found = performances(system, Entrants(ratings, deviations, [0] * n))
    expected = np.average(ratings, weights=delta(system, deviations) ** -2.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=DOCUMENTED)


@needs_jit
@every_model
def test_the_estimate_converges_to_a_fixed_performance(model: Model) -> None:
    """Theorem 2.1: against n i.i.d. opponents the estimate concentrates as n grows.

    A performance of 1850 by a player rated 1500 +- 350, 20 fields of each size. The error of the
    likeliest value falls as 1/sqrt(n), by 3.2 from one size to the next.
    """
    system, truth, rng = model(), 1850.0, np.random.default_rng(21)
    errors = []
    for n in (10, 100, 1000, 10_000):
        squares = []
        for _ in range(20):
            ratings = np.append(rng.normal(1500, 300, n), 1500.0)
            deviations = np.append(rng.uniform(50, 350, n), 350.0)
            if system.gaussian:
                shown = rng.normal(ratings, delta(system, deviations))
            else:
                shown = rng.logistic(ratings, delta_bar(system, deviations))
            shown[-1] = truth
            ranks = dense(-shown)
            trace = rate(system, newcomers(system, ratings, deviations), one_contest(ranks))
            squares.append((trace["performance"][-1] - truth) ** 2)
        errors.append(math.sqrt(np.mean(squares)))
    assert all(later < 0.6 * earlier for earlier, later in pairwise(errors))
    # The Fisher information of an opponent is about 1/(3 delta_bar^2) or less: 4 points at 10,000.
    # Of a normal one it is phi^2/(Phi (1 - Phi))/delta^2, 2/(pi delta^2) at the most: the same.
    assert errors[-1] < 8.0


def field_of(n: int, spread: float, seed: int) -> tuple[Floats, Floats, Ints]:
    """Return (ratings, deviations, ranks) of n players, many of them tied, some far outliers."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(1500, spread, n)
    ratings[rng.integers(0, n, n // 100)] += rng.normal(0, 4 * spread, n // 100)
    deviations = np.exp(rng.uniform(math.log(30), math.log(350), n))
    shown = rng.logistic(ratings, 150)
    # Solved problems and penalties: half the field shares a coarse score, the rest a fine one.
    score = np.where(rng.random(n) < 0.5, np.round(shown, -2), np.round(shown))
    return ratings, deviations, dense(-score)


def logistic_q(x: Floats, field: tuple[Floats, Floats, Ints], i: int, split_ties: bool) -> Floats:
    """Return Q_i of the logistic model at x, shape (k,), times delta_bar over delta.

    field : ratings, delta, ranks. Summed over all opponents (Algorithm 3).
    """
    mean, scale, rank = field
    share = 0.5 if split_ties else 1.0
    win = np.where(rank == rank[i], share, rank > rank[i])
    loss = np.where(rank == rank[i], share, rank < rank[i])
    raised = np.exp((x[:, None] - mean) / (BAR * scale))
    return (win / (1 + raised) / scale).sum(axis=1) - (loss / (1 + 1 / raised) / scale).sum(axis=1)


def gaussian_q(x: Floats, field: tuple[Floats, Floats, Ints], i: int, split_ties: bool) -> Floats:
    """Return Q_i of the Gaussian model at x, likewise (Theorem 3.2)."""
    mean, scale, rank = field
    order = np.sign(rank - rank[i])
    balance, _ = gaussian_balance(x, mean, scale, order)
    if split_ties:
        own = order == 0
        z = (x[:, None] - mean[own]) / scale[own]
        # Half a win and half a loss instead of the term -z that a tie is.
        balance += ((0.5 * (hazards(z) - hazards(-z)) - z) / scale[own]).sum(axis=1)
    return -balance


Q: dict[Model, Callable[..., Floats]] = {EloMMR: logistic_q, EloMMX: gaussian_q}


def misplaced(
    found: Floats,
    field: tuple[Floats, Floats, Ints],
    system: EloMMRParameters,
    which: Ints | None = None,
) -> list[int]:
    """Return the players of `which` whose Q_i has no zero within the tolerance of `found`.

    Q_i falls, so a change of sign there is proof. It is summed directly over all opponents, in
    numbers of 64 bits after the point where the machine has them.

    which : the first of every place if None
    """
    ratings, deviations, rank = field
    precise = ratings.astype(np.longdouble), delta(system, deviations).astype(np.longdouble), rank
    wrong = []
    for i in np.unique(rank, return_index=True)[1] if which is None else which:
        around = np.array([found[i] - DOCUMENTED, found[i] + DOCUMENTED], dtype=np.longdouble)
        above, below = Q[type(system)](around, precise, i, system.split_ties)
        if not above > 0 > below:
            wrong.append(int(i))
    return wrong


def test_the_hazard_behind_it_is_that_of_mpmath() -> None:
    """What the fast code is held against, inside its table and beyond both ends."""
    z = np.random.default_rng(19).uniform(-40, 60, 1000).astype(np.longdouble)
    # What the series leave, 8e-18 of the local size, or the rounding of numbers and table.
    precision = max(3e-17, 8 * float(np.finfo(np.longdouble).eps))
    with mpmath.workdps(40):
        for at, found in zip(z.tolist(), hazards(z), strict=True):
            x = mpmath.mpf(str(at))
            exact = 2 * mpmath.npdf(x) / mpmath.erfc(x / mpmath.sqrt(2))
            assert abs(mpmath.mpf(str(found)) - exact) <= precision * max(1, exact), at


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
        pytest.param(5000, 350.0, 4, marks=needs_jit),
        pytest.param(5000, 1500.0, 5, marks=needs_jit),
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
@pytest.mark.parametrize("n", [20_000, 100_000])
def test_a_field_of_a_hundred_thousand_is_solved_as_exactly(model: Model, n: int) -> None:
    """Two hundred places from the first to the last, to the same 1e-9."""
    system = model()
    ratings, deviations, ranks = field_of(n, 350.0, 8)
    found = performances(system, Entrants(ratings, deviations, ranks))
    first_of_place = np.unique(ranks, return_index=True)[1]
    which = first_of_place[np.linspace(0, len(first_of_place) - 1, 200).astype(np.int64)]
    assert misplaced(found, (ratings, deviations, ranks), system, which) == []


def two_groups(n: int, apart: float) -> tuple[Floats, Floats, dict[str, Ints]]:
    """Return (ratings, deviations, ranks by kind) of two groups of n players far apart."""
    rng = np.random.default_rng(12)
    ratings = np.concatenate([rng.normal(0, 300, n), rng.normal(apart, 300, n)])
    ranks = {
        "as expected": dense(-ratings),
        "upside down": dense(ratings),
        "at random": dense(rng.integers(0, 2 * n, 2 * n)),
        "all tied but the ends": np.concatenate([[0], np.ones(2 * n - 2, np.int64), [2]]),
    }
    return ratings, rng.uniform(30, 350, 2 * n), ranks


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


# --- the intervals of the Gaussian model -----------------------------------------------------


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


@every_model
@pytest.mark.parametrize("opponents", [1, 10, 98])
def test_few_opponents_count_among_newcomers_and_veterans(model: Model, opponents: int) -> None:
    """Newcomers are all equally near to one another (READINGS B6); who is far away does not count.

    A hundred newcomers perform as they do among themselves, whatever ten others 5,000 points above
    them do.
    """
    rank = np.repeat(np.arange(50), 2)
    _, alone = run(model(), [Contest(tuple(range(100)), tuple(rank.tolist()))])
    ratings = np.concatenate([np.full(100, 1500.0), 6500.0 + 100 * np.arange(10)])
    ranks = dense(np.concatenate([3 * rank + 1, np.arange(10) * 15]))
    deviations = np.full(110, 350.0)
    system = model(opponents=opponents)
    found = rate(system, newcomers(system, ratings, deviations), one_contest(ranks))["performance"]
    np.testing.assert_allclose(found[:100], alone["performance"], rtol=0, atol=DOCUMENTED)
