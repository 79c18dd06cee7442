"""Sums whose order is fixed, so that the same numbers give the same bits."""

from __future__ import annotations

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.arrays import Floats

#: Terms computed as vectors before they are summed.
BLOCK = 256


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
