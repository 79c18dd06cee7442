"""Pairs in n log n steps give what all pairs give, and SciPy's correlations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Floats
from equipoise.evaluate.rating_comparison import (
    PairOrder,
    inversions,
    mean_ranks,
    pair_order,
    pearson,
    spearman,
)

pytestmark = pytest.mark.no_kernel

COLUMNS = st.integers(0, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-4, 4), min_size=n, max_size=n) for _ in "xy"))
)


def every_pair(first: Floats, second: Floats) -> PairOrder:
    """Return the same by looking at every pair."""
    found = dict.fromkeys(PairOrder._fields, 0)
    for i in range(len(first)):
        for j in range(i):
            one, other = np.sign(first[i] - first[j]), np.sign(second[i] - second[j])
            if one and other:
                found["same" if one == other else "reverse"] += 1
            elif one or other:
                found["tied_second" if one else "tied_first"] += 1
            else:
                found["tied_both"] += 1
    return PairOrder(**found)


@given(COLUMNS)
def test_pairs_are_those_of_looking_at_every_pair(columns: tuple[list[int], list[int]]) -> None:
    first, second = (np.array(one, dtype=np.float64) for one in columns)
    found = pair_order(first, second)
    assert found == every_pair(first, second)
    assert found.pairs == len(first) * (len(first) - 1) // 2


@given(st.lists(st.integers(0, 2**40), max_size=30))
def test_inversions(ranks: list[int]) -> None:
    expected = sum(ranks[i] > ranks[j] for j in range(len(ranks)) for i in range(j))
    assert inversions(np.array(ranks, dtype=np.int64)) == expected


def test_the_correlations_are_those_of_scipy() -> None:
    """With ties."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    first = rng.integers(0, 40, 300).astype(np.float64)
    second = np.round(0.5 * first + rng.normal(0, 6, 300))
    assert pair_order(first, second).tau == pytest.approx(stats.kendalltau(first, second)[0])
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second)[0])
    assert pearson(first, second) == pytest.approx(stats.pearsonr(first, second)[0])


def test_equal_numbers_share_the_mean_rank() -> None:
    assert mean_ranks(np.array([5.0, 1.0, 5.0, 9.0])).tolist() == [2.5, 1.0, 2.5, 4.0]


def test_columns_of_equal_numbers_have_no_correlation() -> None:
    equal, other = np.full(3, 0.1), np.array([1.0, 2.0, 3.0])
    assert math.isnan(pearson(equal, other))
    assert math.isnan(spearman(other, equal))
    assert math.isnan(pair_order(equal, other).tau)
    assert math.isnan(pearson(other[:1], other[:1]))


def test_large_numbers_have_a_correlation() -> None:
    large = np.array([1e200, 2e200, 4e200])
    assert pearson(large, large) == pytest.approx(1.0)
