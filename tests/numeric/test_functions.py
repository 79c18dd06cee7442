"""Functions of numeric against mpmath, and roots found by bracketed Newton."""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.numeric.functions import (
    EXP_HIGHEST,
    EXP_LOWEST,
    MAX_ITERATIONS,
    above_zero,
    erfcx,
    exp,
    logistic,
    lower_normal_quantile,
    newton_step,
    normal_cdf,
    normal_cdf_of,
    normal_density,
    normal_hazard,
    sine_and_cosine,
    within,
)

# --- errors against arithmetic of 40 digits --------------------------------------------------

#: More than twice the digits of float64, after the cancellation in the functions tested here.
DIGITS = 40


def in_ulps(true):
    """Return a unit in the last place."""
    return mpmath.mpf(math.ulp(float(true)))


def worst_error(function, exact, arguments, unit=abs):
    """Return (largest error of `function` in units, where), `exact` evaluated by mpmath."""
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


#: Where the reduction to the nearest multiple of ln 2 changes its mind, and |r| is largest.
BORDERS = (np.arange(-1021, 1022) + 0.5) * math.log(2.0)


def everywhere():
    """Return arguments over the whole range of exp, its ends and the worst of the reduction."""
    grid = np.linspace(EXP_LOWEST, EXP_HIGHEST, 2_001)
    around_zero = np.linspace(-1.5, 1.5, 1_001)
    return np.concatenate([grid, around_zero, BORDERS, np.nextafter(BORDERS, 0.0), tiny()])


def tiny():
    """Return arguments of both signs from 1e-300 to 0.1."""
    sizes = 10.0 ** np.arange(-300.0, 0.0)
    return np.concatenate([sizes, -sizes])


def test_exp_is_exact_where_float64_can_be():
    """e^0 = 1."""
    assert exp(0.0) == exp(-0.0) == 1.0


@pytest.mark.parametrize(
    ("beyond", "held_at"),
    [
        (-708.5, EXP_LOWEST),
        (-1e6, EXP_LOWEST),
        (-1e308, EXP_LOWEST),
        (-math.inf, EXP_LOWEST),
        (709.5, EXP_HIGHEST),
        (1e6, EXP_HIGHEST),
        (1e308, EXP_HIGHEST),
        (math.inf, EXP_HIGHEST),
    ],
)
def test_exp_is_held_at_the_ends_of_its_range(beyond, held_at):
    """The docstring: never 0, never infinite, and accurate at the ends themselves."""
    assert exp(beyond) == exp(held_at)
    assert exp(held_at) == pytest.approx(math.exp(held_at), rel=1e-15)


def test_nan_stays_nan():
    """IEEE 754: no operation on NaN makes a number."""
    for function in (exp, logistic):
        assert math.isnan(function(math.nan))


def test_logistic_beyond_the_range_of_exp():
    """The upper tail is 1; the lower is held where exp is, below the least normal number."""
    for x in (709.5, 1e6, math.inf):
        assert logistic(x) == 1.0
        assert 0.0 < logistic(-x) < 2.3e-308


def test_same_bits_everywhere():
    """Only sums and products of float64, in a fixed order: the digest was taken once.

    It must not depend on the machine, on Numba's version, or on whether there is JIT at all.
    """
    values = [[f(x) for x in np.linspace(-30.0, 30.0, 3_001)] for f in (exp, logistic)]
    digest = hashlib.sha256(np.array(values).tobytes()).hexdigest()
    assert digest == "f597fbb8c95d38b323ba7f67bfc21831a029613f50de19aa272fbe0d066bf20a"


# --- the normal distribution -----------------------------------------------------------------


#: From here on the density, and a little later the distribution function, leaves the range in
#: which exp is not held.
LOWEST = -37.6


def mp_cdf(z):
    """P(Z <= z) without cancellation."""
    return mpmath.erfc(-z / mpmath.sqrt(2)) / 2


def mp_hazard(z):
    """Density over upper tail."""
    return mpmath.npdf(z) / mp_cdf(-z)


def test_erfcx_far_out():
    """Truth is the first two terms of the asymptotic series [DLMF 7.12.1]; the third is 1e-17."""
    for x in 10.0 ** np.arange(4.5, 300.0, 7.0):
        expected = (1.0 - 0.5 / x / x) / (x * math.sqrt(math.pi))
        assert erfcx(x) == pytest.approx(expected, rel=1e-15)
    assert erfcx(math.inf) == 0.0


def test_cdf_beyond_float64():
    """P(Z <= -37.7) = 2.3e-311 has few digits left; what comes is tiny, and 1 on the other side."""
    for z in (37.7, 40.0, 1e3, 1e8):
        assert 0.0 < normal_cdf(-z) < 2e-309
        assert normal_cdf(z) == 1.0
    assert normal_cdf(-math.inf) == 0.0
    assert normal_cdf(math.inf) == 1.0


