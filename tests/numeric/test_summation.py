"""Sums in a fixed order against exact ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.numeric.sums import BLOCK, lane_sum

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
def test_sum_is_as_exact_as_its_additions(count):
    """Truth is math.fsum, which rounds once.

    A number goes through at most count/8 + 7 additions, each off by half a unit of what has been
    summed so far, which is less than the sum of all sizes.
    """
    values = numbers(count)
    exact = math.fsum(values)
    allowed = (count / 8 + 7) * 0.5 * EPSILON * math.fsum(abs(values))
    assert abs(lane_sum(values, count) - exact) <= allowed


@pytest.mark.parametrize("count", [*range(41), BLOCK])
def test_order_of_the_sum_is_fixed(count):
    """Truth is a plain loop in the documented order; equal to the last bit, JIT or not."""
    values = numbers(count)
    assert lane_sum(values, count) == naive_lanes(values.tolist())


@pytest.mark.parametrize("count", range(41))
def test_what_lies_beyond_the_count_is_not_read(count):
    """Scratch memory holds leftovers; NaN would spoil any sum it took part in."""
    values = numbers(count)
    padded = np.concatenate([values, np.full(9, np.nan)])
    assert lane_sum(padded, count) == lane_sum(values, count)


def test_unsigned_counts_are_counts():
    """Kernels count in unsigned numbers, from which 8 less than 3 must not become 2^64 - 5."""
    values = numbers(19)
    for count in (0, 3, 8, 19):
        assert lane_sum(values, np.uint64(count)) == lane_sum(values, count)


def test_numbers_that_cancel_leave_what_is_between():
    """1e16 and -1e16 are in one lane, 1 in another: the order is visible in the result."""
    values = np.zeros(16)
    values[0], values[1], values[8] = 1e16, 1.0, -1e16
    assert lane_sum(values, 16) == 1.0
