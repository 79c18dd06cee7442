"""Team Glicko-2 over time: inactivity, form and the effective rating."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.outlook import GLICKO2_SCALE
from equipoise.data.ratings import EffectiveRating
from equipoise.rating.replay import replay
from equipoise.rating.state import State
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from rating.histories import rate
from rating.team_matches import PLAYERS, history_of_teams, match_of, team_matches
from reference.team_glicko2 import MICROSECONDS_PER_DAY, Match

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


@examples(60)
@given(
    periods=st.integers(0, 60),
    first=st.integers(0, 60),
    deviation=st.sampled_from([30.0, 200.0, 349.0, 400.0]),
    volatility=st.sampled_from([0.06, 0.3, 2.0]),
)
def test_periods_of_inactivity_compose(
    periods: int, first: int, deviation: float, volatility: float
) -> None:
    """READINGS A8: k periods at once equal k single ones, also at the cap.

    Tolerance: rounding of k square roots.
    """
    system = TeamGlicko2()
    state = veteran(system, [0.0])
    state.column("deviation")[:] = deviation
    state.column("volatility")[:] = volatility
    at_once = deviation_at(system, state, 7.0 * (first + periods))
    stepwise = deviation / GLICKO2_SCALE
    for _ in range(first + periods):
        stepwise = min(math.hypot(stepwise, volatility), 350.0 / GLICKO2_SCALE)
    assert at_once == pytest.approx(GLICKO2_SCALE * stepwise, rel=1e-12)
    on_the_way = state.copy()
    on_the_way.column("deviation")[:] = deviation_at(system, state, 7.0 * first)
    on_the_way.column("last_time")[:] = 7.0 * first
    assert deviation_at(system, on_the_way, 7.0 * (first + periods)) == pytest.approx(
        at_once, rel=1e-12
    )


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


def test_a_match_begins_with_the_grown_deviation() -> None:
    """Section 12 before a match: in 400 days 57 periods have passed, for everyone in it."""
    system = TeamGlicko2()
    first = match_of([1.0, 2.0], [1.0, 2.0], time=0)
    later = replace(first, time=400 * MICROSECONDS_PER_DAY)
    history = history_of_teams([first, later])
    trace = rate(system, system.initial(PLAYERS), history)
    phi, sigma = trace["deviation"][:4] / GLICKO2_SCALE, trace["volatility"][:4]
    grown = GLICKO2_SCALE * np.minimum(np.sqrt(phi**2 + 57 * sigma**2), 350 / GLICKO2_SCALE)
    np.testing.assert_allclose(trace["deviation_before"][4:], grown, rtol=1e-14)


@examples(30)
@given(matches=team_matches(timed=False))
def test_without_times_nothing_decays(matches: list[Match]) -> None:
    """File order is the order, and no time passes, however late it is asked."""
    system = TeamGlicko2()
    history = history_of_teams(matches)
    state = system.initial(PLAYERS)
    trace = rate(system, state, history)
    rows = np.arange(PLAYERS)
    for row in rows:
        mine = np.flatnonzero(history.player == row)
        np.testing.assert_array_equal(
            trace["deviation_before"][mine[1:]], trace["deviation"][mine[:-1]]
        )
    at_end, late = system.at(state, rows, None), system.at(state, rows, 1e5)
    np.testing.assert_array_equal(late["deviation"], at_end["deviation"])


def test_two_matches_at_one_time_are_two_matches() -> None:
    """No time passes between them, and both count as activity."""
    system = TeamGlicko2()
    history = history_of_teams([match_of([1.0], [2.0], time=WEEK)] * 3)
    state = system.initial(PLAYERS)
    rate(system, state, history)
    now = system.at(state, np.array([0]), 7.0)
    assert deviation_at(system, state, 35.0) == now["deviation"][0]
    assert deviation_at(system, state, 35.1) > now["deviation"][0]


def test_a_time_before_the_last_match_reads_as_of_that_match() -> None:
    """`--at` may lie anywhere; a deviation does not shrink by looking back."""
    system = TeamGlicko2()
    state = veteran(system, [100.0])
    assert deviation_at(system, state, 0.0) == 60.0


# --- form and the effective rating -----------------------------------------------------------


def test_form_is_a_mean_at_first_and_a_moving_one_later() -> None:
    """[34], [35]: 1/n while fewer than ten matches count, 2/11 from then on."""
    z = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0]
    matches = [match_of([one, 0.0], [0.0]) for one in z]
    trace = rate(TeamGlicko2(), TeamGlicko2().initial(PLAYERS), history_of_teams(matches))
    form = trace["form"][0::3]
    means = np.cumsum(z[:10]) / np.arange(1, 11)
    np.testing.assert_allclose(form[:10], means, rtol=1e-14, atol=1e-15)
    eleventh = 9 / 11 * means[9] + 2 / 11 * -1.0
    assert form[10] == pytest.approx(eleventh, rel=1e-14)
    assert form[11] == pytest.approx(9 / 11 * eleventh + 2 / 11, rel=1e-14)


def test_form_forgets_how_far_away_an_outlier_was() -> None:
    """[33] cuts z off at form_clip for the form alone; [9] takes it whole (READINGS A2)."""
    trace = rate(
        TeamGlicko2(form_clip=1.5, factor_max=9.0),
        TeamGlicko2().initial(PLAYERS),
        history_of_teams([match_of([9.0, 0.0, 0.0, 0.0, 0.0], [0.0])]),
    )
    assert trace["z"][0] == pytest.approx(2.0, rel=1e-15)
    assert trace["factor"][0] == pytest.approx(1.4, rel=1e-15)
    assert trace["form"][0] == 1.5


@pytest.mark.parametrize(
    ("deviation", "weight"),
    # READINGS A9, to the digits printed there.
    [(30, 0.06), (40, 0.10), (80, 0.25), (160, 0.40), (350, 0.475)],
)
def test_the_weight_of_form_grows_with_the_deviation(deviation: float, weight: float) -> None:
    """[39], [40]; section 11.3's percentages are illustrations (READINGS A9)."""
    found = EffectiveRating().weight(np.array([float(deviation)]))[0]
    assert round(found, 3 if weight == 0.475 else 2) == weight


