"""Components of graphs; strongly connected classes are tested in performance/test_graph.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.numeric.graph import components


def test_components_are_numbered_by_their_first_players() -> None:
    first, second = np.array([5, 1, 3]), np.array([1, 4, 2])
    assert components(first, second, 7).tolist() == [0, 1, 2, 2, 1, 1, 3]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_components_are_as_by_spreading(pairs: list[tuple[int, int]]) -> None:
    """Labels spread one game at a time until nothing changes."""
    label = list(range(31))
    for _ in range(31):
        for one, other in pairs:
            label[one] = label[other] = min(label[one], label[other])
    numbers = {low: number for number, low in enumerate(sorted(set(label)))}
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    assert components(both[:, 0], both[:, 1], 31).tolist() == [numbers[low] for low in label]


@pytest.mark.parametrize("nodes", [0, 5])
def test_without_edges_every_node_is_a_component(nodes: int) -> None:
    """Also of no nodes."""
    none = np.zeros(0, dtype=np.int64)
    assert components(none, none, nodes, plain=True).tolist() == list(range(nodes))


def test_compiled_components_are_those_of_plain_python() -> None:
    """3,000 nodes and 2,500 edges: many components, and chains of different lengths."""
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 3_000, (2, 2_500))
    plain = components(first, second, 3_000, plain=True)
    compiled = components(first, second, 3_000, plain=False)
    assert plain.dtype == compiled.dtype
    assert np.array_equal(plain, compiled)
    assert plain.max() > 500
