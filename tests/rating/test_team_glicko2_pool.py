"""Team Glicko-2 as a pool: roles that all share, saved states, refusals, explanations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.rating.explaining import explain
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import predict, replay
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.team_glicko2 import TeamGlicko2, statistics_of
from equipoise.rating.what_if import what_if
from rating.histories import Contest, history_of, rate
from rating.team_matches import (
    PLAYERS,
    every_option,
    history_of_teams,
    match_of,
    system_of,
    team_matches,
)
from reference.team_glicko2 import MICROSECONDS_PER_DAY, Entry, Match, Options

WITH_ROLES = TeamGlicko2(roles=True)


def assert_same_bits(one: State, other: State) -> None:
    """Compare two states, what all players share included; NaN is itself."""
    np.testing.assert_array_equal(one.table, other.table)
    assert one.shared.keys() == other.shared.keys()
    for name, values in one.shared.items():
        np.testing.assert_array_equal(values, other.shared[name])


# --- roles -----------------------------------------------------------------------------------


def role_match(tank: float, healer: float, score: float = 1.0) -> Match:
    """Return a match of a tank and a healer, with these performances, against two like them."""
    return Match(
        [
            Entry(0, 0, tank, 1.0, "tank"),
            Entry(1, 0, healer, 1.0, "healer"),
            Entry(2, 1, 20.0, 1.0, "tank"),
            Entry(3, 1, 2.0, 1.0, "healer"),
        ],
        score,
    )


def test_a_role_is_compared_with_its_own_past() -> None:
    """READINGS A14: a healer with 6 has done better for a healer than a tank with 20 for a tank.

    Before that match tanks had 20, 20, 40 and 20, healers 4, 2, 4 and 2.
    """
    history = history_of_teams([role_match(20, 4), role_match(40, 4), role_match(20, 6)])
    plain, by_role = (
        rate(system, system.initial(PLAYERS), history) for system in (TeamGlicko2(), WITH_ROLES)
    )
    assert plain["z"][8:10].tolist() == [1.0, -1.0]
    assert by_role["z"][8:10].tolist() == [-1.0, 1.0]


def test_nothing_is_known_of_a_role_at_first() -> None:
    """READINGS A14: everybody is 0 in the first match, and while a role has shown no spread.

    In the second match both roles have two equal performances each; form counts it all the same.
    """
    history = history_of_teams([role_match(20, 2), role_match(40, 9)])
    trace = rate(WITH_ROLES, WITH_ROLES.initial(PLAYERS), history)
    np.testing.assert_array_equal(trace["z"], 0.0)
    np.testing.assert_array_equal(trace["form_matches"], [1, 1, 1, 1, 2, 2, 2, 2])


def test_equally_good_in_two_roles_is_equal() -> None:
    """Healers' figures are a third of the tanks': z is 0 and not rounding magnified.

    Means and deviations of thirds and ninths are rounded, in each role otherwise.
    """
    tanks, system = [10 / 3, 20 / 3, 1 / 3, 4 / 3, 11 / 3], WITH_ROLES
    matches = [
        Match(
            [
                Entry(0, 0, points, 1.0, "tank"),
                Entry(1, 0, points / 3, 1.0, "healer"),
                Entry(2, 1, points, 1.0, "tank"),
                Entry(3, 1, points / 3, 1.0, "healer"),
            ],
            1.0,
        )
        for points in tanks
    ]
    trace = rate(system, system.initial(PLAYERS), history_of_teams(matches))
    np.testing.assert_array_equal(trace["z"], 0.0)


def test_what_is_known_of_roles_is_the_pools() -> None:
    """Number, mean and summed squares of all performances so far, in no player's row."""
    system = WITH_ROLES
    state = system.initial(PLAYERS)
    rate(system, state, history_of_teams([role_match(20, 4), role_match(40, 4)]))
    np.testing.assert_allclose(statistics_of(state, "tank"), [4, 25, 300], rtol=1e-15)
    np.testing.assert_allclose(statistics_of(state, "healer"), [4, 3, 4], rtol=1e-15)
    assert statistics_of(state, "scout").tolist() == [0, 0, 0]


