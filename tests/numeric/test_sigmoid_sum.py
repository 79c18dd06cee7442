"""Sums of sigmoids against the plain double loop, at ordinary and at extreme scales."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.numeric.sums import (
    BLOCK,
    CHUNK,
    HALF_WIDTH,
    NODES,
    Sigmoids,
    add_tail_nodes,
    empty_scratch,
    evaluate_series,
    sum_of_chunks,
    tail_series,
    tail_sum,
    to_series,
)

#: 24 points leave rho^-24 = 1.6e-14 of the interval's largest value, and S falls by at most
#: e^(2 HALF_WIDTH) = 37 over an interval: relative error of an interpolated tail.
INTERPOLATED = 6e-13

#: Summed directly: exp to 2 units, a product and a quotient, and the sum.
DIRECT = 1e-14

#: What a curve adds to S beyond an exponent of 45 may be left out.
LEFT_OUT = math.exp(-45.0)


def exact_tail(y, curves):
    """Return (S(y), S'(y)) at 40 digits."""
    value, slope = mpmath.mpf(0), mpmath.mpf(0)
    with mpmath.workdps(40):
        for centre, b, weight in zip(*(column.tolist() for column in curves), strict=True):
            grown = mpmath.exp((mpmath.mpf(y) - mpmath.mpf(centre)) * mpmath.mpf(b))
            value += weight / (1 + grown)
            slope -= weight * b * grown / (1 + grown) ** 2
    return value, slope


def field(n, seed, scales=(100.0, 100.0), spread=300.0):
    """Return n curves of weight 1, centres normal, log scales uniform."""
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.uniform(math.log(scales[0]), math.log(scales[1]), n))
    return Sigmoids(rng.normal(0.0, spread, n), 1.0 / scale, np.ones(n))


def mirrored(curves):
    """Return the field as seen from the other side: its tail is the sum below."""
    return curves._replace(centres=-curves.centres)


def series_to(curves, farthest):
    """Return (piecewise series of S on [0, farthest], width of an interval)."""
    width = 2.0 * HALF_WIDTH / curves.slopes.max()
    return tail_series(curves, width, int(farthest / width) + 1), width


def check_series(curves, farthest, points):
    """Compare the series at `points` with mpmath, relative to S itself.

    Beyond 1e-12, S is known no better than y, which is rounded where nodes are placed (hence the
    slope), and no better than what was left out.
    """
    series, width = series_to(curves, farthest)
    total = curves.weights.sum()
    for y in points:
        value, _ = evaluate_series(series, width, float(y))
        exact, slope = exact_tail(float(y), curves)
        rounding = 4.0 * math.ulp(farthest) * float(-slope)
        allowed = INTERPOLATED * float(exact) + rounding + LEFT_OUT * total
        assert abs(value - float(exact)) <= allowed, y


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 30])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_series_of_a_few_players(n, side):
    """Truth is the double loop in mpmath, for n that are and are not multiples of 4."""
    curves = field(n, seed=n) if side > 0 else mirrored(field(n, seed=n))
    check_series(curves, 1_000.0, np.linspace(0.0, 1_000.0, 41))


@pytest.mark.parametrize("weighted", ["equally", "by slope"])
def test_scales_from_1_to_200(weighted):
    """Truth is mpmath. Intervals are as short as the smallest scale asks; the large ones profit."""
    curves = field(25, seed=1, scales=(1.0, 200.0), spread=60.0)
    if weighted == "by slope":  # as in Elo-MMR
        curves = curves._replace(weights=curves.slopes)
    check_series(curves, 300.0, np.linspace(0.0, 300.0, 60))


@pytest.mark.parametrize("outlier", [1e6, -1e6])
def test_a_player_a_million_points_away(outlier):
    """Truth is mpmath. The outlier's curve is 1 or 0 over the field, and whole over itself."""
    curves = field(9, seed=2)
    curves.centres[4] = outlier
    near_field = np.linspace(0.0, 3_000.0, 31)
    near_outlier = np.linspace(1e6 - 2_000.0, 1e6 + 2_000.0, 21)
    check_series(curves, 1.01e6, np.concatenate([near_field, near_outlier]))


