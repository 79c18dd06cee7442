"""What team Glicko-2 promises about performances, factors, bounds, roles and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.data.outlook import GLICKO2_SCALE
from equipoise.data.ratings import EffectiveRating
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.rating.explaining import explain
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import predict, replay
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from equipoise.rating.what_if import what_if
from rating.histories import Contest, Trace, history_of, rate
from rating.team_matches import (
    PLAYERS,
    every_option,
    history_of_teams,
    match_of,
    system_of,
    team_matches,
)
from reference.team_glicko2 import MICROSECONDS_PER_DAY, Entry, Match, Options
from test_every_system import assert_parts_sum_to_the_change

# Rating points: sums are added up in another order.
ROUNDING = 1e-9

quarters = st.integers(-40, 40).map(lambda number: number / 4)


@st.composite
def pools(draw: st.DrawFn) -> State:
    """Draw players of different strength, certainty and steadiness."""
    state = TeamGlicko2().initial(PLAYERS)
    for name, low, high in (
        ("rating", 900, 1900),
        ("deviation", 30, 350),
        ("volatility", 0.03, 0.1),
    ):
        column = st.lists(st.floats(low, high), min_size=PLAYERS, max_size=PLAYERS)
        state.column(name)[:] = draw(column)
    return state


@st.composite
def single_matches(draw: st.DrawFn, score: float | None = None) -> Match:
    """Draw a match between teams of two to four with performances that differ."""
    sizes = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    teams = [draw(st.lists(quarters, min_size=size, max_size=size, unique=True)) for size in sizes]
    if score is None:
        score = draw(st.sampled_from([1.0, 0.0, 0.5]))
    return match_of(*teams, score)


def rated(system: TeamGlicko2, match: Match, state: State | None = None) -> Trace:
    """Return what one match does to players of this state, which is left as it is."""
    history = history_of_teams([match])
    return rate(system, system.initial(history.players) if state is None else state.copy(), history)


def changes(trace: Trace) -> Floats:
    """Return the changes of the ratings."""
    difference: Floats = trace["rating"] - trace["rating_before"]
    return difference


def with_performances(match: Match, performances: Sequence[float | None]) -> Match:
    """Return the match with other performances, in the order of its entries."""
    pairs = zip(match.entries, performances, strict=True)
    return replace(match, entries=[replace(one, performance=value) for one, value in pairs])


def performances_of(match: Match) -> list[float]:
    return [entry.performance for entry in match.entries if entry.performance is not None]


# --- what does not matter --------------------------------------------------------------------


@examples(60)
@given(match=single_matches(), state=pools(), a=st.sampled_from([0.25, 1.0, 16.0]), b=quarters)
def test_increasing_affine_changes_of_performances_leave_ratings_alone(
    match: Match, state: State, a: float, b: float
) -> None:
    """READINGS A12, for what holds of section 4's "any monotonic transformation"."""
    other = with_performances(match, [a * value + b for value in performances_of(match)])
    one, two = (changes(rated(TeamGlicko2(), played, state)) for played in (match, other))
    np.testing.assert_allclose(one, two, rtol=0, atol=ROUNDING)


# --- z and the factor ------------------------------------------------------------------------


def test_a_missing_performance_is_left_out_of_the_team() -> None:
    """READINGS A4: mean 4 and deviation 2 are those of 2 and 6; the third has z 0 and no form."""
    trace = rated(TeamGlicko2(), match_of([2.0, None, 6.0], [1.0]))
    assert trace["z"].tolist() == [-1.0, 0.0, 1.0, 0.0]
    assert trace["form"].tolist() == [-1.0, 0.0, 1.0, 0.0]
    assert trace["form_matches"].tolist() == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "team", [[0.3], [0.1, 0.1, 0.1], [1e300, 1e300], [None, 7.0], [0.0, 5e-324]]
)
def test_a_team_of_equals_has_no_z(team: list[float | None]) -> None:
    """READINGS A2: 0 and not a division by 0, however the mean and the deviation are rounded."""
    trace = rated(TeamGlicko2(), match_of(team, [1.0, 2.0]))
    assert trace["z"][: len(team)].tolist() == [0.0] * len(team)
    assert np.all(np.isfinite(trace["rating"]))


@examples(60)
@given(match=single_matches(), state=pools(), score=st.sampled_from([0.0, 1.0]))
def test_factors_of_a_team_have_mean_one_before_they_are_bounded(
    match: Match, state: State, score: float
) -> None:
    """Section 5.3, E[f] = 1: in wins and losses, where all of a team have the same sign.

    Tolerance: a few roundings of numbers near 1.
    """
    unbounded = TeamGlicko2(factor_min=0.0, factor_max=1e6)
    trace = rated(unbounded, replace(match, score=score), state)
    teams = np.array([entry.team for entry in match.entries])
    for team in (0, 1):
        assert trace["factor"][teams == team].mean() == pytest.approx(1.0, abs=1e-13)