@pytest.mark.parametrize(
    ("function", "exact", "arguments", "unit", "most"),
    [
        # Measured is 1.01 units, the docstring promises 2.
        pytest.param(exp, mpmath.exp, everywhere(), in_ulps, 2.0, id="exp"),
        # The lower tail goes down to 1e-307.
        pytest.param(
            *(logistic, lambda x: 1 / (1 + mpmath.exp(-x)), np.linspace(-708.0, 708.0, 4_001)),
            *(abs, 1e-15),
            id="logistic",
        ),
        # Measured 8e-16.
        pytest.param(
            *(erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x)),
            *(np.concatenate([np.linspace(0.0, 40.0, 1_001), 10.0 ** np.arange(-20.0, 3.0)]), abs),
            1e-15,
            id="erfcx",
        ),
        # z^2/2 is rounded at 700, so that 1e-13 is what float64 allows.
        pytest.param(
            *(normal_density, mpmath.npdf, np.linspace(LOWEST, -LOWEST, 2_001), abs, 1e-13),
            id="density",
        ),
        # NUMERICS section 2 asks for 1e-12 as far as |z| = 40.
        pytest.param(*(normal_cdf, mp_cdf, np.linspace(LOWEST, 40.0, 3_001), abs, 1e-13), id="cdf"),
        # Nothing cancels for z >= 0, measured 8e-16.
        pytest.param(
            *(normal_hazard, mp_hazard, np.linspace(0.0, 40.0, 2_001), abs, 1e-15),
            id="hazard of the upper tail",
        ),
        # The hazard is about the density there and has its error.
        pytest.param(
            *(normal_hazard, mp_hazard, np.linspace(LOWEST, 0.0, 2_001), abs, 1e-13),
            id="hazard of the lower tail",
        ),
    ],
)
def test_errors_are_as_small_as_promised(function, exact, arguments, unit, most):
    worst, where = worst_error(function, exact, arguments, unit)
    assert worst <= most, where


def test_hazard_far_down_the_lower_tail():
    for z in (-38.0, -40.0, -1e4):
        assert 0.0 < normal_hazard(z) < 1.4e-308


def test_hazard_far_out_is_z_plus_its_inverse():
    """hazard(z) = z + 1/z - 2/z^3 + ...: the inverse of Laplace's series for the tail."""
    for z in 10.0 ** np.arange(4.0, 9.0):
        assert normal_hazard(z) == pytest.approx(z + 1.0 / z, rel=1e-15)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 0, 3)])
def test_cdf_of_arrays_is_that_of_their_elements(shape):
    """The same bits in the same shape, also where memory is not contiguous."""
    z = np.random.default_rng(5).normal(0.0, 10.0, shape)
    for view in (z, z.T, z[..., ::-1] if shape else z):
        found = normal_cdf_of(view)
        assert found.shape == view.shape
        expected = [normal_cdf(value) for value in view.ravel().tolist()]
        assert found.ravel().tolist() == expected


# --- its inverse -----------------------------------------------------------------------------


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


# --- sine and cosine -------------------------------------------------------------------------


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


# --- moments of truncated normal variables ---------------------------------------------------


def tail(x):
    """Return P(Z > x)."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def density(x):
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


@pytest.mark.parametrize(
    "t", [-1e6, -1e3, -40.0, -14.001, -13.999, -8.0, -1.0, 0.0, 0.3, 5.0, 40.0]
)
def test_above_zero_keeps_its_digits(t):
    """Of both moments, also where being above 0 is all but impossible."""
    with mpmath.workdps(60):
        exact = mpmath.mpf(t)
        v = density(exact) / tail(-exact)
        variance = 1 - v * (v + exact)
        # Beyond t = -37 the density leaves float64 and so does v, which is then 0 to all digits.
        shift, left = above_zero(t)
        assert abs(shift - v) <= mpmath.mpf("1e-13") * abs(v) + mpmath.mpf("1e-300")
        assert abs(left - variance) <= mpmath.mpf("1e-10") * variance


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
    with mpmath.workdps(80 + int(abs(t) * e)):
        m, b = abs(mpmath.mpf(t)), mpmath.mpf(e)
        low, high = -b - m, b - m
        mass = tail(-high) - tail(-low)
        shift = (density(low) - density(high)) / mass
        variance = 1 + (low * density(low) - high * density(high)) / mass - shift**2
        shift = shift if t >= 0 else -shift
        found, left = within(t, e)
        assert abs(found - shift) <= mpmath.mpf("1e-13") * max(abs(shift), mpmath.mpf("1e-3"))
        assert abs(left - variance) <= mpmath.mpf("1e-10") * variance


# --- bracketed Newton ------------------------------------------------------------------------


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


def sign(x):
    """Return -1, 0 or 1."""
    return float((x > 0.0) - (x < 0.0))


def clipped_exp(x):
    """Return e^x, inf from 709 on."""
    return math.exp(x) if x < 709.0 else math.inf


#: name: (x -> (value, slope), zero, start, low, high)
HARD = {
    "a line so flat that its slope is subnormal": (
        lambda x: (1e-310 * (x - 1.0), 1e-310),
        1.0,
        -5.0,
        -1e6,
        1e6,
    ),
    "a step, slope 0 on both sides": (lambda x: (sign(x - 0.3), 0.0), 0.3, 0.0, -1e6, 1e6),
    "e^x - 1 from far to the right: each step of Newton is 1": (
        lambda x: (clipped_exp(x) - 1.0, clipped_exp(x)),
        0.0,
        700.0,
        -1000.0,
        700.0,
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
    "a slope that is NaN": (lambda x: (x - 1.0, math.nan), 1.0, 900.0, -1e3, 1e3),
    "a zero at the lower end": (lambda x: (math.expm1(x), math.exp(x)), 0.0, 600.0, 0.0, 700.0),
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
