"""Who took how many points of whom."""

from __future__ import annotations

import numpy as np

from equipoise.data.games import Games
from equipoise.web.page.tournaments import head_to_head


def test_points_of_a_pairing_are_summed_for_both() -> None:
    """Whoever was white, and however many games a row stands for; by hand."""
    games = Games.from_arrays(
        ["ana", "bo", "ana", "cy"],
        ["bo", "ana", "cy", "bo"],
        [1.0, 0.5, 0.0, 2.5],
        weight=[1.0, 1.0, 1.0, 4.0],
    )
    found = head_to_head(games, ["cy", "ana", "bo", "di"])
    assert found.points.tolist() == [
        [0.0, 1.0, 2.5, 0.0],
        [0.0, 0.0, 1.5, 0.0],
        [1.5, 0.5, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    assert np.array_equal(found.points + found.points.T, found.games)
    assert np.array_equal(found.points.sum(axis=1)[[1, 2, 0]], games.scored())
