"""exp, tanh, the logistic function, sine and cosine for kernels, without branches or libraries.

They are written out as arithmetic, so that loops over arrays become vector instructions and every
machine computes the same bits. Errors are measured in tests/numeric against 60-digit arithmetic.

exp: x = n ln 2 + r with |r| <= (ln 2)/2, e^r - 1 = r + r^2 g(r), and 2^n is made from exponent
bits. g is the polynomial of degree 9 that interpolates (e^r - 1 - r)/r^2 at Chebyshev points
(computed with mpmath.chebyfit at 60 digits; relative error of e^r 1.3e-17 before rounding).

Sine and cosine: Taylor's series, which leave 5e-21 after twelve terms for |x| <= pi/2.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel

#: Beyond these exp would leave the normal range of float64, so arguments are bounded by them.
EXP_LOWEST, EXP_HIGHEST = -708.0, 709.0

_LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has 42 bits, so that n times it is exact for |n| < 2^11.
_LN2_HIGH = 0.6931471805598903
_LN2_LOW = 5.497923018708371e-14
# Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits.
_ROUNDER = 6755399441055744.0

# Coefficients of Taylor's series, from the second on.
_SINE = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(12)]
_COSINE = [(-1.0) ** k / math.factorial(2 * k) for k in range(13)]
_S1, _S2, _S3, _S4, _S5, _S6, _S7, _S8, _S9, _S10, _S11 = _SINE[1:]
_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12 = _COSINE[1:]


@inlined_kernel
def _reduced(x: float) -> tuple[float, float]:
    """Return (e^r - 1, 2^n) with x = n ln 2 + r."""
    shifted = x * _LOG2_E + _ROUNDER
    n = shifted - _ROUNDER
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    g = 2.5100385495510319078e-8
    g = g * r + 2.7620088445409748161e-7
    g = g * r + 2.7557268459997064772e-6
    g = g * r + 2.4801521295954375131e-5
    g = g * r + 1.9841269863053616878e-4
    g = g * r + 1.3888888917213716901e-3
    g = g * r + 8.3333333333300618325e-3
    g = g * r + 4.1666666666624127873e-2
    g = g * r + 1.6666666666666667453e-1
    g = g * r + 5.0000000000000010221e-1
    bits = (np.float64(shifted).view(np.int64) << 52) + np.int64(1023 << 52)
    return r + (r * r) * g, np.int64(bits).view(np.float64)


@inlined_kernel
def exp(x: float) -> float:
    """Return e^x to 2 units in the last place; x is bounded to [-708, 709]."""
    x = min(max(x, EXP_LOWEST), EXP_HIGHEST)
    expm1_r, power = _reduced(x)
    return power + power * expm1_r


@inner_kernel
def expm1(x: float) -> float:
    """Return e^x - 1, with small relative error also near 0; x is bounded to [-708, 709]."""
    x = min(max(x, EXP_LOWEST), EXP_HIGHEST)
    expm1_r, power = _reduced(x)
    return power * expm1_r + (power - 1.0)


@inner_kernel
def tanh(x: float) -> float:
    """Return tanh x to 1e-14 relative, also near 0."""
    # Beyond +-20 tanh is +-1 to the last bit.
    e = expm1(2.0 * min(max(x, -20.0), 20.0))
    return e / (e + 2.0)


@inner_kernel
def logistic(x: float) -> float:
    """Return 1/(1 + e^-x), with small relative error in both tails."""
    return 1.0 / (1.0 + exp(-x))


@inlined_kernel
def sine_and_cosine(x: float) -> tuple[float, float]:
    """Return (sin x, cos x) for |x| <= pi/2, to 3e-16."""
    y = x * x
    s = y * (_S7 + y * (_S8 + y * (_S9 + y * (_S10 + y * _S11))))
    s = y * (_S1 + y * (_S2 + y * (_S3 + y * (_S4 + y * (_S5 + y * (_S6 + s))))))
    c = y * (_C8 + y * (_C9 + y * (_C10 + y * (_C11 + y * _C12))))
    c = y * (_C2 + y * (_C3 + y * (_C4 + y * (_C5 + y * (_C6 + y * (_C7 + c))))))
    return x + x * s, 1.0 + y * (_C1 + c)