@examples(60)
@given(
    rating=st.floats(-1000, 4000),
    deviation=st.floats(1, 400),
    form=st.floats(-3, 3),
)
def test_the_effective_rating_lies_between_rating_and_recent_rating(
    rating: float, deviation: float, form: float
) -> None:
    """[36]-[41]: within the caps, at most half the way; tolerance: rounding at that magnitude."""
    effective = EffectiveRating()
    columns = [np.array([value]) for value in (rating, deviation, form)]
    found = effective.rating(*columns)[0]
    boost = effective.boost(*columns[1:])[0]
    most = min(2 * deviation, 200.0)
    assert boost == pytest.approx(min(most, max(-most, 80 * form)), abs=1e-12)
    low, high = sorted([rating, rating + 0.5 * boost])
    assert low - 1e-9 <= found <= high + 1e-9


def test_effective_ratings_are_computed_as_of_the_time_that_is_read() -> None:
    """READINGS A9: after a long rest the deviation is at its cap, and form counts 0.475."""
    history = history_of_teams(
        [match_of([5.0, 0.0], [0.0, 0.0], time=day * MICROSECONDS_PER_DAY) for day in range(30)]
    )
    now, later = (replay(TeamGlicko2(), history, at=day).ratings.of(0) for day in (29.0, 20_000.0))
    assert later["rating"] == now["rating"] < now["effective_rating"] < later["effective_rating"]
    assert later["effective_rating"] - later["rating"] == pytest.approx(0.475 * 80, abs=0.05)
