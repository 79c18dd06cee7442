"""The exponential and its kin against mpmath, and the same bits everywhere."""

from __future__ import annotations

import hashlib
import math

import mpmath
import numpy as np
import pytest

from equipoise.numeric.functions import EXP_HIGHEST, EXP_LOWEST, exp, expm1, logistic, tanh
from numeric.truth import worst_error_in_ulps, worst_relative_error

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


def test_exp_is_within_two_units_in_the_last_place_over_its_whole_range():
    """Truth is mpmath at 40 digits; measured is 1.01 units, the docstring promises 2."""
    worst, where = worst_error_in_ulps(exp, mpmath.exp, everywhere())
    assert worst <= 2.0, where


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
    assert expm1(beyond) == expm1(held_at)
    assert exp(held_at) == pytest.approx(math.exp(held_at), rel=1e-15)


def test_nan_stays_nan():
    """IEEE 754: no operation on NaN makes a number."""
    for function in (exp, expm1, tanh, logistic):
        assert math.isnan(function(math.nan))


def test_exp_never_falls_at_the_borders_of_the_reduction():
    """e^x rises with x; a polynomial that does not fit at |r| = (ln 2)/2 would show here."""
    for border in BORDERS:
        values = [exp(border + step * 4e-13 * max(1.0, abs(border))) for step in (-1.0, 0.0, 1.0)]
        assert values[0] < values[1] < values[2]


def test_expm1_keeps_its_relative_error_near_zero():
    """Truth is mpmath at 40 digits; exp(x) - 1 would have lost all digits below 1e-16."""
    worst, where = worst_relative_error(expm1, mpmath.expm1, everywhere()[everywhere() != 0.0])
    assert worst <= 1e-15, where
    assert expm1(0.0) == 0.0


def test_tanh_is_within_1e_14_everywhere():
    """Truth is mpmath at 40 digits, from 1e-300 to saturation; measured is 3.2e-16."""
    arguments = np.concatenate([np.linspace(-25.0, 25.0, 2_000), tiny(), [-1e300, 1e300]])
    worst, where = worst_relative_error(tanh, mpmath.tanh, arguments)
    assert worst <= 1e-14, where
    assert tanh(0.0) == 0.0


def test_tanh_saturates_at_one():
    """1 - tanh 20 = 8.5e-18 is less than half a unit in the last place of 1."""
    for x in (20.0, 21.0, 1e6, 1e308, math.inf):
        assert tanh(x) == 1.0
        assert tanh(-x) == -1.0


def test_logistic_keeps_its_relative_error_in_both_tails():
    """Truth is mpmath at 40 digits; the lower tail goes down to 1e-307."""
    worst, where = worst_relative_error(
        logistic, lambda x: 1 / (1 + mpmath.exp(-x)), np.linspace(-708.0, 708.0, 4_001)
    )
    assert worst <= 1e-15, where


def test_logistic_of_opposites_sum_to_one():
    """p(x) + p(-x) = 1, to one rounding of each of the two."""
    for x in np.linspace(0.0, 40.0, 201):
        assert logistic(x) + logistic(-x) == pytest.approx(1.0, abs=2.3e-16)


def test_logistic_beyond_the_range_of_exp():
    """The upper tail is 1; the lower is held where exp is, below the least normal number."""
    for x in (709.5, 1e6, math.inf):
        assert logistic(x) == 1.0
        assert 0.0 < logistic(-x) < 2.3e-308


def test_same_bits_everywhere():
    """Only sums and products of float64, in a fixed order: the digest was taken once.

    It must not depend on the machine, on Numba's version, or on whether there is JIT at all.
    """
    values = [[f(x) for x in np.linspace(-30.0, 30.0, 3_001)] for f in (exp, expm1, tanh, logistic)]
    digest = hashlib.sha256(np.array(values).tobytes()).hexdigest()
    assert digest == "3915a30aedd7507f0a7588345ab9236d0f2577345095d241c5850b64385b248b"
