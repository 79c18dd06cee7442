"""The normal distribution against mpmath, far into both tails."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from equipoise.numeric.functions import (
    erfcx,
    normal_cdf,
    normal_cdf_of,
    normal_density,
    normal_hazard,
)
from numeric.truth import worst_relative_error

#: From here on the density, and a little later the distribution function, leaves the range in
#: which exp is not held.
LOWEST = -37.6


def mp_cdf(z):
    """P(Z <= z) without cancellation."""
    return mpmath.erfc(-z / mpmath.sqrt(2)) / 2


def mp_hazard(z):
    """Density over upper tail."""
    return mpmath.npdf(z) / mp_cdf(-z)


def test_erfcx_is_within_1e_15():
    """Truth is mpmath: exp(x^2) erfc(x) at 40 digits where it converges, measured 8e-16."""
    arguments = np.concatenate([np.linspace(0.0, 40.0, 1_001), 10.0 ** np.arange(-20.0, 3.0)])
    worst, where = worst_relative_error(
        erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), arguments
    )
    assert worst <= 1e-15, where


def test_erfcx_far_out():
    """Truth is the first two terms of the asymptotic series [DLMF 7.12.1]; the third is 1e-17."""
    for x in 10.0 ** np.arange(4.5, 300.0, 7.0):
        expected = (1.0 - 0.5 / x / x) / (x * math.sqrt(math.pi))
        assert erfcx(x) == pytest.approx(expected, rel=1e-15)
    assert erfcx(math.inf) == 0.0


def test_density():
    """Truth is mpmath; z^2/2 is rounded at 700, so that 1e-13 is what float64 allows."""
    worst, where = worst_relative_error(
        normal_density, mpmath.npdf, np.linspace(LOWEST, -LOWEST, 2_001)
    )
    assert worst <= 1e-13, where


def test_cdf_keeps_its_relative_error_until_it_underflows():
    """Truth is mpmath; NUMERICS section 2 asks for 1e-12 as far as |z| = 40, we have 1e-13."""
    worst, where = worst_relative_error(normal_cdf, mp_cdf, np.linspace(LOWEST, 40.0, 3_001))
    assert worst <= 1e-13, where


def test_cdf_beyond_float64():
    """P(Z <= -37.7) = 2.3e-311 has few digits left; what comes is tiny, and 1 on the other side."""
    for z in (37.7, 40.0, 1e3, 1e8):
        assert 0.0 < normal_cdf(-z) < 2e-309
        assert normal_cdf(z) == 1.0
    assert normal_cdf(-math.inf) == 0.0
    assert normal_cdf(math.inf) == 1.0


def test_cdf_of_opposites_sum_to_one():
    """P(Z <= z) + P(Z <= -z) = 1, to one rounding."""
    for z in np.linspace(0.0, 9.0, 101):
        assert normal_cdf(z) + normal_cdf(-z) == pytest.approx(1.0, abs=2.3e-16)


def test_hazard_of_the_upper_tail_is_within_1e_15():
    """Truth is mpmath; nothing cancels for z >= 0, measured 8e-16."""
    worst, where = worst_relative_error(normal_hazard, mp_hazard, np.linspace(0.0, 40.0, 2_001))
    assert worst <= 1e-15, where


def test_hazard_of_the_lower_tail():
    """Truth is mpmath; the hazard is about the density there and has its error."""
    worst, where = worst_relative_error(normal_hazard, mp_hazard, np.linspace(LOWEST, 0.0, 2_001))
    assert worst <= 1e-13, where
    for z in (-38.0, -40.0, -1e4):
        assert 0.0 < normal_hazard(z) < 1.4e-308


def test_hazard_far_out_is_z_plus_its_inverse():
    """hazard(z) = z + 1/z - 2/z^3 + ...: the inverse of Laplace's series for the tail."""
    for z in 10.0 ** np.arange(4.0, 9.0):
        assert normal_hazard(z) == pytest.approx(z + 1.0 / z, rel=1e-15)


def test_hazards_of_random_arguments_keep_the_same_bounds():
    """Points that no grid hits; the series stands or falls with its 24 terms in between."""
    rng = np.random.default_rng(3)
    for low, high, bound in ((0.0, 4.0, 1e-15), (0.0, 40.0, 1e-15), (LOWEST, 0.0, 1e-13)):
        worst, where = worst_relative_error(normal_hazard, mp_hazard, rng.uniform(low, high, 2_000))
        assert worst <= bound, where


def test_the_hazard_has_the_derivative_that_searches_use():
    """hazard' = hazard (hazard - z): by a central difference, to the square of its step."""
    for z in np.linspace(-5.0, 20.0, 101).tolist():
        step = 1e-4
        difference = (normal_hazard(z + step) - normal_hazard(z - step)) / (2.0 * step)
        # Third derivatives stay below 1; rounding of hazards of 20 over the step is 4e-11.
        expected = normal_hazard(z) * (normal_hazard(z) - z)
        assert difference == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 0, 3)])
def test_cdf_of_arrays_is_that_of_their_elements(shape):
    """The same bits in the same shape, also where memory is not contiguous."""
    z = np.random.default_rng(5).normal(0.0, 10.0, shape)
    for given in (z, z.T, z[..., ::-1] if shape else z):
        found = normal_cdf_of(given)
        assert found.shape == given.shape
        expected = [normal_cdf(value) for value in given.ravel().tolist()]
        assert found.ravel().tolist() == expected
