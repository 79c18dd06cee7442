"""What team Glicko-2 promises about performances, factors, bounds and shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.errors import InvalidParameterError
from equipoise.rating.state import State
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from rating.histories import Trace, rate
from rating.team_matches import PLAYERS, every_option, history_of_teams, match_of, system_of
from rating.team_matches import team_matches as drawn
from reference.team_glicko2 import Match, Options

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
@given(data=st.data(), matches=drawn(), options=every_option)
def test_the_order_of_players_and_of_teams_does_not_matter(
    data: st.DataObject, matches: list[Match], options: Options
) -> None:
    """READINGS A7: rows in another order and teams the other way round, the same ratings."""
    shuffled = [
        Match(
            [
                replace(entry, team=1 - entry.team)
                for entry in data.draw(st.permutations(match.entries))
            ],
            1.0 - match.score,
            match.time,
            match.weight,
        )
        for match in matches
    ]
    system, states = system_of(options), []
    for played in (matches, shuffled):
        history = history_of_teams(played)
        states.append(system.initial(history.players))
        system.run(states[-1], history, 0, history.matches)
    np.testing.assert_allclose(states[0].table, states[1].table, rtol=0, atol=ROUNDING)


@examples(60)
@given(match=single_matches(), state=pools(), a=st.sampled_from([0.25, 1.0, 16.0]), b=quarters)
def test_increasing_affine_changes_of_performances_leave_ratings_alone(
    match: Match, state: State, a: float, b: float
) -> None:
    """READINGS A12, for what holds of section 4's "any monotonic transformation"."""
    other = with_performances(match, [a * value + b for value in performances_of(match)])
    one, two = (changes(rated(TeamGlicko2(), played, state)) for played in (match, other))
    np.testing.assert_allclose(one, two, rtol=0, atol=ROUNDING)


