"""Piecewise Chebyshev interpolation: node values to coefficients, evaluation with derivative.

An interval k covers [k width, (k + 1) width]. Its function is given at `NODES` Chebyshev points
of the first kind and becomes a series sum_m c_m T_m(t), t in [-1, 1].
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats

#: Points an interval. 24 is three vectors of 8 float64, and enough for 1e-14 (see sigmoid_sum).
NODES = 24


# math.cos, not numpy.cos: the bits of the latter depend on the vector instructions of the CPU.
_ANGLES = [math.pi * (v + 0.5) / NODES for v in range(NODES)]


def chebyshev_points() -> Floats:
    """Return the `NODES` Chebyshev points of the first kind on [-1, 1], ascending."""
    return np.array([-math.cos(angle) for angle in _ANGLES])


def _values_to_series() -> Floats:
    """Return the matrix that takes values at `chebyshev_points` to coefficients."""
    cosines = [[math.cos(m * (math.pi - angle)) for angle in _ANGLES] for m in range(NODES)]
    matrix = 2.0 / NODES * np.array(cosines)
    matrix[0] /= 2.0
    return matrix


_POINTS = chebyshev_points()
_TO_SERIES = _values_to_series()


@inner_kernel
def interval_points(width: float, points: Floats) -> None:
    """Write the nodes of the interval [0, width] to `points`, shape (NODES,)."""
    for v in range(NODES):
        points[v] = 0.5 * width * (1.0 + _POINTS[v])


@kernel
def to_series(values: Floats) -> None:
    """Replace node values by series coefficients in place; shape (intervals * NODES,)."""
    column = np.empty(NODES)
    for base in range(0, len(values), NODES):
        for v in range(NODES):
            column[v] = values[base + v]
        for m in range(NODES):
            total = 0.0
            for v in range(NODES):
                total += _TO_SERIES[m, v] * column[v]
            values[base + m] = total


@inner_kernel
def evaluate_series(series: Floats, width: float, y: float) -> tuple[float, float]:
    """Return (value, derivative) at y of the piecewise series; y beyond the ends extrapolates."""
    last = len(series) // NODES - 1
    k = min(max(int(y / width), 0), last)
    t = 2.0 * (y / width - k) - 1.0
    base = k * NODES
    # Clenshaw for the value, and the same recurrence differentiated by t.
    b1, b2, d1, d2 = 0.0, 0.0, 0.0, 0.0
    for m in range(NODES - 1, 0, -1):
        d1, d2 = 2.0 * b1 + 2.0 * t * d1 - d2, d1
        b1, b2 = series[base + m] + 2.0 * t * b1 - b2, b1
    value = series[base] + t * b1 - b2
    slope = b1 + t * d1 - d2
    return value, slope * (2.0 / width)
