"""The equation of Elo-MMR-chi for thousands of players: plain formulas on whole NumPy arrays.

Source: [EM]_ Theorem 3.2 with normal performances, in the precision of the machine's long double.
"""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


#: Where the hazard is tabulated, and how far apart; below it is the density to 19 digits.
LOWEST, HIGHEST, STEP = -9, 20, 1 / 128

#: Terms of its Taylor series between: its poles are 2.8 off, so (1/256/2.8)^6 = 8e-18 is left.
TERMS = 6


@cache
def hazard_table() -> NDArray[np.longdouble]:
    """Return the hazard's Taylor coefficients at every point, shape (points, TERMS).

    The values are mpmath's; the rest follows from h' = h (h - z).
    """
    points = np.arange(round((HIGHEST - LOWEST) / STEP) + 1) * STEP + LOWEST
    table = np.zeros((len(points), TERMS), dtype=np.longdouble)
    with mpmath.workdps(40):
        for row, z in zip(table, map(mpmath.mpf, points.tolist()), strict=True):
            exact = 2 * mpmath.npdf(z) / mpmath.erfc(z / mpmath.sqrt(2))
            row[0] = np.longdouble(mpmath.nstr(exact, 30))
    for k in range(TERMS - 1):
        square = sum(table[:, i] * table[:, k - i] for i in range(k + 1))
        shifted = points * table[:, k] + (table[:, k - 1] if k else 0)
        table[:, k + 1] = (square - shifted) / (k + 1)
    return table


def hazards(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return density/(1 - distribution) of the standard normal, in the precision of z."""
    table = hazard_columns(z.dtype)
    nearest = np.rint((np.clip(z, LOWEST, HIGHEST) - LOWEST) / STEP).astype(np.int64)
    t = z - (nearest * STEP + LOWEST)
    found = table[TERMS - 1].take(nearest)
    for k in range(TERMS - 2, -1, -1):
        found *= t
        found += table[k].take(nearest)
    outside = (z <= LOWEST) | (z >= HIGHEST)
    if np.any(outside):
        found[outside] = hazards_outside(z[outside])
    return found


@cache
def hazard_columns(precision: np.dtype[np.floating]) -> NDArray[np.floating]:
    """Return the table in this precision, shape (TERMS, points)."""
    return np.ascontiguousarray(hazard_table().T.astype(precision))


def hazards_outside(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the hazard up to LOWEST and from HIGHEST on."""
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * z.dtype.type(np.pi))
    # Laplace's continued fraction; twelve levels are exact to 20 digits from 20 on.
    above = np.maximum(z, HIGHEST)
    fraction = above
    for level in range(12, 0, -1):
        fraction = above + level / fraction
    return np.where(z <= LOWEST, density, fraction)


def gaussian_balance(
    x: NDArray[np.floating], means: Floats, deltas: Floats, order: Ints
) -> NDArray[np.floating]:
    """Return -Q at x, shape (k,), of Theorem 3.2 with normal performances.

    order : shape (k, n); 1 beaten, 0 tied, -1 lost to
    """
    z = (x[:, None] - means) / deltas
    # v = f/F is hazard(-z), l = -f/(1 - F) is -hazard(z), d = f'/f is -z, each over delta.
    terms = np.where(order == 0, z, -order * hazards(-order * z)) / deltas
    return terms.sum(axis=1)
