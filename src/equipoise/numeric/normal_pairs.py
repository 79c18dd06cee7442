"""How many members of a field are expected above each member, if all vary normally.

With positions x_j and variances v_j, member i is expected to find

    above_i = sum over j of Phi((x_j - x_i)/sqrt(v_i + v_j))

above itself, which includes 1/2 from its own term. These are n^2 terms of two variables, but they
separate in frequencies. With a square wave of half period H in place of the step, k = pi/H and odd
multiples of it,

    Phi(z/s) = 1/2 + (2/pi) sum over odd q of sin(q k z) exp(-q^2 k^2 s^2/2)/q,

and both sin(q k (x_j - x_i)) and exp(-q^2 k^2 (v_i + v_j)/2) separate into a factor of i and one
of j. So the sums over j of exp(-q^2 k^2 v_j/2) times cos and sin(q k x_j), the waves of the field,
are computed once, and every member reads its number from them, in linear time.

H is larger than every difference, and there are enough waves for the term of the sharpest pair to
vanish; either leaves less than 1e-17 of a term.

Waves or pairs. A pair needs waves up to a frequency in inverse proportion to its deviation,
sqrt(v_i + v_j). The sharp members, those of least deviation, would need many more waves than all
others, so they are compared with one another pair by pair, and so are all members where waves would
cost more. The number of sharp members is chosen for the least cost; all other members are blunt.

Waves that nearly cancel leave about 1e-15 of the complete field as rounding. So the few members
who have almost no others above or below them are summed pair by pair, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.functions import exp, normal_cdf, sine_and_cosine
from equipoise.numeric.sums import BLOCK, CHUNK, lane_sum

#: Smaller fields are always summed pair by pair.
_DIRECT_BELOW = 32

#: H is the largest difference plus this many largest deviations of a difference, and the highest
#: frequency is this number over the smallest one: both leave normal tails of a relative 1e-17.
_PERIOD_TAIL, _HIGHEST = 8.5, 8.3

#: Cost of a wave of one member, relative to that of a pair.
_COST_OF_WAVE = 0.25

#: Bits of a float64 after those that distinguish classes of deviations.
_CLASS_BITS = 49


#: Members whose waves are computed side by side.
LANES = 64

#: A member with less than this share of the field, and fewer than this many members, above or below
#: is summed pair by pair. At most 2 m members have an expected m others above them: in any group,
#: half of the others are above a member on average.
_TAIL_SHARE, _TAIL_MOST = 1e-3, 32.0

#: The smallest factor by which waves are damped.
_NOTHING = 1e-140


class Crowd(NamedTuple):
    """The members of a field, and which of them are summed by waves.

    order : shape (n,), the members by class of deviation, the least first
    x, v : shape (n,), in that order; positions from the middle of the field
    sharp : number of sharp members, the first ones
    terms : number of waves; 0 if all members are sharp
    half_period : H
    """

    order: Ints
    x: Floats
    v: Floats
    sharp: int
    terms: int
    half_period: float


class Waves(NamedTuple):
    """Sums over a field, each of shape (2, terms): cosines and sines.

    blunt : over the blunt members, for the sharp ones
    every : over all members, for the blunt ones
    """

    blunt: Floats
    every: Floats


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
    """Return (number of sharp members, number of waves) with the least cost."""
    classes = len(least)
    n = float(offsets[classes])
    alone = np.empty(classes)
    for c in range(classes):
        alone[c] = _terms(half_period, least[c])
    # All pairs, unless some limit between sharp and blunt costs less.
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
    """Return how to sum a field.

    positions, deviations : shape (n,), deviations from 1e-100 to 1e100
    """
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
    """Return how many waves matter to members base:stop; their factors damp all others to 0."""
    least = crowd.v[base]
    for j in range(base + 1, stop):
        least = min(least, crowd.v[j])
    return int(min(_terms(crowd.half_period, math.sqrt(least)), float(crowd.terms)))


@kernel
def _lanes() -> Floats:
    """Return working memory of `LANES` members: one array, so that nothing seems to overlap."""
    return np.empty(9 * LANES)


@inner_kernel
def _first_wave(crowd: Crowd, base: int, stop: int, lanes: Floats) -> None:
    """Write cos, sin and damping of members base:stop for the first wave, and their steps."""
    k = math.pi / crowd.half_period
    for i in range(np.uint64(LANES)):
        # Lanes without a member repeat the last member.
        j = min(base + i, stop - 1)
        s, c = sine_and_cosine(k * crowd.x[j])
        e = exp(-0.5 * k * k * crowd.v[j])
        e2 = e * e
        e4 = e2 * e2
        lanes[i], lanes[i + LANES] = c, s
        lanes[i + 2 * LANES], lanes[i + 3 * LANES] = c * c - s * s, 2.0 * s * c
        # exp(-q^2 a) for q = 1, 3, 5 ... steps by exp(-8 a), exp(-16 a), ...
        lanes[i + 4 * LANES] = e
        lanes[i + 5 * LANES] = lanes[i + 6 * LANES] = e4 * e4


@inner_kernel
def _next_wave(lanes: Floats) -> None:
    """Advance all lanes to the next odd multiple."""
    for i in range(np.uint64(LANES)):
        c, s = lanes[i], lanes[i + LANES]
        turn, lift = lanes[i + 2 * LANES], lanes[i + 3 * LANES]
        lanes[i], lanes[i + LANES] = c * turn - s * lift, s * turn + c * lift
        # Bounded, so that products stay out of the range in which processors are slow.
        lanes[i + 4 * LANES] = max(lanes[i + 4 * LANES] * lanes[i + 5 * LANES], _NOTHING)
        lanes[i + 5 * LANES] = max(lanes[i + 5 * LANES] * lanes[i + 6 * LANES], _NOTHING)


@kernel
def add_waves(crowd: Crowd, start: int, stop: int, sums: Floats) -> None:
    """Add the waves of members start:stop to `sums`, shape (2, terms)."""
    lanes = _lanes()
    for base in range(start, stop, LANES):
        _first_wave(crowd, base, stop, lanes)
        count = np.uint64(min(LANES, stop - base))
        for m in range(terms_of(crowd, base, min(base + LANES, stop))):
            for i in range(np.uint64(LANES)):
                lanes[i + 7 * LANES] = lanes[i] * lanes[i + 4 * LANES]
                lanes[i + 8 * LANES] = lanes[i + LANES] * lanes[i + 4 * LANES]
            sums[0, m] += lane_sum(lanes[7 * LANES : 8 * LANES], count)
            sums[1, m] += lane_sum(lanes[8 * LANES :], count)
            _next_wave(lanes)


@kernel
def waves_of(crowd: Crowd, parts: Floats) -> Waves:
    """Return the waves of the field.

    parts : shape (chunks, 2, terms), of the blunt members in chunks of `CHUNK`
    """
    blunt, lost = np.zeros((2, crowd.terms)), np.zeros((2, crowd.terms))
    for part in parts:
        for side in range(2):
            for m in range(crowd.terms):
                # Knuth's sum: it gives the rounding error for all signs and sizes.
                a, b = blunt[side, m], part[side, m]
                total = a + b
                b_kept = total - a
                lost[side, m] += (a - (total - b_kept)) + (b - b_kept)
                blunt[side, m] = total
    blunt += lost
    every = blunt.copy()
    add_waves(crowd, 0, crowd.sharp, every)
    for m in range(crowd.terms):
        blunt[:, m] *= 2.0 / (math.pi * (2 * m + 1))
        every[:, m] *= 2.0 / (math.pi * (2 * m + 1))
    return Waves(blunt, every)


@kernel
def _read(crowd: Crowd, waves: Floats, members: int, start: int, stop: int, above: Floats) -> None:
    """Write to above[start:stop] how many of the `members` in the waves are above each."""
    lanes, totals = _lanes(), np.empty(LANES)
    for base in range(start, stop, LANES):
        _first_wave(crowd, base, stop, lanes)
        totals[:] = 0.0
        for m in range(terms_of(crowd, base, min(base + LANES, stop))):
            cosine, sine = waves[0, m], waves[1, m]
            for i in range(np.uint64(LANES)):
                wave = lanes[i] * sine - lanes[i + LANES] * cosine
                totals[i] += lanes[i + 4 * LANES] * wave
            _next_wave(lanes)
        for j in range(base, min(base + LANES, stop)):
            above[j] = 0.5 * members + totals[j - base]


@inner_kernel
def _pairs(crowd: Crowd, i: int, sign: float, members: int, terms: Floats) -> float:
    """Return the expected number of the first members above (sign 1) or below (-1) member i."""
    x, v, total = crowd.x, crowd.v, 0.0
    for base in range(0, members, BLOCK):
        first, count = np.uint64(base), np.uint64(min(BLOCK, members - base))
        for j in range(count):
            difference = sign * (x[first + j] - x[i])
            terms[j] = normal_cdf(difference / math.sqrt(v[i] + v[first + j]))
        total += lane_sum(terms, count)
    return total


@kernel
def count_members(
    crowd: Crowd, waves: Waves, start: int, stop: int, above: Floats, below: Floats
) -> None:
    """Write how many members are above and below members start:stop of the order, at their rows."""
    n, sharp = len(crowd.x), crowd.sharp
    counts, terms = np.zeros(stop - start), np.empty(BLOCK)
    least = min(_TAIL_SHARE * n, _TAIL_MOST) if sharp < n else 0.0
    split = min(max(start, sharp), stop)
    if crowd.terms > 0:
        shifted = Crowd(
            crowd.order,
            crowd.x[start:stop],
            crowd.v[start:stop],
            sharp,
            crowd.terms,
            crowd.half_period,
        )
        _read(shifted, waves.blunt, n - sharp, 0, split - start, counts)
        _read(shifted, waves.every, n, split - start, stop - start, counts)
    for i in range(start, stop):
        value = counts[i - start]
        if i < sharp:
            value += _pairs(crowd, i, 1.0, sharp, terms)
        rest = n - value
        if value < least:
            value = _pairs(crowd, i, 1.0, n, terms)
            rest = n - value
        elif rest < least:
            rest = _pairs(crowd, i, -1.0, n, terms)
            value = n - rest
        above[crowd.order[i]], below[crowd.order[i]] = value, rest


@kernel
def expected_above_and_below(positions: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """Return (above, below), each of shape (n,), computed on one thread; they sum to n.

    positions, deviations : shape (n,), deviations positive
    """
    n = len(positions)
    crowd = crowd_of(positions, deviations)
    chunks = (n - crowd.sharp + CHUNK - 1) // CHUNK
    parts = np.zeros((chunks, 2, crowd.terms))
    for c in range(chunks):
        start = crowd.sharp + c * CHUNK
        add_waves(crowd, start, min(start + CHUNK, n), parts[c])
    waves = waves_of(crowd, parts)
    above, below = np.empty(n), np.empty(n)
    count_members(crowd, waves, 0, n, above, below)
    return above, below
