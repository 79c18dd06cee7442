"""Piecewise Chebyshev series against the functions they were made from."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from equipoise.numeric.sums import (
    NODES,
    chebyshev_points,
    evaluate_series,
    interval_points,
    to_series,
)

EPSILON = 2.0**-52

#: Rounding of a value between nodes: each of 24 coefficients is off by about one unit.
ROUNDING = 2 * NODES * EPSILON

#: The same for the derivative by t: the slope of T_m is at most m^2.
ROUNDING_OF_SLOPE = sum(m * m for m in range(NODES)) * EPSILON


def series_of(function, width, intervals):
    """Return the piecewise series of a function on [0, intervals * width]."""
    points = np.empty(NODES)
    interval_points(width, points)
    nodes = np.concatenate([k * width + points for k in range(intervals)])
    series = np.array([function(y) for y in nodes.tolist()])
    to_series(series)
    return series


def test_the_points_are_the_zeros_of_the_chebyshev_polynomial():
    """T_24(t) = cos(24 arccos t) vanishes at each of 24 points, ascending in (-1, 1)."""
    points = chebyshev_points()
    assert len(points) == NODES
    assert np.all(np.diff(points) > 0)
    for k, point in enumerate(points):
        exact = -mpmath.cos(mpmath.pi * (mpmath.mpf(k) + 0.5) / NODES)
        assert point == pytest.approx(float(exact), abs=EPSILON)


@pytest.mark.parametrize("order", range(NODES))
def test_chebyshev_polynomials_become_unit_vectors(order):
    """cos(m arccos t) = T_m(t), so its series is 1 at m and 0 elsewhere."""
    values = np.cos(order * np.arccos(chebyshev_points()))
    to_series(values)
    # Arguments of up to 23 pi are rounded, and 24 terms of size 1 are summed.
    assert values == pytest.approx(np.eye(NODES)[order], abs=NODES * 4 * EPSILON)


def test_value_and_derivative_of_an_entire_function():
    """Truth is sin and its derivative cos; on intervals of length 1 the series is exact."""
    width, intervals = 1.0, 7
    series = series_of(math.sin, width, intervals)
    for y in np.linspace(0.0, width * intervals, 501):
        value, slope = evaluate_series(series, width, y)
        assert value == pytest.approx(math.sin(y), abs=ROUNDING)
        assert slope == pytest.approx(math.cos(y), abs=2 / width * ROUNDING_OF_SLOPE)


def test_error_is_what_the_nearest_pole_allows():
    """1/(1 + y^2) on [0, 3]: the ellipse through the poles +-i bounds the error [ATAP, ch. 8]."""
    width = 3.0
    series = series_of(lambda y: 1.0 / (1.0 + y * y), width, 1)
    # Nearest pole in t = 2y/width - 1, and the sum of the half-axes of its ellipse.
    pole = 2.0 * 1j / width - 1.0
    rho = max(abs(pole + np.sqrt(pole * pole - 1)), abs(pole - np.sqrt(pole * pole - 1)))
    error = max(
        abs(evaluate_series(series, width, y)[0] - 1.0 / (1.0 + y * y))
        for y in np.linspace(0.0, width, 301)
    )
    assert rho**-NODES / 10 < error < 10 * rho**-NODES


def test_derivative_against_finite_differences():
    """Truth is the series' own values, 1e-5 apart: the derivative belongs to the value."""
    width, step = 2.5, 1e-5
    series = series_of(lambda y: math.exp(-y) + 1.0 / (1.0 + y), width, 3)
    for y in np.arange(0.03, 7.5, 0.1):  # never so near to a border that it lies between
        _, slope = evaluate_series(series, width, y)
        above, _ = evaluate_series(series, width, y + step)
        below, _ = evaluate_series(series, width, y - step)
        # The third derivative, at most 7, adds step^2 7/6.
        assert slope == pytest.approx((above - below) / (2 * step), abs=ROUNDING / step + 2e-10)


def test_each_interval_has_a_series_of_its_own():
    """Where the function jumps between intervals, no interval sees its neighbour."""
    series = series_of(lambda y: float(int(y)), 1.0, 4)
    for y in (0.0, 0.5, 0.999, 1.001, 1.5, 2.5, 3.0, 3.999):
        value, slope = evaluate_series(series, 1.0, y)
        assert value == pytest.approx(int(y), abs=3 * ROUNDING)
        assert slope == pytest.approx(0.0, abs=3 * 2 * ROUNDING_OF_SLOPE)


def test_beyond_the_ends_the_outermost_series_goes_on():
    """A parabola is one polynomial, hence its continuation is the parabola."""
    series = series_of(lambda y: (y - 1.0) ** 2, 1.0, 3)
    for y in (-0.01, -1e-9, 3.0, 3.0 + 1e-9, 3.01):
        value, slope = evaluate_series(series, 1.0, y)
        # A hundredth of an interval beyond, T_23 is 50 and its slope 5,000: so is rounding.
        assert value == pytest.approx((y - 1.0) ** 2, abs=4 * 50 * ROUNDING)
        assert slope == pytest.approx(2.0 * (y - 1.0), abs=4 * 2 * 5_000 * ROUNDING)
