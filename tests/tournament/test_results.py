"""Results of players: who is counted, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.errors import InvalidParameterError
from equipoise.tournament.formulas import results_of, results_of_player, tally_of


def test_a_tally_counts_games_against_rated_opponents() -> None:
    """By hand: a beats b (1600) twice in one row, draws c (unrated), loses to d (1900)."""
    games = Games.from_arrays(
        ["a", "c", "d"],
        ["b", "a", "a"],
        [2, 0.5, 1],
        weight=[2, 1, 1],
        rating={"a": 1700, "b": 1600, "d": 1900},
    )
    tally = tally_of(results_of(games))
    assert games.player_ids.tolist() == ["a", "b", "c", "d"]
    assert tally.games.tolist() == [3, 2, 1, 1]
    assert tally.points.tolist() == [2, 0, 0.5, 1]
    assert tally.lost.tolist() == [1, 2, 0.5, 0]
    assert tally.average.tolist() == [1700, 1700, 1700, 1700]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (([[2000.0]], [1.0]), "opponents must be one rating for each game"),
        (([2000.0], [1.0, 0.0]), "points must be of shape"),
        (([2000.0], [1.0], [1.0, 1.0]), "weights must be of shape"),
        (([2e6], [1.0]), "opponents must be within 1000000"),
        (([2000.0], [1.5]), "points must be from 0 to the number of games"),
        (([2000.0], [np.nan]), "points must be from 0 to the number of games"),
        (([2000.0], [0.0], [0.0]), "weights must be numbers above 0"),
    ],
)
def test_results_that_cannot_be_are_refused(arguments: Any, rule: str) -> None:
    with pytest.raises(InvalidParameterError, match=rule):
        results_of_player(*arguments)
