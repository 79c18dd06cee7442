"""The performance of everyone in a contest, as TopCoder infers it, in linear time.

Source: [TC]_, as the authors of [EM]_ ran it (READINGS B12). Of n players with ratings mu,
volatilities sigma and the mean rating m,

    C = sqrt(mean of sigma^2 + sum (mu - m)^2/(n - 1))
    e = sum over all j of Phi((mu_j - mu)/sqrt(sigma^2 + sigma_j^2))    the expected place
    a = (1 + first + last)/2                                            the place, from 0
    performance = mu + C (invPhi(e/n) - invPhi(a/n))

where last - first is what the players who tie span. All e together take linear time
(`numeric/normal_pairs`). In the lower half of the field e/n and a/n are counted from the end, so
that the last places are as exact as the first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats
from equipoise.numeric.normal_crowd import crowd_of
from equipoise.numeric.normal_pairs import (
    add_waves,
    count_members,
    expected_above_and_below,
    waves_of,
)
from equipoise.numeric.normal_quantile import lower_normal_quantile
from equipoise.numeric.sigmoid_sum import CHUNK
from equipoise.numeric.summation import lane_sum
from equipoise.numeric.workers import Workers


class Places(NamedTuple):
    """What everyone was expected to do, and did; each of shape (n,).

    above, below : how many were expected above and below, oneself half to either; e and n - e
    surprise : invPhi(e/n) - invPhi(a/n)
    """

    above: Floats
    below: Floats
    surprise: Floats


@kernel
def spread_of_field(ratings: Floats, volatilities: Floats) -> float:
    """Return C; both of shape (n,), n at least 2."""
    n = len(ratings)
    mean = lane_sum(ratings, n) / n
    apart, squares = ratings - mean, volatilities * volatilities
    return math.sqrt(lane_sum(squares, n) / n + lane_sum(apart * apart, n) / (n - 1.0))


@inner_kernel
def _fill_surprise(
    above: Floats, below: Floats, places: Floats, start: int, stop: int, surprise: Floats
) -> None:
    """Write invPhi(e/n) - invPhi(a/n) of players start:stop.

    places : shape (n,), from 1, ties at their mean: a + 1/2
    """
    n = len(places)
    for i in range(np.uint64(start), np.uint64(stop)):
        z = lower_normal_quantile(min(above[i], below[i]) / n)
        expected = z if above[i] <= below[i] else -z
        actual_above = places[i] - 0.5
        actual_below = n - actual_above
        z = lower_normal_quantile(min(actual_above, actual_below) / n)
        surprise[i] = expected - (z if actual_above <= actual_below else -z)


@kernel
def places_on_one_thread(ratings: Floats, volatilities: Floats, places: Floats) -> Places:
    """Return what everyone was expected to do, and did.

    ratings, volatilities, places : shape (n,); places from 1, ties at their mean
    """
    above, below = expected_above_and_below(ratings, volatilities)
    surprise = np.empty(len(ratings))
    _fill_surprise(above, below, places, 0, len(ratings), surprise)
    return Places(above, below, surprise)


def places_on_workers(
    ratings: Floats, volatilities: Floats, places: Floats, workers: Workers
) -> Places:
    """Return what `places_on_one_thread` returns, the same bits, with many threads."""
    n = len(ratings)
    crowd = crowd_of(ratings, volatilities)
    blunt = n - crowd.sharp
    parts = np.zeros(((blunt + CHUNK - 1) // CHUNK, 2, crowd.terms))
    workers.each_chunk(
        blunt,
        CHUNK,
        lambda c, start, stop: add_waves(crowd, crowd.sharp + start, crowd.sharp + stop, parts[c]),
    )
    waves = waves_of(crowd, parts)
    found = Places(np.empty(n), np.empty(n), np.empty(n))
    workers.each_chunk(
        n,
        CHUNK,
        lambda _, start, stop: count_members(crowd, waves, start, stop, found.above, found.below),
    )
    workers.each_chunk(
        n,
        CHUNK,
        lambda _, start, stop: _fill_surprise(
            found.above, found.below, places, start, stop, found.surprise
        ),
    )
    return found
