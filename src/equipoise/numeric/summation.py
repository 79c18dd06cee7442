"""Sums whose order is fixed, so that the same numbers give the same bits."""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.arrays import Floats

#: Terms computed as vectors before they are summed.
BLOCK = 256

#: Bits of the sums of whole numbers of `exact_sum`; a sum of int64 may have 63.
_SUM_BITS, _FINE_BITS = 62, 42


@inner_kernel
def lane_sum(values: Floats, count: int | np.uint64) -> float:
    """Return the sum of values[:count] by eight interleaved running sums."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    count = int(count)
    whole = count // 8 * 8
    for i in range(0, whole, 8):
        s0 += values[i]
        s1 += values[i + 1]
        s2 += values[i + 2]
        s3 += values[i + 3]
        s4 += values[i + 4]
        s5 += values[i + 5]
        s6 += values[i + 6]
        s7 += values[i + 7]
    rest = 0.0
    for i in range(whole, count):
        rest += values[i]
    return (((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))) + rest


@inner_kernel
def exact_sum(values: Floats, count: int) -> float:
    """Return the sum of values[:count], the same bits in any order of the values.

    Every value is cut into two whole numbers of steps, and whole numbers add up without rounding.
    The steps are powers of two: the first is so coarse that no sum overflows, and the second is
    finer than the last digit of all that matters. Fewer than 2^20 values keep their digits.
    """
    largest = 0.0
    for i in range(count):
        largest = max(largest, abs(values[i]))
    if not 1e-200 < largest < 1e200:
        return 0.0 if largest <= 1e-200 else math.nan
    _, exponent = math.frexp(largest * count)
    step = math.ldexp(1.0, exponent - _SUM_BITS)
    fine = math.ldexp(step, -_FINE_BITS)
    coarse_steps, fine_steps = 0, 0
    for i in range(count):
        steps = int(values[i] / step)
        coarse_steps += steps
        fine_steps += int((values[i] - steps * step) / fine)
    return coarse_steps * step + fine_steps * fine
