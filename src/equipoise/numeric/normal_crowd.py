"""Whether members of a field of normal curves are summed by waves or directly, and by how many.

What the waves are stands in `normal_pairs`. A pair needs them up to a frequency in inverse
proportion to its deviation, sqrt(v_i + v_j). So the few members of least deviation, who among
themselves would need many more than all others, meet one another directly, and so do all where
waves would cost more than they save. How many those few are is decided by what costs least.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints

#: Fields smaller than this are summed directly without a thought.
_DIRECT_BELOW = 32

#: Half a period beyond the largest difference, in the largest deviation of a difference, and the
#: highest frequency times the smallest: normal tails of 1e-17 relative to what they are part of.
_PERIOD_TAIL, _HIGHEST = 8.5, 8.3

#: What a wave of one member costs, as a share of one pair summed directly.
_COST_OF_WAVE = 0.25

#: Bits of a float64 behind those that tell classes of deviations apart.
_CLASS_BITS = 49


class Crowd(NamedTuple):
    """Who is summed how.

    order : shape (n,), the members by class of deviation, the least first
    x, v : shape (n,), in that order; positions from the middle of the field
    sharp : so many, the first, meet one another directly
    terms : number of waves; 0 if there are only the sharp
    half_period : H
    """

    order: Ints
    x: Floats
    v: Floats
    sharp: int
    terms: int
    half_period: float


@kernel
def _by_class(deviations: Floats) -> tuple[Ints, Ints, Floats]:
    """Return (order, offsets of the classes in it, the least deviation of every class).

    A class is an eighth of a doubling: the exponent of a float64 and the first bits after it.
    """
    keys = deviations.view(np.int64) >> _CLASS_BITS
    lowest = keys.min()
    classes = keys.max() - lowest + 1
    offsets = np.zeros(classes + 1, np.int64)
    for key in keys:
        offsets[key - lowest + 1] += 1
    for c in range(classes):
        offsets[c + 1] += offsets[c]
    following, order = offsets[:-1].copy(), np.empty(len(keys), np.int64)
    for j in range(len(keys)):
        c = keys[j] - lowest
        order[following[c]] = j
        following[c] += 1
    return order, offsets, ((lowest + np.arange(classes)) << _CLASS_BITS).view(np.float64)


@kernel
def _cheapest(offsets: Ints, least: Floats, half_period: float) -> tuple[int, int]:
    """Return (how many meet directly, number of waves) that cost the least."""
    classes = len(least)
    n = float(offsets[classes])
    alone = np.empty(classes)
    for c in range(classes):
        alone[c] = _terms(half_period, least[c])
    # Everyone against everyone, unless some bound between sharp and blunt costs less.
    cost, sharp, terms = n * n, offsets[classes], 0
    waves = 0.0
    for c in range(classes - 1, -1, -1):
        waves += alone[c] * (offsets[c + 1] - offsets[c])
        needed = _terms(half_period, math.hypot(least[0], least[c]))
        directly = float(offsets[c]) * float(offsets[c])
        this = directly + _COST_OF_WAVE * (waves + needed * offsets[c])
        if this < cost:
            cost, sharp, terms = this, offsets[c], int(needed)
    return sharp, terms


@kernel
def crowd_of(positions: Floats, deviations: Floats) -> Crowd:
    """Return how to sum a field; both of shape (n,), deviations from 1e-100 to 1e100."""
    lowest, highest = positions[0], positions[0]
    for x in positions:
        lowest, highest = min(lowest, x), max(highest, x)
    half_period = (highest - lowest) + _PERIOD_TAIL * math.sqrt(2.0) * deviations.max()
    sharp, terms = len(positions), 0
    if sharp < _DIRECT_BELOW:
        order = np.arange(sharp)
    else:
        order, offsets, least = _by_class(deviations)
        sharp, terms = _cheapest(offsets, least, half_period)
    x = positions[order] - 0.5 * (lowest + highest)
    v = deviations[order] * deviations[order]
    return Crowd(order, x, v, sharp, terms, half_period)


@inner_kernel
def _terms(half_period: float, deviation: float) -> float:
    """Return how many odd multiples of pi/half_period there are up to the highest frequency."""
    return float(np.ceil(0.5 * (_HIGHEST * half_period / (math.pi * deviation) + 1.0)))


@inner_kernel
def terms_of(crowd: Crowd, base: int, stop: int) -> int:
    """Return how many waves matter to members base:stop: in all others they are damped away."""
    least = crowd.v[base]
    for j in range(base + 1, stop):
        least = min(least, crowd.v[j])
    return int(min(_terms(crowd.half_period, math.sqrt(least)), float(crowd.terms)))
