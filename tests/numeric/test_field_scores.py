"""Expected scores of everyone against everyone else, against the plain double loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.numeric.field_scores import DIRECT_BELOW, scores_against_field


def plain_scores(positions, slopes):
    """Return the sum over the others of logistic((x_i - x_j) slope_j), exactly rounded sums."""
    scores = []
    for i, x in enumerate(positions):
        # Beyond 700 scales the chance is 0 to 300 digits; NumPy would warn of the overflow.
        wins = 1.0 / (1.0 + np.exp(np.minimum(-(x - positions) * slopes, 700.0)))
        scores.append(math.fsum(np.delete(wins, i)))
    return scores


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
    ],
)
def test_scores_are_those_of_the_double_loop(n, spread, scales):
    """Truth is math.fsum; scores are differences of numbers up to n, each good to 1e-14 n."""
    rng = np.random.default_rng(n)
    positions = 1_500.0 + rng.normal(0.0, spread, n)
    slopes = 1.0 / rng.uniform(*scales, n)
    scores = scores_against_field(positions, slopes)
    assert scores == pytest.approx(plain_scores(positions, slopes), abs=1e-14 * n, rel=1e-13)


@pytest.mark.parametrize("n", [9, DIRECT_BELOW + 2])
def test_all_scores_sum_to_the_number_of_pairs(n):
    """With one curve for all, the chances of both sides of a pair sum to 1."""
    rng = np.random.default_rng(n)
    scores = scores_against_field(rng.normal(0.0, 300.0, n), np.full(n, 0.01))
    assert math.fsum(scores) == pytest.approx(n * (n - 1) / 2, rel=1e-13)
