"""Round numbers and moments on the axes of text charts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.charts.theme import round_moments, round_numbers


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
