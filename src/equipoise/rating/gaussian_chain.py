"""Expectation propagation along a chain of Gaussian variables whose differences are bounded.

Source: [TS]_ Fig. 1 and Table 1, and the corrections v and w of sec. 3, here as moments of
truncated normal variables. Between the nodes x_0, x_1, ... of a chain stand factors: x_k - x_(k+1)
is above a margin (k did better), or within it either way (a tie). A message is a Gaussian factor
kept as (precision, precision times mean), so that one that says nothing is (0, 0).

Both TrueSkill systems end here: in the classic one the nodes are teams, in that of [NS]_ places.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Flags, Floats
from equipoise.numeric.truncated_normal import above_zero, within

#: A variance relative to that before is kept above this: a certain surprise is still finite.
_LEAST = 1e-12


class Chain(NamedTuple):
    """K nodes, K - 1 factors between them, and the factors' messages; arrays of precisions first.

    prior, prior_mean : shape (K,), precision of a node by itself, and precision times mean
    margin : shape (K - 1,), of the factor between k and k + 1
    tied : shape (K - 1,), whether the difference is within the margin instead of above it
    up, up_mean : shape (K - 1,), message of factor k to its better node k
    down, down_mean : shape (K - 1,), message of factor k to its worse node k + 1
    """

    prior: Floats
    prior_mean: Floats
    margin: Floats
    tied: Flags
    up: Floats
    up_mean: Floats
    down: Floats
    down_mean: Floats


@kernel
def empty_chain(nodes: int) -> Chain:
    """Return a chain whose nodes and factors say nothing yet."""
    between = max(nodes - 1, 0)
    return Chain(
        np.zeros(nodes),
        np.zeros(nodes),
        np.zeros(between),
        np.zeros(between, np.bool_),
        np.zeros(between),
        np.zeros(between),
        np.zeros(between),
        np.zeros(between),
    )


@inner_kernel
def difference_message(
    mean: float, variance: float, margin: float, tied: bool
) -> tuple[float, float]:
    """Return the message to a difference N(mean, variance) that it is so bounded."""
    deviation = math.sqrt(variance)
    if tied:
        shift, left = within(mean / deviation, margin / deviation)
    else:
        shift, left = above_zero((mean - margin) / deviation)
    left = max(left, _LEAST)
    # The posterior over the cavity: in precision 1/(left variance) - 1/variance, and so on.
    precision = (1.0 - left) / (left * variance)
    return precision, precision * mean + shift * deviation / (left * variance)


@inner_kernel
def _update(chain: Chain, k: int) -> float:
    """Send the messages of factor k anew; return how far they moved a node's mean."""
    a, a_mean = chain.prior[k], chain.prior_mean[k]
    if k > 0:
        a += chain.down[k - 1]
        a_mean += chain.down_mean[k - 1]
    b, b_mean = chain.prior[k + 1], chain.prior_mean[k + 1]
    if k + 1 < len(chain.up):
        b += chain.up[k + 1]
        b_mean += chain.up_mean[k + 1]
    mean_a, mean_b = a_mean / a, b_mean / b
    precision, weighted = difference_message(
        mean_a - mean_b, 1.0 / a + 1.0 / b, chain.margin[k], chain.tied[k]
    )
    # x_k is the difference plus x_(k+1), and x_(k+1) is x_k less the difference.
    widened_b, widened_a = 1.0 + precision / b, 1.0 + precision / a
    up = precision / widened_b
    up_mean = (weighted + precision * mean_b) / widened_b
    down = precision / widened_a
    down_mean = (precision * mean_a - weighted) / widened_a
    moved_a = (a_mean + up_mean) / (a + up) - (a_mean + chain.up_mean[k]) / (a + chain.up[k])
    moved_b = (b_mean + down_mean) / (b + down) - (b_mean + chain.down_mean[k]) / (
        b + chain.down[k]
    )
    chain.up[k], chain.up_mean[k] = up, up_mean
    chain.down[k], chain.down_mean[k] = down, down_mean
    return float(max(abs(moved_a), abs(moved_b)))


@inner_kernel
def sweep(chain: Chain) -> float:
    """Send all messages down the chain and up again; return the farthest a mean moved."""
    moved = 0.0
    between = len(chain.up)
    for k in range(between):
        moved = max(moved, _update(chain, k))
    for k in range(between - 2, -1, -1):
        moved = max(moved, _update(chain, k))
    return moved


@inner_kernel
def message_to(chain: Chain, k: int) -> tuple[float, float]:
    """Return what both factors beside node k say together."""
    precision, weighted = 0.0, 0.0
    if k > 0:
        precision += chain.down[k - 1]
        weighted += chain.down_mean[k - 1]
    if k < len(chain.up):
        precision += chain.up[k]
        weighted += chain.up_mean[k]
    return precision, weighted
