"""Win and draw of a prediction, the three sums behind the estimate, and newcomers: every system."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import SYSTEMS, system_class
from equipoise.rating.replay import replay
from equipoise.rating.state import DRAWS, draw_rate
from equipoise.rating.system import ModelsDraws
from equipoise.rating.systems.rating_periods import Federation
from equipoise.rating.what_if import what_if
from test_every_system import (
    Variant,
    any_history,
    every_system,
    every_system_drawn,
    few,
    history_of,
    system_of,
)


def by_outlook(variant: Variant, history: History) -> list[float]:
    """Return the three sums from the trace and the outlook, match after match."""
    system = system_of(variant)
    trace = replay(system, history, trace=True).trace
    players = system.outlook(
        trace.columns["rating_before"], trace.columns["deviation_before"], history
    )
    matches, draws, spread = 0, 0, 0.0
    for m in range(history.matches):
        first, second = history.offsets[m], history.offsets[m] + 1
        if history.offsets[m + 1] - first != 2:
            continue
        [chance] = players.beats(np.array([first]), np.array([second]))
        matches += 1
        draws += int(history.rank[first] == history.rank[second])
        spread += 4 * chance * (1 - chance)
    return [matches, draws, spread]


@every_system_drawn
@given(data=st.data())
@few
def test_the_sums_are_those_of_the_outlook(variant: Variant, data: st.DataObject) -> None:
    """Kernels count as `outlook` expects; the tolerance is rounding of chances."""
    history = any_history(data, variant)
    found = replay(system_of(variant), history).state.state.shared[DRAWS]
    wanted = by_outlook(variant, history)
    if issubclass(system_class(variant.name), Federation) or "period_days" in variant.parameters:
        # Within a rating period ratings stay what they were when it began.
        assert found[:2].tolist() == wanted[:2]
        return
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


@every_system_drawn
@given(data=st.data())
@few
def test_a_win_and_half_a_draw_are_what_is_expected(variant: Variant, data: st.DataObject) -> None:
    """Whatever was counted; no chance is below 0, and both wins and the draw make 1."""
    history, system = any_history(data, variant), system_of(variant)
    state = replay(system, history).state
    matches = data.draw(st.integers(50, 10**6))
    draws = data.draw(st.integers(0, matches))
    spread = data.draw(st.floats(1e-6, 1.0)) * matches
    state.state.shared[DRAWS] = np.array([matches, draws, spread])
    players = data.draw(st.permutations([0, 10, 20, "new"]))
    most = system.capabilities.max_team_size or data.draw(st.integers(1, 2))
    found = eq.predict(system, state, [players[:most], players[most : 2 * most]])
    assert found.win is not None
    assert found.draw is not None
    scores = [win + found.draw / 2 for win in found.win]
    np.testing.assert_allclose(scores, found.expected, rtol=0, atol=1e-15)
    assert sum(found.win) + found.draw == pytest.approx(1, abs=1e-15)
    assert min(*found.win, found.draw) >= 0
    assert found.by == system.name
    models = isinstance(system, ModelsDraws)
    assert found.draw_by == (system.name if models else "estimate")
    if not models:
        expected, rate = found.expected[0], min(draws / spread, 1.0)
        wanted = min(4 * rate * expected * (1 - expected), 2 * expected, 2 * (1 - expected))
        assert found.draw == pytest.approx(wanted, abs=1e-14)


def test_which_systems_model_draws() -> None:
    """Only those with a margin: the others give half a point and no chance of it."""
    models = [name for name in SYSTEMS if isinstance(eq.make_system(name), ModelsDraws)]
    assert models == ["thurstone-mosteller", "trueskill", "trueskill-spb"]


def test_trueskill_draws_equals_with_its_draw_probability() -> None:
    """[TS]_ sec. 2: of players without uncertainty, whatever the size of their teams."""
    system = eq.TrueSkill(initial_deviation=1e-6, drift=0, draw_probability=0.3)
    state = PoolState.new(system)
    for size in (1, 3):
        teams = [[f"{side}{i}" for i in range(size)] for side in "ab"]
        assert eq.predict(system, state, teams).draw == pytest.approx(0.3, abs=1e-9)


def test_trueskill_spb_draws_within_two_eps() -> None:
    """Both teams are within eps of one place: |d| <= 2 eps, d normal."""
    system = eq.TrueSkillSPb(initial_deviation=30, eps=12, beta=40, sigma_drift=0)
    found = eq.predict(system, PoolState.new(system), [["a"], ["b"]])
    scale = math.sqrt(2 * (30**2 + 40**2))
    assert found.draw == pytest.approx(2 * NormalDist().cdf(24 / scale) - 1, abs=1e-12)


def test_below_fifty_matches_nothing_is_estimated() -> None:
    state = PoolState.new(eq.Elo()).state
    assert draw_rate(state) is None
    state.shared[DRAWS] = np.array([49.0, 20.0, 40.0])
    assert draw_rate(state) is None
    state.shared[DRAWS] = np.array([50.0, 20.0, 40.0])
    assert draw_rate(state) == 0.5
    state.shared[DRAWS] = np.array([50.0, 45.0, 40.0])
    assert draw_rate(state) == 1.0


@every_system
def test_newcomers_are_newcomers_in_every_system(variant: Variant) -> None:
    """They begin as the system has it, at whatever time, and the answers name them."""
    system = system_of(variant)
    history = history_of([(d, [[0], [1]], [0, 1]) for d in range(3)], players=2)
    state = replay(system, history).state
    begin = system.at(system.initial(1), np.zeros(1, np.int64), None)
    for at in (None, 400.0):
        found = eq.predict(system, state, [[0], ["new"]], at=at)
        assert found.newcomers == ("new",)
        assert np.all(np.isfinite(found.expected))
        assert eq.predict(system, state, [[0], [77]], at=at).newcomers == (77,)
        lobby = eq.lobby_of(state, [0, 10, "new", 77], at=at)
        assert [str(one) for one in lobby.newcomers] == ["new", "77"]
        assert lobby.rating[2:].tolist() == begin["rating"].tolist() * 2
        same = eq.predict(system, state, [[0], [10], ["new"]], at=at)
        assert same.newcomers == ("new",)
    tried = what_if(system, state, [[0], ["new"]], "new")
    assert tried.rating_before == begin["rating"][0]
    assert np.all(np.isfinite(tried.rating))


def test_without_a_time_the_pools_last_match_counts() -> None:
    """For a prediction and for a lobby: who has been away is less certain."""
    system = eq.Glicko(drift_per_day=2000, drift=0)
    history = history_of([(0, [[0], [1]], [0, 1]), (9, [[2], [1]], [0, 1])], players=3)
    state = replay(system, history).state
    now = eq.lobby_of(state, [0, 10, 20])
    assert now.deviation[0] > now.deviation[2]
    same = eq.lobby_of(state, [0, 10, 20], at=9.0)
    assert now.deviation.tolist() == same.deviation.tolist()
    first, second = (eq.predict(system, state, [[0], [20]], at=at).expected for at in (None, 9.0))
    assert first == second
    with pytest.raises(InvalidParameterError, match="before the last match of 10"):
        eq.lobby_of(state, [0, 10], at=8.0)


def test_a_home_advantage_counts_in_the_sums() -> None:
    """E is what was expected with it."""
    system = eq.Elo(home_advantage=200)
    rows = {"match": [1, 1], "player": ["a", "b"], "rank": [0, 0], "at_home": [1, 0]}
    found = replay(system, eq.read_history(rows)).state.state.shared[DRAWS]
    chance = 1 / (1 + 10 ** (-200 / 400))
    np.testing.assert_allclose(found, [1, 1, 4 * chance * (1 - chance)], rtol=1e-12)


def test_teams_count_and_contests_do_not() -> None:
    """A team match is one match; of three teams, or one, nothing is counted."""
    matches = [
        (0.0, [[0, 1], [2, 3]], [0, 0]),
        (1.0, [[0], [1], [2]], [0, 0, 1]),
        (2.0, [[0]], [0]),
        (3.0, [[0, 1, 2], [3]], [0, 1]),
    ]
    for system in (eq.Elo(), eq.TrueSkill(), eq.TrueSkillSPb(), eq.PlackettLuce()):
        found = replay(system, history_of(matches, players=4)).state.state.shared[DRAWS]
        assert found[:2].tolist() == [2, 1]
