"""Mean and variance of a normal variable that is known to lie above a bound, or within bounds.

X has mean t and standard deviation 1. Written with densities and tails as they stand, both moments
lose all digits where the truth is unlikely (t far below the bound) or the bounds are narrow; here
the tail comes from the scaled complementary error function, the far tail from its series and narrow
bounds from Gauss-Legendre quadrature, so that the variance keeps its digits everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.numeric.exponential import exp
from equipoise.numeric.normal import erfcx, normal_hazard

_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)

#: Below, the series of the far tail is used; its eleventh term there is below 1e-14.
_FAR = -14.0
#: Quadrature with 32 nodes is exact to 1e-13 for densities that fall by e^-40 over the bounds.
_NARROW, _STEEPEST = 1.5, 40.0

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)

#: With u = 1/t^2: the mean above 0 is -(1/t)(1 - 2u + 10u^2 - ...), the variance u (1 - 6u + ...).
_FAR_MEAN = (1.0, -2.0, 10.0, -74.0, 706.0, -8162.0, 110410.0, -1708394.0, 29752066.0)


@inner_kernel
def above_zero(t: float) -> tuple[float, float]:
    """Return (mean - t, variance) of X given that X > 0.

    Relative error of the variance at most 1e-10 for t from -1e6 to 1e6.
    """
    if t > _FAR:
        v = normal_hazard(-t)
        return v, max(1.0 - v * (v + t), 0.0)
    u = 1.0 / (t * t)
    # The mean's series, and the variance as d(mean)/dt: differentiated term by term.
    mean, slope, power = 0.0, 0.0, 1.0
    for k in range(len(_FAR_MEAN)):
        mean += _FAR_MEAN[k] * power
        slope += (2.0 * k + 1.0) * _FAR_MEAN[k] * power
        power *= u
    return -mean / t - t, slope * u


@inner_kernel
def _by_quadrature(t: float, e: float) -> tuple[float, float]:
    """Return (mean, variance) given |X| <= e, for narrow bounds."""
    top = max(t * e, -t * e)  # the exponent at the nearer bound, without its square
    mass, first, second = 0.0, 0.0, 0.0
    for k in range(len(_NODES)):
        x = e * _NODES[k]
        density = _WEIGHTS[k] * exp(t * x - 0.5 * x * x - top)
        mass += density
        first += density * _NODES[k]
    mean = first / mass
    for k in range(len(_NODES)):
        x = e * _NODES[k]
        density = _WEIGHTS[k] * exp(t * x - 0.5 * x * x - top)
        second += density * (_NODES[k] - mean) ** 2
    return e * mean, e * e * second / mass


@inner_kernel
def within(t: float, e: float) -> tuple[float, float]:
    """Return (mean - t, variance) of X given that -e <= X <= e; e positive.

    Relative error of the variance at most 1e-10, for t from -1e3 to 1e3 and e from 1e-6 to 40.
    """
    m = abs(t)
    if e <= _NARROW and 2.0 * m * e <= _STEEPEST:
        mean, variance = _by_quadrature(m, e)
        shift = mean - m
    elif m - e > -_FAR:
        # The other bound is out of sight: e^(-2 m e) is below e^-40.
        shift, variance = above_zero(e - m)
        shift = -shift
    else:
        # With a = e + m and b = e - m the interval is from -a to b around the mean.
        a, b = e + m, e - m
        if b < 0.0:
            left = exp(-2.0 * m * e)  # density at -a over density at b
            mass = _SQRT_HALF_PI * (erfcx(-b * _SQRT_HALF) - left * erfcx(a * _SQRT_HALF))
            shift = (left - 1.0) / mass
            variance = 1.0 - (a * left + b) / mass - shift * shift
        else:
            at_a, at_b = exp(-0.5 * a * a), exp(-0.5 * b * b)
            mass = 2.0 * _SQRT_HALF_PI - _SQRT_HALF_PI * (
                at_a * erfcx(a * _SQRT_HALF) + at_b * erfcx(b * _SQRT_HALF)
            )
            shift = (at_a - at_b) / mass
            variance = 1.0 - (a * at_a + b * at_b) / mass - shift * shift
        variance = max(variance, 0.0)
    return (shift if t >= 0.0 else -shift), variance
