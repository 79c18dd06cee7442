"""Labels beside lines never overlap and stay near their lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.charts.theme import shortened, spread_out

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
