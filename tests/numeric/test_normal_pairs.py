"""How many are expected above everyone, against the plain double loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.numeric.normal_pairs import crowd_of, expected_above_and_below
from rating.histories import needs_jit


def plain(positions, deviations, i):
    """Return (above, below) of member i by the C library's erfc; exactly rounded sums."""
    z = (positions - positions[i]) / np.hypot(deviations, deviations[i]) / math.sqrt(2.0)
    above = math.fsum(0.5 * math.erfc(-value) for value in z.tolist())
    below = math.fsum(0.5 * math.erfc(value) for value in z.tolist())
    return above, below


def field(n, spread, scales, seed=1):
    """Return (positions, deviations) of n members."""
    rng = np.random.default_rng(seed)
    low, high = scales
    deviations = np.exp(rng.uniform(math.log(low), math.log(high), n))
    return 1_500.0 + rng.normal(0.0, spread, n), deviations


def assert_counts(positions, deviations, members=None):
    """Compare members with the double loop.

    Every sum of n terms is good to 2e-15 n by waves, and to 1e-13 of itself where little is left.
    """
    n = len(positions)
    above, below = expected_above_and_below(positions, deviations)
    for i in range(n) if members is None else members:
        expected = plain(positions, deviations, i)
        for found, true in zip((above[i], below[i]), expected, strict=True):
            assert found == pytest.approx(true, abs=2e-15 * n, rel=1e-13)


@pytest.mark.parametrize(
    ("n", "spread", "scales"),
    [
        (1, 0.0, (100.0, 100.0)),
        (2, 300.0, (50.0, 400.0)),
        (31, 300.0, (50.0, 400.0)),
        (32, 300.0, (50.0, 400.0)),
        (64, 0.0, (350.0, 350.0)),  # a first contest: all at one place
        (65, 300.0, (350.0, 350.0)),
        (200, 300.0, (100.0, 400.0)),
        (200, 3_000.0, (1.0, 2.0)),  # far apart: everyone meets everyone directly
        (200, 0.01, (1e-6, 1e9)),  # volatilities as far apart as they are held
        (200, 0.0, (1e-6, 1e-6)),
        (200, 1e9, (1e-6, 1e-3)),
    ],
)
def test_counts_are_those_of_the_double_loop(n, spread, scales):
    """Small fields, equal ones and sparse ones."""
    assert_counts(*field(n, spread, scales))


@needs_jit
@pytest.mark.parametrize("scales", [(100.0, 400.0), (30.0, 900.0), (350.0, 350.0)])
@pytest.mark.parametrize("n", [1_500, 10_000])
def test_large_fields_too(n, scales):
    """Several chunks of members; the first and last by position and every hundredth."""
    positions, deviations = field(n, 350.0, scales)
    order = np.argsort(positions)
    members = [*order[:8], *order[-8:], *order[:: n // 60], *np.argsort(deviations)[:8]]
    assert crowd_of(positions, deviations).terms > 0
    assert_counts(positions, deviations, members)


@needs_jit
def test_those_at_the_ends_keep_all_digits():
    """Who has less than a thousandth of the field above or below is summed term by term.

    A group of ten far above and far below ten thousand: 1e-13 of what is there, a half or three.
    """
    positions, deviations = field(10_000, 200.0, (60.0, 200.0))
    positions[:10] += np.linspace(2_000.0, 4_000.0, 10)
    positions[10:20] -= np.linspace(2_000.0, 4_000.0, 10)
    above, below = expected_above_and_below(positions, deviations)
    assert crowd_of(positions, deviations).terms > 0
    for i in range(20):
        found = above[i] if i < 10 else below[i]
        assert found < 10.0
        true = plain(positions, deviations, i)[0 if i < 10 else 1]
        assert found == pytest.approx(true, rel=1e-13)


@needs_jit
def test_a_few_sharp_members_do_not_slow_down_the_field():
    """They meet one another directly, and the number of waves is that of the others."""
    positions, deviations = field(3_000, 300.0, (100.0, 300.0))
    ordinary = crowd_of(positions, deviations)
    deviations[:12] = 1e-3
    crowd = crowd_of(positions, deviations)
    assert crowd.sharp >= 12
    assert 0 < crowd.terms < 2 * ordinary.terms
    assert_counts(positions, deviations, range(40))
