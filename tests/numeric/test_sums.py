"""Sums in a fixed order, exact sums, and piecewise Chebyshev series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.numeric.sums import (
    BLOCK,
    NODES,
    chebyshev_points,
    evaluate_series,
    exact_sum,
    interval_points,
    lane_sum,
    to_series,
)

# --- sums in a fixed order -------------------------------------------------------------------


EPSILON = 2.0**-52


def numbers(count):
    """Return numbers of both signs and many sizes."""
    rng = np.random.default_rng(20_240 + count)
    return rng.normal(size=count) * 10.0 ** rng.uniform(-8.0, 8.0, size=count)


def naive_lanes(values):
    """Return the sum in the order that the docstring names, in plain Python."""
    whole = len(values) // 8 * 8
    lanes = [0.0] * 8
    for i in range(whole):
        lanes[i % 8] += values[i]
    rest = 0.0
    for value in values[whole:]:
        rest += value
    s0, s1, s2, s3, s4, s5, s6, s7 = lanes
    return (((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))) + rest


@pytest.mark.parametrize("count", [*range(41), BLOCK])
def test_a_sum_has_the_documented_order_and_is_as_exact_as_its_additions(count):
    """Truth is a plain loop, to the last bit, JIT or not; and math.fsum, which rounds once.

    A number goes through at most count/8 + 7 additions, each off by half a unit of what has been
    summed so far, which is less than the sum of all sizes.
    """
    values = numbers(count)
    found = lane_sum(values, count)
    assert found == naive_lanes(values.tolist())
    allowed = (count / 8 + 7) * 0.5 * EPSILON * math.fsum(abs(values))
    assert abs(found - math.fsum(values)) <= allowed
    # Scratch memory holds leftovers; NaN would spoil any sum it took part in. Kernels count in
    # unsigned numbers, from which 8 less than 3 must not become 2^64 - 5.
    padded = np.concatenate([values, np.full(9, np.nan)])
    assert lane_sum(padded, count) == lane_sum(values, np.uint64(count)) == found


# --- exact sums ------------------------------------------------------------------------------


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


# --- piecewise Chebyshev series --------------------------------------------------------------

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
