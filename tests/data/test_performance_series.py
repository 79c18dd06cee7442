"""What charts of performances are made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from charts.performances_by_hand import graph, performances
from equipoise.errors import InvalidParameterError


def test_levels_are_longest_paths() -> None:
    """0 over 1 over 2, and 0 over 2: two classes stand above one another over the last."""
    assert graph(
        [["a"], ["b"], ["c"], ["d"]], [(0, 1, 1), (0, 2, 1), (1, 2, 1)]
    ).levels().tolist() == [
        0,
        1,
        2,
        0,
    ]


@pytest.mark.parametrize(
    ("classes", "arcs", "rule"),
    [
        ([], [], "classes must be at least one"),
        ([["a"], []], [], "classes must be at least one, none empty"),
        ([["a"], ["b"]], [(0, 2, 1.0)], "below must be rows of the 2 classes"),
        ([["a"], ["b"]], [(-1, 1, 1.0)], "above must be rows of the 2 classes"),
        ([["a"], ["b"]], [(0, 1, 1.0), (1, 0, 1.0)], "arcs must be without a cycle"),
        ([["a"]], [(0, 0, 1.0)], "arcs must be without a cycle"),
    ],
)
def test_a_graph_that_cannot_be_is_refused(classes: Any, arcs: Any, rule: str) -> None:
    with pytest.raises(InvalidParameterError, match=rule):
        graph(classes, arcs)


def test_a_series_needs_players_and_one_of_everything_for_each() -> None:
    with pytest.raises(InvalidParameterError, match="players must be at least one"):
        performances([])
    with pytest.raises(InvalidParameterError, match="tpr must be of shape"):
        performances([1500.0, 1600.0], tpr=np.array([1500.0]))
