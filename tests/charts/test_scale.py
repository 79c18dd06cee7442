"""Scales and their round values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.charts.theme import Scale, around

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
