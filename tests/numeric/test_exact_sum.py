"""The sum whose bits do not depend on the order of its values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.numeric.sums import exact_sum


@pytest.mark.parametrize("count", [1, 2, 3, 100, 5000])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_it_is_the_exact_sum_in_any_order(count: int, scale: float) -> None:
    rng = np.random.default_rng(count)
    for spread in (0.0, 8.0):
        values = scale * rng.standard_normal(count) * 10 ** rng.uniform(-spread, 0, count)
        found = exact_sum(values, count)
        assert found == pytest.approx(math.fsum(values), rel=1e-15, abs=1e-15 * scale * count)
        for _ in range(5):
            assert exact_sum(rng.permutation(values), count) == found
    whole = rng.integers(-1000, 1000, count).astype(np.float64)
    assert exact_sum(whole, count) == whole.sum()


def test_zeros_and_nothing_add_up_to_zero() -> None:
    assert exact_sum(np.zeros(3), 3) == 0.0
    assert exact_sum(np.empty(0), 0) == 0.0
    assert math.isnan(exact_sum(np.array([1.0, math.inf]), 2))
