"""The EGF's rating against the numbers of another package, a plain reference and its own rules.

The numbers are those of the tests of the Rust crate skillratings, src/egf.rs at commit
bab0bd1ef142d62503766c1fb48b605fdc8a4774, whose handicap is that of the first player's opponent.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidDataError
from equipoise.rating.replay import replay
from equipoise.rating.systems.egf import EGF
from rating.federations.events import expected, games, rated


@pytest.mark.parametrize(
    ("stones", "chance"),
    [
        ([0, 0], 0.2732225596195188),
        ([0, 1], 0.23947531043217862),
        ([1, 0], 0.30481324383684405),
    ],
)
def test_expected_scores_with_handicaps(stones: list[int], chance: float) -> None:
    """skillratings: test_handicap."""
    history = games([(0, 1, 1.0)], 2, handicap=stones)
    found = expected(EGF(), {"rating": [1000.0, 1300.0]}, history)
    assert found.tolist() == pytest.approx([chance, 1.0 - chance], abs=1e-14)
    outlook = EGF().outlook(np.array([1000.0, 1300.0]), np.full(2, np.nan), history)
    assert outlook.expected().tolist() == pytest.approx([chance, 1.0 - chance], abs=1e-14)


@pytest.mark.parametrize(
    ("before", "score", "after"),
    [
        ((1000.0, 1300.0), 1.0, (1039, 1274)),
        ((0.0, 0.0), 0.0, (-39, 50)),
        ((0.0, 0.0), 0.5, (6, 6)),
        ((950.0, 1200.0), 1.0, (989, 1173)),
    ],
)
def test_single_games(before: tuple[float, float], score: float, after: tuple[int, int]) -> None:
    """skillratings: test_egf and the example of `egf`."""
    found = rated(EGF(), {"rating": list(before)}, games([(0, 1, score)], 2))
    assert tuple(found["rating"].round()) == after


def test_a_tournament_is_compared_with_the_ratings_before_it() -> None:
    """skillratings: test_egf_rating_period."""
    listed = [(0, 1, 1.0), (0, 2, 0.5), (0, 3, 0.0), (0, 4, 1.0)]
    before = {"rating": [0.0, 20.0, 40.0, 10.0, -40.0]}
    found = rated(EGF(), before, games(listed, 5, event=["cup"] * 8))
    assert round(found["rating"][0]) == 69
    apart = rated(EGF(), before, games(listed, 5))
    assert apart["rating"][0] != found["rating"][0]


def gor(r: float, r_other: float, score: float) -> float:
    """Return the change of a rating by a game without handicap, as [EGF] states it."""
    beta, beta_other = -7.0 * math.log(3300.0 - r), -7.0 * math.log(3300.0 - r_other)
    se = 1.0 / (1.0 + math.exp(beta_other - beta))
    con = ((3300.0 - r) / 200.0) ** 1.6
    return con * (score - se) + math.log(1.0 + math.exp((2300.0 - r) / 80.0)) / 5.0


@given(
    before=st.lists(st.floats(-800, 2900), min_size=3, max_size=3),
    listed=st.lists(
        st.tuples(st.sampled_from([(0, 1), (1, 2), (2, 0)]), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1,
        max_size=6,
    ),
    weight=st.sampled_from([1.0, 0.75, 0.5]),
)
@examples(60)
def test_tournaments_against_the_formulas(
    before: list[float], listed: list[tuple[tuple[int, int], float]], weight: float
) -> None:
    """The class of the tournament multiplies every change; the tolerance is rounding."""
    history = games(
        [(one, other, score) for (one, other), score in listed],
        3,
        weight=[weight] * len(listed),
        event=["cup"] * (2 * len(listed)),
    )
    wanted = list(before)
    for (one, other), score in listed:
        wanted[one] += weight * gor(before[one], before[other], score)
        wanted[other] += weight * gor(before[other], before[one], 1.0 - score)
    found = rated(EGF(), {"rating": before}, history)["rating"]
    np.testing.assert_allclose(found, [max(one, -900.0) for one in wanted], rtol=0, atol=1e-9)


def test_ratings_beyond_the_end_of_the_formulas_stay_finite() -> None:
    found = rated(EGF(), {"rating": [3299.9, 5000.0]}, games([(0, 1, 1.0)], 2))
    assert np.isfinite(found["rating"]).all()


def test_no_rating_falls_below_the_floor() -> None:
    found = rated(EGF(), {"rating": [-890.0, -890.0]}, games([(0, 1, 0.0)], 2))
    assert found["rating"][0] == -900.0


def test_the_floor_cuts_a_tournament_and_not_its_games() -> None:
    """A loss and a win of equals move a rating by two bonuses."""
    found = rated(
        EGF(),
        {"rating": [-890.0, -890.0, -890.0]},
        games([(0, 1, 0.0), (0, 2, 1.0)], 3, event=["cup"] * 4),
    )
    assert found["rating"][0] > -890.0


@pytest.mark.parametrize("stones", [-2, 26, 1.5, "many"])
def test_a_handicap_that_is_none_is_refused(stones: object) -> None:
    history = games([(0, 1, 1.0)], 2, handicap=np.array([stones, 0], dtype=object))
    with pytest.raises(InvalidDataError, match=r"handicap: must be a whole number .*in match 0"):
        replay(EGF(), history)


def test_stones_for_both_players_are_refused() -> None:
    history = games([(0, 1, 1.0), (1, 0, 1.0)], 2, handicap=[0, 3, 2, 3])
    with pytest.raises(InvalidDataError, match="stones for both in match 1"):
        replay(EGF(), history)
    assert replay(EGF(), history.slice(0, 1)).rated_matches == 1
