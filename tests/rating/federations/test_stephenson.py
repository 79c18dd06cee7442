"""Stephenson's system against a slow reference, Glicko and the numbers of another package.

The numbers are those of the tests of the Rust crate skillratings, src/sticko.rs at commit
bab0bd1ef142d62503766c1fb48b605fdc8a4774. It departs from the source: h is a variance there, not the
square of a deviation; it does not count in the change of the rating; and opponents are not widened.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.rating.replay import replay
from equipoise.rating.systems.stephenson import Stephenson
from rating.federations.events import games, rated
from reference.stephenson import Player, rate_periods

#: Parameters with which the system is Glicko without drift.
PLAIN = {"drift": 0.0, "game_drift": 0.0, "bonus": 0.0, "neighbourhood": 0.0}

#: Glickman's example: a player of 1500 (200) beats 1400 (30), loses to 1550 (100) and 1700 (300).
EXAMPLE = {"rating": [1500.0, 1400.0, 1550.0, 1700.0], "deviation": [200.0, 30.0, 100.0, 300.0]}
RESULTS = [(0, 1, 1.0), (0, 2, 0.0), (0, 3, 0.0)]


def test_glickmans_example_in_one_period_and_in_three() -> None:
    """skillratings: test_sticko_rating_period and test_sticko."""
    together = rated(
        Stephenson(**PLAIN, period_days=30), EXAMPLE, games(RESULTS, 4, days=[1, 2, 3])
    )
    assert round(together["rating"][0]) == 1464
    assert together["deviation"][0] == pytest.approx(151.39890244796933, abs=1e-10)
    one_by_one = rated(Stephenson(**PLAIN), EXAMPLE, games(RESULTS, 4))
    assert round(one_by_one["rating"][0]) == 1464
    assert one_by_one["deviation"][0] == pytest.approx(151.2537434317832, abs=1e-10)


@pytest.mark.parametrize(
    ("advantage", "chance"), [(0.0, 0.373700405951935), (30.0, 0.410605680590947)]
)
def test_predictions(advantage: float, chance: float) -> None:
    """skillratings: test_expected_score, where the first player has white."""
    system = Stephenson(home_advantage=advantage)
    history = games([(0, 1, 1.0)], 2, at_home=[True, False])
    outlook = system.outlook(np.array([1400.0, 1500.0]), np.array([40.0, 150.0]), history)
    assert outlook.expected().tolist() == pytest.approx([chance, 1.0 - chance], abs=1e-12)


def test_a_draw_with_the_default_parameters() -> None:
    """skillratings: test_sticko_draw, whose h = 10 is our game_drift of sqrt(10)."""
    before = {"rating": [2330.0, 1800.0], "deviation": [200.0, 20.0], "matches": [1.0, 1.0]}
    found = rated(Stephenson(game_drift=math.sqrt(10.0)), before, games([(0, 1, 0.5)], 2))
    assert found["rating"].round().tolist() == [2220.0, 1812.0]
    assert found["deviation"].round().tolist() == [195.0, 23.0]


@pytest.mark.parametrize(
    ("advantage", "white", "rating", "deviation"),
    [(0.0, True, 1329, 108), (30.0, True, 1323, 108), (30.0, False, 1335, 109)],
)
def test_white_and_black_in_a_period(
    advantage: float, white: bool, rating: int, deviation: int
) -> None:
    """skillratings: test_white_black, a period of three games of one colour."""
    before = {
        "rating": [1300.0, 1500.0, 1200.0, 1560.0],
        "deviation": [120.0, 105.0, 125.0, 140.0],
        "matches": [1.0] * 4,
        "period": [0.0] * 4,
    }
    listed = [(0, 1, 1.0), (0, 2, 0.0), (0, 3, 0.5)]
    history = games(listed, 4, days=[31, 32, 33], at_home=[white, not white] * 3)
    system = Stephenson(
        game_drift=math.sqrt(10.0), home_advantage=advantage, period_days=30, drift=10.0
    )
    found = rated(system, before, history)
    assert (round(found["rating"][0]), round(found["deviation"][0])) == (rating, deviation)


seasons = st.lists(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0])).filter(
            lambda game: game[0] != game[1]
        ),
        max_size=5,
    ),
    min_size=1,
    max_size=6,
)


@given(
    season=seasons,
    c=st.floats(0, 60),
    h=st.floats(0, 60),
    b=st.floats(0, 5),
    pull=st.floats(0, 10),
    gamma=st.floats(-50, 50),
)
@examples(60)
def test_periods_against_the_slow_reference(
    season: list[list[tuple[int, int, float]]],
    c: float,
    h: float,
    b: float,
    pull: float,
    gamma: float,
) -> None:
    """Periods without games, idle players and all parameters; the tolerance is rounding."""
    listed = [(day, game) for day, period in enumerate(season) for game in period]
    if not listed:
        return
    system = Stephenson(
        drift=c,
        game_drift=h,
        bonus=b,
        neighbourhood=pull,
        home_advantage=gamma if gamma else 1.0,
        period_days=1,
    )
    history = games(
        [game for _, game in listed],
        5,
        days=[day + 0.5 for day, _ in listed],
        at_home=[True, False] * len(listed),
    )
    state = replay(system, history).state.state
    found = system.at(state, np.arange(5), None)
    players = [Player(2200.0, 300.0**2) for _ in range(5)]
    rate_periods(
        players,
        season,
        c=c**2,
        h=h**2,
        b=b / 100,
        pull=pull / 100,
        gamma=system.home_advantage,
        most=350.0,
    )
    np.testing.assert_allclose(found["rating"], [one.r for one in players], rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        found["deviation"], [math.sqrt(one.v) for one in players], rtol=1e-11
    )


def test_deviations_grow_while_players_pause_and_no_further_than_the_cap() -> None:
    system = Stephenson(drift=50.0, period_days=1)
    history = games([(0, 1, 1.0)], 2, days=[0.5])
    state = replay(system, history).state.state
    rows = np.arange(2)
    now, later, last = (system.at(state, rows, day)["deviation"][0] for day in (0.7, 4.2, 400.0))
    assert later == pytest.approx(math.sqrt(now**2 + 4 * 50.0**2), rel=1e-14)
    assert last == 350.0


def test_what_is_missing_or_out_of_range_is_said() -> None:
    with pytest.raises(InvalidDataError, match="at_home"):
        replay(Stephenson(home_advantage=40.0), games([(0, 1, 1.0)], 2))
    with pytest.raises(InvalidDataError, match="no times"):
        replay(Stephenson(period_days=30), games([(0, 1, 1.0)], 2))
    with pytest.raises(InvalidParameterError, match=r"neighbourhood must be a percentage"):
        Stephenson(neighbourhood=101)
