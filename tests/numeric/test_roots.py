"""Bracketed Newton on functions that are hard on Newton, on bisection, or on both."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.numeric.functions import MAX_ITERATIONS, newton_step
from numeric.truth import find_root


def sign(x):
    """Return -1, 0 or 1."""
    return float((x > 0.0) - (x < 0.0))


def clipped_exp(x):
    """Return e^x, inf from 709 on."""
    return math.exp(x) if x < 709.0 else math.inf


#: name: (x -> (value, slope), zero, start, low, high)
HARD = {
    "a steep line": (lambda x: (1e300 * (x - 1.0), 1e300), 1.0, -5.0, -1e6, 1e6),
    "a line so flat that its slope is subnormal": (
        lambda x: (1e-310 * (x - 1.0), 1e-310),
        1.0,
        -5.0,
        -1e6,
        1e6,
    ),
    "a step, slope 0 on both sides": (lambda x: (sign(x - 0.3), 0.0), 0.3, 0.0, -1e6, 1e6),
    "almost a step: tanh(1e9 x), slope 0 nearly everywhere": (
        lambda x: (math.tanh(1e9 * (x - 0.3)), 1e9 * (1.0 - math.tanh(1e9 * (x - 0.3)) ** 2)),
        0.3,
        900.0,
        -1000.0,
        1000.0,
    ),
    "e^x - 1 from far to the right: each step of Newton is 1": (
        lambda x: (clipped_exp(x) - 1.0, clipped_exp(x)),
        0.0,
        700.0,
        -1000.0,
        700.0,
    ),
    "e^x - 1 from where both value and slope are infinite": (
        lambda x: (clipped_exp(x) - 1.0, clipped_exp(x)),
        0.0,
        1e6,
        -1e6,
        1e6,
    ),
    "e^x - 1 from far to the left: Newton leaps out of the bracket": (
        lambda x: (clipped_exp(x) - 1.0, clipped_exp(x)),
        0.0,
        -500.0,
        -1000.0,
        1000.0,
    ),
    "(x - 1)^15: a zero of order 15, slope 0 there": (
        lambda x: ((x - 1.0) ** 15, 15.0 * (x - 1.0) ** 14),
        1.0,
        80.0,
        -100.0,
        100.0,
    ),
    "the cube root: Newton doubles its distance at each step": (
        lambda x: (math.cbrt(x - 2.0), math.cbrt(x - 2.0) / (3.0 * (x - 2.0) or 1e-300)),
        2.0,
        2.5,
        -1e6,
        1e6,
    ),
    "the arc tangent: Newton diverges from beyond 1.39": (
        lambda x: (math.atan(x), 1.0 / (1.0 + x * x)),
        0.0,
        3.0,
        -1e8,
        1e8,
    ),
    "stairs: flat, with a slope of 0, between steps": (
        lambda x: (math.floor(x) - 2.5, 0.0),
        3.0,
        100.0,
        -1e3,
        1e3,
    ),
    "a slope said to be 1e6 times too large: Newton creeps": (
        lambda x: (x - 1.0, 1e6),
        1.0,
        900.0,
        -1000.0,
        1000.0,
    ),
    "a slope said to be negative": (lambda x: (x - 1.0, -1.0), 1.0, 900.0, -1e3, 1e3),
    "a slope that is NaN": (lambda x: (x - 1.0, math.nan), 1.0, 900.0, -1e3, 1e3),
    "a zero at the lower end": (lambda x: (math.expm1(x), math.exp(x)), 0.0, 600.0, 0.0, 700.0),
    "a zero at the upper end": (lambda x: (x**3 - 1e6, 3 * x * x), 100.0, 0.0, 0.0, 100.0),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_functions_are_solved_within_the_bound(name):
    """The zero is known; the bracket holds it at every step and ends at 1e-12 of the first."""
    function, zero, start, low, high = HARD[name]
    root, iterations, last_low, last_high = find_root(function, start, low, high)
    assert iterations <= MAX_ITERATIONS
    assert last_low <= zero <= last_high
    assert root == pytest.approx(zero, abs=1e-12 * (high - low))


def test_bisection_alone_leaves_2_to_the_minus_58_of_the_bracket():
    """The promise of MAX_ITERATIONS, on the worst case: Newton's steps never move at all."""
    zero, x, low, high = 1e-30, 1.0, 0.0, 1.0
    for iteration in range(MAX_ITERATIONS):
        # The slope is so large that Newton stays where it is.
        x, low, high = newton_step(x, sign(x - zero), 1e300, low, high, iteration)
    assert low <= zero <= high <= 2.0**-58


def test_newton_is_not_disturbed_where_it_converges():
    """x^2 - 2 from 1: the iterates of Newton (Heron), as printed in every textbook."""
    x, low, high = 1.0, 0.0, 2.0
    seen = []
    for iteration in range(5):
        x, low, high = newton_step(x, x * x - 2.0, 2.0 * x, low, high, iteration)
        seen.append(x)
    assert seen[:3] == pytest.approx([3 / 2, 17 / 12, 577 / 408], rel=1e-15)
    assert seen[4] == pytest.approx(math.sqrt(2.0), rel=1e-15)


def test_the_bracket_never_grows():
    """A start outside the bracket must not widen it."""
    _, low, high = newton_step(7.0, 1.0, 1.0, 0.0, 2.0, 0)
    assert (low, high) == (0.0, 2.0)
    _, low, high = newton_step(-7.0, -1.0, 1.0, 0.0, 2.0, 0)
    assert (low, high) == (0.0, 2.0)


@settings(deadline=None)
@given(
    zero=st.floats(-1e3, 1e3),
    start=st.floats(-2e3, 2e3),
    power=st.sampled_from([1, 3, 5, 9]),
    steepness=st.floats(1e-3, 1e3),
    misjudged=st.floats(1e-3, 1e3),
)
def test_any_odd_power_is_solved_though_its_slope_be_misjudged(
    zero, start, power, steepness, misjudged
):
    """f(x) = (s (x - z))^p vanishes at z alone; the slope is off by a factor on purpose."""

    def function(x):
        distance = steepness * (x - zero)
        return distance**power, misjudged * power * steepness * distance ** (power - 1)

    root, _, low, high = find_root(function, start, -2e3, 2e3)
    assert low <= zero <= high
    # Values underflow to 0 within (1e-324)^(1/9)/s of the zero.
    assert root == pytest.approx(zero, abs=4e-9 + 1e-33 / steepness)
