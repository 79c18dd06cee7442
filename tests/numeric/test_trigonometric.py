"""Sine and cosine against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from equipoise.numeric.functions import sine_and_cosine


def test_both_are_within_3e_16_on_half_a_turn():
    """Truth is mpmath at 40 digits; what is left is the rounding of a few operations near 1."""
    with mpmath.workdps(40):
        for x in np.linspace(-math.pi / 2, math.pi / 2, 2_001).tolist():
            sine, cosine = sine_and_cosine(x)
            assert abs(mpmath.mpf(sine) - mpmath.sin(x)) <= 3e-16
            assert abs(mpmath.mpf(cosine) - mpmath.cos(x)) <= 3e-16


def test_zero_is_exact():
    """Nobody is ahead of oneself: the waves at a distance of 0 are 0 and 1."""
    assert sine_and_cosine(0.0) == (0.0, 1.0)