def test_another_monotonic_change_of_performances_changes_ratings() -> None:
    """READINGS A12: cubes keep the order of a team and yet move its z."""
    match = match_of([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    cubed = with_performances(match, [value**3 for value in performances_of(match)])
    one, two = (changes(rated(TeamGlicko2(), played)) for played in (match, cubed))
    assert np.all(np.abs(one - two)[:2] > 1.0)


@examples(60)
@given(match=single_matches(), state=pools())
def test_without_performances_beta_does_not_matter(match: Match, state: State) -> None:
    """READINGS A4: nobody known, everybody z 0, factor 1, and form as it was."""
    silent = with_performances(match, [None] * len(match.entries))
    scaled = rated(TeamGlicko2(), silent, state)
    np.testing.assert_array_equal(scaled["z"], 0.0)
    np.testing.assert_array_equal(scaled["factor"], 1.0)
    np.testing.assert_array_equal(scaled["form_matches"], 0.0)
    plain = rated(TeamGlicko2(beta=0), match, state)
    np.testing.assert_array_equal(scaled["rating"], plain["rating"])


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
@given(match=single_matches(), state=pools())
def test_good_performers_gain_more_and_lose_less(match: Match, state: State) -> None:
    """Section 5.3, for wins, losses and draws: the sign is that of the change (READINGS A3)."""
    plain = changes(rated(TeamGlicko2(beta=0), match, state))
    trace = rated(TeamGlicko2(), match, state)
    # Where there is no change to speak of, its sign is one of rounding.
    for before, after, z in zip(plain, changes(trace), trace["z"], strict=True):
        if abs(before) > 1e-6 and abs(z) > 1e-6:
            assert (after > before) == (z > 0)
            assert (after > 0) == (before > 0)


@examples(60)
@given(match=single_matches(), state=pools())
def test_a_draw_takes_from_the_favourites(match: Match, state: State) -> None:
    """READINGS A3: on a draw some of a team may gain and others lose, each with the sign of it."""
    trace = rated(TeamGlicko2(factor_min=0.0, factor_max=9.0), replace(match, score=0.5), state)
    expected = trace["expected"]
    clear = np.abs(expected - 0.5) > 1e-9
    signs = np.where(expected < 0.5, 1.0, -1.0)
    np.testing.assert_array_equal(np.sign(changes(trace))[clear], signs[clear])
    np.testing.assert_allclose(
        trace["factor"][clear], np.maximum(1 + 0.2 * signs * trace["z"], 0.0)[clear], atol=1e-12
    )


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


@examples(60)
@given(match=single_matches(), state=pools(), beta=st.floats(0, 3))
def test_factors_stay_within_their_bounds(match: Match, state: State, beta: float) -> None:
    """[10], and without influence on deviation and volatility [27], [28]."""
    trace = rated(TeamGlicko2(beta=beta, factor_min=0.7, factor_max=1.1), match, state)
    assert np.all((trace["factor"] >= 0.7) & (trace["factor"] <= 1.1))
    plain = rated(TeamGlicko2(beta=0), match, state)
    for name in ("deviation", "volatility"):
        np.testing.assert_array_equal(trace[name], plain[name])


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


@examples(60)
@given(
    match=single_matches(),
    state=pools(),
    most=st.floats(0.5, 60),
    conserve=st.booleans(),
)
def test_no_match_changes_a_rating_by_more_than_the_bound(
    match: Match, state: State, most: float, conserve: bool
) -> None:
    """[29]-[31]: smaller changes are what they were, larger ones end at the bound."""
    free = changes(rated(TeamGlicko2(conserve=conserve), match, state))
    held = changes(rated(TeamGlicko2(conserve=conserve, max_change=most), match, state))
    np.testing.assert_allclose(held, np.clip(free, -most, most), rtol=0, atol=ROUNDING)


@examples(60)
@given(
    match=single_matches(),
    state=pools(),
    share=st.sampled_from([0.0, 0.5, 0.125]),
    options=st.sampled_from([TeamGlicko2(), TeamGlicko2(conserve=True, max_change=20)]),
)
def test_a_share_scales_its_own_players_change_and_nothing_else(
    match: Match, state: State, share: float, options: TeamGlicko2
) -> None:
    """Leavers: share 0 leaves the rating alone to the last bit, half of it halves the change."""
    leaver = replace(match, entries=[replace(match.entries[0], share=share), *match.entries[1:]])
    whole, part = rated(options, match, state), rated(options, leaver, state)
    assert changes(part)[0] == pytest.approx(share * changes(whole)[0], abs=ROUNDING)
    if share == 0.0:
        assert part["rating"][0] == part["rating_before"][0]
    np.testing.assert_array_equal(part["rating"][1:], whole["rating"][1:])
    for name in ("deviation", "volatility", "z", "form", "form_matches"):
        np.testing.assert_array_equal(part[name], whole[name])


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


def test_one_against_five_is_a_match() -> None:
    """READINGS A1: any two sizes; five newcomers are better known together than one is alone."""
    trace = rated(TeamGlicko2(), match_of([1.0], [1.0, 2.0, 3.0, 4.0, 5.0]))
    assert trace["z"][0] == 0.0
    assert changes(trace)[0] > 0.0 > changes(trace)[1:].max()
    # The one sees a surer opponent, who tells more, and so becomes surer.
    assert trace["deviation"][0] < trace["deviation"][1]


def test_a_heavier_match_moves_more() -> None:
    """A weight counts a match so many times: between one and infinitely many, more each time."""
    match = match_of([1.0, 2.0], [1.0, 2.0])
    moved = [
        changes(rated(TeamGlicko2(), replace(match, weight=weight)))[1]
        for weight in (0.1, 1.0, 2.0, 10.0)
    ]
    assert np.all(np.diff(moved) > 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tau", 0),
        ("tau", 2.1),
        ("beta", -0.1),
        ("factor_min", 1.1),
        ("factor_max", 0.9),
        ("max_change", 0),
        ("max_change", math.inf),
        ("form_window", 0),
        ("activity_matches", 0),
        ("activity_window", -1),
        ("period_days", 0),
        ("blend", 1.5),
        ("deviation_scale", 0),
        ("initial_volatility", 0),
    ],
)
def test_parameters_outside_their_range_are_refused(name: str, value: float) -> None:
    """The message names the parameter, the rule and the value."""
    with pytest.raises(InvalidParameterError, match=f"{name} must be .*got {value}"):
        TeamGlicko2(**{name: value})
