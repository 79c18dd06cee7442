"""Elo against its definition: every pair of a match is a game."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.errors import InvalidDataError
from equipoise.rating.replay import replay
from equipoise.rating.systems.elo import Elo


def one_match(teams: list[list[int]], ranks: list[int]) -> History:
    """Return a history of one match without a time."""
    player = [p for team in teams for p in team]
    team = [t for t, members in enumerate(teams) for _ in members]
    return History(
        match_ids=np.array([1]),
        player_ids=np.arange(max(player) + 1),
        offsets=np.array([0, len(player)]),
        player=np.array(player),
        team=np.array(team),
        rank=np.array([ranks[t] for t in team]),
    )


def ratings_after(system: Elo, history: History, before: list[float]) -> np.ndarray:
    state = system.initial(len(before))
    state.column("rating")[:] = before
    system.run(state, history, 0, 1)
    return system.at(state, np.arange(len(before)), None)["rating"]


def test_a_win_between_equals_is_worth_half_of_k() -> None:
    """[Elo]: expected score one half on both sides."""
    after = ratings_after(Elo(k=32), one_match([[0], [1]], [0, 1]), [1500, 1500])
    np.testing.assert_allclose(after, [1516, 1484], atol=1e-12)


def test_four_hundred_points_are_ten_to_one() -> None:
    """[Elo]: 1/(1 + 10^(-400/400)) = 10/11."""
    after = ratings_after(Elo(k=11), one_match([[0], [1]], [1, 0]), [1900, 1500])
    np.testing.assert_allclose(after, [1900 - 10, 1510], atol=1e-12)


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


def test_a_team_plays_at_its_mean_and_shares_the_change() -> None:
    """Two of 1600 and 1400 against one of 1500 are even."""
    after = ratings_after(Elo(k=20), one_match([[0, 1], [2]], [0, 1]), [1600, 1400, 1500])
    np.testing.assert_allclose(after, [1610, 1410, 1490], atol=1e-12)


def test_points_are_conserved_in_matches_of_single_players() -> None:
    """What some win others lose."""
    before = [1400.0, 1500, 1650, 1800, 2100]
    after = ratings_after(Elo(), one_match([[p] for p in range(5)], [2, 0, 1, 1, 3]), before)
    assert after.sum() == pytest.approx(sum(before), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("at_home", np.array([True, False])),
        ("at_home", np.array(["true", "false"], dtype=object)),
        ("side", np.array(["home", "away"], dtype=object)),
    ],
)
def test_home_advantage_is_a_head_start(name: str, values: np.ndarray) -> None:
    """A home side 70 points weaker is even."""
    match = one_match([[0], [1]], [0, 0])
    match = dataclasses.replace(match, attributes={name: values})
    after = ratings_after(Elo(home_advantage=70), match, [1430, 1500])
    np.testing.assert_allclose(after, [1430, 1500], atol=1e-12)


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


def test_weight_multiplies_the_change() -> None:
    match = dataclasses.replace(one_match([[0], [1]], [0, 1]), weight=np.array([0.25]))
    after = ratings_after(Elo(k=32), match, [1500, 1500])
    np.testing.assert_allclose(after, [1504, 1496], atol=1e-12)