# --- conserve, bounds, shares ----------------------------------------------------------------


@examples(60)
@given(match=single_matches(), state=pools(), beta=st.sampled_from([0.2, 1.0, 3.0]))
def test_conserving_keeps_the_gains_and_the_losses_of_a_team(
    match: Match, state: State, beta: float
) -> None:
    """READINGS A11: sum(f dmu) = sum(dmu), separately, in wins, losses and draws."""
    plain = changes(rated(TeamGlicko2(beta=0), match, state))
    kept = changes(rated(TeamGlicko2(beta=beta, conserve=True, factor_min=0.0), match, state))
    teams = np.array([entry.team for entry in match.entries])
    for team in (0, 1):
        for gains in (plain > 0, plain < 0):
            chosen = gains & (teams == team)
            assert kept[chosen].sum() == pytest.approx(plain[chosen].sum(), abs=ROUNDING)


def test_without_conserving_bounds_move_rating_between_teams() -> None:
    """READINGS A11: 5.3's "neither inflating nor deflating" holds only unbounded, dmu being equal.

    One outstanding player of five has z = 2, so 1 + 0.5 * 2 is cut to 1.5, and nobody makes up for
    what is cut off.
    """
    match = match_of([10.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0])
    plain = changes(rated(TeamGlicko2(beta=0), match))[:5].sum()
    assert changes(rated(TeamGlicko2(beta=0.5), match))[:5].sum() < 0.95 * plain
    conserved = changes(rated(TeamGlicko2(beta=0.5, conserve=True), match))[:5].sum()
    assert conserved == pytest.approx(plain, abs=ROUNDING)


def test_factors_that_are_all_zero_are_not_divided_by() -> None:
    """On a draw the only one of a team to gain may have factor 0; `conserve` keeps the gain."""
    system = TeamGlicko2(beta=3.0, factor_min=0.0, conserve=True)
    state = system.initial(PLAYERS)
    state.column("rating")[:2] = [1200.0, 1700.0]
    match = match_of([1.0, 9.0], [5.0, 5.0], 0.5)
    plain = changes(rated(replace(system, beta=0.0), match, state))
    np.testing.assert_allclose(changes(rated(system, match, state))[0], plain[0], atol=ROUNDING)
    assert plain[0] > 0 > plain[1]


# --- the range of numbers --------------------------------------------------------------------


