"""Likelihood of choices: gradient and Hessian, in time proportional to the rows.

Let a match have rows 0, 1, ... in the order of rank, S_k the sum of exp(x_j) over rows j >= k, and
c_k choices from that set. Then row r was expected to be chosen e_r A_r times, with e_r = exp(x_r)
and A_r = sum of c_k / S_k over k <= r. The information is that of the choices:

    (H v)_r = e_r (A_r v_r - Q_r),    Q_r = sum of c_k T_k / S_k^2 over k <= r

where T_k is the sum of e_j v_j over j >= k. Exponentials are relative to the strongest of a match.
"""

from __future__ import annotations

import math

from equipoise._jit import inner_kernel
from equipoise.arrays import Floats, Ints


@inner_kernel
def evaluate(
    offsets: Ints,
    player: Ints,
    count: Floats,
    x: Floats,
    power: Floats,
    inverse: Floats,
    expected: Floats,
    diagonal: Floats,
) -> float:
    """Return the sum of c_k ln S_k; fill exp(x), 1/S, E and the information's diagonal.

    power, inverse : shape (K,); expected, diagonal : shape (N,), 0 at first
    """
    total = 0.0
    for m in range(len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        top = -math.inf
        for r in range(low, high):
            top = max(top, x[player[r]])
        rest = 0.0
        for r in range(high - 1, low - 1, -1):
            power[r] = math.exp(x[player[r]] - top)
            rest += power[r]
            inverse[r] = 0.0
            if count[r] > 0.0:
                inverse[r] = 1.0 / rest
                total += count[r] * (math.log(rest) + top)
        ahead = squares = 0.0
        for r in range(low, high):
            ahead += count[r] * inverse[r]
            squares += count[r] * inverse[r] * inverse[r]
            share = power[r] * ahead
            expected[player[r]] += share
            diagonal[player[r]] += share - power[r] * power[r] * squares
    return total


@inner_kernel
def multiply(
    offsets: Ints,
    player: Ints,
    count: Floats,
    power: Floats,
    inverse: Floats,
    v: Floats,
    work: Floats,
    out: Floats,
) -> None:
    """Add H v to out, shape (N,); work, shape (K,), is overwritten."""
    for m in range(len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        rest = 0.0
        for r in range(high - 1, low - 1, -1):
            rest += power[r] * v[player[r]]
            work[r] = rest * inverse[r]
        ahead = mixed = 0.0
        for r in range(low, high):
            chosen = count[r] * inverse[r]
            ahead += chosen
            mixed += chosen * work[r]
            out[player[r]] += power[r] * (ahead * v[player[r]] - mixed)


@inner_kernel
def fill_information(
    offsets: Ints,
    player: Ints,
    count: Floats,
    power: Floats,
    inverse: Floats,
    matrix: Floats,
) -> None:
    """Add H to a matrix, shape (N, N)."""
    for m in range(len(offsets) - 1):
        low, high = offsets[m], offsets[m + 1]
        ahead = squares = 0.0
        for r in range(low, high):
            ahead += count[r] * inverse[r]
            squares += count[r] * inverse[r] * inverse[r]
            i = player[r]
            matrix[i, i] += power[r] * ahead - power[r] * power[r] * squares
            both = power[r] * squares
            for s in range(r + 1, high):
                matrix[i, player[s]] -= both * power[s]
                matrix[player[s], i] -= both * power[s]
