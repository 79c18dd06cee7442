"""Win probability curves: [PRE]_ Def. 1, and digits in both tails against 40-digit arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidParameterError
from equipoise.tournament.curves import (
    CauchyCurve,
    CustomCurve,
    DavidsonCurve,
    EloCurve,
    LaplaceCurve,
    NormalCurve,
    curve_of,
)


def elo_function(t):
    """Return the Elo curve as somebody would write it down; it overflows, harmlessly."""
    return 1 / (1 + 10 ** (-t / 400))


CURVES = [
    EloCurve(),
    NormalCurve(),
    DavidsonCurve(0.0),
    DavidsonCurve(2.5),
    curve_of(elo_function),
    LaplaceCurve(),
    CauchyCurve(),
]
IDS = ["elo", "normal", "davidson-0", "davidson", "custom", "laplace", "cauchy"]


@pytest.mark.parametrize("curve", CURVES, ids=IDS)
@examples(50)
@given(t=st.floats(-1e6, 1e6))
def test_a_curve_is_antisymmetric_and_its_slope_even(curve, t):
    """[PRE]_ Def. 1 (b) and Remark 1."""
    at = np.array([t, -t])
    up, down = curve.expected(at)
    assert up + down == pytest.approx(1.0, abs=3e-16)
    assert 0 <= up <= 1
    assert curve.slope(at)[0] == curve.slope(at)[1] >= 0
    assert curve.variance(at)[0] == pytest.approx(curve.variance(at)[1], rel=1e-13)


@pytest.mark.parametrize("curve", CURVES, ids=IDS)
def test_a_slope_is_what_differences_say(curve):
    """Central differences of a thousandth of a point: 1e-9 of cancellation, less of curvature."""
    t = np.linspace(-1500, 1500, 61)
    differences = (curve.expected(t + 1e-3) - curve.expected(t - 1e-3)) / 2e-3
    assert np.allclose(curve.slope(t), differences, rtol=2e-6, atol=1e-12)


@pytest.mark.parametrize("t", [-8000.0, -3000.0, -700.0, -1.0, 0.0, 2.5, 900.0, 5000.0])
def test_tails_keep_their_digits(t):
    """Truth: the definitions, in 40 digits."""
    with mpmath.workdps(40):
        x = mpmath.mpf(t)
        elo = 1 / (1 + mpmath.power(10, -x / 400))
        normal = mpmath.ncdf(x / (200 * mpmath.sqrt(2)))
        h = mpmath.power(10, x / 800)
        whole = h + 1 / h + mpmath.mpf("2.5")
        davidson = (h + mpmath.mpf("1.25")) / whole
        win, draw = h / whole, mpmath.mpf("2.5") / whole
        variance = win + draw / 4 - davidson**2
    at = np.array([t])
    for curve, truth in ((EloCurve(), elo), (NormalCurve(), normal), (CURVES[3], davidson)):
        # exp of a rounded argument (t^2/160000 for the normal, the largest) loses as many ulp.
        close = 1e-15 * (1 + t * t / 160_000 + abs(t) / 100)
        assert float(curve.expected(at)[0] / truth - 1) == pytest.approx(0, abs=close)
    assert float(CURVES[3].variance(at)[0] / variance - 1) == pytest.approx(0, abs=close)


def test_nothing_overflows():
    """A million points is far beyond what exp can do; warnings are errors here."""
    far = np.array([-1e6, 1e6, -1e300, 1e300])
    for curve in CURVES:
        # A million points are not certain with Cauchy's curve: 7e-5 are left.
        close = 1e-4 if isinstance(curve, CauchyCurve) else 0
        assert np.allclose(curve.expected(far), [0, 1, 0, 1], rtol=0, atol=close)
        assert np.all(np.isfinite(curve.slope(far)))
        assert np.all(curve.variance(far) >= 0)


def test_davidson_without_draws_is_elo():
    """nu = 0; and between equals nu/(2 + nu) of the games are drawn."""
    t = np.linspace(-2000, 2000, 41)
    assert np.allclose(DavidsonCurve(0.0).expected(t), EloCurve().expected(t), rtol=1e-14)
    assert np.allclose(DavidsonCurve(0.0).slope(t), EloCurve().slope(t), rtol=1e-13)
    assert DavidsonCurve(2.0).probabilities(np.zeros(1))[1][0] == 0.5
    assert np.allclose(np.sum(DavidsonCurve(3.0).probabilities(t), axis=0), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (lambda t: np.full_like(t, 0.5), "increasing"),
        (lambda t: elo_function(-t), "increasing"),
        (lambda t: elo_function(t) ** 2, "antisymmetric"),
        (lambda t: t, "from 0 to 1"),
        (lambda t: t * np.nan, "finite"),
        (lambda t: 0.5, "elementwise"),
        (lambda t: 0.5 + 0.25 * np.arctan(t / 400), "close to 1"),
        ("glicko", "elo, normal, laplace or cauchy"),
        (3, "elo, normal, laplace or cauchy"),
    ],
)
def test_what_is_no_curve_is_refused(function, rule):
    with pytest.raises(InvalidParameterError, match=rule):
        curve_of(function)


@pytest.mark.parametrize(
    ("curve", "far"),
    [
        (LaplaceCurve(), 1 - 10**-1.25 / 2),
        (CauchyCurve(), 0.5 + np.arctan(1000 * np.pi * np.log(10) / 1600) / np.pi),
    ],
)
def test_other_curves_rise_like_elos_between_equals(curve, far):
    """The slope at 0 is ln 10/1600; at 1,000 points the definitions give 0.972 and 0.931."""
    assert float(curve.slope(np.zeros(1))[0]) == pytest.approx(np.log(10) / 1600, rel=1e-14)
    assert float(curve.expected(np.array([1000.0]))[0]) == pytest.approx(far, rel=1e-14)


def test_names_and_curves_are_curves():
    assert curve_of("laplace") == LaplaceCurve()
    assert curve_of("cauchy") == CauchyCurve()
    assert curve_of("elo") == EloCurve()
    assert curve_of("normal") == NormalCurve()
    assert curve_of(DavidsonCurve(1.0)) == DavidsonCurve(1.0)
    with pytest.raises(InvalidParameterError, match="nu must be"):
        DavidsonCurve(-1.0)


def test_a_function_is_taken_as_it_is():
    """The Elo curve as a function: the same but for slopes by differences."""
    t = np.linspace(-2000, 2000, 41)
    curve = curve_of(elo_function)
    assert isinstance(curve, CustomCurve)
    assert np.allclose(curve.expected(t), EloCurve().expected(t), rtol=1e-13)
    assert np.allclose(curve.slope(t), EloCurve().slope(t), rtol=1e-6)
