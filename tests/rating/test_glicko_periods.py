"""Glicko with rating periods against Glickman's example and a slow, obvious reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.pools.pool.pools import pool_parameters
from equipoise.rating.explaining import explain_change
from equipoise.rating.pool_state import saved_parameters
from equipoise.rating.replay import replay
from equipoise.rating.systems.glicko import Glicko
from reference import glicko as slow

#: (day, players, ranks, weight)
Contest = tuple[float, list[int], list[int], float]

PLAYERS = 5


def history_of(contests: list[Contest], players: int = PLAYERS) -> History:
    """Return a history of contests of single players."""
    sizes = [len(field) for _, field, _, _ in contests]
    return History(
        match_ids=np.arange(len(contests)),
        player_ids=np.arange(players),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        player=np.array([row for _, field, _, _ in contests for row in field]),
        team=np.concatenate([np.arange(size) for size in sizes]),
        rank=np.concatenate(
            [np.unique(ranks, return_inverse=True)[1] for _, _, ranks, _ in contests]
        ),
        time=np.array([round(day * MICROSECONDS_PER_DAY) for day, *_ in contests]),
        weight=np.array([weight for *_, weight in contests]),
        time_kind="datetime",
    )


def test_three_games_of_a_period_are_the_published_example() -> None:
    """[G1] p. 4: 1500 +- 200 beats 1400 +- 30, loses to 1550 +- 100 and 1700 +- 300.

    Glickman prints 1464 and 151.4, from an E of three digits for each game.
    """
    system = Glicko(period_days=30, drift=34.6)
    state = system.initial(4)
    state.column("rating")[:] = [1500, 1400, 1550, 1700]
    state.column("deviation")[:] = [200, 30, 100, 300]
    games: list[Contest] = [(day, [0, day], [day > 1, day == 1], 1.0) for day in (1, 2, 3)]
    system.run(state, history_of(games, players=4), 0, 3)
    found = system.at(state, np.arange(4), None)
    assert found["rating"][0] == pytest.approx(1464, abs=0.5)
    assert found["deviation"][0] == pytest.approx(151.4, abs=0.05)
    exact = slow.updated(1500, 200, [(1400, 30, 1.0), (1550, 100, 0.0), (1700, 300, 0.0)])
    assert (found["rating"][0], found["deviation"][0]) == pytest.approx(exact, abs=1e-9)


def test_c_is_the_drift_of_a_period() -> None:
    """[G1] p. 3: with c = 63.2 a deviation of 50 is 350 after 30 periods, of two months each.

    Glickman rounds c: 50^2 + 30 c^2 is 350^2 at c = 63.25.
    """
    for system in (
        Glicko(period_days=60, drift=63.2),
        Glicko(period_days=60, drift=0, drift_per_day=63.2**2 / 60),
    ):
        state = system.initial(1)
        state.column("deviation")[:] = 50.0
        state.column("period")[:] = 0.0
        later = [system.at(state, np.array([0]), 60.0 * k)["deviation"][0] for k in (0, 1, 30)]
        np.testing.assert_allclose(later[:2], [50.0, math.hypot(50.0, 63.2)])
        assert later[2] == pytest.approx(350.0, abs=0.5)


@st.composite
def seasons(draw: st.DrawFn) -> list[Contest]:
    """Return contests in time order."""
    day, contests = 0.0, []
    for _ in range(draw(st.integers(1, 12))):
        day += draw(st.sampled_from([0.0, 0.25, 1.0, 3.0, 40.0]))
        size = draw(st.integers(2, PLAYERS))
        field = draw(st.permutations(range(PLAYERS)))[:size]
        ranks = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        contests.append((day, list(field), ranks, draw(st.sampled_from([1.0, 0.5, 3.0]))))
    return contests


@given(contests=seasons(), c=st.sampled_from([0.0, 34.6, 120.0]), later=st.sampled_from([0, 3, 90]))
@examples(60)
def test_periods_equal_the_reference(contests: list[Contest], c: float, later: int) -> None:
    """Matches one at a time equal Glickman's steps taken a period at a time, for all pairs."""
    system = Glicko(drift=c, period_days=2.0)
    history = history_of(contests)
    state = system.initial(PLAYERS)
    system.run(state, history, 0, history.matches)
    end = contests[-1][0] + later
    ours = system.at(state, np.arange(PLAYERS), end)
    theirs = slow.rate_periods(contests, PLAYERS, period=2.0, c=c, end=end)
    np.testing.assert_allclose(ours["rating"], [rating for rating, _ in theirs], atol=1e-8)
    np.testing.assert_allclose(ours["deviation"], [width for _, width in theirs], atol=1e-8)


@given(contests=seasons(), data=st.data())
@examples(20)
def test_an_explanation_of_a_later_match_of_a_period_adds_up(
    contests: list[Contest], data: st.DataObject
) -> None:
    """The opponents' effects and what becomes of the earlier matches make the change."""
    system, history = Glicko(period_days=2.0, drift=50), history_of(contests)
    row = data.draw(st.integers(0, history.participations - 1))
    match = int(np.searchsorted(history.offsets, row, "right")) - 1
    state = system.initial(PLAYERS)
    system.run(state, history, 0, match)
    found = explain_change(system, state, history, match, row)
    change = sum(part.change for part in found.contributions)
    assert change == pytest.approx(found.rating - found.rating_before, abs=1e-7)


def test_without_periods_the_state_has_the_columns_of_before() -> None:
    """Columns are added by the parameter alone."""
    assert list(Glicko().initial(0).initial) == ["rating", "deviation", "matches", "last_time"]
    held = Glicko(period_days=7, hold_level=0.1).initial(0)
    assert list(held.initial)[4:8] == ["period", "information", "surprise", "pending"]


def test_without_periods_files_and_pools_name_no_parameter_more() -> None:
    """A saved state and the settings of a pool are what they were before there was one."""
    for system, there in ((Glicko(), False), (Glicko(period_days=7), True)):
        assert ("period_days" in saved_parameters(system)) == there
        assert ("period_days" in pool_parameters(system)) == there


def test_a_history_without_times_is_refused() -> None:
    history = History(
        match_ids=np.zeros(1, np.int64),
        player_ids=np.arange(2),
        offsets=np.array([0, 2]),
        player=np.arange(2),
        team=np.arange(2),
        rank=np.arange(2),
    )
    with pytest.raises(InvalidDataError, match="no times"):
        replay(Glicko(period_days=7), history)
    with pytest.raises(InvalidParameterError, match="period_days must be positive; got 0"):
        Glicko(period_days=0)
