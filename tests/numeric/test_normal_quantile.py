"""The inverse of the normal distribution function, against mpmath and published values."""

from __future__ import annotations

import math
from statistics import NormalDist

import mpmath
import numpy as np
import pytest

from equipoise.numeric.functions import lower_normal_quantile

#: Shares down to the smallest that a float64 still divides well.
SHARES = [*(10.0 ** np.linspace(-300, -1, 300)).tolist(), *np.linspace(0.001, 0.5, 300).tolist()]


def test_it_is_within_1e_15():
    """Truth: one Newton step at 40 digits tells the distance to the root, here below 1e-15 of z.

    Near 1/2, where z is nearly 0, 1e-15 is absolute: p itself is no better known.
    """
    with mpmath.workdps(40):
        for p in SHARES:
            z = mpmath.mpf(lower_normal_quantile(p))
            off = (mpmath.erfc(-z / mpmath.sqrt(2)) / 2 - mpmath.mpf(p)) / mpmath.npdf(z)
            assert abs(off) <= 1e-15 * max(1.0, abs(z)), p


@pytest.mark.parametrize(
    ("p", "z"),
    [(0.25, -0.6744897501960817), (0.025, -1.959963984540054), (0.001, -3.090232306167813)],
)
def test_it_gives_the_values_of_tables(p, z):
    """Published: quartile, 2.5 % and 0.1 % of every table, and the standard library's digits."""
    assert lower_normal_quantile(p) == pytest.approx(z, rel=1e-15)
    assert NormalDist().inv_cdf(p) == pytest.approx(z, rel=1e-15)


def test_it_rises_through_the_middle():
    """The first guess may fall on the other side of 0 there, and the last step must not."""
    below = [0.5 * (1.0 - 2.0**-k) for k in range(1, 53)]
    values = [lower_normal_quantile(p) for p in [*below, 0.5]]
    assert np.all(np.diff(values) > 0)
    assert abs(values[-1]) < 1e-16
    # The density at the middle is 1/sqrt(2 pi).
    assert values[30] == pytest.approx(-math.sqrt(2 * math.pi) * (0.5 - below[30]), rel=1e-6)
