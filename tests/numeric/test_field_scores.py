"""Expected scores of everyone against everyone else, against the plain double loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.numeric.sums import (
    DIRECT_BELOW,
    normal_scores_against_field,
    scores_against_field,
    weighted_scores,
)


def logistic(z):
    """Return 1/(1 + e^-z)."""
    # Beyond 700 scales the chance is 0 to 300 digits; NumPy would warn of the overflow.
    return 1.0 / (1.0 + np.exp(np.minimum(-z, 700.0)))


def normal(z):
    """Return P(Z <= z) by the C library's erfc."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in z.tolist()])


def plain_scores(positions, slopes, curve):
    """Return the sum over the others of curve((x_i - x_j) slope_j), exactly rounded sums."""
    scores = []
    for i, x in enumerate(positions):
        wins = curve((x - positions) * slopes)
        scores.append(math.fsum(np.delete(wins, i)))
    return scores


both_curves = pytest.mark.parametrize(
    ("scores_of", "curve"),
    [(scores_against_field, logistic), (normal_scores_against_field, normal)],
    ids=["logistic", "normal"],
)


@both_curves
@pytest.mark.parametrize(
    ("n", "spread", "scales"),
    [
        (1, 0.0, (100.0, 100.0)),
        (2, 300.0, (50.0, 200.0)),
        (7, 300.0, (50.0, 200.0)),
        (DIRECT_BELOW - 1, 300.0, (50.0, 200.0)),
        (DIRECT_BELOW, 300.0, (50.0, 200.0)),
        (DIRECT_BELOW + 3, 300.0, (100.0, 100.0)),
        (DIRECT_BELOW + 3, 0.0, (100.0, 100.0)),  # all at one place
        (DIRECT_BELOW + 3, 1e5, (1.0, 2.0)),  # more intervals than players
        (600, 300.0, (100.0, 400.0)),  # several intervals of either curve
        (600, 30.0, (100.0, 400.0)),
    ],
)
def test_scores_are_those_of_the_double_loop(scores_of, curve, n, spread, scales):
    """Truth is math.fsum; scores are differences of numbers up to n, each good to 1e-14 n."""
    rng = np.random.default_rng(n)
    positions = 1_500.0 + rng.normal(0.0, spread, n)
    slopes = 1.0 / rng.uniform(*scales, n)
    scores = scores_of(positions, slopes)
    expected = plain_scores(positions, slopes, curve)
    assert scores == pytest.approx(expected, abs=1e-14 * n, rel=1e-13)


@both_curves
def test_an_outlier_among_many_has_the_score_of_the_double_loop(scores_of, curve):
    """Twenty scales away from everybody, above or below: the last interval counts but one."""
    rng = np.random.default_rng(20)
    slopes = 1.0 / rng.uniform(100.0, 200.0, 400)
    for outlier in (-4_000.0, 4_000.0):
        positions = np.append(rng.normal(0.0, 200.0, 399), outlier)
        expected = plain_scores(positions, slopes, curve)
        assert scores_of(positions, slopes) == pytest.approx(expected, abs=4e-12, rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, DIRECT_BELOW - 1, DIRECT_BELOW, 700])
def test_weighted_scores_and_their_slopes_are_those_of_the_double_loop(n):
    """To 1e-11 of the sum of the weights: what the series leave, and less of the derivative."""
    rng = np.random.default_rng(n)
    positions, weights = rng.normal(0, 300, n), rng.uniform(0.1, 1.0, n)
    slopes = 1.0 / rng.uniform(100, 300, n)
    scores, falls = weighted_scores(positions, slopes, weights)
    for i, x in enumerate(positions):
        p = np.delete(logistic((x - positions) * slopes), i)
        w, b = np.delete(weights, i), np.delete(slopes, i)
        assert scores[i] == pytest.approx(math.fsum(w * p), abs=1e-11 * n)
        assert falls[i] == pytest.approx(math.fsum(w * b * p * (1.0 - p)), abs=1e-12 * n)
