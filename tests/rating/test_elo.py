"""Elo against its definition: every pair of a match is a game."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.errors import InvalidDataError
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.replay import replay
from equipoise.rating.systems.elo import Elo
from rating.histories import standing


def one_match(teams: list[list[int]], ranks: list[int]) -> History:
    """Return a history of one match without a time."""
    return history_of([OneMatch([len(team) for team in teams], ranks)])


def ratings_after(system: Elo, history: History, before: list[float]) -> np.ndarray:
    state = standing(system, rating=before)
    system.run(state, history, 0, 1)
    return system.at(state, np.arange(len(before)), None)["rating"]


def at_home(**values: Sequence[object]) -> dict[str, Any]:
    """Return the column that tells which of two players is at home."""
    return {"attributes": {name: np.array(column, object) for name, column in values.items()}}


DUEL = [[0], [1]]


@pytest.mark.parametrize(
    ("system", "teams", "ranks", "more", "before", "after"),
    [
        pytest.param(Elo(k=32), DUEL, [0, 1], {}, [1500, 1500], [1516, 1484], id="equals: k/2"),
        pytest.param(
            # [Elo]: 1/(1 + 10^(-400/400)) = 10/11.
            *(Elo(k=11), DUEL, [1, 0], {}, [1900, 1500], [1890, 1510]),
            id="400 points are ten to one",
        ),
        pytest.param(
            *(Elo(k=20), [[0], [1], [2]], [0, 1, 2], {}, [1500] * 3, [1510, 1500, 1490]),
            id="of three: the mean over the others",
        ),
        pytest.param(
            *(Elo(k=20), [[0, 1], [2]], [0, 1], {}, [1600, 1400, 1500], [1610, 1410, 1490]),
            id="a team plays at its mean and shares the change",
        ),
        pytest.param(
            *(Elo(k=32), DUEL, [0, 1], {"weight": np.array([0.25])}, [1500] * 2, [1504, 1496]),
            id="weight",
        ),
        *(
            # A home side 70 points weaker is even.
            pytest.param(
                *(Elo(home_advantage=70), DUEL, [0, 0], column, [1430, 1500], [1430, 1500]),
                id=f"home advantage {number}",
            )
            for number, column in enumerate(
                (
                    {"attributes": {"at_home": np.array([True, False])}},
                    at_home(at_home=["true", "false"]),
                    at_home(side=["home", "away"]),
                )
            )
        ),
    ],
)
def test_a_match_by_hand(
    system: Elo,
    teams: list[list[int]],
    ranks: list[int],
    more: dict[str, Any],
    before: list[float],
    after: list[float],
) -> None:
    match = dataclasses.replace(one_match(teams, ranks), **more)
    np.testing.assert_allclose(ratings_after(system, match, before), after, atol=1e-12)


@given(data=st.data(), size=st.sampled_from([2, 3, 7, 60]))
@examples(30)
def test_a_match_equals_the_sum_over_all_pairs(data: st.DataObject, size: int) -> None:
    """The linear-time sum equals the double loop; 1e-9 points is a thousand times its rounding."""
    before = data.draw(
        st.lists(st.floats(-2000, 4000), min_size=size, max_size=size), label="ratings"
    )
    ranks = np.unique(
        data.draw(st.lists(st.integers(0, size), min_size=size, max_size=size)),
        return_inverse=True,
    )[1]
    after = ratings_after(Elo(k=24), one_match([[p] for p in range(size)], ranks.tolist()), before)
    for i in range(size):
        surprise = 0.0
        for j in range(size):
            if i != j:
                score = 0.5 if ranks[i] == ranks[j] else float(ranks[i] < ranks[j])
                surprise += score - 1 / (1 + 10 ** ((before[j] - before[i]) / 400))
        assert after[i] - before[i] == pytest.approx(24 * surprise / (size - 1), abs=1e-9)


@pytest.mark.parametrize(("name", "word"), [("at_home", "maybe"), ("side", "radiant")])
def test_a_word_that_does_not_tell_who_is_at_home_is_refused(name: str, word: str) -> None:
    match = one_match([[0], [1]], [0, 1])
    values = np.array([None, word], dtype=object)
    match = dataclasses.replace(match, attributes={name: values})
    with pytest.raises(InvalidDataError, match=f"{name}: must be .* got '{word}' in match"):
        replay(Elo(home_advantage=70), match)
    replay(Elo(), match)  # reads neither
    # The logs of pools are rated without this check, as they were before.
    ratings_after(Elo(home_advantage=70), match, [1500, 1500])
