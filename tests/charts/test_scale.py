"""Scales, their round values, and labels beside lines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.charts.theme import (
    Scale,
    around,
    round_moments,
    round_numbers,
    shortened,
    spread_out,
)

VALUES = st.floats(-1e6, 1e6)


@given(low=VALUES, wide=st.floats(1e-6, 1e6), most=st.integers(2, 8))
def test_ticks_are_round_within_and_not_too_many(low: float, wide: float, most: int) -> None:
    """At least one: a range of `most` steps or fewer holds one of them."""
    scale = Scale(low, low + wide, 0.0, 100.0)
    # A round value is the nearest float, which may be one beyond the end.
    one_float = 100.0 * math.ulp(max(abs(low), abs(low + wide))) / wide
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most
    for value, text in ticks:
        assert -1e-6 - one_float <= scale.at(value) <= 100 + 1e-6 + one_float
        assert float(text.replace("\N{MINUS SIGN}", "-")) == value


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (75.2, 84.4, ["76", "78", "80", "82", "84"]),
        (-0.1, 0.35, ["\N{MINUS SIGN}0.1", "0.0", "0.1", "0.2", "0.3"]),
        (0.0, 1000.0, ["0", "200", "400", "600", "800", "1000"]),
    ],
)
def test_ticks_by_hand(low: float, high: float, texts: list[str]) -> None:
    assert [text for _, text in Scale(low, high, 0, 1).ticks(6)] == texts
    # Heights on a page grow downwards.
    assert Scale(low, high, 100, 20).at(low + (high - low) / 4) == pytest.approx(80.0)


@given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), max_size=6), VALUES)
def test_every_value_is_on_the_scale(values: list[float], beside: float) -> None:
    scale = around(values, 10.0, 90.0, [beside])
    for value in values:
        if not math.isnan(value):
            assert scale.holds(value)
            assert 10.0 <= scale.at(value) <= 90.0


def test_what_is_far_off_does_not_squash_the_rest() -> None:
    """Three times as wide is the limit; a lone value has a range of its own size."""
    assert around([1.0, 2.0], 0, 1, [4.0]).holds(4.0)
    far = around([1.0, 2.0], 0, 1, [4.1, 2.5])
    assert not far.holds(4.1)
    assert far.high < 2.1
    assert around([80.0], 0, 1, []).holds(80.0)
    assert around([80.0], 0, 1, []).at(80.0) == pytest.approx(0.5)
    assert around([math.nan], 0, 1, [math.nan]).at(0.5) == pytest.approx(0.5)


def microseconds(text: str) -> int:
    return int(np.datetime64(text, "us").astype(np.int64))


@given(st.floats(-1e5, 1e5), st.floats(1, 1e5), st.integers(2, 20))
def test_numbers_are_round_inside_and_few(low: float, span: float, most: int) -> None:
    found = round_numbers(low, low + span, most)
    assert np.all((found >= low) & (found <= low + span))
    assert len(found) <= most + 1
    assert np.all(found == np.rint(found))
    if len(found) > 1:
        step = found[1] - found[0]
        assert float(f"{step:.0e}"[0]) in (1, 2, 5)


@pytest.mark.parametrize(
    ("first", "last", "columns", "names"),
    [
        ("2010-02-01", "2020-07-01", 60, ["2012", "2014", "2016", "2018", "2020"]),
        ("2020-01-01", "2020-09-30", 50, ["2020-01", "2020-03", "2020-05", "2020-07", "2020-09"]),
        ("2020-05-01T10:20", "2020-05-01T14:10", 40, ["11:00", "12:00", "13:00", "14:00"]),
        ("2020-05-01T18:00", "2020-05-02T14:00", 40, ["18:00", "05-02", "06:00", "12:00"]),
        ("1970-01-01T00:00:05", "1970-01-01T00:00:07", 60, ["00:00:05", "00:00:06", "00:00:07"]),
        ("2020-05-01T10:20", "2020-05-01T10:20", 40, ["2020-05-01 10:20"]),
    ],
)
def test_moments_are_round_and_named(first: str, last: str, columns: int, names: list[str]) -> None:
    at, found = round_moments(microseconds(first), microseconds(last), columns)
    assert found == names
    assert microseconds(first) <= at[0] <= at[-1] <= microseconds(last)


@given(st.integers(0, 4 * 10**15), st.integers(0, 4 * 10**15), st.integers(20, 200))
def test_names_of_moments_fit_into_the_axis(one: int, other: int, columns: int) -> None:
    """Up to a century and a quarter; two ends alone may need more than a narrow axis."""
    low, high = min(one, other), max(one, other)
    at, names = round_moments(low, high, columns)
    assert np.all((at >= low) & (at <= high))
    assert len(at) == len(names) == len(set(at.tolist()))
    assert len(names) <= 2 or sum(len(name) + 2 for name in names) <= columns + 12


PLACES = st.lists(st.floats(-50, 150), min_size=1, max_size=12)


@given(PLACES, st.sampled_from([5.0, 50.0]))
def test_labels_are_apart_in_order_and_inside(wanted: list[float], gap: float) -> None:
    """Twelve labels of height 5 fit into 100; for larger ones the gap shrinks."""
    places = spread_out(np.array(wanted), gap, 0.0, 100.0)
    ordered = np.sort(places)
    assert ordered[0] >= -1e-9
    assert ordered[-1] <= 100 + 1e-9
    least = min(gap, 100 / max(len(wanted) - 1, 1))
    assert np.all(np.diff(ordered) >= least - 1e-9)
    for i, one in enumerate(wanted):
        for j, other in enumerate(wanted):
            assert not (one < other and places[i] > places[j])


@pytest.mark.parametrize(
    ("wanted", "gap", "places"),
    [
        ([10.0, 90.0, 50.0], 5.0, [10.0, 90.0, 50.0]),
        ([50.0, 50.0], 6.0, [53, 47]),
        ([49.0, 51.0], 6.0, [47, 53]),
    ],
    ids=["room for all", "equal ones", "neighbours"],
)
def test_labels_move_as_little_as_possible(
    wanted: list[float], gap: float, places: list[float]
) -> None:
    """The least sum of squares for two is symmetric; the first of equals is above."""
    np.testing.assert_allclose(spread_out(np.array(wanted), gap, 0.0, 100.0), places)


@pytest.mark.parametrize(("name", "short"), [("ann", "ann"), ("annabella", "anna…")])
def test_long_names_are_cut(name: str, short: str) -> None:
    assert shortened(name, 5) == short