def test_exponentials_that_began_at_nothing_are_made_anew():
    """A curve 5,000 scales away is 1 to the last bit at first, and yet has its fall in place."""
    curves = Sigmoids(np.array([5_000.0]), np.ones(1), np.ones(1))
    check_series(curves, 5_030.0, [0.0, 1e3, 4_955.0, 4_990.0, 5_000.0, 5_001.0, 5_030.0])


def test_chunks_on_threads_would_give_the_same_bits():
    """What a thread pool does, by hand: chunks in any order, then added up in their own."""
    curves = field(2 * CHUNK + 3, seed=6)
    width, intervals = 2.0 * HALF_WIDTH / curves.slopes.max(), 2
    parts = np.zeros((3, intervals * NODES))
    for c in (2, 0, 1):
        stop = min((c + 1) * CHUNK, len(curves.centres))
        add_tail_nodes(curves, c * CHUNK, stop, width, parts[c])
    sums = np.zeros(intervals * NODES)
    sum_of_chunks(parts, sums)
    to_series(sums)
    assert np.array_equal(sums, tail_series(curves, width, intervals))


def test_sum_of_chunks_loses_nothing():
    """Truth is math.fsum; plain addition would drop every 1 beside 1e16."""
    parts = np.ones((200, 3))
    parts[50, 0] = 1e16
    parts[0, 1] = 1e16
    sums = np.zeros(3)
    sum_of_chunks(parts, sums)
    assert sums.tolist() == [math.fsum(parts[:, i]) for i in range(3)]


@pytest.mark.parametrize("n", [1, 6, 50, BLOCK + 9])
def test_direct_sum_and_its_slope(n):
    """Truth is mpmath; relative in both tails, since every term has the same sign."""
    curves = field(n, seed=7, scales=(20.0, 200.0))
    scratch = empty_scratch()
    for y in (-3_000.0, -500.0, 0.0, 77.0, 900.0, 6_000.0):
        value, slope = tail_sum(y, curves, 0, n, scratch)
        exact, exact_slope = exact_tail(y, curves)
        assert value == pytest.approx(float(exact), rel=DIRECT)
        if y >= 0.0:
            assert slope == pytest.approx(float(exact_slope), rel=DIRECT)
        else:
            # Below, 1 - above is what is small, and it is made of numbers near 1.
            assert slope == pytest.approx(float(exact_slope), abs=DIRECT * curves.slopes.sum())


def test_direct_sum_of_some_players_is_that_of_a_smaller_field():
    """start:stop means what it means for a slice; none make 0."""
    curves = field(20, seed=8)
    scratch = empty_scratch()
    for start, stop in [(0, 20), (3, 17), (19, 20), (4, 4)]:
        part = Sigmoids(*(column[start:stop].copy() for column in curves))
        expected = tail_sum(50.0, part, 0, stop - start, scratch)
        assert tail_sum(50.0, curves, start, stop, scratch) == expected
    assert expected == (0.0, 0.0)


#: Nothing at all, or so much that products of tails do not underflow.
WEIGHTS = st.just(0.0) | st.floats(1e-9, 10.0)


@examples(40)
@given(
    players=st.lists(
        st.tuples(st.floats(-500.0, 500.0), st.floats(1.0, 200.0), WEIGHTS),
        min_size=1,
        max_size=9,
    ),
    where=st.lists(st.floats(0.0, 300.0), min_size=1, max_size=5),
)
def test_series_of_any_small_field(players, where):
    """Truth is mpmath, for any centres, scales from 1 to 200 and weights from 0 to 10."""
    centres, scales, weights = np.array(players).T.copy()
    check_series(Sigmoids(centres, 1.0 / scales, weights), 300.0, where)