@pytest.mark.parametrize("gap", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("options", [{}, {"conserve": True, "max_change": 300.0, "beta": 1.0}])
def test_huge_gaps_stay_finite(gap: float, score: float, options: dict[str, float]) -> None:
    """READINGS A6: E(1 - E) is never 0 and e^x never overflows; an upset costs the favourites."""
    system = TeamGlicko2(**options)
    state = system.initial(PLAYERS)
    state.column("rating")[:3] += gap
    history = history_of_teams([match_of([1.0, 2.0, 4.0], [3.0, 5.0, 8.0], score)] * 3)
    trace = rate(system, state, history)
    assert np.all(np.isfinite(np.concatenate(list(trace.values()))))
    assert np.all((trace["expected"] >= 0) & (trace["expected"] <= 1))
    assert np.all(trace["volatility"] < 1.0)
    moved = changes(trace)[:3]
    assert np.all(moved < 0) if score < 1.0 else np.all(moved >= 0)


WITH_ROLES = TeamGlicko2(roles=True)


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


def test_roles_need_a_column() -> None:
    """The message names the column."""
    history = history_of_teams([role_match(1, 2)])
    without = replace(history, attributes={})
    with pytest.raises(InvalidDataError, match="role"):
        replay(WITH_ROLES, without)
    assert replay(TeamGlicko2(), without).rated_matches == 1


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
    found = explain(system, history, int(history.player[row]), m)
    columns = trace.columns
    for name in ("rating_before", "rating", "deviation_before", "deviation", "expected"):
        assert getattr(found, name) == columns[name][row]
    assert_parts_sum_to_the_change(found)
    [opponent] = found.opponents
    assert opponent.effect == found.rating - found.rating_before
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


def test_a_bound_is_told_as_a_step_of_its_own() -> None:
    """What [30] takes is a part of the explanation, and the largest change is the bound."""
    history = history_of_teams([match_of([4.0, 0.0], [2.0, 2.0])])
    found = assert_adds_up(TeamGlicko2(max_change=100.0), history, 0, 0)
    names = [one.name for one in found.contributions]
    assert names == ["the result", "performance within the team", "bound"]
    assert sum(one.change for one in found.contributions) == pytest.approx(100.0, abs=1e-9)
    assert (found.least_change, found.largest_change) == (-100.0, 100.0)
    match = match_of([4.0, 0.0], [2.0, 2.0])
    half = [replace(match.entries[0], share=0.5), *match.entries[1:]]
    history = history_of_teams([replace(match, entries=half)])
    found = assert_adds_up(TeamGlicko2(max_change=100.0), history, 0, 0)
    assert (found.least_change, found.largest_change) == (-50.0, 50.0)


# --- time: inactivity, form and the effective rating -----------------------------------------


WEEK = 7 * MICROSECONDS_PER_DAY

#: 2020-01-01, in days since 1970: far enough from 0 for days to be rounded.
TODAY = 18_262


def veteran(system: TeamGlicko2, matches: list[float]) -> State:
    """Return the state of one player with matches at these days, deviation 60."""
    state = system.initial(1)
    state.column("deviation")[:] = 60.0
    state.column("last_time")[:] = max(matches)
    for k, day in enumerate(sorted(matches, reverse=True)[: system.activity_matches], start=1):
        state.column(f"recent_{k}")[:] = day
    return state


def deviation_at(system: TeamGlicko2, state: State, day: float) -> float:
    return float(system.at(state, np.array([0]), day)["deviation"][0])


# --- inactivity ------------------------------------------------------------------------------


def test_recent_activity_protects() -> None:
    """READINGS A8: three matches in four weeks keep a deviation as it is; two do not.

    Both players rested for fifteen days, two whole periods.
    """
    system = TeamGlicko2()
    active, inactive = veteran(system, [-5.0, -2.0, 0.0]), veteran(system, [-40.0, -2.0, 0.0])
    assert deviation_at(system, active, 15.0) == 60.0
    grown = GLICKO2_SCALE * math.sqrt((60.0 / GLICKO2_SCALE) ** 2 + 2 * 0.06**2)
    assert deviation_at(system, inactive, 15.0) == pytest.approx(grown, rel=1e-14)


def test_the_window_of_activity_has_an_end() -> None:
    """Section 12.1, "in the past D days": a match exactly 28 days ago is one of them."""
    system = TeamGlicko2()
    state = veteran(system, [TODAY, TODAY + 3.0, TODAY + 6.0])
    assert deviation_at(system, state, TODAY + 28.0) == 60.0
    assert deviation_at(system, state, TODAY + 28.0 + 1 / MICROSECONDS_PER_DAY) > 60.0


@examples(200)
@given(
    now=st.integers(TODAY * MICROSECONDS_PER_DAY, (TODAY + 3000) * MICROSECONDS_PER_DAY),
    weeks=st.integers(1, 5),
)
def test_a_week_is_never_a_little_less_than_one(now: int, weeks: int) -> None:
    """[42] with times a whole number of weeks apart, to the microsecond: days are rounded numbers.

    Played at the time `now`, a deviation has not grown before `weeks` weeks are full.
    """
    system = TeamGlicko2(activity_window=0.0)
    state = veteran(system, [now / MICROSECONDS_PER_DAY])
    for microseconds, whole in ((now + weeks * WEEK, weeks), (now + weeks * WEEK - 1, weeks - 1)):
        grown = GLICKO2_SCALE * math.sqrt((60.0 / GLICKO2_SCALE) ** 2 + whole * 0.06**2)
        found = deviation_at(system, state, microseconds / MICROSECONDS_PER_DAY)
        assert found == pytest.approx(grown, rel=1e-12)


def test_a_time_before_the_last_match_reads_as_of_that_match() -> None:
    """`--at` may lie anywhere; a deviation does not shrink by looking back."""
    system = TeamGlicko2()
    state = veteran(system, [100.0])
    assert deviation_at(system, state, 0.0) == 60.0


# --- form and the effective rating -----------------------------------------------------------


@pytest.mark.parametrize(
    ("deviation", "weight"),
    # READINGS A9, to the digits printed there.
    [(30, 0.06), (40, 0.10), (80, 0.25), (160, 0.40), (350, 0.475)],
)
def test_the_weight_of_form_grows_with_the_deviation(deviation: float, weight: float) -> None:
    """[39], [40]; section 11.3's percentages are illustrations (READINGS A9)."""
    found = EffectiveRating().weight(np.array([float(deviation)]))[0]
    assert round(found, 3 if weight == 0.475 else 2) == weight


def test_effective_ratings_are_computed_as_of_the_time_that_is_read() -> None:
    """READINGS A9: after a long rest the deviation is at its cap, and form counts 0.475."""
    history = history_of_teams(
        [match_of([5.0, 0.0], [0.0, 0.0], time=day * MICROSECONDS_PER_DAY) for day in range(30)]
    )
    now, later = (replay(TeamGlicko2(), history, at=day).ratings.of(0) for day in (29.0, 20_000.0))
    assert later["rating"] == now["rating"] < now["effective_rating"] < later["effective_rating"]
    assert later["effective_rating"] - later["rating"] == pytest.approx(0.475 * 80, abs=0.05)