def test_roles_need_a_column() -> None:
    """The message names the column."""
    history = history_of_teams([role_match(1, 2)])
    without = History(
        match_ids=history.match_ids,
        player_ids=history.player_ids,
        offsets=history.offsets,
        player=history.player,
        team=history.team,
        rank=history.rank,
    )
    with pytest.raises(InvalidDataError, match="role"):
        replay(WITH_ROLES, without)
    assert replay(TeamGlicko2(), without).rated_matches == 1


# --- states ----------------------------------------------------------------------------------


@examples(40)
@given(matches=team_matches(), options=every_option)
def test_one_match_at_a_time_is_all_at_once(matches: list[Match], options: Options) -> None:
    """The same bits, whether matches come as slices, as histories of their own or together."""
    system, history = system_of(options), history_of_teams(matches)
    at_once, in_slices, alone = (system.initial(PLAYERS) for _ in range(3))
    system.run(at_once, history, 0, history.matches)
    for m in range(history.matches):
        system.run(in_slices, history, m, m + 1)
        system.run(alone, history.slice(m, m + 1), 0, 1)
    assert_same_bits(at_once, in_slices)
    assert_same_bits(at_once, alone)


@examples(40)
@given(data=st.data(), matches=team_matches(), options=every_option)
def test_going_on_from_a_saved_state_is_going_straight_through(
    data: st.DataObject,
    matches: list[Match],
    options: Options,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Saved anywhere and read again: table, statistics of roles and parameters, bit for bit."""
    system, history = system_of(options), history_of_teams(matches)
    k = data.draw(st.integers(1, history.matches))
    path = tmp_path_factory.mktemp("states") / "state.npz"
    replay(system, history.slice(0, k)).state.save(path)
    loaded = PoolState.load(path)
    assert loaded.system == system
    went_on, straight = replay(system, history, state=loaded), replay(system, history)
    assert_same_bits(went_on.state.state, straight.state.state)
    assert went_on.known_matches == k


def test_a_copy_does_not_share_what_is_known_of_roles() -> None:
    """Rating from a copy, a part or a saved pool leaves the original as it was."""
    history = history_of_teams([role_match(20, 4), role_match(40, 4)])
    state = WITH_ROLES.initial(PLAYERS)
    WITH_ROLES.run(state, history, 0, 1)
    before = statistics_of(state, "tank").copy()
    for other in (state.copy(), state.take(np.arange(4))):
        WITH_ROLES.run(other, history, 1, 2)
        assert statistics_of(other, "tank")[0] == 4
    np.testing.assert_array_equal(statistics_of(state, "tank"), before)


# --- who may play ----------------------------------------------------------------------------


def test_three_teams_are_refused() -> None:
    """READINGS A1: two teams exactly; the message names systems that can."""
    history = history_of([Contest((0, 1, 2), (0, 1, 2))])
    told = r"team-glicko2 cannot rate .*systems that can: .*\belo,"
    with pytest.raises(InvalidDataError, match=told):
        replay(TeamGlicko2(), history)
    pool = replay(TeamGlicko2(), history_of_teams([match_of([1.0], [1.0])])).state
    with pytest.raises(InvalidParameterError, match="team"):
        what_if(TeamGlicko2(), pool, [[0], [1], [2]])
    assert predict(TeamGlicko2(), pool, [[0], [1], [2]]).by == "team mean"


def test_predictions_of_uneven_teams_of_equals_are_even() -> None:
    """READINGS A15: teams count by their means, so two strangers against five are at 1/2."""
    pool = PoolState.new(TeamGlicko2())
    pool.player_ids = np.arange(7)
    pool.state.grow(7)
    expected = predict(TeamGlicko2(), pool, [[0, 1], [2, 3, 4, 5, 6]]).expected
    assert expected == (0.5, 0.5)


# --- explanations ----------------------------------------------------------------------------


def assert_adds_up(system: RatingSystem, history: History, m: int, row: int) -> Explanation:
    """Hold an explanation against the trace of a replay, and its parts against the change."""
    trace = replay(system, history, trace=True).trace
    assert trace is not None
    found = explain(system, history, int(history.player[row]), m)
    columns = trace.columns
    for name in ("rating_before", "rating", "deviation_before", "deviation", "expected"):
        assert getattr(found, name) == columns[name][row]
    change = found.rating - found.rating_before
    # Promised by `Explanation`: 1e-9 rating points.
    assert math.fsum(one.change for one in found.contributions) == pytest.approx(change, abs=1e-9)
    if not math.isnan(found.least_change):
        assert found.least_change - 1e-9 <= change <= found.largest_change + 1e-9
    [opponent] = found.opponents
    assert opponent.effect == change
    assert found.score == opponent.score
    return found


@examples(60)
@given(data=st.data(), matches=team_matches(), options=every_option)
def test_the_parts_of_every_explanation_add_up(
    data: st.DataObject, matches: list[Match], options: Options
) -> None:
    """With shares, `conserve`, bounds, roles, weights and missing performances."""
    note(f"{options}")
    system, history = system_of(options), history_of_teams(matches)
    m = data.draw(st.integers(0, history.matches - 1))
    row = data.draw(st.integers(int(history.offsets[m]), int(history.offsets[m + 1]) - 1))
    found = assert_adds_up(system, history, m, row)
    assert math.isnan(found.least_change) == options.conserve
    names = [one.name for one in found.contributions]
    assert names[:2] == ["the result", "performance within the team"]
    assert ("conserved" in names) == options.conserve
    share = 1.0 if history.share is None else history.share[row]
    assert ("share" in names) == (share != 1.0)


@examples(40)
@given(data=st.data(), matches=team_matches(plain=True), roles=st.booleans())
def test_z_follows_from_the_numbers_shown_before_it(
    data: st.DataObject, matches: list[Match], roles: bool
) -> None:
    """(8) from (6) and (7) as they are shown, relative to roles where those count."""
    system, history = TeamGlicko2(roles=roles), history_of_teams(matches)
    m = data.draw(st.integers(0, history.matches - 1))
    found = assert_adds_up(system, history, m, int(history.offsets[m]))
    shown = {one.name: one.value for one in found.quantities}
    own = shown["performance for the role" if roles else "performance"]
    spread = shown["deviation in the team"]
    if spread > 1e-9:
        z = (own - shown["mean of the team"]) / spread
        assert shown["z"] == pytest.approx(z, abs=1e-9)
    else:
        assert shown["z"] == 0.0


def test_a_bound_is_told_as_a_step_of_its_own() -> None:
    """What [30] takes is a part of the explanation, and the largest change is the bound."""
    history = history_of_teams([match_of([4.0, 0.0], [2.0, 2.0])])
    found = assert_adds_up(TeamGlicko2(max_change=100.0), history, 0, 0)
    parts = {one.name: one.change for one in found.contributions}
    assert parts["the result"] + parts["performance within the team"] + parts[
        "bound"
    ] == pytest.approx(100.0, abs=1e-9)
    assert (found.least_change, found.largest_change) == (-100.0, 100.0)


def test_the_variance_shown_is_that_of_the_whole_match() -> None:
    """v of (15) with the weight of the match in it, and no infinity for a huge favourite."""
    match = match_of([1.0], [1.0])
    shown = {}
    for weight in (1.0, 2.0):
        history = history_of_teams([replace(match, weight=weight)])
        found = explain(TeamGlicko2(), history, 0)
        shown[weight] = {one.name: one.value for one in found.quantities}["v"]
    assert shown[1.0] == pytest.approx(2 * shown[2.0], rel=1e-14)


def test_an_explanation_at_a_time_begins_with_the_grown_deviation() -> None:
    """`deviation_before` is as of the match, after a rest of a year."""
    year = 365 * MICROSECONDS_PER_DAY
    history = history_of_teams([match_of([1.0], [2.0], time=0), match_of([1.0], [2.0], time=year)])
    found = assert_adds_up(TeamGlicko2(), history, 1, 2)
    assert found.deviation_before > explain(TeamGlicko2(), history, 0, 0).deviation
