"""Moments of truncated normal variables against 60-digit arithmetic."""

from __future__ import annotations

import mpmath as mp
import pytest

from equipoise.numeric.functions import above_zero, within


def tail(x):
    """Return P(Z > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


@pytest.mark.parametrize(
    "t", [-1e6, -1e3, -40.0, -14.001, -13.999, -8.0, -1.0, 0.0, 0.3, 5.0, 40.0]
)
def test_above_zero_keeps_its_digits(t):
    """Of both moments, also where being above 0 is all but impossible."""
    with mp.workdps(60):
        exact = mp.mpf(t)
        v = density(exact) / tail(-exact)
        variance = 1 - v * (v + exact)
        # Beyond t = -37 the density leaves float64 and so does v, which is then 0 to all digits.
        shift, left = above_zero(t)
        assert abs(shift - v) <= mp.mpf("1e-13") * abs(v) + mp.mpf("1e-300")
        assert abs(left - variance) <= mp.mpf("1e-10") * variance


@pytest.mark.parametrize(
    ("t", "e"),
    [
        (t, e)
        for t in (0.0, 0.7, -3.0, 14.0, 20.0, -60.0, 1e3)
        for e in (1e-6, 1e-3, 0.1, 1.49, 1.51, 3.0, 15.0, 40.0)
        # The truth costs t e digits: beyond, the other bound has long been out of sight.
        if abs(t) * e < 1000
    ],
)
def test_within_bounds_keeps_its_digits(t, e):
    """Narrow bounds, wide bounds, bounds far from the mean on either side."""
    with mp.workdps(80 + int(abs(t) * e)):
        m, b = abs(mp.mpf(t)), mp.mpf(e)
        low, high = -b - m, b - m
        mass = tail(-high) - tail(-low)
        shift = (density(low) - density(high)) / mass
        variance = 1 + (low * density(low) - high * density(high)) / mass - shift**2
        shift = shift if t >= 0 else -shift
        found, left = within(t, e)
        assert abs(found - shift) <= mp.mpf("1e-13") * max(abs(shift), mp.mpf("1e-3"))
        assert abs(left - variance) <= mp.mpf("1e-10") * variance
