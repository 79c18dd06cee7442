"""Phase one of Elo-MMR: closed forms, its limit, and its accuracy in large fields."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Floats, Ints
from equipoise.rating.elo_mmr import EloMMR
from rating.histories import (
    Entrants,
    dense,
    examples,
    needs_jit,
    newcomers,
    one_contest,
    performances,
    places,
    rate,
)

#: The documented tolerance of Elo-MMR, in rating points (READINGS B6).
DOCUMENTED = 1e-9

BAR = math.sqrt(3.0) / math.pi


def delta_bar(system: EloMMR, deviations: Floats) -> Floats:
    """Return delta_bar of players who enter a round with these deviations."""
    weight, limit = system.limits()
    return BAR * np.sqrt(deviations**2 + weight * limit**2 + (1 + 1 / weight) * limit**2)


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
    rank = np.array(ranks)
    better, tied = (rank[None, :] < rank[:, None]).sum(1), (rank[None, :] == rank[:, None]).sum(1)
    worse = count - better - tied
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


@examples(40)
@given(st.floats(0, 5000), st.floats(30, 350), st.booleans())
def test_equals_who_tie_perform_halfway_however_far_apart(
    gap: float, deviation: float, split_ties: bool
) -> None:
    """Halfway between the two, Q_i is flat to all digits but those of its tails (NUMERICS 2)."""
    field = Entrants([1000.0, 1000.0 + gap], [deviation] * 2, [0, 0])
    found = performances(EloMMR(split_ties=split_ties), field)
    np.testing.assert_allclose(found, 1000 + gap / 2, rtol=0, atol=DOCUMENTED)


@needs_jit
def test_the_estimate_converges_to_a_fixed_performance() -> None:
    """Theorem 2.1: against n i.i.d. opponents the estimate concentrates as n grows.

    A performance of 1850 by a player rated 1500 +- 350, 20 fields of each size. The error of the
    likeliest value falls as 1/sqrt(n), by 3.2 from one size to the next.
    """
    system, truth, rng = EloMMR(), 1850.0, np.random.default_rng(21)
    errors = []
    for n in (10, 100, 1000, 10_000):
        squares = []
        for _ in range(20):
            ratings = np.append(rng.normal(1500, 300, n), 1500.0)
            deviations = np.append(rng.uniform(50, 350, n), 350.0)
            shown = rng.logistic(ratings, delta_bar(system, deviations))
            shown[-1] = truth
            ranks = dense(-shown)
            trace = rate(system, newcomers(system, ratings, deviations), one_contest(ranks))
            squares.append((trace["performance"][-1] - truth) ** 2)
        errors.append(math.sqrt(np.mean(squares)))
    assert all(later < 0.6 * earlier for earlier, later in pairwise(errors))
    # The Fisher information of an opponent is about 1/(3 delta_bar^2) or less: 4 points at 10,000.
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


def misplaced(
    found: Floats, field: tuple[Floats, Floats, Ints], system: EloMMR, which: Ints
) -> list[int]:
    """Return the players of `which` whose Q_i has no zero within the tolerance of `found`.

    Q_i falls, so a change of sign there is proof. It is summed directly over all opponents
    (Algorithm 3), in numbers of 64 bits after the point where the machine has them.
    """
    ratings, deviations, rank = field
    mean = ratings.astype(np.longdouble)
    bar = delta_bar(system, deviations).astype(np.longdouble)
    share = 0.5 if system.split_ties else 1.0
    wrong = []
    for i in which:
        win = np.where(rank == rank[i], share, rank > rank[i])
        loss = np.where(rank == rank[i], share, rank < rank[i])
        signs = []
        for x in (found[i] - DOCUMENTED, found[i] + DOCUMENTED):
            raised = np.exp((np.longdouble(x) - mean) / bar)
            signs.append((win / (1 + raised) / bar).sum() - (loss / (1 + 1 / raised) / bar).sum())
        if not signs[0] > 0 > signs[1]:
            wrong.append(int(i))
    return wrong


@pytest.mark.parametrize(
    ("n", "spread", "seed"),
    [
        (60, 300.0, 1),
        (1000, 300.0, 2),
        (1000, 40.0, 3),
        pytest.param(5000, 350.0, 4, marks=needs_jit),
        pytest.param(5000, 1500.0, 5, marks=needs_jit),
    ],
)
@pytest.mark.parametrize("split_ties", [False, True])
def test_large_fields_are_solved_as_exactly_as_small_ones(
    n: int, spread: float, seed: int, split_ties: bool
) -> None:
    """Every place, against all opponents summed directly, to 1e-9 (READINGS B6, NUMERICS 2)."""
    system = EloMMR(split_ties=split_ties)
    ratings, deviations, ranks = field_of(n, spread, seed)
    found = performances(system, Entrants(ratings, deviations, ranks))
    first_of_place = np.unique(ranks, return_index=True)[1]
    assert len(first_of_place) < n, "nobody ties"
    assert misplaced(found, (ratings, deviations, ranks), system, first_of_place) == []
    np.testing.assert_array_equal(found, found[first_of_place][ranks])


@needs_jit
@pytest.mark.parametrize("narrow", [40.0, 90.0])
def test_narrow_performances_and_any_order_are_solved_exactly(narrow: float) -> None:
    """Narrow logistic curves mean many intervals; places that defy the ratings, far roots."""
    rng = np.random.default_rng(6)
    system = EloMMR(beta=narrow, gamma=5.0)
    ratings, deviations, _ = field_of(1000, 500.0, 7)
    for ranks in (dense(rng.integers(0, 400, 1000)), dense(ratings), dense(-ratings)):
        found = performances(system, Entrants(ratings, deviations, ranks))
        first_of_place = np.unique(ranks, return_index=True)[1]
        assert misplaced(found, (ratings, deviations, ranks), system, first_of_place) == []


@needs_jit
@pytest.mark.slow
def test_a_field_of_a_hundred_thousand_is_solved_as_exactly() -> None:
    """Two hundred places from the first to the last, to the same 1e-9."""
    system = EloMMR()
    ratings, deviations, ranks = field_of(100_000, 350.0, 8)
    found = performances(system, Entrants(ratings, deviations, ranks))
    first_of_place = np.unique(ranks, return_index=True)[1]
    which = first_of_place[np.linspace(0, len(first_of_place) - 1, 200).astype(np.int64)]
    assert misplaced(found, (ratings, deviations, ranks), system, which) == []
