"""The normal distribution's density, distribution function and hazard, accurate in both tails.

The scaled complementary error function erfcx(x) = exp(x^2) erfc(x) neither overflows nor
underflows for x >= 0, so ratios of tails are formed from it. (1 + 2x) erfcx(x) is smooth in
t = (x - 4)/(x + 4) on all of [0, inf); its Chebyshev series in t (computed with mpmath at 50
digits) leaves 4e-17 after 24 terms. In powers of t the coefficients' sizes sum to 1.8, so nothing
cancels, and pairs, fours and eights are summed side by side instead of one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inlined_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.exponential import exp

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_ONE_OVER_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


@inlined_kernel
def _smooth(t: float) -> float:
    """Return (1 + 2x) erfcx(x), t = (x - 4)/(x + 4)."""
    t2 = t * t
    t4 = t2 * t2
    t8 = t4 * t4
    a0 = (1.2329951186255526 - 0.1396211168405623 * t) + t2 * (
        0.015379652102610473 + 0.06809705425466908 * t
    )
    a1 = (-0.10103906603586531 + 0.0937328349990944 * t) + t2 * (
        -0.06633036582031154 + 0.03716751552655567 * t
    )
    a2 = (-0.016197733981455194 + 0.005031970067657489 * t) + t2 * (
        -0.000757773707063825 - 0.00019925714661091188 * t
    )
    a3 = (0.00015062309720018628 - 2.4397746422436416e-05 * t) + t2 * (
        -1.1225101875659178e-05 + 5.706604414895734e-06 * t
    )
    a4 = (2.9801353803031333e-07 - 8.210939042560568e-07 * t) + t2 * (
        7.115337800585303e-08 + 1.0633855618594884e-07 * t
    )
    a5 = (-1.6371779763566967e-08 - 1.234686604382353e-08 * t) + t2 * (
        1.5738283774192037e-09 + 9.311744978232572e-10 * t
    )
    return (a0 + t4 * a1) + t8 * ((a2 + t4 * a3) + t8 * (a4 + t4 * a5))


@inlined_kernel
def erfcx(x: float) -> float:
    """Return exp(x^2) erfc(x) for x >= 0, to 1e-15 relative."""
    t = 1.0 - 8.0 / (x + 4.0)  # (x - 4)/(x + 4), also for x = inf
    return _smooth(t) / (1.0 + 2.0 * x)


@inlined_kernel
def normal_density(z: float) -> float:
    """Return the standard normal density at z; beyond |z| = 37.6 it stays at about 1e-308."""
    return _ONE_OVER_SQRT_2PI * exp(-0.5 * z * z)


@inlined_kernel
def normal_cdf(z: float) -> float:
    """Return P(Z <= z), to 1e-13 relative in the lower tail too, as far as z = -37.6.

    Below, where float64 runs out of digits, it is positive and less than 2e-309.
    """
    tail = 0.5 * exp(-0.5 * z * z) * erfcx(abs(z) * _SQRT_HALF)
    return tail if z < 0.0 else 1.0 - tail


@inlined_kernel
def normal_hazard(z: float) -> float:
    """Return density(z)/P(Z > z), about z for large z; the lower tail's ratio is hazard(-z).

    Relative error: 1e-15 for z >= 0, 1e-13 down to z = -37.6, below which it is as the density.
    """
    x = abs(z) * _SQRT_HALF
    head = 1.0 + 2.0 * x
    smooth = _smooth(1.0 - 8.0 / (x + 4.0))
    e = exp(-0.5 * z * z)
    # One quotient for both tails: sqrt(2/pi)/erfcx above, density/(1 - e erfcx/2) below.
    above = z >= 0.0
    numerator = _SQRT_2_OVER_PI * head if above else _ONE_OVER_SQRT_2PI * e * head
    denominator = smooth if above else head - 0.5 * e * smooth
    return numerator / denominator


@kernel
def _fill_cdf(z: Floats, out: Floats) -> None:
    for i in range(len(z)):
        out[i] = normal_cdf(z[i])


def normal_cdf_of(z: Floats) -> Floats:
    """Return P(Z <= z) of every element, of the same shape."""
    out = np.empty(z.size)
    _fill_cdf(np.ascontiguousarray(z).reshape(-1), out)
    return out.reshape(z.shape)
