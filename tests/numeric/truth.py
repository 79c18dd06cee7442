"""Errors against arithmetic of 40 digits, and the protocol by which kernels find roots."""

from __future__ import annotations

import math

import mpmath

from equipoise.numeric.functions import MAX_ITERATIONS, newton_step

#: More than twice the digits of float64, after the cancellation in the functions tested here.
DIGITS = 40


def worst_relative_error(function, exact, arguments):
    """Return (largest relative error of `function`, where), `exact` evaluated by mpmath."""
    return _worst(function, exact, arguments, abs)


def worst_error_in_ulps(function, exact, arguments):
    """Return (largest error of `function` in units in the last place, where)."""
    return _worst(function, exact, arguments, lambda true: mpmath.mpf(math.ulp(float(true))))


def _worst(function, exact, arguments, unit):
    worst, where = 0.0, None
    with mpmath.workdps(DIGITS):
        for argument in map(float, arguments):
            true = exact(mpmath.mpf(argument))
            error = float(abs(mpmath.mpf(float(function(argument))) - true) / unit(true))
            # Written so that a NaN counts as the worst.
            if not error <= worst:
                worst, where = error, argument
                if math.isnan(error):
                    break
    return worst, where


def find_root(function, start, low, high):
    """Find a zero as kernels do; return (root, iterations, low, high), the last bracket.

    function : x -> (value, slope). Stops at a zero, or where the bracket is 1e-12 of the first.
    """
    x, narrow = start, 1e-12 * (high - low)
    for iteration in range(MAX_ITERATIONS):
        value, slope = function(x)
        if value == 0.0:
            return x, iteration, low, high
        x, low, high = newton_step(x, value, slope, low, high, iteration)
        assert low <= x <= high
        if high - low <= narrow:
            return x, iteration + 1, low, high
    raise AssertionError(f"not found in {MAX_ITERATIONS} steps, left with [{low}, {high}]")
