"""exp, logistic function, sine, cosine and normal distribution in kernels, and roots.

Elementary functions are written out as arithmetic, so that loops over arrays become vector
instructions and every machine computes the same bits. Errors are measured in tests/numeric against
60-digit arithmetic.

exp: x = n ln 2 + r with |r| <= (ln 2)/2, e^r - 1 = r + r^2 g(r), and 2^n is made from exponent
bits. g is the polynomial of degree 9 that interpolates (e^r - 1 - r)/r^2 at Chebyshev points
(computed with mpmath.chebyfit at 60 digits; relative error of e^r 1.3e-17 before rounding).

Sine and cosine: Taylor's series, which leave 5e-21 after twelve terms for |x| <= pi/2.

The normal distribution is accurate in both tails.

Distribution function and hazard. The scaled complementary error function erfcx(x) =
exp(x^2) erfc(x) neither overflows nor underflows for x >= 0, so ratios of tails are formed from it.
(1 + 2x) erfcx(x) is smooth in t = (x - 4)/(x + 4) on all of [0, inf); its Chebyshev series in t
(computed with mpmath at 50 digits) leaves 4e-17 after 24 terms. In powers of t the coefficients'
sizes sum to 1.8, so nothing cancels, and pairs, fours and eights are summed side by side.

Quantiles. A rational first guess, good to 4e-4, is followed by two of Halley's steps, which cube
the error. The steps compare p with the tail relative to the density, so no digits are lost however
small p is.

Truncated moments. `above_zero` and `within` return mean and variance of a normal variable X with
mean t and standard deviation 1 that is known to be above a bound, or within bounds. Formulas with
densities and tails lose all digits where the condition is improbable (t far below the bound) or the
bounds are narrow. So the tail comes from erfcx, the far tail from its series and narrow bounds from
Gauss-Legendre quadrature: the variance keeps its digits everywhere.

Roots. A kernel cannot cheaply take a function as an argument, so only the step is shared: it
evaluates its own function, calls `newton_step`, and stops at `MAX_ITERATIONS`. A step bisects if
Newton's step would leave the bracket, and after the first steps every other one does, so that the
bracket becomes narrow for every function.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats

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

#: Least probability at which derivatives of a normal curve are taken.
_LEAST_CHANCE = 1e-12

#: Below this t `above_zero` uses the series of the far tail; the eleventh term is below 1e-14.
_FAR = -14.0

#: With u = 1/t^2: the mean above 0 is -(1/t)(1 - 2u + 10u^2 - ...), the variance u (1 - 6u + ...).
_FAR_MEAN = (1.0, -2.0, 10.0, -74.0, 706.0, -8162.0, 110410.0, -1708394.0, 29752066.0)

#: It includes 58 steps of bisection, so that the last bracket is 2^-58 of the first for every
#: function.
MAX_ITERATIONS = 128
#: A Newton correction below this share of an interval, or of the scale, is the last: the next would
#: be its square.
LAST_CORRECTION = 1e-7
#: A bracket this small, in intervals, is at the limit of rounding.
EXHAUSTED = 1e-12

#: Steps before every other one bisects.
_PATIENCE = 10


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


_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_ONE_OVER_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_SQRT_2PI = math.sqrt(2.0 * math.pi)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
_LN_2 = math.log(2.0)

#: Bits of a float64 after its exponent, and the exponent of 1.
_MANTISSA_BITS, _EXPONENT_OF_ONE = 52, 1023

#: Quadrature with 32 nodes is exact to 1e-13 for densities that fall by e^-40 over the bounds.
_NARROW, _STEEPEST = 1.5, 40.0

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


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
    # Rounding makes erfcx of about 1e-15 more than 1; a tail is at most a half.
    tail = min(0.5, 0.5 * exp(-0.5 * z * z) * erfcx(abs(z) * _SQRT_HALF))
    return tail if z < 0.0 else 1.0 - tail


@inlined_kernel
def normal_hazard(z: float) -> float:
    """Return density(z)/P(Z > z), which is about z for large z; for the lower tail use hazard(-z).

    Relative error: 1e-15 for z >= 0, 1e-13 down to z = -37.6; below, it equals the density.
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


@inner_kernel
def score_curve(z: float, normal: bool) -> tuple[float, float]:
    """Return (p, ratio): the expected score at z, and what a surplus over it is worth.

    The log likelihood of a score has the derivative (score - p) ratio by z.
    """
    if normal:
        p = min(max(normal_cdf(z), _LEAST_CHANCE), 1.0 - _LEAST_CHANCE)
        return p, math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / (p * (1.0 - p))
    return 1.0 / (1.0 + math.exp(-z)) if z > -700.0 else 0.0, 1.0


@kernel
def _fill_cdf(z: Floats, out: Floats) -> None:
    for i in range(len(z)):
        out[i] = normal_cdf(z[i])


def normal_cdf_of(z: Floats) -> Floats:
    """Return P(Z <= z) of every element, in the same shape."""
    out = np.empty(z.size)
    _fill_cdf(np.ascontiguousarray(z).reshape(-1), out)
    return out.reshape(z.shape)


@inlined_kernel
def _rough_log(x: float) -> float:
    """Return ln x of a positive normal number to 3e-5; arithmetic alone, the same everywhere."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits >> _MANTISSA_BITS) - _EXPONENT_OF_ONE
    fraction = np.int64(bits - (exponent << _MANTISSA_BITS)).view(np.float64)
    # ln m = 2 artanh((m - 1)/(m + 1)), m in [1, 2)
    y = (fraction - 1.0) / (fraction + 1.0)
    square = y * y
    series = 1.0 + square * (1.0 / 3.0 + square * (1.0 / 5.0 + square / 7.0))
    return exponent * _LN_2 + 2.0 * y * series


@inlined_kernel
def _halley(x: float, p: float) -> float:
    """Return a better x with P(Z > x) = p."""
    # All relative to the density at x; the derivatives of (tail - p)/density are -1 and x of it.
    one_over_density = _SQRT_2PI * exp(0.5 * x * x)
    beyond = 0.5 * _SQRT_2PI * erfcx(abs(x) * _SQRT_HALF)
    # A guess may be on the other side of 0 only if p is near 1/2.
    tail = one_over_density - beyond if x < 0.0 else beyond
    off = tail - p * one_over_density
    return x + off / (1.0 - 0.5 * x * off)


@inlined_kernel
def lower_normal_quantile(p: float) -> float:
    """Return z <= 0 with P(Z <= z) = p, for p from 1e-300 to 1/2, to 1e-15 relative or absolute."""
    t = math.sqrt(-2.0 * _rough_log(p))
    # Hastings' approximation, number 26.2.23 in Abramowitz and Stegun.
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    x = t - above / below
    x = _halley(_halley(x, p), p)
    return -x


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
        # The other bound has no effect: e^(-2 m e) is below e^-40.
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


@inner_kernel
def newton_step(
    x: float, value: float, slope: float, low: float, high: float, iteration: int
) -> tuple[float, float, float]:
    """Return (next x, low, high) of an increasing function with a zero in [low, high].

    value, slope : the function and its derivative at x
    iteration : number of this step, from 0
    """
    if value > 0.0:
        high = min(high, x)
    else:
        low = max(low, x)
    # A slope of 0 or NaN leads to bisection, and so does a step to infinity.
    if slope > 0.0 and (iteration <= _PATIENCE or iteration % 2 == 1):
        following = x - value / slope
        if low <= following <= high:
            return following, low, high
    return 0.5 * (low + high), low, high
