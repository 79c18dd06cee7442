"""Labels beside lines never overlap and stay near their lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.charts.theme import shortened, spread_out

PLACES = st.lists(st.floats(-50, 150), min_size=1, max_size=12)


@given(PLACES)
def test_labels_are_apart_in_order_and_inside(wanted: list[float]) -> None:
    """Twelve labels of height 5 fit into 100."""
    places = spread_out(np.array(wanted), 5.0, 0.0, 100.0)
    ordered = np.sort(places)
    assert ordered[0] >= -1e-9
    assert ordered[-1] <= 100 + 1e-9
    assert np.all(np.diff(ordered) >= 5 - 1e-9)
    for i, one in enumerate(wanted):
        for j, other in enumerate(wanted):
            assert not (one < other and places[i] > places[j])


@given(PLACES)
def test_the_gap_shrinks_where_there_is_too_little_room(wanted: list[float]) -> None:
    places = np.sort(spread_out(np.array(wanted), 50.0, 0.0, 100.0))
    assert places[0] >= -1e-9
    assert places[-1] <= 100 + 1e-9


def test_labels_that_have_room_stay_where_they_are() -> None:
    wanted = np.array([10.0, 90.0, 50.0])
    np.testing.assert_array_equal(spread_out(wanted, 5.0, 0.0, 100.0), wanted)


def test_neighbours_move_apart_evenly() -> None:
    """The least sum of squares for two is symmetric; the first of equals is above."""
    np.testing.assert_allclose(spread_out(np.array([50.0, 50.0]), 6.0, 0.0, 100.0), [53, 47])
    np.testing.assert_allclose(spread_out(np.array([49.0, 51.0]), 6.0, 0.0, 100.0), [47, 53])


@pytest.mark.parametrize(("name", "short"), [("ann", "ann"), ("annabella", "anna…")])
def test_long_names_are_cut(name: str, short: str) -> None:
    assert shortened(name, 5) == short
