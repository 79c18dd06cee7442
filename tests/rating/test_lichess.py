"""Lichess' Glicko-2 against the tests of scalachess and a slow, obvious reference."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.rating.replay import replay
from equipoise.rating.systems.lichess import Lichess
from rating.histories import Contest, history_of, standing
from reference import lichess as slow

#: Inputs and expected numbers of the tests of scalachess; the file says of which commit.
CASES = json.loads((Path(__file__).parent / "scalachess_cases.json").read_text())["cases"]

RANKS = {1.0: (0, 1), 0.5: (0, 0), 0.0: (1, 0)}
SCORES = {"white wins": 1.0, "draw": 0.5, "black wins": 0.0}

Game = tuple[float, int, int, float]


def season(games: list[Game], players: int, *, timed: bool = True) -> History:
    """Return a history of (day, white, black, score of white)."""
    duels = [Contest((a, b), RANKS[score], day if timed else None) for day, a, b, score in games]
    side = np.array(["white", "black"] * len(games), dtype=object)
    return dataclasses.replace(history_of(duels, players), attributes={"side": side})


def named(case: dict[str, Any]) -> str:
    return f"{case['file']}-{case['test']}-{case['outcome']}-{case['home_advantage']:g}"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_scalachess_agrees(case: dict[str, Any]) -> None:
    """Every number of its tests within the tolerance stated there: 288 in 48 games."""
    system = Lichess(home_advantage=case["home_advantage"])
    both = zip(case["white"], case["black"], strict=True)
    names = ("rating", "deviation", "volatility")
    state = standing(system, **dict(zip(names, both, strict=True)))
    history = season([(0, 0, 1, SCORES[case["outcome"]])], players=2, timed=False)
    system.run(state, history, 0, 1)
    for side, name, value, tolerance in case["expected"]:
        found = state.column(name)[("white", "black").index(side)]
        assert found == pytest.approx(value, abs=tolerance, rel=0)


@st.composite
def seasons(draw: st.DrawFn) -> list[Game]:
    """Return games in time order between five players."""
    day, games = 0.0, []
    for _ in range(draw(st.integers(1, 20))):
        day += draw(st.sampled_from([0.0, 0.003, 1.0, 40.5, 900.0]))
        a, b = draw(st.permutations(range(5)))[:2]
        games.append((day, a, b, draw(st.sampled_from([1.0, 0.5, 0.0]))))
    return games


@given(
    games=seasons(),
    advantage=st.sampled_from([0.0, 11.782457]),
    later=st.sampled_from([0.0, 7.3, 4000.0]),
)
@examples(40)
def test_games_equal_the_reference(games: list[Game], advantage: float, later: float) -> None:
    """Every game at once, deviations by the day, limits and colour."""
    system, history = Lichess(home_advantage=advantage), season(games, players=5)
    state = system.initial(5)
    system.run(state, history, 0, history.matches)
    end = games[-1][0] + later
    ours = system.at(state, np.arange(5), end)
    for row, player in enumerate(slow.rate(games, 5, advantage)):
        now = player.at(end)
        assert ours["rating"][row] == pytest.approx(now.rating, abs=1e-7)
        assert ours["deviation"][row] == pytest.approx(now.deviation, abs=1e-7)
        assert ours["volatility"][row] == pytest.approx(now.volatility, abs=1e-11)


def test_two_newcomers_change_as_they_did_on_lichess() -> None:
    """The rated rapid game lichess.org/UcZZx10k of 2024-06-09 between two new accounts at 1500.

    Its PGN says +245 and -242. Lichess enlarges gains in rapid by 1.015, and shows ratings without
    their fraction. White had no head start then.
    """
    system = Lichess()
    white, black = system.rate([system.rating(), system.rating()])
    assert int(1500 + 1.015 * (white.rating - 1500)) - 1500 == 245
    assert int(black.rating) - 1500 == -242


def test_a_typical_deviation_grows_from_60_to_110_in_a_year() -> None:
    """The comment beside `ratingPeriodsPerDay` in the source: so 0.21436 was chosen."""
    system = Lichess()
    state = standing(system, rating=[1500.0], deviation=60.0, volatility=0.06, last_time=0.0)
    later = [float(system.at(state, np.array([0]), day)["deviation"][0]) for day in (0, 365, 1e6)]
    assert later == pytest.approx([60, 110, 500], abs=0.05)
    assert later[1] == pytest.approx(math.hypot(60, math.sqrt(365 * 0.21436) * 0.06 * 173.7178))


def test_ratings_deviations_and_changes_have_limits() -> None:
    """Floor 400, deviations from 45 to 500, at most 700 points in a game."""
    system = Lichess()
    state = standing(system, rating=[420, 400], deviation=[60, 40])
    system.run(state, season([(0, 0, 1, 0.0)], players=2), 0, 1)
    rating, deviation = state.column("rating"), state.column("deviation")
    assert rating[0] == pytest.approx(409.9, abs=0.5)
    assert deviation[1] == pytest.approx(45.0)
    for _ in range(4):
        system.run(state, season([(0, 0, 1, 0.0)], players=2), 0, 1)
    assert rating[0] == 400.0
    state.column("rating")[:], state.column("deviation")[:] = [1200, 3000], 500.0
    system.run(state, season([(0, 0, 1, 1.0)], players=2), 0, 1)
    assert rating.tolist() == [1900, 2300]
    assert np.all(state.column("volatility") <= 0.1)


def test_the_floor_is_that_of_the_rating_without_the_head_start() -> None:
    """White loses at the floor: the rating stays there."""
    system = Lichess(home_advantage=50)
    state = standing(system, rating=[400, 400], deviation=60)
    system.run(state, season([(0, 0, 1, 0.0)], players=2), 0, 1)
    assert state.column("rating")[0] == 400.0


def test_without_times_deviations_only_shrink() -> None:
    history = season([(0, 0, 1, 1.0), (0, 0, 1, 0.0)], players=2, timed=False)
    system = Lichess()
    deviations = replay(system, history, trace=True).trace
    column = deviations.columns["deviation"]
    assert column[2] < column[0] < 500
    assert system.capabilities.uses == {"weight", "time"}
    assert Lichess(periods_per_day=0).capabilities.uses == {"weight"}
